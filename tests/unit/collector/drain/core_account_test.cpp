// The account of a lane moves forward with a proof, or over an interval: core_account.hpp.
#include "collector/drain/core_account.hpp"

#include <gtest/gtest.h>

namespace ttc::collect {
namespace {

class CoreAccountOf : public testing::Test {
 protected:
  const shm::LossRecord& only() const {
    EXPECT_EQ(log_.intervals().size(), 1u);
    return log_.intervals().back();
  }
  static Proof proof() { return *prove_recycled({.resolved = true}); }

  LossLog log_{[](const shm::LossRecord&) {}};
  CoreAccount account_{log_, {1, 2, 0, 0}};
};

TEST_F(CoreAccountOf, a_proof_moves_it_forward_and_records_nothing) {
  account_.extend(0, proof(), 100);
  account_.extend(0, proof(), 250);
  EXPECT_EQ(account_.complete_until(0), 250u);
  EXPECT_EQ(account_.complete_until(1), 0u);
  EXPECT_TRUE(log_.intervals().empty());
}

TEST_F(CoreAccountOf, older_markers_do_not_move_it_back) {
  account_.extend(0, proof(), 250);
  account_.extend(0, proof(), 100);
  EXPECT_EQ(account_.complete_until(0), 250u);
}

TEST_F(CoreAccountOf, a_gap_is_an_interval_from_what_was_complete_to_what_came) {
  account_.extend(0, proof(), 100);
  account_.extend_over_gap(0, 300, 400);
  EXPECT_EQ(only().from_cycles, 100u);
  EXPECT_EQ(only().to_cycles, 300u);
  EXPECT_EQ(only().risc, 0);
  EXPECT_EQ(account_.complete_until(0), 400u);
}

TEST_F(CoreAccountOf, a_broken_lane_stays_in_an_open_interval_until_it_delivers) {
  account_.extend(1, proof(), 100);
  account_.break_off(1);
  EXPECT_TRUE(account_.broken(1));
  EXPECT_EQ(only().to_cycles, shm::kOpenEnd);
  account_.extend_over_gap(1, 500, 600);
  EXPECT_FALSE(account_.broken(1));
  EXPECT_EQ(only().from_cycles, 100u);
  EXPECT_EQ(only().to_cycles, 500u);
}

TEST_F(CoreAccountOf, an_interval_does_not_end_before_it_begins) {
  account_.extend(1, proof(), 100);
  account_.break_off(1);
  account_.join_at(1, 60);
  EXPECT_EQ(only().from_cycles, 100u);
  EXPECT_EQ(only().to_cycles, 101u);
}

TEST_F(CoreAccountOf, an_epoch_begins_broken_where_nothing_proves_the_reset) {
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r) account_.extend(r, proof(), 100);
  std::array<std::optional<Proof>, device::kMaxRiscs> across;
  across[3] = proof();
  account_.begin_epoch(across);
  EXPECT_EQ(account_.epoch(), 1u);
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r) EXPECT_EQ(account_.broken(r), r != 3) << r;
}

TEST_F(CoreAccountOf, a_workload_that_ends_closes_what_is_open) {
  account_.extend(0, proof(), 100);
  account_.break_off(0);
  account_.dropped_on_card(0, 50, 7);
  account_.end_at(900);
  ASSERT_EQ(log_.intervals().size(), 2u);
  for (const shm::LossRecord& r : log_.intervals()) EXPECT_EQ(r.to_cycles, 900u);
}

}  // namespace
}  // namespace ttc::collect
