// The clock model of one domain: reads of its counter in, straight pieces with proven error bounds out. Pure:
// no card, no clock, no threads. CLOCK.md has the mathematics and the names used here.
//
// Memory is bounded: what is final leaves by take_final(), and only as many samples stay as the next
// decisions need.
#pragma once
#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "collector/clock/clock_read.hpp"
#include "collector/clock/geometry/course.hpp"
#include "collector/clock/geometry/drawn_line.hpp"
#include "collector/clock/geometry/even_slew.hpp"
#include "collector/clock/geometry/line_family.hpp"
#include "collector/clock/pll_grid.hpp"
#include "collector/clock/reference_rate.hpp"
#include "ttcollect/clock_segment.hpp"

namespace ttc::collect {

// What is assumed. `largest_hz` alone is behind hard bounds.
struct ClockRules {
  uint64_t largest_hz = 1'400'000'000;         // AICLK reaches 1350 MHz on the fastest boards
  unsigned reads_a_sample = 1;                 // usually; determines the number of samples of a knot
  uint32_t least_step_ppm = 4400;              // a PLL step is 6.25 MHz: 4464 ppm of the largest frequency
  uint32_t slew_share = 2;                     // the slew at a moment, in multiples of the largest even one
  uint32_t wander_ppb_per_s = 1000;            // crystals follow temperature
  double reference_hz = 50e6;                  // of the reference timer by its crystal
  uint64_t longest_step_gap_ns = 250'000'000;  // between samples of one run
  uint64_t longest_change_gap_ns = 2'250'000;  // between samples, in which one change is all there was
  uint64_t longest_moving_gap_ns = 5'000'000;  // between samples while it moves; beyond: hard bounds
  // No segment is final before finish(), which then uses all samples, and segments are as short as their bounds differ: the best result
  // from the same reads and conditions, for comparison with the model.
  bool offline = false;
};

class ClockEstimator {
 public:
  static constexpr size_t kMostReads = 16;  // of a burst; the tightest are kept

  explicit ClockEstimator(const ClockRules& rules, uint8_t domain = 0, uint32_t first_era = 0);

  // A sample: one or several reads made at once, in order. No effect if `burst` is empty.
  void add(std::span<const ClockRead> burst);
  // A marker with this 64-bit time was on the card at `by`.
  void seen(uint64_t cycles, HostTime by);
  // A read of the card's reference timer, which only the crystal moves.
  void reference(const ClockRead& read);
  // The crystal's rate against the host about `at`, by these reads; no value before there are enough.
  std::optional<Range> crystal(HostTime at) const { return reference_.rate(at); }
  // No sample will come: everything becomes final.
  void finish();

  // Segments that became final since the last call, in order.
  std::vector<ClockSegment> take_final();
  // The segments behind them, up to the last sample, as far as the reads show now.
  std::vector<ClockSegment> provisional();

  struct Step {
    HostTime after = 0, before = 0;  // the change is between
    double hz_before = 0, hz_after = 0;
  };
  struct Stats {
    uint64_t samples = 0, reads = 0;
    uint64_t wide = 0;        // samples whose reads were all much wider than usual
    uint64_t steps = 0;       // single changes between two steady runs
    uint64_t violations = 0;  // stretches in which the frequency moved otherwise
    uint64_t stops = 0;       // times the counter was found standing
    uint64_t eras = 0;        // resets, suspended host
  };
  const Stats& stats() const { return stats_; }
  std::span<const Step> steps() const { return steps_; }  // the latest 1024
  uint32_t era() const { return era_; }
  // The frequency of the last steady run; 0 before one is known.
  double hz() const { return hz_; }
  // Whether frequencies are taken for multiples of the PLL's (PllGrid).
  bool grid_relied_on() const { return grid_.relied_on(); }
  // When a run last broke; 0: never.
  HostTime last_moved() const { return last_moved_; }
  // A frequency that stays for less is not relied on: a run is that long at least.
  double dwell_ns() const;
  // 64-bit time at about `at`, for unwrapping a marker; 0 before the first sample.
  uint64_t cycles_about(HostTime at) const;

