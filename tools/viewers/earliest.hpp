// Facts of a source that are needed before the main pass: its earliest time, and the window that a user named. Reads
// the source once.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/pipeline/pipeline.hpp"

namespace ttc::tools {

// "2ms,100us": begin after the earliest marker, and length, by the rule of collector/program/units.hpp. "op:17",
// "op:17#2": the program of this host id, the second of it. "zone:NAME", "zone:NAME#3": the third zone of this name
// by its begin, of cores and of the host side's threads. "step:2": what ran with this number of trace replay. Empty: the first program, or 100 us.
struct TimeWindow {
  enum class Of : uint8_t { time, program, zone, replay } of = Of::time;
  uint64_t begin_ns = 0, length_ns = 100'000;  // of time
  uint64_t number = 0;                         // host id, replay; 0: any
  std::string name;                            // of the zone
  uint64_t nth = 1;
};
// None: not understood.
std::optional<TimeWindow> parse_window(const std::string& text);
inline constexpr const char* kWindowForms =
    "give BEGIN,LENGTH with units, such as 2ms,100us, or op:17, zone:NAME#3, step:2";

struct Earliest {
  std::optional<uint64_t>
      ns;  // of a marker or, with `counters`, a counter's value or an event of the host side; none: there is nothing
  bool host_time = true;  // what comes later has host times, too
  bool settled = true;    // false: a device's times are cycles only because its clock model is not there yet
};

// Reads what there is now, the first `most_markers` of it; device logs are read whole.
Earliest earliest_in(const std::vector<std::string>& from, unsigned wait_ms, const Filter& filter,
                     std::optional<markers::MetalDate> date, uint64_t most_markers, bool counters);

// Sets earliest_ns and the window of `options`. Throws program::UsageError where the source has no such program,
// zone or step.
void find_window(const TimeWindow& window, const std::vector<std::string>& from, unsigned wait_ms,
                 const Filter& filter, FormatOptions& options);

}  // namespace ttc::tools
