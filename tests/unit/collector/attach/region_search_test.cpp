// The long search for the logs' size, on a card whose firmware runs and whose host resets it between polls.
#include <gtest/gtest.h>

#include "collector/attach/card_access.hpp"
#include "collector/attach/region_size.hpp"
#include "tests/sim/macro_attachment.hpp"

namespace ttc::collect {
namespace {

using sim::MacroCard;

constexpr uint32_t kCount = 703;                    // programs; the search has it in its sixth comparison
constexpr unsigned kComparisonsBefore = 5;          // 43 + 5 * 128 <= 703 < 43 + 6 * 128
constexpr uint64_t kPollNs = 300'000;               // in time, and posted writes have landed
constexpr uint64_t kLateNs = 19'000'000;            // far beyond the poll deadline
constexpr unsigned kPollsOfOneRound = 43690 / 128;  // until the counts are all compared

class Searching {
 public:
  explicit Searching(unsigned generation = 4)
      : card{{.generation = generation, .log_words = 12 * kCount}},
        attachment_(sim::attachment_of(card)),
        logs_(window_log_reader(card)) {}

  // One poll of the core, `after_ns` behind the one before.
  void poll(uint64_t after_ns) {
    card.pass(after_ns);
    const auto sample = reader_.sample(attachment_.cores[0], true);
    ASSERT_TRUE(sample.has_value());
    ASSERT_EQ(size_.learn(reader_, attachment_.cores[0],
                          {sample->host_end, landed, sample->run_counter, sample->read_time_ns,
                           device::Mode::normal, true}),
              card::Access::ok);
    ++polls;
  }
  void launch(unsigned times) {
    for (unsigned i = 0; i < times; ++i) card.launch(MacroCard::Launch::plain);
  }
  // Until the size is known, or every count has been compared. Launches follow each poll.
  void poll_until_found(uint64_t after_ns, unsigned launches = 0) {
    while (found() == 0 && polls < kPollsOfOneRound) {
      poll(after_ns);
      launch(launches);
    }
  }
  uint32_t host_end(uint32_t risc) {
    const auto sample = reader_.sample(attachment_.cores[0], true);
    return sample ? sample->host_end[risc] : 0;
  }
  uint32_t found() const { return size_.known() ? size_.bytes() : 0; }

  MacroCard card;
  unsigned polls = 0;
  RegionSize::HostEnd landed{};  // of what the next poll has read; none: only L1 is evidence

 private:
  Attachment attachment_;
  std::unique_ptr<LogReader> logs_;
  CardAccess port_{card, *logs_, attachment_.clock, nullptr};
  CoreReader reader_{port_, attachment_};
  RegionSize size_{attachment_, 0, 1};
};

TEST(RegionSearch, of_a_core_that_rests_every_count_is_compared_once) {
  Searching s;
  s.launch(1);
  s.poll_until_found(kPollNs);
  EXPECT_EQ(s.found(), 48 * kCount);
  EXPECT_LE(s.polls, 1 + kComparisonsBefore + 1 + 1);
}

TEST(RegionSearch, late_polls_of_a_core_that_rests_compare_every_count_once) {
  Searching s;
  s.launch(1);
  s.poll_until_found(kLateNs);
  EXPECT_EQ(s.found(), 48 * kCount);
  EXPECT_LE(s.polls, 1 + kComparisonsBefore + 1 + 1);
}

// The words that were looked for were overwritten, and more launches than before hid the reset: the right size counted as compared,
// and came again when all others had been.
TEST(RegionSearch, sizes_that_were_compared_behind_an_unseen_reset_are_compared_again) {
  Searching s;
  s.launch(1);
  for (unsigned i = 0; i < 1 + kComparisonsBefore; ++i) s.poll(kPollNs);
  s.card.reset();
  s.launch(5);
  s.poll(kLateNs);
  s.poll_until_found(kPollNs);
  EXPECT_EQ(s.found(), 48 * kCount);
  EXPECT_LE(s.polls, 1 + kComparisonsBefore + 1 + 3);
}

// Nothing shows that words are where they were while the core runs and polls are late. The search does not stay for good.
TEST(RegionSearch, late_polls_of_a_core_that_runs_find_it_too) {
  Searching s;
  s.launch(1);
  s.poll_until_found(kLateNs, 1);
  EXPECT_EQ(s.found(), 48 * kCount);
  EXPECT_GT(s.polls, 2 * 4 * kComparisonsBefore);
}

// L1 held the launch of others, which no log has: its words were looked for under every size, again and again, as long as the core
// rested, and the right size counted as compared.
TEST(RegionSearch, a_launch_of_other_cores_in_l1_is_no_evidence) {
  for (const unsigned generation : {2u, 3u, 4u}) {
    Searching s(generation);
    s.launch(2);
    s.card.launch(MacroCard::Launch::of_others);
    s.card.pass(kPollNs);
    s.landed.fill(0);
    for (uint32_t risc = 0; risc < MacroCard::kRiscs; ++risc) s.landed[risc] = s.host_end(risc);
    s.poll_until_found(kPollNs);
    EXPECT_EQ(s.found(), 48 * kCount) << "generation " << generation;
    EXPECT_LE(s.polls, 1 + kComparisonsBefore + 1 + 1) << "generation " << generation;
  }
}

}  // namespace
}  // namespace ttc::collect
