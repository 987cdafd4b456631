// One clock for several devices: cycles of each as cycles of the lowest one, the way tt-metal adjusts the NoC
// traces of a run. From the clock model of a capture (piece by piece), or by the ratio and shift that
// sync_device_info.csv has for a device (sync_lines.hpp). A
// device of which neither is known keeps its own cycles.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "tools/pipeline/sync_lines.hpp"
#include "ttcollect/clock_map.hpp"

namespace ttc::report {

class CommonTime {
 public:
  // The model as far as it is known; called again as it grows.
  void clock(uint32_t chip, const collect::ClockMap& map);
  // The content of sync_device_info.csv.
  void sync(tools::SyncLines lines) { sync_ = std::move(lines); }

  bool known(uint32_t chip) const { return segments_.contains(chip) || sync_.known(chip); }
  // Cycles of the lowest device that has a clock model, at the moment when `chip` counted `cycles`.
  uint64_t common(uint32_t chip, uint64_t cycles) const;
  // CLOCK_MONOTONIC_RAW then; none for a chip without a clock model. Fast where calls for a chip come in order of time.
  std::optional<uint64_t> raw_ns(uint32_t chip, uint64_t cycles) const;

 private:
  std::map<uint32_t, std::vector<collect::ClockSegment>> segments_;  // final ones, in order
  mutable std::map<uint32_t, size_t> last_;  // by chip: the segment that raw_ns() was answered from
  tools::SyncLines sync_;
};

}  // namespace ttc::report
