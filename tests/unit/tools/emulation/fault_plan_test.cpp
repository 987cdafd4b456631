// ttemu --fault: what a spec means, and the message for one without a meaning.
#include "tools/emulation/fault_plan.hpp"

#include <gtest/gtest.h>

#include "firmware_markers/zone_names.hpp"
#include "tools/emulation/zone_catalog.hpp"

namespace ttc::emulation {
namespace {

using card::FaultKind;

FaultPlan plan_of(std::string_view spec) {
  FaultPlan plan;
  add_fault(plan, spec);
  return plan;
}
card::CardFault card_fault(std::string_view spec) {
  return plan_of(spec).card.at(0);
}
std::string error_of(std::string_view spec) {
  try {
    plan_of(spec);
  } catch (const FaultError& e) {
    return e.what();
  }
  return {};
}

TEST(FaultPlan, keys_say_where_when_and_how_long) {
  const auto f = card_fault("all-ones:tile=1-2,after=200ms,for=50ms");
  EXPECT_EQ(f.kind, FaultKind::all_ones);
  EXPECT_EQ(f.every_tile, 0u);
  EXPECT_EQ(f.tile, (card::Coord{1, 2}));
  EXPECT_EQ(f.after, 200'000'000u);
  EXPECT_EQ(f.after_is_round_trips, 0u);
  EXPECT_EQ(f.for_ns, 50'000'000u);
}

TEST(FaultPlan, a_plain_moment_counts_round_trips) {
  const auto f = card_fault("unplug:after=5000");
  EXPECT_EQ(f.kind, FaultKind::unplug);
  EXPECT_EQ(f.after, 5000u);
  EXPECT_EQ(f.after_is_round_trips, 1u);
}

TEST(FaultPlan, what_is_not_given_has_its_standard_value) {
  const auto f = card_fault("hung-read");
  EXPECT_EQ(f.kind, FaultKind::hung_read);
  EXPECT_EQ(f.every_tile, 1u);
  EXPECT_EQ(f.every, 1000u);
  EXPECT_EQ(f.wait_ns, 5'000'000u);
  EXPECT_EQ(f.for_ns, 0u);  // of a read that hangs, `for` is its length
  EXPECT_EQ(f.all_ones, 0u);
  EXPECT_EQ(f.seed, 1u);
  EXPECT_EQ(card_fault("hung-read:for=1s,ones=yes").wait_ns, 1'000'000'000u);
  EXPECT_EQ(card_fault("hung-read:for=1s,ones=yes").all_ones, 1u);
  const auto stolen = card_fault("stolen-cpu:every=9");
  EXPECT_EQ(stolen.kind, FaultKind::stolen_cpu);
  EXPECT_EQ(stolen.wait_ns, 20'000'000u);
  EXPECT_EQ(stolen.for_ns, 0u) << "it lasts for good";
  EXPECT_EQ(stolen.every, 9u);
}

TEST(FaultPlan, faults_add_up_and_keep_their_names) {
  FaultPlan plan;
  for (const char* spec :
       {"torn-vector:every=3", "reset:after=1s,notice=20ms", "no-window:observers=1", "overrun"})
    add_fault(plan, spec);
  ASSERT_EQ(plan.card.size(), 3u);
  EXPECT_EQ(plan.card_names, (std::vector<std::string>{"torn-vector", "reset", "no-window"}));
  EXPECT_EQ(plan.card[0].every, 3u);
  EXPECT_EQ(plan.card[1].notice_ns, 20'000'000u);
  EXPECT_EQ(plan.card[2].observers, 1u);
  EXPECT_EQ(plan.work.overrun.every, 10u);
  EXPECT_STREQ(plan.needs_workload, "overrun");
  EXPECT_EQ(plan_of("unplug:after=1").needs_workload, nullptr);
}

TEST(FaultPlan, faults_of_the_workload) {
  const auto late = plan_of("late-landing:min=1us,max=2us,seed=9").work.late_landing;
  EXPECT_TRUE(late.on);
  EXPECT_EQ(late.min_ns, 1000u);
  EXPECT_EQ(late.max_ns, 2000u);
  EXPECT_EQ(late.seed, 9u);
  EXPECT_EQ(plan_of("host-reset:at=12345").work.host_reset.at_step, 12345u);
  EXPECT_EQ(plan_of("host-reset:every=7,words=2").work.host_reset.words_per_step, 2u);
  EXPECT_TRUE(plan_of("stale-dram:time=future").work.stale_dram.future);
  EXPECT_EQ(plan_of("names:missing=40,collide=3").work.names.missing_percent, 40u);
  EXPECT_EQ(plan_of("names:missing=40,collide=3").work.names.collisions, 3u);
}

TEST(FaultPlan, the_clock_stops_and_goes_on_at_the_cards_rate) {
  card::EmulatedCardOptions o;
  o.hz = 900'000'000;
  o.clock_steps = {{250'000'000, 500'000'000}};
  plan_of("clock-stop:after=200ms,for=20ms,times=2,gap=80ms").apply_to(o);
  std::vector<std::pair<uint64_t, uint64_t>> steps;
  for (const auto& s : o.clock_steps) steps.emplace_back(s.after_ns / 1'000'000, s.hz / 1'000'000);
  EXPECT_EQ(steps, (std::vector<std::pair<uint64_t, uint64_t>>{
                       {200, 0}, {220, 900}, {250, 500}, {300, 0}, {320, 900}}));
  o.virtual_time = true;
  EXPECT_THROW(plan_of("clock-stop").apply_to(o), FaultError);
}

TEST(FaultPlan, the_clock_starts_so_long_before_it_wraps) {
  card::EmulatedCardOptions o;
  plan_of("clock-wrap:after=3ms").apply_to(o);
  EXPECT_EQ(o.start_cycles, (uint64_t{1} << 44) - 3'000'000);
  plan_of("roll-over:after=1ms").apply_to(o);
  EXPECT_EQ((uint64_t{1} << 32) - o.start_cycles % (uint64_t{1} << 32), 1'000'000u);
  EXPECT_GT(o.start_cycles, uint64_t{1} << 32);
}

TEST(FaultPlan, wrong_specs_are_told_what_and_why) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> wrong = {
      {"", {"there is no fault ''"}},
      {"nope", {"there is no fault 'nope'", "--fault help"}},
      {"all-ones:", {"nothing follows the colon"}},
      {"all-ones:tile=1-2,", {"nothing follows the last comma"}},
      {"all-ones:,tile=1-2", {"'' is not key=value"}},
      {"all-ones:tile", {"'tile' is not key=value"}},
      {"all-ones:where=1-2", {"'where' is no key of all-ones", "tile, after, for"}},
      {"all-ones:tile=1", {"tile must be X-Y", "not '1'"}},
      {"all-ones:tile=1-256", {"tile must be X-Y"}},
      {"all-ones:tile=1-2,tile=1-3", {"tile is given twice"}},
      {"all-ones:for=50", {"for must be a time", "not '50'"}},
      {"all-ones:for=50q", {"for must be a time"}},
      {"all-ones:for=ms", {"for must be a time"}},
      {"all-ones:for=-5ms", {"for must be a time"}},
      {"all-ones:for=99999999999999999999s", {"for must be a time"}},
      {"all-ones:for=18446744073s", {"for must be a time"}},  // would wrap in nanoseconds
      {"reset", {"after must be given"}},
      {"unplug:after=", {"after must be a time such as 200ms, or a plain number of round trips"}},
      {"hung-read:every=few", {"every must be a number"}},
      {"hung-read:ones=1", {"ones must be yes or no"}},
      {"names:missing=101", {"missing must be a number from 0 to 100"}},
      {"stale-dram:time=now", {"time must be past or future"}},
  };
  for (const auto& [spec, words] : wrong) {
    const std::string error = error_of(spec);
    EXPECT_NE(error.find("--fault '" + spec + "'"), std::string::npos) << spec << ": " << error;
    for (const std::string& word : words)
      EXPECT_NE(error.find(word), std::string::npos) << spec << ": " << error;
  }
}

TEST(FaultPlan, a_tile_must_exist_on_the_card) {
  card::EmulatedCardOptions o;
  EXPECT_NO_THROW(plan_of("all-ones:tile=0-0").apply_to(o));  // DRAM
  EXPECT_NO_THROW(plan_of("all-ones").apply_to(o));
  EXPECT_THROW(plan_of("all-ones:tile=16-2").apply_to(o), FaultError);
  o.arch = "blackhole";
  EXPECT_NO_THROW(plan_of("all-ones:tile=16-2").apply_to(o));
}

TEST(FaultPlan, the_page_holds_only_so_many) {
  FaultPlan plan;
  for (uint32_t i = 0; i <= card::kMaxFaults; ++i) add_fault(plan, "all-ones");
  card::EmulatedCardOptions o;
  EXPECT_THROW(plan.apply_to(o), FaultError);
}

TEST(FaultPlan, help_names_every_fault_and_every_example_in_it_is_valid) {
  const std::string help = fault_help();
  for (const char* name :
       {"late-landing", "torn-vector", "all-ones", "hung-read", "stolen-cpu", "reset", "unplug", "no-window",
        "clock-stop", "clock-wrap", "roll-over", "overrun", "host-reset", "stale-dram", "names"}) {
    EXPECT_NE(help.find("\n" + std::string(name) + "  "), std::string::npos) << name;
    const std::string needed =
        std::string(name) == "reset" || std::string(name) == "unplug" ? ":after=1s" : "";
    EXPECT_EQ(error_of(name + needed), "") << name;
  }
}

TEST(ZoneNotes, a_colliding_note_has_the_hash_and_another_string) {
  const ZoneCatalog zones(20, {});
  for (const Zone* zone : zones.kernel_zones_of(3)) {
    const std::string note = colliding_note(*zone);
    EXPECT_NE(note, zone->zone_string);
    EXPECT_EQ(markers::hash16(note), zone->id);
    EXPECT_TRUE(markers::parse_zone_string(note));
  }
}

}  // namespace
}  // namespace ttc::emulation
