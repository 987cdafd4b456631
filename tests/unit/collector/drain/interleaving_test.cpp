// The collector's drain against every small interleaving with the card that can make a difference
// (tests/sim/history.hpp, scheduled_card.hpp, collecting.hpp).
//
// Exhaustive up to a bound, in the manner of preemption-bounded model checking: in each schedule the card
// moves on at a fixed pace between polls, and in up to one (TTC_LONG: two) places in the middle of a poll.
// The reset begins at every access of the firmware, the posted writes land in several orders and as late as
// they may.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <random>

#include "tests/sim/collecting.hpp"
#include "tests/support/sanitized.hpp"

namespace ttc::sim {
namespace {

bool long_run() {
  const char* set = std::getenv("TTC_LONG");
  return set && *set == '1';
}
// Every n-th of a systematic set, in no pattern that could fall in step with it.
class OneIn {
 public:
  explicit OneIn(uint32_t n) : n_(n) {}
  bool turn() { return (++count_ * 2654435761u >> 8) % n_ == 0; }

 private:
  uint32_t n_;
  uint32_t count_ = 0;
};

// A history and a schedule as numbers, for TTC_SCHEDULE.
std::string text(const HistoryOptions& o) {
  std::ostringstream out;
  out << o.generation << " " << int(o.work) << " " << o.stale_log << " " << o.pause_us << " " << o.reset_at
      << " " << o.reset_spacing << " " << o.final_reset << " " << o.lag << " " << o.spread << " "
      << o.backwards;
  return out.str();
}
HistoryOptions parse(std::istream& in) {
  HistoryOptions o;
  int work = 0;
  in >> o.generation >> work >> o.stale_log >> o.pause_us >> o.reset_at >> o.reset_spacing >> o.final_reset >>
      o.lag >> o.spread >> o.backwards;
  o.work = Work(work);
  return o;
}

// The number of events between polls, and more at some loads.
struct Extra {
  uint64_t load = 0;
  uint32_t events = 0;
};
struct Paced : Schedule {
  explicit Paced(uint32_t events_between, std::array<Extra, 2> more = {})
      : pace(events_between), extra(more) {}
  uint32_t before_load() override {
    const uint64_t load = loads++;
    for (const Extra& e : extra)
      if (e.load == load) return e.events;
    return 0;
  }
  Pause between_looks() override { return {pace, 0}; }
  std::string text() const {
    std::ostringstream out;
    out << pace;
    for (const Extra& e : extra) out << " " << e.load << " " << e.events;
    return out.str();
  }
  uint32_t pace;
  std::array<Extra, 2> extra;
  uint64_t loads = 0;
};

// A stalling adversary: mostly nothing, sometimes much, in a poll, between polls, and with the clock running
// on.
struct Random : Schedule {
  explicit Random(uint64_t seed) : random(seed) {
    options.generation = kAll[below(5)];
    options.work = Work(below(int(Work::kinds)));
    options.stale_log = below(2);
    options.pause_us = below(3) == 0 ? 0 : below(2) == 0 ? 300 : 5000;
    options.final_reset = below(2);
    options.lag = below(40);
    options.spread = below(6);
    options.backwards = below(2);
    const auto accesses = record(options).firmware_accesses;
    options.reset_at = static_cast<int>(below(accesses + 1)) - 1;
    options.reset_spacing = below(4);
    attach_after = below(4) == 0 ? below(60) : 0;
    quick = below(3) == 0 ? 4 : 60;
  }
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random() % n); }
  uint32_t before_load() override { return below(quick) == 0 ? 1 + below(below(4) == 0 ? 60 : 4) : 0; }
  Pause between_looks() override {
    const uint32_t events = below(3) == 0 ? 0 : below(below(5) == 0 ? 60 : 8);
    const uint64_t ns = below(20) == 0 ? 3'000'000 : below(100) == 0 ? 120'000'000 : 0;
    return {events, ns};
  }
  static constexpr unsigned kAll[] = {16, 1, 2, 3, 4};
  std::mt19937_64 random;
  HistoryOptions options;
  uint32_t attach_after;
  uint32_t quick;
};

constexpr uint64_t kSilentShown = 3;

class Interleaving : public testing::Test {
 protected:
  // False: enough failed.
  bool check(const HistoryOptions& options, const History& history, Paced schedule,
             uint64_t* loads = nullptr) {
    const bool go_on =
        check(history, schedule, 0, "TTC_SCHEDULE='" + text(options) + "  " + schedule.text() + "'");
    if (loads) *loads = schedule.loads;
    return go_on;
  }
  bool check(const History& history, Schedule& schedule, uint32_t attach_after, const std::string& rerun) {
    Collecting c(shared(), history, schedule, attach_after);
    const std::string wrong = c.run();
    total.add(c.coverage());
    if (!c.silent_loss().empty() && total.silent <= kSilentShown)
      std::cout << c.silent_loss() << "\n  " << rerun << " prints what happened\n";
    if (wrong.empty()) return true;
    ADD_FAILURE() << wrong << "\n  " << rerun << " prints what happened";
    return ++failures < 20;
  }
  // One seed if the environment names it in `variable`.
  void at_random(const char* variable, const std::function<void(Random&)>& change) {
    const char* given = std::getenv(variable);
    uint64_t seed = given ? std::strtoull(given, nullptr, 10) : std::random_device{}();
    uint64_t left = given ? 1 : kSanitized ? 2'000 : long_run() ? 1'000'000 : 4'000;
    std::cout << "seeds from " << seed << "\n";
    for (; left > 0; ++seed) {
      Random schedule(seed);
      change(schedule);
      const History h = record(schedule.options);
      if (h.undefined) continue;
      --left;
      if (!check(h, schedule, schedule.attach_after, variable + ("=" + std::to_string(seed)))) return;
    }
    if (!given) expect_covered();
  }
  // A test in which its situation never occurred proves nothing.
  void expect_covered() const {
    std::cout << total.text() << "\n";
    EXPECT_GT(total.complete, total.runs / 20);
    EXPECT_GT(total.torn_reads, 0u);
    EXPECT_GT(total.retries, 0u);
    EXPECT_GT(total.held_back, 0u);
    EXPECT_GT(total.epochs, 0u);
    EXPECT_GT(total.recovered, 0u);
    EXPECT_GT(total.rewound, 0u);
    EXPECT_LT(total.excused, total.runs / 5);
    EXPECT_EQ(total.silent, 0u);
    EXPECT_LE(total.false_alarms, total.runs / 100);
  }
  static RingReading::Shared& shared() {
    static RingReading::Shared s;
    return s;
  }
  Coverage total;
  int failures = 0;
};

