// The record of what the emulated cores emitted: a binary log of fixed records, one a marker, and its conversion to
// the CSV that an exporter of everything would have written.
#pragma once
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "firmware_markers/layout.hpp"
#include "firmware_markers/zone_names.hpp"

namespace ttc::emulation {

struct TruthRecord {
  uint64_t time;  // 44-bit device time
  uint64_t data[2];
  uint32_t host_id;
  uint16_t id;
  uint8_t type;
  uint8_t risc;
  uint8_t core_x;
  uint8_t core_y;
  uint16_t trace_counter;
  markers::CoreKind core_kind;
  uint8_t one_risc;  // trace-only mode: a Tensix core has one pseudo RISC
  uint8_t reserved[2];
};
static_assert(sizeof(TruthRecord) == 40);

class TruthLog {
 public:
  // Empty path: counts only. The binary log is at path + ".bin" until it is converted.
  explicit TruthLog(std::string csv_path);
  ~TruthLog();

  void add(const TruthRecord& record);
  uint64_t count() const { return count_; }

  struct Header {
    std::string arch;
    uint32_t aiclk_mhz;
    uint32_t max_compute_cores;
    std::vector<std::string> contradicts = {};  // assumptions that the run broke
  };
  // Writes the 15-column CSV, which is there whole or not at all, and removes the binary log. Throws
  // std::runtime_error; the binary log then stays.
  void convert(const Header& header, const markers::ZoneNames& names);

 private:
  void write_all(const std::string& path, const Header& header, const markers::ZoneNames& names);
  struct Close {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };
  std::string csv_path_;
  std::unique_ptr<std::FILE, Close> file_;
  uint64_t count_ = 0;
};

}  // namespace ttc::emulation
