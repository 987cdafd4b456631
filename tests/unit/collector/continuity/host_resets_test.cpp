// How many results reads may have passed between two polls of a core that is polled rarely.
#include "collector/continuity/host_resets.hpp"

#include <gtest/gtest.h>

#include "collector/continuity/timing.hpp"

namespace ttc::collect {
namespace {

constexpr uint64_t kMs = 1'000'000;

TEST(HostResets, before_any_poll_nothing_is_known) {
  EXPECT_EQ(HostResets().since({}, 100 * kMs), std::nullopt);
}

TEST(HostResets, none_while_cores_are_polled_in_time) {
  HostResets resets;
  for (uint64_t ms = 100; ms <= 200; ++ms) resets.polled(ms * kMs, true);
  EXPECT_EQ(resets.since({150 * kMs, 0}, 201 * kMs), 0u);
}

TEST(HostResets, cores_that_notice_one_results_read_count_it_once) {
  HostResets resets;
  resets.polled(100 * kMs, true);
  resets.noticed(99 * kMs);
  resets.noticed(99 * kMs + 900'000);
  resets.noticed(98 * kMs + 500'000);
  EXPECT_EQ(resets.since({0, 0}, 100 * kMs), 1u);
}

TEST(HostResets, the_next_results_read_counts) {
  HostResets resets;
  resets.noticed(99 * kMs);
  resets.noticed(99 * kMs + timing::kPollDeadlineNs);
  resets.polled(103 * kMs, true);
  EXPECT_EQ(resets.counted(), 2u);
  EXPECT_EQ(resets.since({50 * kMs, 0}, 103 * kMs), 2u);
  EXPECT_EQ(resets.since({100 * kMs, 1}, 103 * kMs), 1u);
}

TEST(HostResets, behind_a_poll_that_shows_none_the_number_is_not_known) {
  HostResets resets;
  resets.polled(100 * kMs, true);
  resets.polled(150 * kMs, false);
  resets.polled(151 * kMs, true);
  EXPECT_EQ(resets.since({100 * kMs, 0}, 151 * kMs), std::nullopt);
  EXPECT_EQ(resets.since({150 * kMs, 0}, 151 * kMs), 0u);
}

TEST(HostResets, since_the_last_poll_more_may_have_passed) {
  HostResets resets;
  resets.polled(100 * kMs, true);
  EXPECT_EQ(resets.since({100 * kMs, 0}, 100 * kMs + timing::kPollDeadlineNs), 0u);
  EXPECT_EQ(resets.since({100 * kMs, 0}, 101 * kMs + timing::kPollDeadlineNs), std::nullopt);
}

}  // namespace
}  // namespace ttc::collect
