// The rows that a reader is given, as ttcollect/reader.h has them: what the stages fill, and what the C ABI and SQLite take.
#pragma once
#include <deque>
#include <string>
#include <vector>

#include "ttcollect/reader.h"

namespace ttc::tools {

// A batch. What a text points to is in `texts`, or is as old as the stage that filled it.
struct Tables {
  std::vector<ttcollect_name> names;  // all so far
  std::vector<ttcollect_marker> markers;
  std::vector<ttcollect_zone> zones;
  std::vector<ttcollect_op> ops;
  // Of the durations of `zones` and `ops`, row by row.
  std::vector<uint32_t> zone_bounds;
  std::vector<ttcollect_op_bounds> op_bounds;
  // The time in front of each of `ops`: the end of what ended last among those before, 0 where there is none, and the bound of the gap.
  struct Gap {
    uint64_t from_ns = 0;
    uint32_t bound_ns = TTCOLLECT_UNBOUNDED;
  };
  std::vector<Gap> op_gaps;
  std::vector<uint32_t> op_time_bounds;  // of begin_ns and of end_ns of each of `ops`
  std::vector<ttcollect_loss> losses;
  std::vector<ttcollect_clock> clocks;
  std::vector<ttcollect_telemetry> telemetry;
  std::vector<ttcollect_session> sessions;
  std::vector<ttcollect_host_zone> host_zones;
  std::vector<ttcollect_host_message> host_messages;
  std::vector<ttcollect_op_name> op_names;
  std::deque<std::string> texts;

  const char* keep(std::string text) { return texts.emplace_back(std::move(text)).c_str(); }
  // Empties the tables for the next batch; memory is kept.
  void clear() {
    markers.clear(), zones.clear(), ops.clear(), zone_bounds.clear(), op_bounds.clear(), op_gaps.clear(),
        op_time_bounds.clear(), losses.clear(), clocks.clear();
    telemetry.clear(), sessions.clear(), host_zones.clear(), host_messages.clear(), op_names.clear(),
        texts.clear();
  }
  bool empty() const { return most_rows() == 0; }
  size_t most_rows() const {
    size_t most = 0;
    for (const size_t rows :
         {markers.size(), zones.size(), ops.size(), losses.size(), clocks.size(), telemetry.size(),
          sessions.size(), host_zones.size(), host_messages.size(), op_names.size()})
      if (rows > most) most = rows;
    return most;
  }
};

}  // namespace ttc::tools
