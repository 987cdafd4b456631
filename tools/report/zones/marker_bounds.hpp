// Of the markers of captures: how many have which kind of bound to their host time, and how wide the conditional ones are. A marker's bound is that of the
// clock model and, on tiles other than the reference, the spread of tiles.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/report/zones/duration_clock.hpp"
#include "tools/report/zones/lane_events.hpp"

namespace ttc::report {

class MarkerBounds : public Listener {
 public:
  // Markers that come from now on are converted by `clock`.
  void measure_with(std::shared_ptr<const DurationClock> clock) { clock_ = std::move(clock); }
  void events(const LaneEvents& batch) override;

  // Of chips without a clock model, or of several runs, no marker is counted.
  uint64_t markers() const { return hard_ + conditional_ + none_ + other_clock_; }
  uint64_t hard() const { return hard_; }
  uint64_t conditional() const { return conditional_; }
  uint64_t none() const { return none_; }
  uint64_t other_clock() const { return other_clock_; }  // on tiles with another clock than the chip's
  // The least bound, in ns, that holds for so large a share of the conditional ones, 0 to 1. None: there are none of them.
  std::optional<double> conditional_bound_ns(double share) const;

  struct Widest {
    uint32_t chip = 0;
    double bound_ns = 0;
    double at_s = 0;  // since the begin of the chip's clock model
    std::string why;
  };
  std::optional<Widest> widest() const;  // of the conditional ones

 private:
  struct Place {
    uint32_t chip = 0;
    uint64_t bound = 0, cycles = 0, spread = 0;
    collect::HostTime at = 0;
  };

  std::shared_ptr<const DurationClock> clock_;
  uint64_t hard_ = 0, conditional_ = 0, none_ = 0, other_clock_ = 0;
  std::map<uint64_t, uint64_t> by_bound_;  // markers by the bound in host ticks, of the conditional ones
  std::optional<Place> widest_;
  std::vector<uint64_t> cycles_;
  std::vector<collect::HostTime> times_;
  std::vector<collect::ClockMap::Run> runs_;
};

// A line for a terminal; empty where no marker was counted.
std::string text_of(const MarkerBounds& bounds);

}  // namespace ttc::report
