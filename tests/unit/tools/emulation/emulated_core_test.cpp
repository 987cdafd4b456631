// What an emulated Tensix core must share with a real one although it runs as part of a process.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>

#include "collector/continuity/timing.hpp"
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

// Firmware reads both ends of the zone of a push before it records the first: the truth had the torn time of its start.
TEST(EmulatedCore, a_torn_time_that_is_not_the_last_one_read_was_taken_for_the_truth) {
  card::EmulatedCardOptions options;
  options.name = "core-test";
  options.virtual_time = true;
  options.start_cycles = (uint64_t{7} << 32) - 100;
  card::EmulatedCard card(options);
  emulation::WorldOptions world_options;
  world_options.layout = markers::layout_by_name("G4");
  const std::string path = testing::TempDir() + "torn_truth." + std::to_string(getpid());
  emulation::TruthLog truth(path);
  emulation::World world(card, world_options, truth);
  emulation::CorePort port(world, world.cores().front(), device::Mode::normal);
  port.launch_is(1);

  const uint64_t high = port.clock_high();
  card.advance_clock(300);
  const uint64_t begin = high << 32 | port.clock_low();
  const uint64_t later_high = port.clock_high();
  const uint64_t end = later_high << 32 | port.clock_low();
  ASSERT_LT(begin + 1'000'000, end) << "not torn: the test compares nothing";
  port.recorded(0, device::kZoneStart, 7, begin, 0, 0);
  port.recorded(0, device::kZoneEnd, 7, end, 0, 0);
  truth.convert({"wormhole_b0", 1000, 64}, markers::ZoneNames());

  std::ifstream in(path);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  std::filesystem::remove(path);
  EXPECT_NE(text.find(',' + std::to_string(markers::repaired(begin)) + ','), std::string::npos) << text;
  EXPECT_NE(text.find(',' + std::to_string(end) + ','), std::string::npos) << text;
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

// A reset at each step of the second launch's end. Where it falls between the reads of an index and its store, the index ends elsewhere
// than the words that were pushed, and nothing that the lane pushed is judged; anywhere else everything is.
TEST(EmulatedCore, whose_index_a_reset_parts_from_its_words_is_not_judged) {
  unsigned parted = 0, whole = 0;
  for (const char* layout : {"G1-16", "G1", "G2", "G3", "G4"}) {
    uint64_t last_step = 0;
    std::array<uint32_t, device::kMaxRiscs> frame{};  // of the second launch
    for (uint64_t back = 0; back < 80; ++back) {
      card::EmulatedCardOptions options;
      options.name = "core-test-" + std::to_string(getpid());
      options.virtual_time = true;
      card::EmulatedCard card(options);
      emulation::WorldOptions world_options;
      world_options.layout = markers::layout_by_name(layout);
      if (back != 0) world_options.faults.host_reset.at_step = last_step - back;
      emulation::TruthLog truth(""), unseen("");
      emulation::World world(card, world_options, truth, &unseen);
      const emulation::WorldCore& where = world.cores().front();
      const emulation::ZoneCatalog zones(4);
      const auto core = emulation::make_core(world, where, zones);
      const auto index = [&](uint32_t risc) {
        return card.load(where.at, where.control_address + 4u * (world.format().host_end + risc));
      };
      core->run({});
      std::array<uint32_t, device::kMaxRiscs> begins{};
      for (uint32_t r = 0; r < device::kMaxRiscs; ++r) begins[r] = index(r);
      core->run({});
      core->settle_unseen();
      bool agree = true;
      if (back == 0) {
        last_step = world.steps();
        for (uint32_t r = 0; r < device::kMaxRiscs; ++r) frame[r] = index(r) - begins[r];
      } else {
        for (uint32_t r = 0; r < device::kMaxRiscs; ++r)
          agree = agree && (index(r) == 0 ||
                            (index(r) == frame[r] && world.words_pushed(where.flat_id, r) == frame[r]));
      }
      EXPECT_EQ(world.index_races(), agree ? 0u : 1u) << layout << ", " << back << " steps before the end";
      EXPECT_TRUE(agree || unseen.count() >= truth.count() / device::kMaxRiscs)
          << layout << ", " << back << " steps before the end: " << unseen.count();
      ++(agree ? whole : parted);
    }
  }
  EXPECT_GT(parted, 20u);
  EXPECT_GT(whole, 20u);
}

// A core of accumulating firmware, and an observer of its vector.
struct AccumulatingBench {
  explicit AccumulatingBench(uint64_t continues_after_ns = emulation::WorldOptions{}.continues_after_ns)
      : card(card_options()), world(card, world_options(continues_after_ns), truth, &unseen) {
    card.announce();
    observer = card::open_card("emu:" + card_options().name);
    EXPECT_EQ(observer->aim(card::Window::control, where.at, where.control_address), card::Access::ok);
  }
  static card::EmulatedCardOptions card_options() {
    card::EmulatedCardOptions options;
    options.name = "core-test-" + std::to_string(getpid());
    options.virtual_time = true;
    return options;
  }
  static emulation::WorldOptions world_options(uint64_t continues_after_ns) {
    emulation::WorldOptions options;
    options.layout = markers::layout_by_name("G4");
    options.mode = device::Mode::accumulate;
    options.continues_after_ns = continues_after_ns;
    return options;
  }
  void play(std::initializer_list<chip::Act> acts) const {
    for (const auto act : acts) {
      emulation::CoreStep step;
      step.act = act;
      core->play(step);
    }
  }
  void poll() const {
    uint64_t word = 0;
    const uint64_t reads = card.control_reads(where.at);
    for (int i = 0; i < 16; ++i)
      EXPECT_EQ(observer->copy(card::Window::control, where.control_address, {&word, 1}), card::Access::ok);
    EXPECT_EQ(card.control_reads(where.at), reads + 16) << "not counted: the test compares nothing";
  }

  emulation::TruthLog truth{""}, unseen{""};
  card::EmulatedCard card;
  emulation::World world;
  const emulation::WorldCore& where = world.cores().front();
  const emulation::ZoneCatalog zones{4};
  std::unique_ptr<card::Card> observer;
  std::unique_ptr<emulation::EmulatedCore> core = emulation::make_core(world, where, zones);
};

// Accumulating firmware moves DEVICE_END when a launch ends. A process that loses the CPU within a launch lets many polls pass that
// show none of its markers: a reset at the launch's end then destroys what no observer can have known.
TEST(EmulatedCore, polls_within_a_launch_do_not_make_its_accumulated_markers_known) {
  for (const bool polled_at_end : {false, true}) {
    AccumulatingBench b;
    b.play({chip::Act::launch, chip::Act::kernel_start});
    b.poll();
    b.play({chip::Act::kernel_end, chip::Act::fw_end, chip::Act::finish});
    if (polled_at_end) b.poll();
    b.core->settle_unseen();
    b.world.host_reset(b.where);
    b.core->settle_unseen();
    ASSERT_GT(b.truth.count(), 3u);
    EXPECT_EQ(b.unseen.count(), polled_at_end ? 0u : b.truth.count())
        << "polled at its end: " << polled_at_end;
  }
}

// An assumption of the collector is that a core does not continue at once behind a host reset. Where it does, polls in front of the reset
// do not make known what accumulated just before: a poll may come in front of it, and the next one behind what begins the buffers again.
TEST(EmulatedCore, that_continues_at_once_behind_a_reset_has_accumulated_markers_that_are_not_judged) {
  EXPECT_EQ(emulation::WorldOptions{}.continues_after_ns, collect::timing::kPollDeadlineNs);
  enum class Reset : uint8_t { behind_the_last_launch, between_launches, within_a_launch };
  for (const bool at_once : {false, true})
    for (const Reset reset :
         {Reset::behind_the_last_launch, Reset::between_launches, Reset::within_a_launch}) {
      AccumulatingBench b(at_once ? uint64_t{3600} * 1'000'000'000 : 0);
      b.core->run({});
      b.poll();
      const uint64_t known = b.truth.count();
      uint64_t within = 0;  // of the launch that the reset falls into
      switch (reset) {
        case Reset::behind_the_last_launch:
          b.world.host_reset(b.where);
          break;
        case Reset::between_launches:
          b.world.host_reset(b.where);
          b.core->run({});
          break;
        case Reset::within_a_launch:
          b.play({chip::Act::launch, chip::Act::kernel_start});
          within = b.truth.count() - known;
          b.world.host_reset(b.where);
          b.play({chip::Act::kernel_end, chip::Act::fw_end, chip::Act::finish});
          break;
      }
      b.core->settle_unseen();
      const bool not_judged = at_once && reset != Reset::behind_the_last_launch;
      EXPECT_EQ(b.unseen.count(), within + (not_judged ? known : 0))
          << "at once: " << at_once << ", reset " << static_cast<int>(reset);
    }
}

}  // namespace
