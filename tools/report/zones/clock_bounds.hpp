// The bounds of host times from the clock models of a capture.
#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "tools/report/zones/lane_events.hpp"

namespace ttc::report {

// The bounds that each chip's clock model claims, over time.
class ClockBounds : public Listener {
 public:
  struct Stretch {
    uint64_t from_cycles, to_cycles;
    double bound_ns;
  };
  void events(const LaneEvents&) override {}
  void clock(uint32_t chip, const collect::ClockMap& map) override;

  const std::map<uint32_t, std::vector<Stretch>>& chips() const { return chips_; }
  // Least bound that holds for so large a share of the time, 0 to 1.
  static double bound_of_share(const std::vector<Stretch>& stretches, double share);
  // Returns at most `most` stretches; neighbours are joined under the greater bound.
  static std::vector<Stretch> joined(const std::vector<Stretch>& stretches, size_t most);

 private:
  std::map<uint32_t, std::vector<Stretch>> chips_;
  std::map<uint32_t, size_t> seen_;  // segments
};

}  // namespace ttc::report
