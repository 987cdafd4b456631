// Tables as a SQLite database (docs/sqlite.md, schema.sql). A new file appears under its name complete or not at all; captures that
// are added to an existing one are added completely or not at all, too.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "tools/output/output.hpp"
#include "tools/tables/tables.hpp"

namespace ttc::tools {

class SqliteFile {
 public:
  static constexpr int kSchemaVersion = 3;
  // Describes the capture that is added.
  struct Capture {
    std::string source;
    std::string host;  // empty: from its sessions
    std::optional<int64_t> rank;
  };
  // Throws OutputError, as all of it: also where the file to be added to is none, or of another version.
  SqliteFile(const std::string& path, bool append);
  ~SqliteFile();
  SqliteFile(const SqliteFile&) = delete;
  SqliteFile& operator=(const SqliteFile&) = delete;

  // Each capture between these two; then commit().
  void begin(const Capture& capture);
  void end(const ttcollect_account& account, bool whole, const std::vector<std::string>& remarks);
  void write(const Tables& batch);
  void commit();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace ttc::tools