 private:
  struct Sample {
    // before == 0: only an upper limit (seen()). Most samples are one read, and perhaps such a limit.
    boost::container::small_vector<ClockRead, 2> reads;
    ClockRead best;             // the tightest
    HostTime showed_since = 0;  // a later read still showed best.cycles: the counter has stopped; 0: no stop
    // best.cycles + 1 was not reached before, by this read and all of the era's before at the largest frequency.
    HostTime not_over_before = 0;
    double usual_ns = 0;  // width of reads up to this one, their median
    bool tight = true;
  };
  // How fast the frequency may change at samples near an end of a run: an even change continues to
  // the end, and so do all reads on the way.
  struct SlewLimitAt {
    size_t depth;  // samples from the end, and more
    double most;   // share of the pace per ns
  };
  struct SlewProfile {
    size_t end = 0;
    size_t next = 0;        // depth that is to be examined
    bool complete = false;  // greater depths limit nothing
    std::vector<SlewLimitAt> limits;
  };
  // Samples [first, last] that straight lines explain.
  struct Run {
    size_t first = 0, last = 0;
    bool open = true;
    bool gap_before = false;  // begins without anything known of what was before
    size_t reaches_back = 0;  // its lines explain samples from here on
    bool reach_known = false;
    bool compared = false;  // with the run before
    bool learnt = false;    // the grid has its frequency
    size_t sure_first = 0,
           sure_last = 0;  // behind the step it may begin with, before the one it may end with
    SlewProfile at_first, at_last;
  };
  // Samples of a run that no step disturbs.
  struct Core {
    size_t first, last;
    size_t run;
    bool slews_from_left,
        slews_from_right;  // false: the end is a step from one multiple of the PLL to another
    bool on_grid;
    // One value a sample while on_grid: how far the pace can have gone from a multiple of the PLL's, as a share of
    // it.
    std::vector<double> off_grids;
    double off_grid(size_t i) const { return off_grids[i - first]; }
    Range paces;  // of straight lines through its newest samples
    // What is left of the course at samples from `states_first` on, times from the begin of each one's tightest read. Empty
    // where reads and what is assumed contradict each other.
    size_t states_first = 0;
    std::vector<CourseStates> states;
    std::vector<Pacing> pacings;  // what is assumed from each of them to the next
    // Set where a small disturbance may be hidden, else empty: the courses that continue from one side up to each sample, but not
    // past its read.
    std::vector<CourseStates> beside;
    const Pacing& pacing(size_t i) const { return pacings[i - states_first]; }
    const CourseStates& state(size_t i) const { return states[i - states_first]; }
  };

  size_t newest() const { return base_ + samples_.size() - 1; }
  const Sample& sample(size_t i) const { return samples_[i - base_]; }
  Sample& sample(size_t i) { return samples_[i - base_]; }
  double ns_between(size_t from, size_t to) const;

  double fastest_pace() const { return 1e9 / static_cast<double>(rules_.largest_hz); }
  bool belongs_to_era(const ClockRead& read) const;
  HostTime not_over_before(const ClockRead& read) const;
  std::span<const ClockRead> after_stop(std::span<const ClockRead> burst);
  void test_newest();
  void close_run();
  void open_run(size_t first, bool gap_before);
  void end_era();
  double usual_width_ns() const;
  double widest_usual_ns(size_t first, size_t last) const;
  double trim_ns(size_t i, double usual_ns) const;
  size_t behind_first_step(const Run& run, double usual_ns) const;
  size_t before_last_step(const Run& run, size_t until, size_t oldest, double usual_ns) const;

  void pass(LineFamily& lines, size_t i, size_t origin, double allowed) const;
  // Lines through samples [first, last], as tangents of the truth at `tangent`; x and y count from `origin`.
  LineFamily family(size_t first, size_t last, size_t tangent, size_t origin,
                    std::optional<Range> slopes = {}) const;
  size_t half_window() const;
  struct Straight {
    size_t first, last;
  };
  std::optional<Straight> straight_part(size_t run);
  std::optional<Core> core_of(size_t run);
  Range paces_of(const Straight& part) const;
  bool steps_between(size_t run, size_t next);
  bool on_grid(size_t run);
  void find_shifts();
  void note_shift(HostTime at);
  void forget_shifts(HostTime before);
  bool brief_between(const Straight& before, size_t run, const Straight& after);
  bool within_an_interval(size_t run_before, const Straight& before, size_t run, const Straight& after) const;
  Straight sure_part(size_t run) const;
  bool little_apart(const Straight& before, const Straight& after) const;
  bool shifts_near(size_t i) const;
  void learn();
  void find_reach(Run& run);
  std::optional<double> largest_slew(size_t first, size_t last) const;
  void extend(SlewProfile& profile, size_t end, size_t other) const;
  static double most_even(const SlewProfile& profile, size_t i);
  bool surely_limited(size_t i) const;
  void find_slews(const Core& core);
  void find_off_grid(Core& core) const;
  double slew_at(size_t i, const Core& core) const;
  Pacing pacing_in(const Core& core, size_t left) const;
  // Past every read of some samples.
  struct CoreCourse {
    Course course;
    std::vector<size_t> points;  // those of the samples' tightest reads
    size_t first;                // sample
    size_t point_at(size_t sample) const { return points[sample - first]; }
    double drift(size_t from, size_t to) const;
  };
  CoreCourse course_of(const Core& core, size_t first, size_t last) const;
  size_t reach(size_t from, size_t to, size_t most) const;
  void find_states(Core& core, size_t first, size_t last) const;
  static CourseStates without_read(const CoreCourse& c, size_t i, size_t beside, size_t end);
  void find_states_beside_shifts(Core& core, size_t first, size_t last) const;

