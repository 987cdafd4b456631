// Intervals of what may be missing: identity, growth, closing, and that everything is published.
#include "collector/loss/loss_log.hpp"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace ttc::collect {
namespace {

using shm::LossCause;
using shm::LossPrecision;
using shm::LossRecord;

struct Account {
  std::vector<LossRecord> published;
  LossLog losses{[this](const LossRecord& r) { published.push_back(r); }};
};
constexpr LossLog::Where kHere{1, 2, 3, 4};

TEST(LossLog, a_record_is_published_once_with_everything_in_it) {
  Account a;
  const uint64_t id = a.losses.record(kHere, LossCause::unparsable, LossPrecision::exact_words, 10, 20, 6, 0);
  ASSERT_EQ(a.published.size(), 1u);
  const LossRecord& r = a.published[0];
  EXPECT_EQ(r.id, id);
  EXPECT_EQ(r.core_x, 1);
  EXPECT_EQ(r.core_y, 2);
  EXPECT_EQ(r.risc, 3);
  EXPECT_EQ(r.epoch, 4u);
  EXPECT_EQ(r.cause, LossCause::unparsable);
  EXPECT_EQ(r.precision, LossPrecision::exact_words);
  EXPECT_EQ(r.from_cycles, 10u);
  EXPECT_EQ(r.to_cycles, 20u);
  EXPECT_EQ(r.words, 6u);
  EXPECT_FALSE(a.losses.is_open(kHere, LossCause::unparsable));
}

TEST(LossLog, every_interval_has_an_id_of_its_own) {
  Account a;
  EXPECT_EQ(a.losses.record(kHere, LossCause::unparsable, LossPrecision::exact_words, 1, 2, 1, 0), 0u);
  EXPECT_EQ(a.losses.record(kHere, LossCause::unparsable, LossPrecision::exact_words, 1, 2, 1, 0), 1u);
  a.losses.open(kHere, LossCause::dropped_on_card, 5, 1);
  ASSERT_EQ(a.losses.intervals().size(), 3u);
  for (uint64_t i = 0; i < 3; ++i) EXPECT_EQ(a.losses.intervals()[i].id, i);
}

TEST(LossLog, an_open_interval_grows_under_the_same_id_and_closes_once) {
  Account a;
  a.losses.open(kHere, LossCause::dropped_on_card, 100, 3);
  EXPECT_TRUE(a.losses.is_open(kHere, LossCause::dropped_on_card));
  EXPECT_EQ(a.published.back().to_cycles, shm::kOpenEnd);
  EXPECT_EQ(a.published.back().precision, LossPrecision::bounded_launches);
  a.losses.open(kHere, LossCause::dropped_on_card, 200, 7);
  EXPECT_EQ(a.published.back().id, 0u);
  EXPECT_EQ(a.published.back().launches, 7u);
  EXPECT_EQ(a.published.back().from_cycles, 100u);
  EXPECT_EQ(a.losses.intervals().size(), 1u);
  const size_t before = a.published.size();
  a.losses.open(kHere, LossCause::dropped_on_card, 300, 7);  // nothing new
  EXPECT_EQ(a.published.size(), before);
  a.losses.close(kHere, LossCause::dropped_on_card, 400);
  EXPECT_EQ(a.published.back().to_cycles, 400u);
  EXPECT_EQ(a.published.back().launches, 7u);
  EXPECT_FALSE(a.losses.is_open(kHere, LossCause::dropped_on_card));
  const size_t closed = a.published.size();
  a.losses.close(kHere, LossCause::dropped_on_card, 500);
  EXPECT_EQ(a.published.size(), closed);
  EXPECT_EQ(a.losses.intervals()[0].to_cycles, 400u);
  a.losses.open(kHere, LossCause::dropped_on_card, 600, 1);
  EXPECT_EQ(a.losses.intervals().size(), 2u);
}

// It was "at most 0 launches" although markers were missing.
TEST(LossLog, drops_that_were_not_counted_have_no_bound_until_they_are) {
  Account a;
  a.losses.open(kHere, LossCause::dropped_on_card, 100, 0);
  EXPECT_EQ(a.published.back().precision, LossPrecision::unknown);
  a.losses.open(kHere, LossCause::dropped_on_card, 100, 3);
  EXPECT_EQ(a.published.back().precision, LossPrecision::bounded_launches);
  EXPECT_EQ(a.published.back().launches, 3u);
}

TEST(LossLog, a_long_loss_does_not_fill_the_ring_with_itself) {
  Account a;
  for (uint64_t launches = 1; launches <= 100000; ++launches)
    a.losses.open(kHere, LossCause::dropped_on_card, 1, launches);
  EXPECT_LE(a.published.size(), 20u);
  EXPECT_GE(a.published.back().launches, 50000u);
  a.losses.report_open();
  EXPECT_EQ(a.published.back().launches, 100000u);
  EXPECT_EQ(a.losses.intervals().size(), 1u);
}

TEST(LossLog, lanes_and_causes_are_open_apart) {
  Account a;
  const LossLog::Where others[] = {{2, 2, 3, 4}, {1, 3, 3, 4}, {1, 2, 4, 4}};
  a.losses.open(kHere, LossCause::host_reset, 1, 0);
  EXPECT_EQ(a.published.back().precision, LossPrecision::unknown);
  EXPECT_FALSE(a.losses.is_open(kHere, LossCause::dropped_on_card));
  for (const auto& where : others) {
    EXPECT_FALSE(a.losses.is_open(where, LossCause::host_reset));
    a.losses.open(where, LossCause::host_reset, 1, 0);
  }
  a.losses.close(others[0], LossCause::host_reset, 2);
  EXPECT_TRUE(a.losses.is_open(kHere, LossCause::host_reset));
  EXPECT_EQ(a.losses.count(LossCause::host_reset), 4u);
  EXPECT_EQ(a.losses.count(LossCause::dropped_on_card), 0u);
}

TEST(LossLog, extreme_coordinates_do_not_collide) {
  Account a;
  a.losses.open({255, 255, 255, 0}, LossCause::card_gone, 1, 0);
  a.losses.open({255, 255, 0, 0}, LossCause::card_gone, 1, 0);
  a.losses.open({0, 255, 255, 0}, LossCause::card_gone, 1, 0);
  EXPECT_EQ(a.losses.intervals().size(), 3u);
}

TEST(LossLog, the_last_record_of_each_id_is_the_interval) {
  Account a;
  uint64_t seed = 5;
  for (int i = 0; i < 1000; ++i) {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    const LossLog::Where where{static_cast<uint8_t>(seed % 3), 1, static_cast<uint8_t>(seed / 8 % 5), 0};
    const auto cause = static_cast<LossCause>(seed / 64 % static_cast<unsigned>(LossCause::kinds));
    if (seed / 1024 % 3)
      a.losses.open(where, cause, static_cast<uint64_t>(i), seed / 4096 % 9);
    else
      a.losses.close(where, cause, static_cast<uint64_t>(i));
  }
  a.losses.report_open();  // what grew since it was last published
  std::map<uint64_t, LossRecord> last;
  for (const LossRecord& r : a.published) last[r.id] = r;
  ASSERT_EQ(last.size(), a.losses.intervals().size());
  for (const LossRecord& r : a.losses.intervals()) {
    EXPECT_EQ(last[r.id].launches, r.launches);
    EXPECT_EQ(last[r.id].to_cycles, r.to_cycles);
  }
}

}  // namespace
}  // namespace ttc::collect
