// The PLL's frequencies are whole multiples of a step by the card's crystal (6.25 MHz, an eighth of the 50 MHz
// reference; tt-metal streaming_profiler_common.h). What steady runs at several multiples have in common is
// the crystal's rate; once it is known, the frequency of a short run is too.
//
// Relied on only after several different multiples agreed, and no longer once one does not.
#pragma once
#include <cstdint>
#include <optional>

#include "collector/clock/line_family.hpp"
#include "ttcollect/clock_segment.hpp"

namespace ttc::collect {

inline constexpr double kPllStepHz = 6.25e6;
inline constexpr double kCrystalTolerance = 300e-6;  // against the host's

class PllGrid {
 public:
  explicit PllGrid(double wander_per_s) : wander_per_s_(wander_per_s) {}

  // `paces`: nanoseconds a cycle that a steady run about `at` may have had, host time.
  void learn(HostTime at, Range paces);
  // Those of them that are on the grid; nothing while it is not relied on, or where none is.
  std::optional<Range> on_grid(HostTime at, Range paces) const;
  // The crystal's rate against the host about `at`: what is learnt, while that is relied on.
  struct Rate {
    double low, high;
  };
  Rate rate(HostTime at) const {
    return relied_on() ? rate_at(at) : Rate{1 - kCrystalTolerance, 1 + kCrystalTolerance};
  }
  bool relied_on() const { return agreed_ >= kAgreeing; }
  uint64_t refuted() const { return refuted_; }
  // A steady run was found that is on no multiple.
  void refute();

 private:
  static constexpr unsigned kAgreeing = 3;  // changes from one multiple to another
  void forget();
  Rate rate_at(HostTime at) const;

  double wander_per_s_;
  Rate rate_{1 - kCrystalTolerance, 1 + kCrystalTolerance};
  HostTime known_at_ = 0;
  double multiple_ = 0;
  unsigned agreed_ = 0;
  uint64_t refuted_ = 0;
};

}  // namespace ttc::collect
