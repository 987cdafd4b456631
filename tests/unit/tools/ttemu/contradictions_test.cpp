// The table of --contradict, and what firmware and host do when they are unlike what is assumed of them.
#include "tools/ttemu/contradictions.hpp"

#include <gtest/gtest.h>

#include <set>

#include "collector/continuity/timing.hpp"
#include "tools/emulation/core.hpp"
#include "tools/emulation/fault_plan.hpp"
#include "tools/emulation/workload.hpp"
#include "ttcollect/host_time.hpp"

namespace ttc::emulation {
namespace {

struct Bench {
  explicit Bench(const char* name) {
    // Until land_all(), however long a launch takes.
    world_options.split_ns = world_options.index_behind_ns = uint64_t{3600} * 1'000'000'000;
    Contradictions contradictions;
    if (name) contradictions.add(name);
    world_options.layout = markers::layout_by_name("G4");
    contradictions.apply_to(world_options, work);
    card_options.name = "unlike-test";
    card_options.virtual_time = true;
    card = std::make_unique<card::EmulatedCard>(card_options);
    world = std::make_unique<World>(*card, world_options, truth);
    core = make_core(*world, world->cores().front(), zones);
  }
  uint32_t word(uint32_t w) const {
    return card->load(core->where().at, core->where().control_address + 4 * w);
  }
  uint32_t index(uint32_t risc) const { return word(world->format().host_end + risc); }
  // A word of a lane's log, in the first bank.
  uint32_t in_log(uint32_t risc, uint32_t w) const {
    const uint32_t lane = core->where().flat_id * device::kMaxRiscs + risc;
    return card->load_dram(0, markers::placement_for("wormhole_b0")->dram_base +
                                  uint64_t{lane} * world_options.bytes_per_risc + 4 * w);
  }
  void launch() { core->run({}); }

