// The shipped drain against every history of whole steps within a bound: launches of two lanes, host resets, polls in time, and
// times without a poll, in every order (tests/sim/macro_card.hpp). Each history is checked by what a reader of the ring gets:
//
//   silent     a marker is neither delivered nor inside a recorded interval       never
//   wrong      a marker is delivered twice, or was never stored                   never
//   false      every poll was in time, and an interval holds no missing marker    never
//
// Reductions: equal pauses in a row are one; a single poll beside polls in time is left out; the drain's polls are atomic, but a
// push may land between two of them, and a reset be half written (interleaving_test.cpp puts stores between the loads of a poll).
// Within kPollDeadlineNs of a host reset no launch begins, as timing.hpp assumes; the cases named `soon` do without that, and
// false alarms are not checked there. Excused is what a reset took within kPollDeadlineNs of its becoming visible.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <random>

#include "tests/sim/with_failure.hpp"
#include "tests/support/sanitized.hpp"

namespace ttc::sim {
namespace {

bool in_a_long_run() {
  const char* set = std::getenv("TTC_LONG");
  return set && *set == '1';
}

// Calls `each` with every history of up to `length` letters within the bounds: 4 launches, 3 host resets. `soon`: with launches
// right after a reset, and not only behind a pause.
void all_histories(const std::string& letters, size_t length, bool soon,
                   const std::function<void(const std::string&)>& each) {
  std::string history;
  const std::function<void(int, int, bool)> extend = [&](int launches, int resets, bool may_launch) {
    if (launches > 0) each(history);
    if (history.size() == length) return;
    const char before = history.empty() ? 'P' : history.back();
    for (const char step : letters) {
      const bool reset = is_reset(step), pause = is_pause(step), launch = is_launch(step);
      if (launch && (launches == 4 || !may_launch)) continue;
      if (reset && (resets == 3 || before == 'R' || before == 't')) continue;
      // What changes nothing: two pauses of a kind, a poll beside others that are in time.
      if (step == before && (pause || step == 'p')) continue;
      if ((step == 'p' && before == 'P') || (step == 'P' && before == 'p')) continue;
      history.push_back(step);
      extend(launches + launch, resets + reset, soon || pause || (!reset && (launch || may_launch)));
      history.pop_back();
    }
  };
  extend(0, 0, true);
}

class Exhaustion : public testing::TestWithParam<HistoryCase> {
 protected:
  static RingReading::Shared& shared() {
    static RingReading::Shared s;
    return s;
  }
  static bool allowed(const std::string& history) {
    if (!shows_each_reset(history)) return false;
    bool may_launch = true;
    for (const char step : history) {
      if (is_launch(step) && !may_launch && !GetParam().soon) return false;
      may_launch = is_pause(step) || (!is_reset(step) && may_launch);
    }
    return true;
  }
  // A results read that no Tensix core shows may stay undetected on an Ethernet core (timing.hpp).
  static bool shows_each_reset(const std::string& history) {
    bool recorded = false, shown = false, may_show = false;
    for (const char step : history) {
      if (is_reset(step) && recorded && !shown) return false;
      if (is_reset(step)) recorded = shown = may_show = false;
      recorded = recorded || step == 'e';
      may_show = may_show || step == 'L';
      shown = shown || (may_show && is_pause(step));
    }
    return true;
  }
  // Shrinks a failing history until no step can be removed.
  static std::string shortest(std::string history) {
    for (size_t i = 0; i < history.size();) {
      std::string less = history;
      less.erase(i, 1);
      const bool bad = allowed(less) && Exhausting(shared(), GetParam(), less).run().bad();
      history = bad ? less : history;
      i = bad ? 0 : i + 1;
    }
    return history;
  }
};

TEST_P(Exhaustion, every_history_of_whole_steps) {
  const char* length_given = std::getenv("TTC_LENGTH");
  const size_t length = length_given      ? std::strtoul(length_given, nullptr, 10)
                        : kSanitized      ? GetParam().length - 2
                        : in_a_long_run() ? GetParam().length + 2
                                          : GetParam().length;
  uint64_t histories = 0, late = 0, silent = 0, excused = 0, on_time_false = 0, late_false = 0, intervals = 0,
           complete = 0;
  int shown = 0;
  all_histories(GetParam().letters, length, GetParam().soon, [&](const std::string& history) {
    if (!shows_each_reset(history)) return;
    const Judgement j = Exhausting(shared(), GetParam(), history).run();
    ++histories;
    late += j.late;
    silent += j.silent != 0;
    excused += j.excused != 0;
    complete += j.missing == 0;
    intervals += j.intervals != 0;
    (j.late ? late_false : on_time_false) += j.false_alarms != 0;
    if ((!j.wrong.empty() || j.silent || (!j.late && j.false_alarms)) && ++shown <= 30)
      std::cout << "  " << history << ": " << (j.wrong.empty() ? j.what : j.wrong) << "\n";
    if (!j.wrong.empty()) ADD_FAILURE() << history << ": " << j.wrong;
  });
  std::cout << histories << " histories of up to " << length << " steps, " << late
            << " with a late poll: " << complete << " complete, " << silent << " with a silent loss, "
            << excused << " excused, " << on_time_false << " with a false alarm though polled in time, "
            << late_false << " with one and polled late, " << intervals << " with intervals\n";
  EXPECT_EQ(silent, 0u);
  EXPECT_EQ(on_time_false, 0u);
}

using device::Mode;
INSTANTIATE_TEST_SUITE_P(normal, Exhaustion, testing::Values(HistoryCase{4, Mode::normal, 1, "LRpPS", 8}));
INSTANTIATE_TEST_SUITE_P(kinds, Exhaustion, testing::Values(HistoryCase{4, Mode::normal, 1, "LsdRtpPS", 6}));
// Before G3, a RISC that sits a launch out pushes a frame all the same, with the times of its last one, or none.
INSTANTIATE_TEST_SUITE_P(sat_out, Exhaustion, testing::Values(HistoryCase{1, Mode::normal, 1, "LsRpPS", 6}));
INSTANTIATE_TEST_SUITE_P(quick, Exhaustion, testing::Values(HistoryCase{4, Mode::normal, 1, "LqRpPS", 6}));
INSTANTIATE_TEST_SUITE_P(accumulate, Exhaustion,
                         testing::Values(HistoryCase{4, Mode::accumulate, 60, "LsRpPS", 6}));
INSTANTIATE_TEST_SUITE_P(accumulate_long, Exhaustion,
                         testing::Values(HistoryCase{4, Mode::accumulate, 12, "LsRpPS", 6}));
INSTANTIATE_TEST_SUITE_P(found_out, Exhaustion,
                         testing::Values(HistoryCase{4, Mode::accumulate, 12, "LR2pPS", 6, false, true}));
INSTANTIATE_TEST_SUITE_P(found_out_normal, Exhaustion,
                         testing::Values(HistoryCase{4, Mode::normal, 1, "LsRpPS", 5, false, true}));
INSTANTIATE_TEST_SUITE_P(ethernet, Exhaustion,
                         testing::Values(HistoryCase{4, Mode::normal, 1, "LeRPSE", 6, false, false, true}));
INSTANTIATE_TEST_SUITE_P(soon, Exhaustion,
                         testing::Values(HistoryCase{4, Mode::accumulate, 60, "LmnRpPS", 5, true}));
INSTANTIATE_TEST_SUITE_P(soon_long, Exhaustion,
                         testing::Values(HistoryCase{4, Mode::accumulate, 12, "LmnsRpPS", 5, true}));

// Longer histories, taken at random.
TEST_P(Exhaustion, long_histories_at_random) {
  const char* given = std::getenv("TTC_SEED");
  if (GetParam().soon && !given) GTEST_SKIP() << "outside the assumptions: only short histories are judged";
  const uint64_t seed = given ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  const char* many = std::getenv("TTC_HISTORIES");
  std::cout << "seed " << seed << "\n";
  std::mt19937_64 random(seed);
  const std::string& letters = GetParam().letters;
  int shown = 0;
  const uint64_t usual = kSanitized ? 50 : in_a_long_run() ? 20'000 : 500;
  for (uint64_t left = many ? std::strtoull(many, nullptr, 10) : usual; left > 0; --left) {
    std::string history;
    for (size_t length = 8 + random() % 40; history.size() < length;)
      if (const std::string longer = history + letters[random() % letters.size()]; allowed(longer))
        history = longer;
    const Judgement j = Exhausting(shared(), GetParam(), history).run();
    if (!j.bad()) continue;
    const std::string least = shortest(history);
    ADD_FAILURE() << least << ": " << Exhausting(shared(), GetParam(), least).run().text();
    if (++shown == 5) return;
  }
}

// Any of them, during which the card does not answer one read, or goes.
TEST_P(Exhaustion, long_histories_with_a_read_that_fails) {
  const char* given = std::getenv("TTC_SEED");
  const uint64_t seed = given ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  const char* many = std::getenv("TTC_HISTORIES");
  std::cout << "seed " << seed << "\n";
  if (GetParam().soon) GTEST_SKIP() << "outside the assumptions: only short histories are judged";
  std::mt19937_64 random(seed);
  uint64_t usual = kSanitized ? 20 : in_a_long_run() ? 10'000 : 200, runs = 0;
  for (uint64_t left = many ? std::strtoull(many, nullptr, 10) : usual; left > 0; --left) {
    std::string history;
    for (size_t length = 4 + random() % 12; history.size() < length;)
      if (const std::string longer = history + GetParam().letters[random() % GetParam().letters.size()];
          allowed(longer))
        history = longer;
    WithFailure whole(shared(), GetParam(), history, {});
    whole.run();
    for (int i = 0; i < 5; ++i, ++runs) {
      const bool gone = random() % 4 == 0;
      const FailingPort::Failure failure{1 + random() % whole.reads,
                                         gone ? card::Access::gone : card::Access::suspect, gone};
      const Judgement j = WithFailure(shared(), GetParam(), history, failure).run();
      ASSERT_EQ(j.wrong, "") << history << ", read " << failure.read << (gone ? ", gone" : "");
      ASSERT_EQ(j.silent, 0u) << history << ", read " << failure.read << (gone ? ", gone: " : ": ") << j.what;
    }
  }
  std::cout << runs << " runs\n";
}

// A launch of the new epoch between any two lines of the polls that find the reset: what it pushes must not pass for what stood
// there before. Right after the reset a launch is outside of the assumptions; but where the core was polled before, and the logs hold
// all there is, nothing is excused there either.
TEST_P(Exhaustion, launches_inside_of_the_poll_that_finds_a_reset) {
  const bool accumulates = GetParam().mode == device::Mode::accumulate;
  const uint64_t lines = accumulates ? 60 : 160;
  uint64_t histories = 0, complete = 0;
  const auto judge = [&](const std::string& history, uint64_t line) {
    Judgement j = Exhausting(shared(), GetParam(), history, line).run();
    ++histories;
    complete += j.missing == 0;
    EXPECT_EQ(j.wrong, "") << history << ", line " << line;
    EXPECT_EQ(j.silent, 0u) << history << ", line " << line << ": " << j.what;
    return j;
  };
  for (const char* const before : {"", "L", "s", "LP", "sP", "sPs", "LPs", "LPsP"})
    for (const char* const unseen : {"L", "s", "LS", "sS", "LL", "LLS", "sLS", "LsS"})
      for (uint64_t line = 1; line <= lines && !HasFailure(); line += kSanitized ? 7 : 1) {
        const std::string ended = std::string(before) + unseen + "R";
        judge(ended + "Si", line);
        if (accumulates || std::string(before).find('P') == std::string::npos) continue;
        EXPECT_EQ(judge(ended + "i", line).excused, 0u) << ended << "i, line " << line;
      }
  std::cout << histories << " histories, " << complete << " complete\n";
}

// The second of two frames that one visit recovers holds the buffer that L1 was known to hold.
TEST_P(Exhaustion, buffer_behind_two_recovered_frames) {
  const Judgement j = Exhausting(shared(), GetParam(), "spLspssR").run();
  EXPECT_EQ(j.wrong + j.what, "");
}

// The host reset the core within a launch, and two launches later every index and count was where it had been: no poll noticed it.
// The zones of the push in front of it were in BRISC's slots alone.
TEST(PushZones, of_an_epoch_whose_end_no_poll_saw_are_in_an_interval) {
  RingReading::Shared shared;
  const HistoryCase accumulating{4, Mode::accumulate, 60, "", 0, true};
  const Judgement j = Exhausting(shared, accumulating, "mLpSpmL").run();
  EXPECT_EQ(j.wrong + j.what, "");
  EXPECT_GT(j.missing, 0u);
}

struct NeverSeenRing {
  RingReading::Shared ring;
};
class NeverSeen : NeverSeenRing, public RingReading, public testing::TestWithParam<unsigned> {
 protected:
  NeverSeen() : RingReading(ring), card_({.generation = GetParam(), .zones = 1}) {
    options_.bytes_per_risc = 4 * MacroCard::kLogWords;
  }
  void poll(collect::Drain& drain, int times) {
    for (int i = 0; i < times; ++i) {
      card_.pass(200'000);
      drain.sweep(card_.now(), true);
    }
  }
  void clear_slots() {
    for (uint32_t r = 0; r < MacroCard::kRiscs; ++r)
      for (uint32_t w = device::kFwStartWord; w < device::kFirstCustomWord; ++w)
        card_.store(card_.buffer_address() + r * device::kBufferBytes + 4 * w, device::kUnsetWord);
  }
  MacroCard card_;
  collect::Attachment attachment_ = attachment_of(card_);
  collect::DrainOptions options_;
};

// An epoch of a core that never delivered anything passes between two polls. At the second one a launch is being opened: its firmware
// has cleared what the epoch left in L1, and has not stored its own start. The epoch was missing without an interval.
TEST_P(NeverSeen, epoch_is_in_an_interval_though_a_launch_that_is_being_opened_has_cleared_its_slots) {
  collect::Publisher publisher(shared_.segment, 0, card_.format().generation);
  const auto logs = collect::window_log_reader(card_);
  collect::Drain drain(card_, attachment_, *logs, publisher, shared_.segment, options_);
  card_.reset();  // from now on the host may do so again
  poll(drain, 4);
  card_.pass(kDeadlineNs);
  card_.launch(MacroCard::Launch::plain);
  card_.reset();
  clear_slots();
  poll(drain, 1);
  card_.launch(MacroCard::Launch::plain);
  poll(drain, 40);
  drain.close_account(false);
  EXPECT_GT(drain.frames(), 0u);
  read_ring(publisher);
  losses_ = drain.losses().intervals();
  std::vector<SimMarker> stored;
  for (const MacroMarker& m : card_.markers()) stored.push_back(m.marker);
  std::sort(stored.begin(), stored.end());
  EXPECT_EQ(unaccounted_for(stored), "");
}
INSTANTIATE_TEST_SUITE_P(Generations, NeverSeen, testing::Values(1u, 2u, 3u, 4u));

// One history, printed: TTC_HISTORY="LPRPL", TTC_LINE=7 where it has an `i`.
TEST_P(Exhaustion, of_the_environment) {
  const char* given = std::getenv("TTC_HISTORY");
  if (!given) GTEST_SKIP() << "TTC_HISTORY is not set";
  const char* line = std::getenv("TTC_LINE");
  Exhausting e(shared(), GetParam(), given, line ? std::strtoull(line, nullptr, 10) : 1);
  e.trace = true;
  const Judgement j = e.run();
  EXPECT_EQ(j.wrong + j.what, "");
}

}  // namespace
}  // namespace ttc::sim
