// Checks whether the rows of a device log are in order of time, lane by lane, as tt-metal writes them. Within one
// launch of a lane both ends of a zone may come before what is nested in it (logs up to 2025), and a lane
// may begin again at an earlier time where logs of two runs were put together.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tools/report/zones/lane_events.hpp"

namespace ttc::report {

class LogOrder {
 public:
  // False: behind the rows before it, this one is out of order.
  bool take(const Launch& launch, const Lane& lane, const Event& event);
  // The head of a log is repeated here.
  void anew() {
    lanes_.clear();
    state_ = nullptr;
  }

 private:
  struct LaneState {
    Launch launch;
    uint64_t latest = 0;
    int open = 0;
    std::vector<std::pair<uint16_t, uint64_t>> ends;  // of this launch: id, last end
  };
  static bool later(LaneState& s, const Event& event);

  std::unordered_map<uint64_t, LaneState> lanes_;
  uint64_t key_ = ~uint64_t{0};
  LaneState* state_ = nullptr;
};

// The log at `path` with its rows in order of lane and time; what is no row is left out. Takes about three
// times the size of the file.
std::string sorted_log(const std::string& path);

}  // namespace ttc::report
