// The clock model of one domain: reads of its counter in, straight pieces with proven error bounds out. Pure:
// no card, no clock, no threads. CLOCK.md has the mathematics and the names used here.
//
// Memory is bounded: what is final leaves by take_final(), and only as many samples stay as the next
// decisions need.
#pragma once
#include <array>
#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "collector/clock/line_family.hpp"
#include "ttcollect/clock_segment.hpp"

namespace ttc::collect {

// One load of the counter. It showed `cycles` at some moment from `before` to `after`.
struct ClockRead {
  HostTime before = 0;
  HostTime after = 0;
  uint64_t cycles = 0;  // 64 bits, low word's roll-overs taken into account
};

// What is assumed. `largest_hz` alone is behind hard bounds.
struct ClockRules {
  uint64_t period_ns = 62'500'000;
  uint64_t largest_hz = 1'400'000'000;  // AICLK reaches 1350 MHz on the fastest boards
  unsigned dwell_periods = 4;
  unsigned reads_a_sample = 8;       // usually; decides how many samples a knot rests on
  uint32_t least_step_ppm = 100;     // a PLL step is 6.25 MHz, 4600 ppm and more
  uint32_t wander_ppb_per_s = 1000;  // crystals follow temperature
};

class ClockEstimator {
 public:
  static constexpr size_t kMostReads = 16;  // of a burst; the tightest are kept

  explicit ClockEstimator(const ClockRules& rules, uint8_t domain = 0, uint32_t first_era = 0);

  // A sample: one or several reads made at once, in order. Samples come about a period apart; one that was
  // missed is a longer gap. Nothing happens when `burst` is empty.
  void add(std::span<const ClockRead> burst);
  // A marker with this 64-bit time was on the card at `by`.
  void seen(uint64_t cycles, HostTime by);
  // No sample will come: everything becomes final.
  void finish();

  // Segments that became final since the last call, in order.
  std::vector<ClockSegment> take_final();
  // Those behind them, up to the last sample, as things stand.
  std::vector<ClockSegment> provisional();

  struct Step {
    HostTime after = 0, before = 0;  // the change lies between
    double hz_before = 0, hz_after = 0;
  };
  struct Stats {
    uint64_t samples = 0, reads = 0;
    uint64_t wide = 0;        // samples left out, because no read of them was tight
    uint64_t steps = 0;       // changes of frequency that the condition allows
    uint64_t violations = 0;  // times the condition did not hold
    uint64_t stops = 0;       // times the counter was found standing
    uint64_t eras = 0;        // resets, suspended host
  };
  const Stats& stats() const { return stats_; }
  std::span<const Step> steps() const { return steps_; }  // the latest 1024
  uint32_t era() const { return era_; }
  // Of the last piece of one frequency; 0 before one is known.
  double hz() const { return hz_; }
  // 64-bit time now, roughly, for unwrapping a marker; 0 before the first sample.
  uint64_t cycles_about(HostTime at) const;

 private:
  struct Knot {
    HostTime host = 0;
    double half = 0;  // ns, when conditional
    bool conditional = false;
  };
  struct Sample {
    std::array<ClockRead, kMostReads + 1> reads;  // before == 0: only an upper limit (seen())
    size_t count = 0;
    ClockRead best;             // the tightest
    HostTime showed_since = 0;  // a later read still showed best.cycles: the counter stands; 0: it does not
    size_t window_first = 1, window_last = 0;  // what `knot` was made of
    Knot knot;
  };
  // Samples [first, last] at one frequency.
  struct Piece {
    size_t first = 0, last = 0;
    bool open = false;          // to the newest sample
    bool after_change = false;  // begins right behind a change, between `left` and `first`
    size_t left = 0;
    HostTime left_host = 0;  // when `left` was read
    bool good = true;        // false: the condition did not hold here
  };
  struct Change {
    size_t found = 0;                 // the sample that did not fit
    std::vector<size_t> first_after;  // candidates for the first sample behind the change
    size_t earliest = 0;
  };

  size_t newest() const { return base_ + samples_.size() - 1; }
  const Sample& sample(size_t i) const { return samples_[i - base_]; }
  Sample& sample(size_t i) { return samples_[i - base_]; }
  static HostTime middle(const ClockRead& r) { return r.before + (r.after - r.before) / 2; }
  double ns_between(size_t from, size_t to) const;

  bool belongs_to_era(const ClockRead& read) const;
  std::span<const ClockRead> after_stop(std::span<const ClockRead> burst);
  void start_piece(size_t first);
  void test_newest();
  void narrow_change();
  void settle_change();
  void close_piece(size_t end);
  void end_era();
  void remember_step(size_t first_before, size_t left, size_t right);
  void violate(size_t restart_at);
  // Lines through samples [first, last], as tangents of the truth at `tangent`; x and y count from `origin`.
  LineFamily family(size_t first, size_t last, size_t tangent, size_t origin) const;
  bool crosses(size_t first_after) const;

  size_t half_window() const;
  std::optional<std::pair<size_t, size_t>> usable(const Piece& p) const;
  const Piece* piece_of(size_t i) const;
  const Piece* piece_behind(size_t i) const;
  std::pair<size_t, size_t> window_of(size_t i) const;
  bool established(const LineFamily& f) const;
  const Knot& knot(size_t i);
  uint64_t hard_error(size_t left, size_t right, const ClockSegment& s) const;
  void emit(std::vector<ClockSegment>& to, size_t left, size_t right, uint64_t from, HostTime host_from,
            uint64_t until, HostTime host_to, double error_ns, BoundKind kind, bool final);
  bool emit_change(std::vector<ClockSegment>& to, const Piece& before, const Piece& after, bool final);
  size_t segments_from(std::vector<ClockSegment>& to, size_t i, size_t last, bool final);
  void finalise(size_t last);
  void forget();

  ClockRules rules_;
  uint8_t domain_;
  uint32_t era_ = 0;
  std::deque<Sample> samples_;
  size_t base_ = 0;       // index of samples_.front()
  size_t era_first_ = 0;  // index of the era's first sample
  size_t next_ = 0;       // the sample that the next final segment begins at
  std::deque<Piece> pieces_;
  std::optional<Change> change_;
  ClockRead seen_;  // the pending one; after == 0: none
  std::vector<ClockSegment> final_;
  std::vector<Step> steps_;
  Stats stats_;
  double hz_ = 0;
};

}  // namespace ttc::collect
