// Planted mistakes: an output that depends on an order, and a wake-up that can be lost. Delays as tt-metal's watcher makes them bring
// them out exactly where the margins of the run without delays predict it.
#include "tools/chip/mistakes.hpp"

#include <gtest/gtest.h>

#include "tools/chip/schedule.hpp"

namespace {

using namespace ttc::chip;

constexpr unsigned kCores = 8;

Shape row_of_cores() {
  Shape s;
  for (unsigned i = 0; i < kCores; ++i) s.cores.push_back({static_cast<uint8_t>(1 + i), 1});
  return s;
}

enum NocCommand : uint8_t { reads, writes, atomics };

struct Delay {
  Cycles cycles = 0;
  unsigned core = 0;
  NocCommand command = reads;
};

ChipOp with(Mistake race, Mistake hang) {
  ChipOp op;
  op.blocks = 3;
  op.race = race;
  op.hang = hang;
  return op;
}

Launched launch(const ChipOp& op, Delay delay = {}) {
  Shape shape = row_of_cores();
  shape.watched.delay = delay.cycles;
  shape.watched.masks.resize(kCores);
  shape.watched.masks[delay.core][delay.command] = 1u << brisc;
  ChipWorkload workload;
  workload.ops = {op};
  Schedule schedule(shape, std::move(workload), {}, 1, 1'000'000'000);
  return schedule.next();
}

int64_t margin(const Launched& l) {
  EXPECT_EQ(l.timeline.races.size(), 1u);
  return l.timeline.races.at(0).margin();
}

TEST(PlantedMistakes, a_race_is_lost_when_a_delay_passes_its_margin) {
  const ChipOp op = with({2, 5, 4000}, {});
  const Launched plain = launch(op);
  const int64_t room = margin(plain);
  ASSERT_GT(room, 3000);
  for (const int64_t more : {-1, 1}) {
    const Launched delayed = launch(op, {static_cast<Cycles>(room + more), 2, writes});
    EXPECT_EQ(delayed.timeline.races[0].lost, more > 0);
    EXPECT_EQ(delayed.checksum != plain.checksum, more > 0);
    EXPECT_EQ(margin(delayed), -more);
    EXPECT_EQ(delayed.hung, "");
  }
}

TEST(PlantedMistakes, other_cores_and_other_kinds_of_delay_upset_no_race) {
  const ChipOp op = with({2, 5, 4000}, {});
  const uint64_t right = launch(op).checksum;
  for (const Delay delay :
       {Delay{100'000, 3, writes}, {100'000, 5, writes}, {100'000, 5, reads}, {100'000, 2, atomics}})
    EXPECT_EQ(launch(op, delay).checksum, right);
  EXPECT_NE(launch(op, {100'000, 2, reads}).checksum, right) << "the parameter that is read first";
}

TEST(PlantedMistakes, a_wake_up_is_lost_when_a_delay_passes_its_margin) {
  const ChipOp op = with({}, {1, 4, 6000});
  const Launched plain = launch(op);
  const int64_t room = margin(plain);
  ASSERT_GT(room, 5000);
  EXPECT_EQ(plain.hung, "");
  EXPECT_EQ(launch(op, {static_cast<Cycles>(room - 1), 4, reads}).hung, "");
  const Launched hung = launch(op, {static_cast<Cycles>(room + 1), 4, reads});
  EXPECT_EQ(hung.hung, "BRISC of core 4 waits for semaphore 4 without end");
  EXPECT_EQ(margin(hung), -1);
  EXPECT_GT(hung.timeline.steps.size(), plain.timeline.steps.size() / 2) << "the other cores run";
  const auto path = program_path(hung, 0);
  EXPECT_EQ(path.back().end, hung.timeline.end()) << "the critical path of what ran";
}

TEST(PlantedMistakes, an_op_without_one_has_one_checksum) {
  const uint64_t right = launch(with({}, {})).checksum;
  EXPECT_EQ(launch(with({}, {}), {50'000, 1, reads}).checksum, right);
  ChipOp other = with({}, {});
  other.code = "Other";
  EXPECT_NE(launch(other).checksum, right);
}

TEST(PlantedMistakes, cores_that_do_not_run_are_refused) {
  try {
    launch(with({}, {1, kCores, 10}));
    FAIL() << "it ran";
  } catch (const WorkloadError& e) {
    EXPECT_STREQ(
        e.what(),
        "the hang of op UnaryDeviceOperation is between its cores 1 and 8; it runs on 8, which count from 0");
  }
}

}  // namespace
