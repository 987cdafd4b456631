// No segment, final or provisional, has a slope that the card's clock cannot have: in random worlds, and for
// observers that are starved. Hard bounds hold there too; conditional ones need reads that are not so rare. TTC_LONG=1: more worlds. TTC_SEED=n repeats one.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "collector/clock/geometry/drawn_line.hpp"
#include "tests/support/moving_world.hpp"
#include "ttcollect/clock_map.hpp"

namespace ttc::test {
namespace {

using collect::BoundKind;
using collect::ClockEstimator;
using collect::ClockMap;
using collect::ClockSegment;
using collect::DrawnLine;

constexpr HostTime kTicksOfMs = 16'000'000;
constexpr uint64_t kMarkerMask = (uint64_t{1} << 44) - 1;

TEST(DrawnLine, is_straight_where_the_slope_is_possible) {
  const DrawnLine line(1000, 5000, 2000, 5000 + 16'000, 16);
  EXPECT_TRUE(line.straight());
  EXPECT_EQ(line.host_from(), 5000u);
  EXPECT_EQ(line.next(), 21'000u);
}

TEST(DrawnLine, a_stop_lies_in_front_of_it_and_behind_it) {
  const HostTime stop = 3'000'000'000;
  const DrawnLine line(1000, 5000, 2000, 5000 + 20'000 + stop, 20);
  EXPECT_FALSE(line.straight());
  EXPECT_EQ(line.host_from(), 5000 + stop / 2);
  EXPECT_EQ(line.host_to(), line.host_from() + 20'000);
  EXPECT_EQ(line.next(), 25'000 + stop);
  EXPECT_TRUE(has_possible_slope(line.segment()));
}

TEST(DrawnLine, ends_later_where_it_would_be_too_fast_or_go_back) {
  for (const HostTime to : {HostTime{1'000'100}, HostTime{1'000'000}, HostTime{3}}) {
    const DrawnLine line(1000, 1'000'000, 2000, to, 16);
    EXPECT_FALSE(line.straight());
    EXPECT_EQ(line.next(), line.host_to());
    EXPECT_GE(line.host_to(), 1'000'000 + 1000 * 16'000'000'000 / collect::kFastestHz);
    EXPECT_TRUE(has_possible_slope(line.segment()));
  }
}

TEST(DrawnLine, a_single_cycle_has_a_possible_slope_whatever_its_ends_are) {
  for (HostTime ticks = 0; ticks < 400; ++ticks)
    EXPECT_TRUE(has_possible_slope(DrawnLine(7, 1000, 8, 1000 + ticks, 16).segment())) << ticks;
}

// How the observer is kept from reading, one way for a while and then another.
enum class Starving { hardly, late_reads, no_reads, slow_reads, close_reads };

class StarvedObserver {
 public:
  explicit StarvedObserver(uint64_t seed) : dice_({}, seed) {}

  // The next read from `at` on; `at` becomes the earliest begin of the one after.
  template <class World>
  ClockRead next(const World& world, HostTime& at) {
    if (at >= until_) choose(at);
    ClockRead r;
    r.before = at;
    const HostTime moment = at + share(width()), end = moment + share(width());
    r.after = end + 1;
    r.cycles = world.cycles(moment);
    at = end + gap();
    return r;
  }

 private:
  double between(double low, double high) { return low * std::pow(high / low, dice_.chance()); }
  HostTime ms(double low, double high) { return static_cast<HostTime>(between(low, high) * kTicksOfMs); }
  HostTime share(HostTime of) { return static_cast<HostTime>(dice_.chance() * static_cast<double>(of)); }
  void choose(HostTime at) {
    how_ = static_cast<Starving>(static_cast<int>(dice_.chance() * 5));
    until_ = at + ms(5, 800);
  }
  HostTime width() {
    if (how_ == Starving::late_reads) return dice_.chance() < 0.3 ? ms(0.01, 2000) : ms(0.0005, 0.01);
    if (how_ == Starving::slow_reads) return ms(0.05, 0.4);
    return dice_.chance() < 0.03 ? ms(0.05, 5) : ms(0.0005, 0.0015);
  }
  HostTime gap() {
    if (how_ == Starving::no_reads) return dice_.chance() < 0.2 ? ms(10, 3000) : ms(0.5, 20);
    if (how_ == Starving::close_reads) return ms(0.00005, 0.3);
    return ms(0.8, 3);
  }

  Link dice_;
  Starving how_ = Starving::hardly;
  HostTime until_ = 0;
};

struct Judged {
  size_t segments = 0, jumps = 0, markers = 0;
};

void expect_drawable(const std::vector<ClockSegment>& segments, uint64_t seed, Judged& judged) {
  std::vector<char> body(sizeof(collect::ClockHead) + segments.size() * sizeof(ClockSegment));
  const collect::ClockHead head;
  std::memcpy(body.data(), &head, sizeof head);
  if (!segments.empty())
    std::memcpy(body.data() + sizeof head, segments.data(), segments.size() * sizeof(ClockSegment));
  ASSERT_EQ(collect::check_clock_body(body), "") << "seed " << seed;
  for (size_t i = 0; i < segments.size(); ++i) {
    const ClockSegment& s = segments[i];
    ASSERT_TRUE(has_possible_slope(s))
        << "seed " << seed << ", segment " << i << ": " << s.to_cycles - s.from_cycles << " cycles in "
        << s.host_to - s.host_from << " ticks";
    if (i == 0 || segments[i - 1].era != s.era) continue;
    ASSERT_EQ(s.from_cycles, segments[i - 1].to_cycles) << "seed " << seed << ", segment " << i;
    ASSERT_GE(s.host_from, segments[i - 1].host_to) << "seed " << seed << ", segment " << i;
    judged.jumps += s.host_from > segments[i - 1].host_to;
  }
  judged.segments += segments.size();
}

// `strict`: the counter keeps to the largest frequency, so that bounds have to hold.
template <class World>
void judge(const World& world, HostTime begin, HostTime end, uint64_t seed, bool strict, Judged& judged) {
  ClockEstimator estimator({});
  StarvedObserver observer(seed + 1);
  std::vector<ClockSegment> segments;
  const auto take = [&] {
    for (const ClockSegment& s : estimator.take_final()) segments.push_back(s);
  };
  size_t reads = 0;
  for (HostTime at = begin; at < end; ++reads) {
    const ClockRead read = observer.next(world, at);
    estimator.add({&read, 1});
    take();
    if (reads % 151 != 0) continue;
    std::vector<ClockSegment> all = estimator.provisional();
    if (!segments.empty()) all.insert(all.begin(), segments.back());
    expect_drawable(all, seed, judged);
    if (testing::Test::HasFatalFailure()) return;
  }
  estimator.finish();
  take();
  expect_drawable(segments, seed, judged);
  if (testing::Test::HasFatalFailure() || !strict || segments.empty()) return;
  ClockMap map;
  map.update({}, segments);
  Link dice({}, seed + 2);
  for (int i = 0; i < 1000; ++i) {
    const HostTime t = begin + static_cast<HostTime>(dice.chance() * static_cast<double>(end - begin));
    if (world.hz(t) == 0) continue;  // nothing runs then
    const ClockMap::Converted c = map.at(world.cycles(t) & kMarkerMask, t);
    if (c.quality.kind == BoundKind::none) continue;
    ++judged.markers;
    const uint64_t off = c.host > t ? c.host - t : t - c.host;
    ASSERT_LE(off, c.quality.hard_bound)
        << "seed " << seed << ", s " << static_cast<double>(t - begin) / 16e9;
  }
}

uint64_t first_seed() {
  const char* set = std::getenv("TTC_SEED");
  return set ? std::strtoull(set, nullptr, 10) : 1;
}
size_t worlds() {
  const char* set = std::getenv("TTC_LONG");
  return std::getenv("TTC_SEED") ? 1 : set && *set == '1' ? 3000 : 36;
}

TEST(ClockSlopes, are_possible_whatever_reads_are_late_missing_or_close) {
  Judged judged;
  const uint64_t first = first_seed(), end = first + worlds();
  std::printf("seeds %llu to %llu\n", static_cast<unsigned long long>(first),
              static_cast<unsigned long long>(end - 1));
  for (uint64_t seed = first; seed < end; ++seed) {
    MotionMaker maker(kMotions[seed % std::size(kMotions)], 4, seed);
    const MovingWorld world = maker.make();
    judge(world, world.begin(), maker.end(), seed, true, judged);
    if (HasFatalFailure()) return;
  }
  std::printf("%zu segments, %zu jumps, %zu markers\n", judged.segments, judged.jumps, judged.markers);
  if (worlds() > 1) {
    EXPECT_GT(judged.jumps, 100u);
    EXPECT_GT(judged.markers, 5'000u);
  }
}

// A card whose clock is played back, or is reset, or that went to sleep with its host.
TEST(ClockSlopes, are_possible_where_the_counter_does_what_no_clock_does) {
  Judged judged;
  const uint64_t first = first_seed(), end = first + worlds();
  std::printf("seeds %llu to %llu\n", static_cast<unsigned long long>(first),
              static_cast<unsigned long long>(end - 1));
  for (uint64_t seed = first; seed < end; ++seed) {
    Link dice({}, seed);
    const HostTime begin = 16'000'000'000, until = begin + 4000 * kTicksOfMs;
    CounterTruth truth(begin, 1'000'000);
    for (HostTime at = begin; at < until;
         at += static_cast<HostTime>(std::pow(10, -2 + 5 * dice.chance()) * kTicksOfMs)) {
      const double what = dice.chance();
      truth.change(at, what < 0.2 ? 0 : std::pow(10, 5 + 6 * dice.chance()));
      if (what > 0.95) truth.reset(at + 1, static_cast<uint64_t>(1e12 * dice.chance()));
    }
    judge(truth, begin, until, seed, false, judged);
    if (HasFatalFailure()) return;
  }
  std::printf("%zu segments, %zu jumps\n", judged.segments, judged.jumps);
}

// A counter of 1 GHz that is read at once and then only after 6 ms: the stretch between was drawn with 1166 MHz, and durations in it
// were a seventh too short.
TEST(ClockSlopes, a_stretch_without_reads_in_front_of_dense_ones_was_drawn_too_fast) {
  for (const HostTime gap : {6 * kTicksOfMs, 15 * kTicksOfMs, 60 * kTicksOfMs}) {
    ClockEstimator estimator({});
    std::vector<ClockSegment> segments;
    const HostTime begin = 16'000'000'000;
    const auto read = [&](HostTime at) {
      constexpr HostTime kWidth = 16'000;  // 1 us
      const ClockRead r{at, at + kWidth, (at + kWidth / 2) / 16};
      estimator.add({&r, 1});
      for (const ClockSegment& s : estimator.take_final()) segments.push_back(s);
    };
    read(begin);
    for (int i = 0; i < 400; ++i) read(begin + gap + static_cast<HostTime>(i) * kTicksOfMs);
    estimator.finish();
    for (const ClockSegment& s : estimator.take_final()) segments.push_back(s);
    ASSERT_FALSE(segments.empty());
    for (const ClockSegment& s : segments) {
      const double hz = static_cast<double>(s.to_cycles - s.from_cycles) * 16e9 /
                        static_cast<double>(s.host_to - s.host_from);
      EXPECT_NEAR(hz, 1e9, 5e6) << "gap " << gap / kTicksOfMs << " ms, from cycle " << s.from_cycles;
    }
  }
}

}  // namespace
}  // namespace ttc::test
