// Which results reads of a host reset all cores, concluded from the order of loads.
#include "collector/selftest/reset_watch.hpp"

#include <gtest/gtest.h>

namespace ttc::collect::selftest {
namespace {

class ResetOrderTest : public testing::Test {
 protected:
  void look(uint32_t anchor, std::vector<uint32_t> others, uint64_t pause_ns = 0) {
    now_ns_ += pause_ns + 20'000;
    order_.add({now_ns_ - 20'000, now_ns_, anchor, std::move(others)});
  }
  uint64_t agree() const { return tallies_[Id::reset_all_cores].agree; }
  uint64_t against() const { return tallies_[Id::reset_all_cores].against; }

  Tallies tallies_;
  ResetOrder order_{tallies_};
  uint64_t now_ns_ = 1'000'000'000;
};

TEST_F(ResetOrderTest, cores_that_fall_before_the_anchor_runs_again_were_reset_with_it) {
  look(30, {30, 30});
  look(30, {30, 30});
  look(0, {30, 0});
  look(0, {0, 0});
  EXPECT_EQ(agree(), 0u) << "no load of the anchor behind the last fall";
  look(0, {0, 0});
  EXPECT_EQ(agree(), 1u);
  look(1, {1, 1});
  EXPECT_EQ(agree(), 1u) << "counted once";
  EXPECT_EQ(against(), 0u);
}

TEST_F(ResetOrderTest, a_core_that_fell_just_before_the_anchor_counts) {
  look(30, {30});
  look(30, {0});
  look(0, {0});
  EXPECT_EQ(agree(), 1u);
}

TEST_F(ResetOrderTest, a_core_that_keeps_its_count_while_the_anchor_runs_again_is_against_it) {
  look(30, {30, 30});
  look(30, {30, 30});
  look(0, {0, 30});
  look(0, {0, 30});
  look(1, {1, 31});
  EXPECT_EQ(against(), 1u);
  EXPECT_EQ(tallies_[Id::reset_all_cores].detail, "1 of 2 other cores kept their counts of launches");
  look(30, {30, 60});
  look(30, {30, 0});  // the next results read resets that one alone
  look(31, {31, 1});
  EXPECT_EQ(agree(), 0u);
  EXPECT_EQ(against(), 1u);
}

TEST_F(ResetOrderTest, a_count_that_can_be_back_proves_nothing) {
  look(30, {3});
  look(30, {3});
  look(0, {3});  // it may have been 0 and be 3 again
  look(1, {3});
  EXPECT_EQ(against() + agree(), 0u);
}

TEST_F(ResetOrderTest, a_core_that_falls_after_the_anchor_ran_again_proves_nothing) {
  look(30, {30});
  look(30, {30});
  look(0, {30});
  look(1, {1});
  EXPECT_EQ(against() + agree(), 0u);
}

TEST_F(ResetOrderTest, a_host_that_was_kept_waiting_ends_what_was_followed) {
  look(30, {30, 30});
  look(30, {30, 30});
  look(0, {0, 30}, 3'000'000);
  look(1, {1, 30});
  look(2, {2, 31});
  EXPECT_EQ(against() + agree(), 0u) << "the anchor's fall is not between two loads that belong together";
  look(30, {30, 60});
  look(30, {30, 60});
  look(0, {0, 60});
  look(1, {1, 61}, 3'000'000);
  EXPECT_EQ(against() + agree(), 0u);
}

TEST_F(ResetOrderTest, cores_without_launches_are_not_followed) {
  look(30, {0});
  look(30, {0});
  look(0, {0});
  look(0, {0});
  look(1, {0});
  EXPECT_EQ(against() + agree(), 0u);
}

}  // namespace
}  // namespace ttc::collect::selftest
