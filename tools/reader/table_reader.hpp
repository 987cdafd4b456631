// A source through the pipeline into tables, a batch at a time: what the C ABI hands out.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tools/pipeline/pipeline.hpp"
#include "tools/pipeline/source.hpp"
#include "tools/tables/device_tables.hpp"
#include "tools/tables/host_tables.hpp"

namespace ttc::tools {

class TableReader {
 public:
  // `options` are checked. Throws SourceError.
  TableReader(const std::string& from, const ttcollect_options& options);
  // Reads a source that is open: its own following, waiting and threads count, not those of the options. `everything`: no chunk is left
  // out on purpose, so that what is missing between two is a loss.
  TableReader(std::unique_ptr<Source> source, const ttcollect_options& options, const Filter& filter,
              std::optional<markers::MetalDate> date, bool everything);

  // Replaces the rows of tables(). A ttcollect_status: _OK, _IDLE, _END, _LAPPED or _INCOMPLETE. Throws SourceError where two sources turn
  // out to hold one session, and what the standard library throws; every later call is then an error, too.
  int next(uint32_t timeout_ms);

  // The next call of next() ends in order with what has come so far, as if the source ended there.
  void stop() { stopped_ = true; }
  // True if a live source's ring has overwritten chunks before or among those that were read.
  bool lapped() const;

  const Tables& tables() const { return tables_; }
  const std::vector<std::string>& remarks() const { return remarks_; }  // once the end has come
  ttcollect_account account() const;

 private:
  struct Opened {
    std::unique_ptr<jobs::Workers> workers;  // of the source; null: none
    std::unique_ptr<Source> source;
  };
  static Opened open(const std::string& from, const ttcollect_options& options);
  TableReader(Opened opened, const ttcollect_options& options, const Filter& filter,
              std::optional<markers::MetalDate> date, bool everything);
  bool read(uint32_t timeout_ms);  // false: the source is over
  void finish();
  void note_bounds(const collect::LossView& view);

  const ttcollect_options options_;
  const std::unique_ptr<jobs::Workers> workers_;
  std::unique_ptr<Source> source_;
  Tables tables_;
  Pipeline pipeline_;
  DeviceTables devices_;
  HostTables host_;
  std::vector<uint64_t> chunk_;
  uint64_t missed_bytes_ = 0;
  bool ended_ = false;  // the source; what waits for host times is still delivered
  bool over_ = false, whole_ = false, stopped_ = false;
  std::vector<std::string> remarks_;
};

}  // namespace ttc::tools