constexpr unsigned kGenerations[] = {4, 3};
constexpr uint32_t kPaces[] = {1, 2, 3, 5, 9, 1000};
constexpr uint32_t kSteps[] = {1, 2, 3, 5, 8, 1000};

// Calls `each` with every history of the small case.
void all_histories(const std::function<bool(const HistoryOptions&, const History&)>& each) {
  struct Landing {
    uint32_t lag, spread;
    bool backwards;
  };
  for (const unsigned generation : kGenerations)
    for (int work = 0; work < int(Work::kinds); ++work)
      for (const bool stale : {false, true})
        for (const uint32_t pause : {0u, 5000u})
          for (const bool last : {false, true})
            for (const Landing l : {Landing{0, 0, false}, {0, 3, true}, {6, 1, false}, {1000, 0, false}})
              for (const uint32_t spacing : {0u, 2u}) {
                HistoryOptions o{generation, Work(work), stale, pause,    -1,
                                 spacing,    last,       l.lag, l.spread, l.backwards};
                const int accesses = static_cast<int>(record(o).firmware_accesses);
                for (o.reset_at = -1; o.reset_at < accesses; ++o.reset_at)
                  if (const History h = record(o); !h.undefined && !each(o, h)) return;
              }
}

// Nothing happens in the middle of a poll. A tenth of them in an ordinary run.
TEST_F(Interleaving, between_looks) {
  OneIn some(kSanitized ? 200 : long_run() ? 1 : 10);
  all_histories([&](const HistoryOptions& o, const History& h) {
    for (const uint32_t pace : kPaces)
      if (some.turn() && !check(o, h, Paced(pace))) return false;
    return true;
  });
  expect_covered();
}

// Something happens before one load in the middle of a poll: any load, of any schedule above. A fixed part of
// them in an ordinary run, an eighth in the long one.
TEST_F(Interleaving, within_one_look) {
  OneIn schedules(kSanitized ? 200 : long_run() ? 1 : 30), loads_of(long_run() ? 8 : 60);
  all_histories([&](const HistoryOptions& o, const History& h) {
    for (const uint32_t pace : kPaces) {
      if (!schedules.turn()) continue;
      uint64_t loads = 0;
      if (!check(o, h, Paced(pace), &loads)) return false;
      for (uint64_t load = 0; load < loads; ++load)
        for (const uint32_t events : kSteps)
          if (loads_of.turn() && !check(o, h, Paced(pace, {{{load, events}, {}}}))) return false;
    }
    return true;
  });
  expect_covered();
}

// Before two loads, for two launches with payload and with quick push.
TEST_F(Interleaving, within_two_looks) {
  OneIn some(kSanitized ? 40'000 : long_run() ? 60 : 4'000);
  for (const Work work : {Work::payload, Work::quick_push}) {
    HistoryOptions o{4, work, true, 0, -1, 0, true, 6, 1, false};
    const int accesses = static_cast<int>(record(o).firmware_accesses);
    for (o.reset_at = -1; o.reset_at < accesses; o.reset_at += 2) {
      const History h = record(o);
      if (h.undefined) continue;
      for (const uint32_t pace : {2u, 9u}) {
        uint64_t loads = 0;
        if (!check(o, h, Paced(pace), &loads)) return;
        for (uint64_t a = 0; a < loads; ++a)
          for (uint64_t b = a + 1; b < loads; ++b)
            for (const uint32_t first : kSteps)
              for (const uint32_t second : kSteps)
                if (some.turn() && !check(o, h, Paced(pace, {{{a, first}, {b, second}}}))) return;
      }
    }
  }
  expect_covered();
}

TEST_F(Interleaving, at_random) {
  at_random("TTC_RANDOM", [](Random&) {});
}

// The observer's share of the link is so small that a visit takes a part of what is announced, or one lane of it, or polls alone.
TEST_F(Interleaving, at_random_with_a_share_of_the_link) {
  at_random("TTC_RANDOM_SHARE", [](Random& schedule) { schedule.lines_per_s = 1000 << schedule.below(6); });
}

// One schedule, printed: for what the tests above report.
TEST_F(Interleaving, of_the_environment) {
  const char* given = std::getenv("TTC_SCHEDULE");
  if (!given) GTEST_SKIP() << "TTC_SCHEDULE is not set";
  std::istringstream in(given);
  const HistoryOptions o = parse(in);
  Paced schedule(0);
  in >> schedule.pace;
  for (Extra& e : schedule.extra) in >> e.load >> e.events;
  ASSERT_TRUE(in) << "TTC_SCHEDULE holds ten numbers of a history and five of a schedule";
  check(o, record(o), schedule);
}

}  // namespace
}  // namespace ttc::sim