  card::EmulatedCardOptions card_options;
  WorldOptions world_options;
  WorkloadOptions work;
  TruthLog truth{""};
  const ZoneCatalog zones{4};
  std::unique_ptr<card::EmulatedCard> card;
  std::unique_ptr<World> world;
  std::unique_ptr<EmulatedCore> core;
};

TEST(Contradictions, each_has_a_name_of_its_own_an_assumption_and_what_is_done) {
  std::set<std::string> names;
  for (const ContradictionText& c : contradictions()) {
    EXPECT_TRUE(names.insert(c.name).second) << c.name;
    EXPECT_NE(contradiction_help().find(std::string(c.name) + " "), std::string::npos);
    Contradictions one;
    one.add(c.name);
    one.add(c.name);
    EXPECT_EQ(one.names().size(), 1u);
    card::EmulatedCardOptions card;
    WorldOptions world;
    WorkloadOptions work;
    one.apply_to(card);
    one.apply_to(world, work);
    const bool of_card = card.contradictions != 0 || card.hz != 1'000'000'000 || !card.clock_steps.empty() ||
                         card.round_trip_ns != 0 || !card.faults.empty();
    const bool of_work = world.faults.unlike != 0 || world.landing_ns != 0 || work.host_reads_every != 0;
    EXPECT_TRUE(of_card || of_work) << c.name << " does nothing";
    EXPECT_EQ(one.needs_workload() != nullptr, of_work) << c.name;
  }
  EXPECT_THROW(Contradictions().add("nothing"), FaultError);
}

TEST(Contradictions, the_times_break_the_constants_of_the_drain) {
  Contradictions late;
  late.add("late-landing");
  WorldOptions world;
  WorkloadOptions work;
  late.apply_to(world, work);
  EXPECT_GE(world.landing_ns, 10 * collect::timing::kLandedNs);

  Bench bench("slow-reset");
  const uint64_t begun = collect::raw_now_ns();
  bench.world->results_read({bench.core->where()});
  EXPECT_GE(collect::raw_now_ns() - begun, 10 * collect::timing::kResetOverNs);
}

TEST(Contradictions, clocks_that_move_exclude_other_clocks_and_virtual_time) {
  for (const char* name : {"clock-too-fast", "clock-restless", "clock-wanders"}) {
    Contradictions one;
    one.add(name);
    card::EmulatedCardOptions card;
    card.virtual_time = true;
    EXPECT_THROW(one.apply_to(card), FaultError);
    card.virtual_time = false;
    card.clock_steps = {{5, 6}};
    EXPECT_THROW(one.apply_to(card), FaultError);
  }
}

TEST(Contradictions, the_index_is_to_be_seen_behind_the_words) {
  Bench like(nullptr), unlike("index-behind");
  for (Bench* b : {&like, &unlike}) b->launch();
  EXPECT_NE(like.index(0), 0u);
  EXPECT_EQ(unlike.index(0), 0u);
  const uint32_t first = like.index(0);
  unlike.launch();  // the firmware itself continues from its own index
  unlike.world->land_all();
  like.launch();
  EXPECT_EQ(unlike.index(0), like.index(0));
  EXPECT_GT(unlike.index(0), first);
  unlike.launch();
  unlike.world->host_reset(unlike.core->where());
  unlike.world->land_all();
  EXPECT_EQ(unlike.index(0), 0u) << "an index of before the reset came behind it";
}

TEST(Contradictions, the_two_words_of_a_marker_land_apart) {
  Bench bench("split-markers");
  bench.launch();
  const uint32_t end = bench.index(0);
  unsigned odd = 0, even = 0;
  for (uint32_t w = 0; w < end; ++w) (w % 2 ? odd : even) += bench.in_log(0, w) != 0;
  EXPECT_GT(odd, 0u);
  EXPECT_EQ(even, 0u);
  bench.world->land_all();
  for (uint32_t w = 0; w < end; w += 2) even += bench.in_log(0, w) != 0;
  EXPECT_GT(even, 0u);
}

TEST(Contradictions, a_log_is_overwritten_at_its_beginning) {
  Bench like(nullptr), unlike("log-overwritten");
  bool overwritten = false;
  for (int i = 0; i < 4; ++i) {
    for (Bench* b : {&like, &unlike}) b->launch();
    EXPECT_EQ(like.index(0), unlike.index(0));
    for (uint32_t lane = 0; lane < device::kMaxRiscs; ++lane)
      for (uint32_t w = 0; w < 8; ++w) overwritten |= like.in_log(lane, w) != unlike.in_log(lane, w);
  }
  EXPECT_TRUE(overwritten);
}

TEST(Contradictions, run_counter_counts_twice) {
  Bench like(nullptr), unlike("run-counter-doubles");
  for (int i = 0; i < 3; ++i)
    for (Bench* b : {&like, &unlike}) b->launch();
  EXPECT_EQ(like.word(like.world->format().run_counter), 3u);
  EXPECT_EQ(unlike.word(unlike.world->format().run_counter), 6u);
}

TEST(Contradictions, a_results_read_resets_some_of_the_cores) {
  Bench bench("reset-some-cores");
  const std::vector<WorldCore>& all = bench.world->cores();
  for (uint32_t read = 1; read < 3; ++read) {
    bench.world->results_read(all);
    uint32_t resets = 0;
    for (const WorldCore& core : all) resets += bench.world->resets(core);
    EXPECT_NEAR(resets, static_cast<double>(all.size()) * read / 2, 4);
  }
  for (const WorldCore& core : all) EXPECT_EQ(bench.world->resets(core), 1u);
}

TEST(Contradictions, addresses_are_there_from_the_beginning) {
  Bench like(nullptr), unlike("addresses-early");
  const uint32_t address = like.world->format().risc_dram_address;
  EXPECT_EQ(like.word(address), 0u);
  EXPECT_EQ(unlike.word(address), markers::placement_for("wormhole_b0")->dram_base);
}

TEST(Contradictions, flat_ids_go_row_after_row) {
  Bench like(nullptr), unlike("flat-id-order");
  const auto first_two = [](const Bench& b) {
    return std::pair{b.world->cores()[0].at, b.world->cores()[1].at};
  };
  EXPECT_EQ(first_two(like).first.x, first_two(like).second.x);
  EXPECT_EQ(first_two(unlike).first.y, first_two(unlike).second.y);
}

}  // namespace
}  // namespace ttc::emulation
