// The monitor's state of a card, from plain values.
#include "tools/ttmon/monitor_model.hpp"

#include <gtest/gtest.h>

namespace ttc::tools {
namespace {

using shm::Counter;

constexpr uint64_t kSecondNs = 1'000'000'000;

CardSample look_after(uint64_t second, std::initializer_list<std::pair<Counter, uint64_t>> counters = {}) {
  CardSample s;
  s.live_name = "emu-a";
  s.session = 7;
  s.at_ns = s.heartbeat_ns = second * kSecondNs;
  s.counters[static_cast<size_t>(Counter::cores)] = 64;
  for (const auto& [counter, value] : counters) s.counters[static_cast<size_t>(counter)] = value;
  return s;
}

TEST(MonitorModel, rates_are_of_the_time_between_two_looks) {
  CardView card;
  card.add(look_after(
      10, {{Counter::programs, 1000}, {Counter::card_bytes, 5000}, {Counter::link_bytes_per_s, 100'000}}));
  EXPECT_FALSE(card.programs.now());
  EXPECT_FALSE(card.footprint);
  card.add(look_after(
      12, {{Counter::programs, 1500}, {Counter::card_bytes, 25'000}, {Counter::link_bytes_per_s, 100'000}}));
  EXPECT_DOUBLE_EQ(card.programs.now().value(), 250);
  EXPECT_DOUBLE_EQ(card.footprint->bytes_per_s, 10'000);
  EXPECT_DOUBLE_EQ(card.link.now().value(), 0.1);
}

TEST(MonitorModel, a_link_of_unknown_speed_has_no_share) {
  CardView card;
  card.add(look_after(1));
  card.add(look_after(2, {{Counter::card_bytes, 1000}}));
  ASSERT_TRUE(card.footprint);
  EXPECT_FALSE(card.footprint->link_share);
  EXPECT_FALSE(card.link.now());
}

TEST(MonitorModel, a_collector_of_another_session_begins_anew) {
  CardView card;
  card.add(look_after(1, {{Counter::programs, 900}}));
  card.add(look_after(2, {{Counter::programs, 1000}}));
  CardSample other = look_after(3, {{Counter::programs, 5}});
  other.session = 8;
  card.add(other);
  EXPECT_EQ(card.programs.values.size(), 1u);
  EXPECT_FALSE(card.programs.now());
}

TEST(MonitorModel, each_state_of_health_has_its_cause) {
  CardView card;
  card.add(look_after(1));
  EXPECT_EQ(card.health.health, Health::collecting);
  card.add(look_after(2, {{Counter::missed_poll_deadlines, 3}}));
  EXPECT_EQ(card.health.health, Health::lagging);
  EXPECT_EQ(card.health.why, "3 polls came after the deadline");
  card.add(look_after(3, {{Counter::missed_poll_deadlines, 3}, {Counter::recycles, 1}}));
  EXPECT_EQ(card.health.health, Health::recycling);
  EXPECT_EQ(card.health.why, "1 core recycled");
  CardSample still = look_after(6, {{Counter::missed_poll_deadlines, 3}, {Counter::recycles, 1}});
  still.heartbeat_ns = 3 * kSecondNs;
  card.add(still);
  EXPECT_EQ(card.health.health, Health::lagging);
  EXPECT_EQ(card.health.why, "no sweep for 3.0 s: between two workloads, or without a CPU");
  CardSample ended = look_after(7);
  ended.writer = Writer::ended;
  card.add(ended);
  EXPECT_EQ(card.health.health, Health::stopped);
  EXPECT_FALSE(card.programs.now());  // no rate of a collector that writes no more
}

TEST(MonitorModel, a_collector_without_cores_waits) {
  CardView card;
  card.add(look_after(1, {{Counter::cores, 0}}));
  EXPECT_EQ(card.health.health, Health::waiting);
}

TEST(MonitorModel, losing_is_shown_for_a_while_and_the_sum_for_ever) {
  CardView card;
  card.add(look_after(1, {{Counter::loss_intervals, 4}}));
  EXPECT_EQ(card.health.health, Health::collecting);  // they are older than the first sample
  EXPECT_EQ(card.health.why, "4 intervals of loss so far");
  card.add(look_after(2, {{Counter::loss_intervals, 5}}));
  EXPECT_EQ(card.health.health, Health::losing);
  EXPECT_DOUBLE_EQ(card.losses.now().value(), 1);
  card.add(look_after(6, {{Counter::loss_intervals, 5}}));
  EXPECT_EQ(card.health.health, Health::losing);
  card.add(look_after(7, {{Counter::loss_intervals, 5}}));
  EXPECT_EQ(card.health.health, Health::collecting);
  EXPECT_EQ(card.health.why, "5 intervals of loss so far");
}

// A card whose logs stayed full had intervals that grew and grew, and was "collecting".
TEST(MonitorModel, an_interval_that_grows_is_losing_too) {
  CardView card;
  CardSample sample = look_after(1, {{Counter::loss_intervals, 4}});
  sample.lost["dropped on card"] = {4, 0, 100, 0};
  card.add(sample);
  EXPECT_EQ(card.health.health, Health::collecting);
  sample = look_after(2, {{Counter::loss_intervals, 4}});
  sample.lost["dropped on card"] = {4, 0, 130, 0};
  card.add(sample);
  EXPECT_EQ(card.health.health, Health::losing);
  sample = look_after(8, {{Counter::loss_intervals, 4}});
  sample.lost["dropped on card"] = {4, 0, 130, 0};
  card.add(sample);
  EXPECT_EQ(card.health.health, Health::collecting);
}

TEST(MonitorModel, a_dead_collector_is_stopped_whatever_else_holds) {
  CardView card;
  card.add(look_after(1));
  CardSample dead = look_after(2, {{Counter::loss_intervals, 5}, {Counter::missed_poll_deadlines, 5}});
  dead.writer = Writer::died;
  card.add(dead);
  EXPECT_EQ(card.health.health, Health::stopped);
  EXPECT_NE(card.health.why.find("ended abnormally"), std::string::npos);
}

TEST(MonitorModel, cards_that_went_are_not_shown_and_history_is_bounded) {
  MonitorModel model;
  CardSample other = look_after(1);
  other.live_name = "emu-b";
  model.add({look_after(1), other});
  EXPECT_EQ(model.cards().size(), 2u);
  for (uint64_t s = 2; s < 1000; ++s) model.add({look_after(s)});
  ASSERT_EQ(model.cards().size(), 1u);
  EXPECT_EQ(model.cards().at("emu-a").programs.values.size(), Series::kKept);
}

TEST(MonitorModel, rows_are_sorted_by_each_column) {
  const std::vector<NamedSum> rows{{"b", {100, 10, 50}}, {"a", {100, 1, 100}}, {"c", {300, 100, 7}}};
  const auto order = [&](Sorting sorting) {
    std::string names;
    for (const NamedSum& row : sorted(rows, sorting)) names += row.name;
    return names;
  };
  EXPECT_EQ(order(Sorting::time), "cab");  // equal ones by name
  EXPECT_EQ(order(Sorting::count), "cba");
  EXPECT_EQ(order(Sorting::mean), "abc");
  EXPECT_EQ(order(Sorting::longest), "abc");
  EXPECT_EQ(order(Sorting::name), "abc");
  Sorting sorting = Sorting::time;
  for (int i = 0; i < 5; ++i) sorting = next_of(sorting);
  EXPECT_EQ(sorting, Sorting::time);
}

}  // namespace
}  // namespace ttc::tools
