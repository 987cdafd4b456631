// The PLL's frequencies are whole multiples of a step by the card's crystal (6.25 MHz, an eighth of the 50 MHz
// reference; tt-metal streaming_profiler_common.h). What steady runs at several multiples have in common is
// the crystal's rate; where a counter of the crystal itself is read the rate is known from it. Once it is known, the
// frequency of a short run is too.
//
// Relied on only after runs at several multiples agreed so closely that frequencies which are no multiples would by chance
// in one case of 100,000. No longer once one does not.
#pragma once
#include <cstdint>
#include <deque>
#include <optional>

#include "collector/clock/geometry/line_family.hpp"
#include "ttcollect/clock_segment.hpp"

namespace ttc::collect {

inline constexpr double kPllStepHz = 6.25e6;
inline constexpr double kCrystalTolerance = 300e-6;  // against the host's

class PllGrid {
 public:
  explicit PllGrid(double wander_per_s) : wander_per_s_(wander_per_s) {}

  // `paces`: nanoseconds a cycle that a steady run about `at` may have had, host time.
  void learn(HostTime at, Range paces);
  // The paces of the multiple that `paces` show, by the crystal's rate alone: a run's paces are of one moment, and the
  // crystal wanders. No value while the grid is not relied on, or if none of them is on it.
  std::optional<Range> on_grid(HostTime at, Range paces) const;
  // The crystal's rate against the host about `at`: what is learnt, while that is relied on.
  using Rate = Range;
  Rate rate(HostTime at) const {
    return relied_on() || known_ ? rate_at(at) : Rate{1 - kCrystalTolerance, 1 + kCrystalTolerance};
  }
  bool relied_on() const { return chance_ < kLeastChance; }
  uint64_t refuted() const { return refuted_; }
  // The crystal's rate about `at`, from its own counter.
  void know(HostTime at, Rate rate);
  // A steady run was found that is on no multiple.
  void refute();

 private:
  static constexpr double kLeastChance = 1e-5;
  void forget();
  Rate rate_at(HostTime at) const;

  void take(HostTime at, Rate rate);

  double wander_per_s_;
  struct Known {
    HostTime at;
    Rate rate;
  };
  std::deque<Known> rates_;  // the latest, in order of time
  double multiple_ = 0;
  double chance_ = 1;  // that frequencies off the grid agree so well
  uint64_t refuted_ = 0;
  bool known_ = false;  // from the crystal's counter
};

}  // namespace ttc::collect
