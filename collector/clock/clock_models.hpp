// The clock models of one card's domains, and what is given to them. Pure: no card, no clock, no threads.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "collector/clock/clock_estimator.hpp"

namespace ttc::collect {

// What was learnt of one domain's counter, or of the card's reference timer.
struct ClockInput {
  enum class Kind : uint8_t {
    read,       // the domain's counter was read: a sample
    seen,       // a marker with the time `read.cycles` was on the card at `read.after`
    reference,  // the reference timer was read, for all domains
  };
  Kind kind = Kind::read;
  uint8_t domain = 0;
  ClockRead read;
};

class ClockModels {
 public:
  using Segments = std::vector<std::vector<ClockSegment>>;  // by domain

  // Of domain 0. `first_era`: of every domain.
  explicit ClockModels(uint32_t first_era) : first_era_(first_era) { grow(1); }

  // At least so many domains.
  void grow(size_t domains);
  // In the order in which they were made. Segments that become final take some milliseconds.
  void take(std::span<const ClockInput> inputs);
  // No input will come: everything becomes final.
  void finish();

  // Those that became final since the last call, in order.
  Segments take_final();
  // Those behind them, up to the last sample, as far as the reads show now. Takes up to ten milliseconds.
  Segments provisional();

  struct Domain {
    ClockEstimator::Stats stats;
    double hz = 0;            // of the last steady run; 0 before one is known
    double dwell_ns = 0;      // a frequency that stays for less is not relied on
    HostTime last_moved = 0;  // when a run last broke; 0: never
    uint32_t era = 0;
  };
  // What the models know, without segments.
  struct Known {
    std::vector<Domain> domains;
    std::optional<Range> crystal;  // its rate against the host, at the last read of the reference timer
    std::vector<ClockEstimator::Step> steps;  // of domain 0
  };
  Known known() const;

 private:
  uint32_t first_era_;
  std::vector<ClockEstimator> models_;
  HostTime referred_at_ = 0;
};

}  // namespace ttc::collect
