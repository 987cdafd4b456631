// What an emulated Tensix core must share with a real one although it runs as part of a process.
#include <gtest/gtest.h>

#include "firmware_markers/frame.hpp"
#include "tools/emulation/core.hpp"

namespace {

using namespace ttc;

TEST(EmulatedCore, losing_the_cpu_between_the_halves_of_the_clock_leaves_a_time_that_can_be_repaired) {
  card::EmulatedCardOptions options;
  options.name = "core-test";
  options.virtual_time = true;
  options.start_cycles = (uint64_t{7} << 32) - 100;  // the low half is about to roll over
  card::EmulatedCard card(options);
  emulation::WorldOptions world_options;
  world_options.layout = markers::layout_by_name("G4");
  emulation::TruthLog truth("");
  emulation::World world(card, world_options, truth);
  emulation::CorePort port(world, world.cores().front(), device::Mode::normal);

  const uint64_t before = card.clock();
  const uint32_t high = port.clock_high();
  card.advance_clock(5'000'000);  // a time slice at 1 GHz
  const uint64_t torn = uint64_t{high} << 32 | port.clock_low();

  ASSERT_LT(markers::clock_difference(torn, before), 0) << "not torn: the test compares nothing";
  EXPECT_TRUE(markers::looks_rolled_over(torn, before));
  EXPECT_GE(markers::repaired(torn), before);

  const uint64_t later_high = port.clock_high();
  const uint64_t later = later_high << 32 | port.clock_low();
  EXPECT_GT(later, markers::repaired(torn)) << "time went back";
}

// A launch that is for other cores pushes nothing, as its DONE flag is set; the host's rewrite clears it.
TEST(EmulatedCore, what_a_reset_makes_it_push_of_a_launch_for_others_is_true) {
  unsigned pushed = 0, not_pushed = 0;
  for (uint64_t step = 1; step < 200; ++step) {
    card::EmulatedCardOptions options;
    options.name = "core-test";
    options.virtual_time = true;
    card::EmulatedCard card(options);
    emulation::WorldOptions world_options;
    world_options.layout = markers::layout_by_name("G3");
    world_options.faults.host_reset.at_step = step;
    emulation::TruthLog truth("");
    emulation::World world(card, world_options, truth);
    const emulation::ZoneCatalog zones(4);
    const auto core = emulation::make_core(world, world.cores().front(), zones);
    emulation::Launch launch;
    launch.for_this_core = false;
    core->run(launch);
    const bool in_log = world.words_pushed(core->where().flat_id, 0) != 0;
    EXPECT_EQ(truth.count(), in_log ? 2u : 0u) << "reset at step " << step;
    ++(in_log ? pushed : not_pushed);
  }
  EXPECT_GT(pushed, 0u);
  EXPECT_GT(not_pushed, 0u);
}

}  // namespace
