// The protocol code of a recycle, as it runs, against firmware that runs between any two of its accesses
// (tests/sim/recycled_core.hpp, recycling.hpp): through every offset of a launch, and at random with a
// stalling adversary and late landing. Every outcome of the table in collector/recycle/RECYCLE.md occurs and is
// counted; without the resolver or the grace time the same worlds are distinguished as wrong.
#include "tests/sim/recycling.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <random>

#include "tests/support/sanitized.hpp"

namespace ttc::sim {
namespace {

using collect::Verdict;

bool many_worlds() {
  const char* set = std::getenv("TTC_LONG");
  return set && *set == '1';
}
constexpr uint64_t kSlower = kSanitized ? 20 : 1;

RingReading::Shared& shared() {
  static RingReading::Shared s;
  return s;
}

// The core moves on by exactly `offset` accesses between the poll and the first store, as the first recycle
// of the run does it; later ones are not disturbed.
struct AtOffset : World {
  AtOffset(uint64_t accesses, bool together, uint64_t spacing, uint32_t accesses_between_looks = 37)
      : offset(accesses), at_once(together), gap(spacing), pace(accesses_between_looks) {}
  Step before_store() override { return {std::exchange(offset, 0), 0}; }
  Step between_stores() override { return {gap, 0}; }
  bool sixteen_at_once() override { return at_once; }
  bool whole_launches() override { return true; }
  Step between_looks(bool recycling) override { return {recycling ? pace : 0u, 0}; }
  uint64_t offset;
  bool at_once;
  uint64_t gap;
  uint32_t pace;
};

// Mostly nothing, sometimes much: at loads, around stores, between polls, with or without time passing.
struct Adversary : World {
  explicit Adversary(uint64_t seed) : dice(seed) {
    options.core.seed = dice();
    options.core.generation = below(2) ? 4 : 3;
    options.core.launches = 50 + below(40);
    options.core.zones = 1 + below(10);
    options.core.sit_out_percent = below(2) ? 0 : 25;
    options.core.skip_percent = below(3) ? 0 : 15;
    options.core.payload = below(2);
    options.core.landing_ns = below(2) ? 0 : 1 + below(40'000);
    options.core.late_ns = below(2) ? 0 : 1 + below(900'000);
    options.core.stale_log = below(4) != 0;
    options.blackhole = options.core.caches = below(3) == 0;
    options.hold_at_percent = 55;
    options.within_bound = below(20) != 0;
    stall = below(4) == 0 ? 3000 : below(2) ? 600 : 60;
    quick = 3 + below(30);
  }
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(dice() % n); }
  uint64_t some() { return below(4) ? 1 + below(6) : 1 + below(stall); }
  Step before_load() override { return below(quick) ? Step{} : Step{some(), 0}; }
  Step before_store() override { return {below(3) ? 0 : some(), below(20) ? 0u : 60'000u}; }
  Step between_stores() override { return {below(2) ? 0 : some(), 0}; }
  bool sixteen_at_once() override { return below(2); }
  Step between_looks(bool recycling) override {
    return {recycling ? (below(3) ? 0 : some()) : 200 + below(800), below(30) ? 0u : 300'000u};
  }
  std::string text() const {
    const RecycledOptions& c = options.core;
    std::ostringstream out;
    out << "G" << c.generation << ", " << c.launches << " launches, " << c.zones << " zones, sit out "
        << c.sit_out_percent << " %, skip " << c.skip_percent << " %, payload " << c.payload << ", landing "
        << c.landing_ns << " ns, late " << c.late_ns << " ns, stale log " << c.stale_log << ", caches "
        << c.caches << ", within the bound " << options.within_bound << ", stall " << stall << ", quick "
        << quick;
    return out.str();
  }
  Dice dice;
  Recycled::Options options;
  uint32_t stall, quick;
};

class Recycling : public testing::Test {
 protected:
  // False: enough failed.
  bool check(const Recycled::Options& options, World& world, const std::string& rerun) {
    Recycled run(shared(), options, world);
    run.trace = std::getenv("TTC_RECYCLE") != nullptr;
    const std::string wrong = run.run(totals);
    if (wrong.empty()) return true;
    ADD_FAILURE() << wrong << "\n  " << rerun;
    return ++failures < 5;
  }
  RecycleTotals totals;
  int failures = 0;
};

TEST_F(Recycling, at_every_offset_of_two_launches) {
  for (const unsigned generation : {3u, 4u}) {
    Recycled::Options o;
    o.core.generation = generation;
    o.core.launches = 32;
    AtOffset idle(0, true, 0, 0);
    if (!check(o, idle, "an idle core")) return;
    for (const bool at_once : {true, false})
      for (const uint64_t gap : {0u, 1u, 40u}) {
        const uint64_t step = many_worlds() ? 1 : (at_once && gap == 0 ? 1 : 7) * kSlower;
        for (uint64_t offset = 0; offset < 700; offset += step) {
          AtOffset world(offset, at_once, gap);
          std::ostringstream at;
          at << "G" << generation << " offset " << offset << " at once " << at_once << " gap " << gap;
          if (!check(o, world, at.str())) return;
        }
      }
  }
  std::cout << totals.text() << "\n";
  EXPECT_EQ(totals.equal, totals.runs);
  EXPECT_EQ(totals.surprises, 0u);
  EXPECT_GE(totals.recycles, totals.runs);
  EXPECT_GT(totals.of(Verdict::clean), 0u);
  EXPECT_GT(totals.of(Verdict::front), 0u);
  EXPECT_GT(totals.of(Verdict::after_front), 0u);
  if (kSlower > 1) return;  // too few offsets to hit the narrow ones
  EXPECT_GT(totals.of(Verdict::after), 0u);
  EXPECT_GT(totals.of(Verdict::torn), 0u);
  EXPECT_GT(totals.of(Verdict::lost_write), 0u);
}

TEST_F(Recycling, at_random_with_a_stalling_adversary) {
  const char* given = std::getenv("TTC_RECYCLE");
  uint64_t seed = given ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  const uint64_t runs = given ? 1 : many_worlds() ? 1'000'000 : 1'000 / kSlower;
  std::cout << "seeds from " << seed << "\n";
  for (uint64_t i = 0; i < runs; ++i, ++seed) {
    Adversary world(seed);
    if (given) std::cout << world.text() << "\n";
    if (i != 0 && i % 50'000 == 0) std::cout << i << " worlds" << std::endl;
    if (!check(world.options, world, "TTC_RECYCLE=" + std::to_string(seed) + " prints what happened")) return;
  }
  std::cout << totals.text() << "\n";
  if (given || kSlower > 1) return;
  // Frames are withdrawn in one world of some 150 only: these are such worlds.
  for (const uint64_t known : {247, 398, 553}) {
    Adversary world(known);
    if (!check(world.options, world, "TTC_RECYCLE=" + std::to_string(known) + " prints what happened"))
      return;
  }
  EXPECT_GT(totals.equal,
            totals.runs * 9 / 10);  // the others overran their log, or were held up beyond the bound
  for (const Verdict v : {Verdict::clean, Verdict::front, Verdict::after, Verdict::after_front, Verdict::torn,
                          Verdict::lost_write})
    EXPECT_GT(totals.of(v), 0u) << collect::to_string(v);
  EXPECT_LE(totals.needless,
            totals.runs / 5'000 + 3);  // losses that an observer with full knowledge would have avoided
  EXPECT_GT(totals.provisional, 0u);
  EXPECT_GT(totals.withdrawn, 0u);
  EXPECT_GT(totals.slow, 0u);
}

// The same worlds with a rule of the protocol taken away: the checks must fail.
TEST_F(Recycling, is_wrong_without_the_resolver_and_without_grace) {
  if (kSlower > 1) GTEST_SKIP() << "a question of the rules, not of memory";
  RecycleTotals unused;
  uint64_t wrong_unresolved = 0, wrong_early = 0;
  constexpr uint64_t kUnresolved = 60, kEarly = 400;
  for (uint64_t seed = 1; seed <= kUnresolved; ++seed) {
    Adversary world(seed);
    world.options.within_bound = true;
    world.options.limits.resolve = false;
    wrong_unresolved += !Recycled(shared(), world.options, world).run(unused).empty();
  }
  for (uint64_t seed = 1; seed <= kEarly; ++seed) {
    Adversary world(seed);
    world.options.within_bound = world.options.core.payload = true;
    world.options.limits.grace_ns = 0;
    world.options.core.late_ns = 900'000;
    wrong_early += !Recycled(shared(), world.options, world).run(unused).empty();
  }
  std::cout << "wrong: " << wrong_unresolved << " of " << kUnresolved << " without the resolver, "
            << wrong_early << " of " << kEarly << " without grace\n";
  EXPECT_GT(wrong_unresolved, kUnresolved / 10);
  EXPECT_GT(wrong_early, 2u);
}

// A workload that waits for no reader runs its log over: what the card dropped is known by count, exactly
// (checked in every world), and is in reported intervals.
TEST_F(Recycling, counts_the_runs_that_never_came) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Adversary world(seed);
    world.options.within_bound = false;
    world.options.hold_at_percent = 100;
    world.options.core.launches = 400;
    if (!check(world.options, world, "seed " + std::to_string(seed))) return;
  }
  std::cout << totals.text() << "\n";
  EXPECT_GT(totals.missing_launches, 0u);
  EXPECT_GT(totals.lossy, 0u);
  EXPECT_EQ(totals.silent, 0u);
}

// A collector that is held up while the log runs over: what is lost is in intervals, nothing comes twice, and the core is
// recycled again afterwards.
TEST_F(Recycling, finds_the_place_of_a_core_again_whose_log_ran_over) {
  const char* given = std::getenv("TTC_OVERRUN");
  uint64_t seed = given ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  const uint64_t runs = given ? 1 : many_worlds() ? 1'000'000 : 500 / kSlower;
  std::cout << "seeds from " << seed << "\n";
  for (uint64_t i = 0; i < runs; ++i, ++seed) {
    Adversary world(seed);
    world.options.within_bound = false;
    world.options.hold_at_percent = world.below(2) ? 100 : 55;
    world.options.core.launches = 100 + world.below(300);
    world.stall = 600 + world.below(6'000);
    if (given) std::cout << world.text() << "\n";
    if (!check(world.options, world,
               "TTC_OVERRUN=" + std::to_string(seed) + " TTC_RECYCLE=1 prints what happened"))
      return;
  }
  std::cout << totals.text() << "\n";
  if (given || kSlower > 1) return;
  EXPECT_GT(totals.surprises, totals.runs / 10);
  EXPECT_GT(totals.found_again, totals.surprises * 9 / 10);
  EXPECT_LE(totals.never_found, totals.runs / 25);
}

// A core is not recycled again and again: it rests, but not while its log fills up.
TEST_F(Recycling, rests_between_two_recycles_of_a_core) {
  constexpr uint64_t kWorlds = 10;
  const auto recycles = [&](uint64_t rest_ns, double any_moment_fill) {
    totals = {};
    for (uint64_t seed = 1; seed <= kWorlds; ++seed) {
      Adversary world(seed);
      world.options.core.sit_out_percent = 0;
      world.options.limits.rest_ns = rest_ns;
      world.options.limits.any_moment_fill = any_moment_fill;
      check(world.options, world, "seed " + std::to_string(seed));
    }
    return totals.recycles;
  };
  constexpr uint64_t kForGood = 1'000'000'000'000;
  EXPECT_GT(recycles(0, 1.1), kWorlds);
  EXPECT_LE(recycles(kForGood, 1.1), kWorlds);
  EXPECT_GT(recycles(kForGood, 0.45), kWorlds);
}

// The host rewrites the vector in the middle of a recycle, between two launches: nothing twice, nothing
// invented; what was recorded in the drain's blind spot before the reset may be missing, everything else is
// reported.
TEST_F(Recycling, with_a_reset_of_the_host) {
  uint64_t seed = std::random_device{}();
  std::cout << "seeds from " << seed << "\n";
  for (uint64_t i = 0; i < (many_worlds() ? 100'000 : 300) / kSlower; ++i, ++seed) {
    Adversary world(seed);
    world.options.core.late_ns = 0;  // recovery after a reset accepts what landed within the drain's own time
    world.options.host_reset_at_launch = static_cast<int>(20 + world.below(30));
    if (!check(world.options, world, "seed " + std::to_string(seed))) return;
  }
  std::cout << totals.text() << "\n";
  EXPECT_GT(totals.rewound, 0u);
}

// NCRISC begins to push early in the middle of the run: the core is left alone from then on, and nothing is
// ever written over the neighbour's log.
TEST_F(Recycling, leaves_quick_push_alone) {
  uint64_t seed = std::getenv("TTC_TRACE") ? std::strtoull(std::getenv("TTC_TRACE"), nullptr, 10)
                                           : std::random_device{}();
  std::cout << "seeds from " << seed << "\n";
  uint64_t reported = 0;
  for (uint64_t i = 0; i < (many_worlds() ? 50'000 : 60) / kSlower; ++i, ++seed) {
    Adversary world(seed);
    world.options.core.quick_push_from = static_cast<int>(world.below(60));
    Recycled run(shared(), world.options, world);
    world.options.within_bound = false;
    run.trace = std::getenv("TTC_TRACE") != nullptr;
    const std::string wrong = run.run(totals);
    ASSERT_TRUE(wrong.empty() || wrong.starts_with("losses are reported")) << wrong << ", seed " << seed;
    reported += run.reported().find("quick push") != std::string::npos;
  }
  std::cout << totals.text() << "; " << reported << " messages of quick push\n";
  if (kSlower > 1) return;  // of three runs none may have it
  EXPECT_GT(reported, 0u);
}

}  // namespace
}  // namespace ttc::sim