  // The place where the next segment begins.
  struct Position {
    size_t sample = 0;
    uint64_t cycles = 0;
    HostTime host = 0;
    double half = 0;  // ns; negative: only the read is known
  };
  uint64_t hard_error(size_t left, size_t right, const ClockSegment& s) const;
  DrawnLine line_to(const Position& from, uint64_t until, HostTime host_to) const;
  // How far a line can be from the truth, and the paces that the truth can have on its way.
  struct Proof {
    BoundKind kind = BoundKind::conditional;
    double error_ns = 0;
    Range paces{0, kUnlimited};
  };
  void emit(std::vector<ClockSegment>& to, size_t left, size_t right, const DrawnLine& line,
            const Proof& proof, bool final);
  Proof proof_along(const Core& core, size_t from, size_t to, const DrawnLine& line) const;
  HostTime knot(size_t i, const Core& core) const;
  struct Piece {
    size_t next;
    DrawnLine line;
    Proof proof;
  };
  Piece piece_along(const Position& at, const Core& core, size_t end) const;
  class ZoneWriter;
  Range read_alone(size_t i) const;
  struct Frequencies {
    double low, high;
  };
  std::vector<size_t> tight_between(size_t first, size_t last) const;
  Frequencies mean_between(size_t left, size_t right) const;
  bool stands(size_t i) const { return sample(i).showed_since != 0; }
  std::vector<double> fastest_paces(const std::vector<size_t>& nodes) const;
  std::optional<Pacing> single_change(const std::vector<size_t>& nodes, const Core& before,
                                      const Core& after) const;
  void note_motion(const Core& before, const Core* after, bool single);
  Position along_core(std::vector<ClockSegment>& to, Position at, const Core& core, size_t last, bool final);
  struct Zone;
  Zone zone(const Position& at, const Core* before, const Core* after, size_t end) const;
  void narrow(Zone& z) const;
  std::vector<double> likely(const Zone& z, const Position& at) const;
  void end_segment(ZoneWriter& writer, const Zone& z, size_t point) const;
  struct Place {
    double x;
    CourseStates states;
  };
  void write_between(ZoneWriter& writer, const Zone& z, size_t i, const Place& from, const Place& to,
                     int halvings) const;
  void write(ZoneWriter& writer, const Zone& z) const;
  Position along_zone(std::vector<ClockSegment>& to, const Position& at, const Core* before,
                      const Core* after, size_t last, bool final);
  Position segments_from(std::vector<ClockSegment>& to, Position at, size_t last, bool final);
  bool is_final(size_t i) const;
  size_t final_until() const;
  void finalise(size_t last);
  void forget();

  ClockRules rules_;
  uint8_t domain_;
  uint32_t era_ = 0;
  std::deque<Sample> samples_;
  size_t base_ = 0;       // index of samples_.front()
  size_t era_first_ = 0;  // index of the era's first sample
  Position next_;         // where the next final segment begins
  std::deque<Run> runs_;
  PllGrid grid_;
  ReferenceRate reference_;
  ClockRead seen_;  // the pending one; after == 0: none
  std::deque<double> widths_;
  std::vector<ClockSegment> final_;
  std::vector<Step> steps_;
  Stats stats_;
  double hz_ = 0;
  HostTime last_moved_ = 0;
  // The first and the last of small disturbances that were found at most kShiftsForNs apart; with later ones begins another entry.
  struct Shifts {
    HostTime first, last;
  };
  std::deque<Shifts> shifts_;
};

}  // namespace ttc::collect
