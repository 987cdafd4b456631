// What visits may take of the link, on times and lines alone.
#include "collector/drain/visit_budget.hpp"

#include <gtest/gtest.h>

namespace ttc::collect {
namespace {

constexpr uint64_t kBudgetMs = 1'000'000, kBudgetSecond = 1'000 * kBudgetMs;

TEST(VisitBudget, without_a_share_everything_is_allowed_at_any_time) {
  VisitBudget budget(0);
  EXPECT_FALSE(budget.limited());
  budget.pay(1'000'000'000);
  EXPECT_TRUE(budget.allows(1));
  EXPECT_EQ(budget.allows_again_ns(), 1u);
}

TEST(VisitBudget, lines_of_a_second_are_those_of_the_share_and_one_bucket) {
  constexpr double kLinesPerS = 100'000;
  for (const uint64_t lines : {1, 7, 60, 500}) {
    VisitBudget budget(kLinesPerS);
    uint64_t read = 0;
    for (uint64_t now = 5 * kBudgetSecond; now < 6 * kBudgetSecond; now += 1000)
      if (budget.allows(now)) budget.pay(lines), read += lines;
    EXPECT_GE(read, 100'000u) << lines << " lines a visit";
    EXPECT_LE(read, 100'000u + budget.most_of_a_visit() + lines) << lines << " lines a visit";
  }
}

TEST(VisitBudget, what_was_not_used_is_kept_for_one_millisecond_alone) {
  VisitBudget budget(100'000);
  ASSERT_TRUE(budget.allows(1 * kBudgetSecond));
  ASSERT_TRUE(budget.allows(9 * kBudgetSecond));
  EXPECT_EQ(budget.most_of_a_visit(), 100u);
  budget.pay(100);
  EXPECT_FALSE(budget.allows(9 * kBudgetSecond));
}

TEST(VisitBudget, an_overdrawn_bucket_allows_again_when_it_has_filled) {
  VisitBudget budget(100'000);  // a line in 10 us
  ASSERT_TRUE(budget.allows(1 * kBudgetSecond));
  budget.pay(150);
  EXPECT_FALSE(budget.allows(1 * kBudgetSecond));
  const uint64_t again = budget.allows_again_ns();
  EXPECT_NEAR(static_cast<double>(again), 1e9 + 500'000, 100);
  EXPECT_FALSE(budget.allows(again - 1000));
  EXPECT_TRUE(budget.allows(again + 1000));
}

// Polls that deadlines require, and more of them than the share carries: words have half of it.
TEST(VisitBudget, polls_for_deadlines_leave_half_of_the_share_to_words) {
  VisitBudget budget(100'000);
  uint64_t words = 0;
  for (uint64_t now = 5 * kBudgetSecond; now < 6 * kBudgetSecond; now += 10'000) {
    if (budget.allows(now)) budget.pay(10), words += 10;
    budget.pay_poll(5);
  }
  EXPECT_GE(words, 49'000u);
  EXPECT_LE(words, 51'000u);
  EXPECT_NEAR(static_cast<double>(budget.beyond_lines()), 500'000 - 50'000, 1'000);
}

TEST(VisitBudget, few_polls_for_deadlines_are_part_of_the_share) {
  VisitBudget budget(100'000);
  uint64_t words = 0, polls = 0;
  for (uint64_t now = 5 * kBudgetSecond; now < 6 * kBudgetSecond; now += 100'000) {
    while (budget.allows(now)) budget.pay(1), ++words;
    budget.pay_poll(2), polls += 2;
  }
  EXPECT_LE(words + polls, 100'000u + budget.most_of_a_visit() + 2);
  EXPECT_EQ(budget.beyond_lines(), 0u);
}

}  // namespace
}  // namespace ttc::collect
