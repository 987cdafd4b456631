// Frequencies out of reads of a counter, where the clock is known.
#include "collector/selftest/clock_watch.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

namespace ttc::collect::selftest {
namespace {

constexpr uint64_t kMs = 1'000'000, kSecond = 1'000'000'000;

// Reads every quarter of a millisecond, with brackets of 0.3 to 3 us and now and then of 20 ms. `cycles`: by nanoseconds.
struct Watched {
  Tallies tallies;
  ClockFigures figures;
  explicit Watched(uint64_t for_ns, const std::function<double(double)>& cycles, unsigned seed = 1) {
    FrequencyWatch watch(tallies, figures);
    std::mt19937_64 dice(seed);
    for (uint64_t at = kSecond; at < kSecond + for_ns; at += kMs / 4) {
      const uint64_t width = dice() % 500 == 0 ? 20 * kMs : 300 + dice() % 2700;
      const uint64_t looked = at + dice() % width;
      watch.add({at, at + width, static_cast<uint64_t>(cycles(static_cast<double>(looked)))});
      if (width > kMs) at += width;
    }
    watch.finish();
  }
  Verdict of(Id id) const { return judge(tallies).at(static_cast<size_t>(id)).verdict; }
};

TEST(SelftestClock, a_steady_clock_contradicts_nothing) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const Watched w(
        3 * kSecond, [](double ns) { return ns * 1.000023; }, seed);
    EXPECT_EQ(w.of(Id::wander), Verdict::confirmed) << seed;
    EXPECT_EQ(w.of(Id::clock_limit), Verdict::confirmed) << seed;
    EXPECT_EQ(w.of(Id::one_change), Verdict::confirmed) << seed;
    EXPECT_EQ(w.figures.steps, 0u) << seed;
  }
}

// A step that falls into a gap between reads is not counted: two may have gone by there.
TEST(SelftestClock, a_step_now_and_then_is_what_is_assumed) {
  uint64_t steps = 0;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const double at = 1.9e9;
    const Watched w(
        2 * kSecond, [&](double ns) { return ns < at ? ns : at + (ns - at) * 0.95; }, seed);
    EXPECT_LE(w.figures.steps, 1u) << seed;
    steps += w.figures.steps;
    EXPECT_EQ(w.of(Id::one_change), Verdict::confirmed) << seed;
    EXPECT_NE(w.of(Id::wander), Verdict::contradicted) << seed;
  }
  EXPECT_GE(steps, 15u);
}

TEST(SelftestClock, a_clock_that_drifts_by_20_ppm_a_second_contradicts_wander_alone) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const Watched w(
        3 * kSecond, [](double ns) { return ns + 10e-6 * (ns / 1e9) * ns; }, seed);
    EXPECT_EQ(w.of(Id::wander), Verdict::contradicted) << seed;
    EXPECT_NE(w.of(Id::one_change), Verdict::contradicted) << seed;
  }
}

TEST(SelftestClock, steps_every_20_ms_contradict_one_change_alone) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const auto cycles = [](double ns) {  // whole steps alternate between two frequencies
      const double step = 20e6, whole = std::floor(ns / step), rest = ns - whole * step;
      const bool fast = static_cast<uint64_t>(whole) % 2;
      return whole * step + (fast ? rest * 1.01 : rest) + std::floor(whole / 2) * step * 0.01;
    };
    const Watched w(2 * kSecond, cycles, seed);
    EXPECT_EQ(w.of(Id::one_change), Verdict::contradicted) << seed;
    EXPECT_NE(w.of(Id::wander), Verdict::contradicted) << seed;
  }
}

TEST(SelftestClock, a_clock_of_1600_MHz_contradicts_the_limit_and_not_what_the_card_says) {
  Tallies tallies;
  ClockFigures figures;
  FrequencyWatch watch(tallies, figures);
  for (uint64_t at = kSecond; at < 2 * kSecond; at += kMs / 4) {
    watch.aiclk(1000);
    watch.add({at, at + 300, static_cast<uint64_t>(static_cast<double>(at) * 1.6)});
  }
  watch.finish();
  const auto lines = judge(tallies);
  EXPECT_EQ(lines.at(static_cast<size_t>(Id::clock_limit)).verdict, Verdict::contradicted);
  EXPECT_EQ(lines.at(static_cast<size_t>(Id::aiclk)).verdict, Verdict::not_seen);
}

}  // namespace
}  // namespace ttc::collect::selftest
