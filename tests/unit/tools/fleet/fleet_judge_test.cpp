// What is said of a job: which rows are there, and which card held steps up, in generated worlds whose truth is known.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tools/fleet/judge/ingest.hpp"
#include "tools/fleet/judge/stragglers.hpp"

namespace {

using namespace ttc::fleet;

TEST(FleetAccount, rows_count_once_and_gaps_are_known) {
  Account account;
  EXPECT_TRUE(account.take(0, 10));
  EXPECT_FALSE(account.take(0, 10));
  EXPECT_TRUE(account.take(30, 10));
  EXPECT_EQ(account.missing(), 20u);
  EXPECT_TRUE(account.take(10, 5));
  EXPECT_FALSE(account.take(12, 3));
  EXPECT_EQ(account.missing(), 15u);
  EXPECT_EQ(account.rows(), 25u);
  EXPECT_EQ(account.again(), 13u);
  account.declare_lost(15, 15);
  EXPECT_EQ(account.declared(), 15u);
  account.declare_lost(40, 5);  // at the end, where no row came behind
  EXPECT_EQ(account.missing(), 20u);
  EXPECT_EQ(account.declared(), 20u);
}

TEST(FleetIngest, rows_that_made_way_in_a_spool_are_of_their_own_session) {
  Ingest ingest({});
  const Identity who;
  LossRow loss;
  loss.precision = 3, loss.of_kind = 1, loss.position = 5, loss.count = 7, loss.session = 4, loss.epoch = 2;
  ingest.take(rows_subject(who, "ops"), encode_batch(RowKind::ops, 4, 2, 0, std::vector<OpRow>(5)));
  ingest.take(rows_subject(who, "loss"), encode_batch(RowKind::loss, 9, 3, 0, std::vector<LossRow>{loss}));
  const auto& account = ingest.ranks()[0].accounts.at({4, 2, RowKind::ops});
  EXPECT_EQ(account.missing(), 7u);
  EXPECT_EQ(account.declared(), 7u);
  ingest.take(rows_subject(who, "loss"), encode_batch(RowKind::ops, 4, 2, 5, std::vector<OpRow>(5)));
  ingest.take("tt.x", "");
  EXPECT_EQ(ingest.refused(), 2u);
}

TEST(FleetStragglers, the_tail_of_the_binomial_is_exact) {
  EXPECT_DOUBLE_EQ(binomial_tail(10, 0, 0.3), 1);
  EXPECT_NEAR(binomial_tail(10, 10, 0.5), std::pow(0.5, 10), 1e-15);
  EXPECT_NEAR(binomial_tail(4, 2, 0.5), 11.0 / 16, 1e-12);
  EXPECT_EQ(binomial_tail(3, 4, 0.5), 0);
}

// Cards that run the same ops of a step and meet in a collective at its end, which takes the longer the earlier a card comes.
struct FleetWorld {
  std::mt19937_64 dice;
  uint32_t cards = 8;
  uint32_t slow = ~0u;  // this card's kernels take so much longer
  double slowness = 0;
  double noise = 0.05;  // of every op's time, each card for itself
  std::vector<Straggler> run(uint64_t steps) {
    Stragglers judge;
    std::normal_distribution<> scatter(1, noise);
    for (uint16_t step = 1; step <= steps; ++step) {
      std::vector<double> at(cards, 0);
      for (uint32_t op = 0; op < 12; ++op)
        for (uint32_t card = 0; card < cards; ++card) {
          const double ns = 100'000 * std::max(0.2, scatter(dice)) * (card == slow ? 1 + slowness : 1);
          at[card] += ns;
          judge.add({card, 0}, row(step, op, ns), 0, 0);
        }
      const double last = *std::max_element(at.begin(), at.end());
      for (uint32_t card = 0; card < cards; ++card)
        judge.add({card, 0}, row(step, 99, last - at[card] + 20'000), 0, 0);
    }
    judge.end();
    return judge.named();
  }
  static OpRow row(uint16_t step, uint32_t op, double ns) {
    OpRow r;
    r.replay = step, r.host_id = op, r.duration_ns = static_cast<uint32_t>(ns);
    return r;
  }
};

TEST(FleetStragglers, a_slow_rank_is_named_in_95_of_100_worlds) {
  int named = 0;
  for (uint64_t world = 0; world < 100; ++world) {
    FleetWorld of{std::mt19937_64(world), 8, static_cast<uint32_t>(world % 8), 0.08};
    const auto found = of.run(60);
    named += found.size() == 1 && found[0].card.rank == world % 8;
  }
  EXPECT_GE(named, 95);
}

TEST(FleetStragglers, no_rank_is_named_in_null_worlds_more_often_than_stated) {
  int named = 0;
  constexpr int kWorlds = 1000;
  for (uint64_t world = 0; world < kWorlds; ++world) {
    FleetWorld of{std::mt19937_64(1'000 + world), 2 + static_cast<uint32_t>(world % 15)};
    named += !of.run(40).empty();
  }
  // At the stated share, more than this comes in one of a thousand tests; the seeds are fixed.
  EXPECT_LE(named, 20) << "of " << kWorlds;
}

TEST(FleetStragglers, clocks_that_differ_by_parts_per_million_make_no_straggler) {
  Stragglers judge;
  for (uint16_t step = 1; step <= 200; ++step)
    for (uint32_t card = 0; card < 4; ++card)
      judge.add({card, 0}, FleetWorld::row(step, 1, 1e6 * (1 + card * 2e-5)), 0, 0);
  judge.end();
  EXPECT_EQ(judge.steps(), 200u);
  EXPECT_TRUE(judge.named().empty());
}

TEST(FleetStragglers, memory_is_bounded_where_a_rank_never_comes) {
  Stragglers judge(1000);
  judge.add({1, 0}, FleetWorld::row(1, 0, 5), 0, 0);
  for (uint32_t i = 0; i < 100'000; ++i) judge.add({0, 0}, FleetWorld::row(0, i, 5), 0, 0);
  EXPECT_GE(judge.unmatched() + judge.ops(), 99'000u);
}

}  // namespace
