// The zone log a replayed file's kernels would have left behind: for every id the strings whose hash it is.
//
// A device records ids only, so a name comes back exactly when NAME,FILE,LINE,KERNEL_PROFILER hashes to the id
// of its row. What a file can hold beyond that, and what becomes of it:
//
//   renamed     tt-metal appends ":..." to names of dispatch zones. The zone's own name goes into the log; from
//               that and the commands on the markers an exporter makes the longer one again
//   other_file  nothing hashes to the id (path edited, cut): name and line come back, the file with a "#..."
//               that makes the hash right
//   lost        another string has the id (two names), or the marker is of a kind that has no name
//   gained      rows without a name whose id other rows have a name for
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tools/device_log/device_log_reader.hpp"

namespace ttc::emulation {

class ReplayNames {
 public:
  // True when the row's name is one the host made from the zone's.
  bool add(const tools::DeviceLogRow& row);

  struct Trouble {
    uint64_t rows = 0;
    uint64_t first_line = 0;
    void add(uint64_t line, uint64_t count = 1);
  };
  struct Result {
    std::vector<std::string> zone_strings;  // NAME,FILE,LINE,KERNEL_PROFILER
    Trouble other_file, lost, gained;
  };
  Result finish() const;

 private:
  static constexpr size_t kProcessors = 7;  // of LogRisc
  struct Spelling {
    std::string name, file;
    uint32_t source_line;
    std::string zone_string;  // with the file as the compiler may have spelled it
    bool exact;               // the note hashes to the id
    std::array<Trouble, kProcessors> rows;
  };
  struct Zone {
    std::vector<Spelling> spellings;
    std::array<Trouble, kProcessors> unnamed;
    Trouble crowded;  // rows of spellings there was no room for
  };
  static constexpr size_t kMostSpellings = 64;  // of one id

  static Spelling spelling_of(uint16_t id, std::string_view name, const tools::DeviceLogRow& row);
  static std::string chosen_zone_string(uint16_t id, const Zone& zone);

  std::unordered_map<uint16_t, Zone> zones_;
  Trouble nameless_kinds_;
};

}  // namespace ttc::emulation
