// The account of a lane moves forward with a proof, or over an interval: core_account.hpp.
#include "collector/continuity/core_account.hpp"

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

TEST_F(CoreAccountOf, lanes_that_the_core_has_not_lack_nothing) {
  CoreAccount ethernet(log_, {1, 0, 0, 0}, 2);
  ethernet.keep_all(std::nullopt);
  ASSERT_EQ(log_.intervals().size(), 2u);
  EXPECT_EQ(log_.intervals()[0].risc, 0u);
  EXPECT_EQ(log_.intervals()[1].risc, 1u);
}

TEST_F(CoreAccountOf, a_delivery_with_a_proof_records_nothing) {
  account_.extend(0, proof(), 100);
  account_.deliver(0, proof(), 300, 400);
  EXPECT_TRUE(log_.intervals().empty());
  EXPECT_EQ(account_.complete_until(0), 400u);
}

TEST_F(CoreAccountOf, a_delivery_without_one_is_behind_an_interval_from_what_was_complete) {
  account_.extend(0, proof(), 100);
  account_.deliver(0, std::nullopt, 300, 400);
  EXPECT_EQ(only().from_cycles, 100u);
  EXPECT_EQ(only().to_cycles, 300u);
  EXPECT_EQ(only().risc, 0);
  EXPECT_EQ(account_.complete_until(0), 400u);
}

TEST_F(CoreAccountOf, a_lane_that_was_not_kept_stays_in_an_open_interval_until_it_delivers) {
  account_.extend(1, proof(), 100);
  account_.keep(1, proof());
  EXPECT_TRUE(log_.intervals().empty());
  account_.keep(1, std::nullopt);
  EXPECT_EQ(only().to_cycles, shm::kOpenEnd);
  account_.deliver(1, proof(), 500, 600);  // the proof of words behind the gap does not take it back
  EXPECT_EQ(only().from_cycles, 100u);
  EXPECT_EQ(only().to_cycles, 500u);
}

TEST_F(CoreAccountOf, an_open_interval_outlasts_what_only_extends) {
  account_.keep(1, std::nullopt);
  account_.extend(1, proof(), 600);
  EXPECT_EQ(only().to_cycles, shm::kOpenEnd);
}

TEST_F(CoreAccountOf, all_lanes_are_kept_or_none) {
  account_.keep_all(proof());
  EXPECT_TRUE(log_.intervals().empty());
  account_.keep_all(std::nullopt);
  EXPECT_EQ(log_.intervals().size(), device::kMaxRiscs);
}

TEST_F(CoreAccountOf, an_interval_does_not_end_before_it_begins) {
  account_.extend(1, proof(), 100);
  account_.deliver(1, std::nullopt, 60, 200);
  EXPECT_EQ(only().from_cycles, 100u);
  EXPECT_EQ(only().to_cycles, 101u);
}

TEST_F(CoreAccountOf, between_two_times_without_a_proof) {
  account_.between(2, proof(), 10, 20);
  EXPECT_TRUE(log_.intervals().empty());
  account_.between(2, std::nullopt, 10, 20);
  EXPECT_EQ(only().from_cycles, 10u);
  EXPECT_EQ(only().to_cycles, 20u);
  EXPECT_EQ(account_.complete_until(2), 0u);
}

TEST_F(CoreAccountOf, an_epoch_begins_broken_where_nothing_proves_the_reset) {
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r) account_.extend(r, proof(), 100);
  std::array<std::optional<Proof>, device::kMaxRiscs> across;
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r)
    if (r != 3) across[r] = proof();
  account_.begin_epoch(across);
  EXPECT_EQ(account_.epoch(), 1u);
  EXPECT_EQ(only().risc, 3);
  EXPECT_EQ(only().epoch, 0u);
}

TEST_F(CoreAccountOf, a_log_without_room_drops_until_a_later_frame) {
  account_.room(0, prove_room({.fits_any = true}), 50, 0);
  EXPECT_TRUE(log_.intervals().empty());
  account_.room(0, std::nullopt, 50, 3);
  account_.room(0, std::nullopt, 50, 7);
  account_.end_of_drops(0, 90);
  EXPECT_EQ(only().cause, shm::LossCause::dropped_on_card);
  EXPECT_EQ(only().launches, 7u);
  EXPECT_EQ(only().to_cycles, 90u);
}

TEST_F(CoreAccountOf, a_cut_frame_lies_between_its_neighbours) {
  account_.room_between(0, prove_room({.not_cut = true}), 50, 60);
  EXPECT_TRUE(log_.intervals().empty());
  account_.room_between(0, std::nullopt, 50, 60);
  EXPECT_EQ(only().cause, shm::LossCause::dropped_on_card);
  EXPECT_EQ(only().to_cycles, 60u);
}

TEST_F(CoreAccountOf, undelivered_words_are_counted) {
  account_.undelivered(0, shm::LossCause::unparsable, 50, shm::kOpenEnd, 12);
  EXPECT_EQ(only().words, 12u);
  EXPECT_EQ(only().precision, shm::LossPrecision::exact_words);
}

TEST_F(CoreAccountOf, a_workload_that_ends_closes_what_is_open) {
  account_.extend(0, proof(), 100);
  account_.keep(0, std::nullopt);
  account_.room(0, std::nullopt, 50, 7);
  account_.end_at(900);
  ASSERT_EQ(log_.intervals().size(), 2u);
  for (const shm::LossRecord& r : log_.intervals()) EXPECT_EQ(r.to_cycles, 900u);
}

}  // namespace
}  // namespace ttc::collect
