// Faults of the emulated card's access layer from an observer's side: mapped and strict. Time is virtual,
// so the test sets when a fault begins.
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <utility>

#include "driver_iface/allow_list.hpp"
#include "driver_iface/emulated_card.hpp"

namespace ttc::card {
namespace {

constexpr Coord kTile{1, 2}, kOther{1, 3};
constexpr uint64_t kAll = ~uint64_t{0};

class CardFaults : public testing::TestWithParam<bool> {
 protected:
  // Cycles are nanoseconds here: 1 GHz.
  void make(std::vector<CardFault> faults, uint64_t start_cycles = 1000) {
    static int number = 0;
    EmulatedCardOptions o;
    o.name = "fault-" + std::to_string(getpid()) + "-" + std::to_string(number++);
    o.strict = GetParam();
    o.virtual_time = true;
    o.start_cycles = start_cycles;
    o.faults = std::move(faults);
    spec = "emu:" + o.name;
    emulated = std::make_unique<EmulatedCard>(o);
    for (const Coord tile : {kTile, kOther})
      for (uint32_t a = 0; a < 512; a += 4) emulated->store(tile, a, a);
    emulated->announce();
  }
  void make_and_open(std::vector<CardFault> faults, uint64_t start_cycles = 1000) {
    make(std::move(faults), start_cycles);
    card = open_card(spec);
  }
  Access read(Coord tile) {
    words.fill(0x5555);
    if (const Access a = card->aim(Window::control, tile, 0); a != Access::ok) return a;
    return card->copy(Window::control, 64, words);
  }
  bool good() const { return words[0] == (64 | uint64_t{68} << 32); }
  uint32_t node_id(Coord tile) {
    uint32_t id = 0;
    EXPECT_EQ(card->aim(Window::control, tile, kRegisterWindow), Access::ok);
    EXPECT_EQ(card->load_registers(
                  Window::control,
                  card->identity().arch->node_id_address - static_cast<uint32_t>(kRegisterWindow), {&id, 1}),
              Access::ok);
    return id;
  }
  // The card acts by itself a moment after its fault has begun.
  template <class F>
  void until(F done) {
    while (!done()) std::this_thread::yield();
  }

  std::string spec;
  std::unique_ptr<EmulatedCard> emulated;
  std::unique_ptr<Card> card;
  std::array<uint64_t, 8> words{};
};

CardFault fault(FaultKind kind, uint64_t after = 0) {
  CardFault f;
  f.kind = kind;
  f.after = after;
  return f;
}

TEST_P(CardFaults, a_silent_tile_is_silent_from_its_moment_on_and_for_so_long) {
  CardFault f = fault(FaultKind::all_ones, 5000);
  f.every_tile = 0;
  f.tile = kTile;
  f.for_ns = 2000;
  make_and_open({f});
  emulated->advance_clock(4999);
  EXPECT_EQ(read(kTile), Access::ok);
  EXPECT_TRUE(good());
  emulated->advance_clock(1);
  EXPECT_EQ(read(kTile), Access::ok);
  EXPECT_EQ(std::count(words.begin(), words.end(), kAll), 8);
  EXPECT_EQ(node_id(kTile), ~0u);
  EXPECT_EQ(read(kOther), Access::ok);
  EXPECT_TRUE(good());
  EXPECT_NE(node_id(kOther), ~0u);
  emulated->advance_clock(1999);
  EXPECT_EQ(node_id(kTile), ~0u);
  emulated->advance_clock(1);
  EXPECT_EQ(read(kTile), Access::ok);
  EXPECT_TRUE(good());
  EXPECT_EQ(emulated->fault_hits()[0], 3u);
}

TEST_P(CardFaults, a_moment_can_be_a_number_of_round_trips) {
  CardFault f = fault(FaultKind::all_ones, 3);
  f.after_is_round_trips = 1;
  make_and_open({f});
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(read(kTile), Access::ok);
    EXPECT_TRUE(good());
  }
  EXPECT_EQ(read(kTile), Access::ok);  // the third
  EXPECT_EQ(words[0], kAll);
}

TEST_P(CardFaults, loads_hang_one_in_so_many_by_the_seed) {
  const auto hits_of = [&](uint64_t seed) {
    CardFault f = fault(FaultKind::hung_read);
    f.every = 4;
    f.wait_ns = 1;
    f.all_ones = 1;
    f.seed = seed;
    make_and_open({f});
    std::vector<bool> hung;
    for (int i = 0; i < 64; ++i) {
      EXPECT_EQ(read(kTile), Access::ok);
      EXPECT_TRUE(good() || words[0] == kAll);
      hung.push_back(!good());
    }
    EXPECT_EQ(std::count(hung.begin(), hung.end(), true), static_cast<long>(emulated->fault_hits()[0]));
    return hung;
  };
  const auto first = hits_of(7);
  EXPECT_EQ(first, hits_of(7));
  EXPECT_NE(first, hits_of(8));
  const auto count = std::count(first.begin(), first.end(), true);
  EXPECT_GT(count, 4);
  EXPECT_LT(count, 32);
}

TEST_P(CardFaults, a_read_that_hangs_without_all_ones_brings_the_words) {
  CardFault f = fault(FaultKind::hung_read);
  f.wait_ns = 1;
  make_and_open({f});
  EXPECT_EQ(read(kTile), Access::ok);
  EXPECT_TRUE(good());
  EXPECT_EQ(emulated->fault_hits()[0], 1u);
}

// What the link is charged with is the card's doing; this is not.
TEST_P(CardFaults, a_thread_whose_cpu_is_stolen_is_late_and_the_card_is_not) {
  CardFault f = fault(FaultKind::stolen_cpu);
  f.wait_ns = 30'000'000;
  make_and_open({f});
  timespec before{}, after{};
  clock_gettime(CLOCK_MONOTONIC, &before);
  EXPECT_EQ(read(kTile), Access::ok);
  clock_gettime(CLOCK_MONOTONIC, &after);
  EXPECT_TRUE(good());
  EXPECT_EQ(emulated->fault_hits()[0], 1u);
  const int64_t took = (after.tv_sec - before.tv_sec) * 1'000'000'000 + after.tv_nsec - before.tv_nsec;
  EXPECT_GE(took, 30'000'000);
}

// Every word of a torn copy is one the tile held while the copy was made, and one copy has both.
TEST_P(CardFaults, a_torn_copy_mixes_before_and_after) {
  CardFault f = fault(FaultKind::torn_copy);
  f.wait_ns = 100'000'000;  // at most; the writer below changes the words all the time
  make_and_open({f});
  std::atomic<bool> stop{false};
  std::atomic<uint32_t> generation{0};
  std::thread writer([&] {
    while (!stop) {
      const uint32_t g = ++generation;
      for (uint32_t w = 0; w < 16; ++w) emulated->store(kTile, 64 + 4 * w, g);
    }
  });
  int mixed = 0;
  for (int i = 0; i < 200 && mixed < 5; ++i) {
    const uint32_t before = generation;
    ASSERT_EQ(read(kTile), Access::ok);
    const uint32_t after = generation;
    const auto* w = reinterpret_cast<const uint32_t*>(words.data());
    for (int k = 0; i > 0 && k < 16; ++k) {
      ASSERT_GE(w[k] + 1, before);
      ASSERT_LE(w[k], after);
    }
    mixed += std::adjacent_find(w, w + 16, std::not_equal_to<>()) != w + 16;
  }
  stop = true;
  writer.join();
  EXPECT_GE(mixed, 5);
}

TEST_P(CardFaults, a_reset_puts_everyone_out_for_good_and_leaves_an_empty_chip) {
  make_and_open({fault(FaultKind::reset, 5000)});
  emulated->store_dram(0, 64, std::array<uint32_t, 2>{7, 8});
  EXPECT_EQ(read(kTile), Access::ok);
  EXPECT_EQ(card->health(), Health::ok);
  EXPECT_FALSE(emulated->lost());
  emulated->advance_clock(5000);
  EXPECT_EQ(read(kTile), Access::gone);  // at once, whether or not the card has got round to it
  EXPECT_EQ(card->health(), Health::gone);
  until([&] { return emulated->lost(); });
  EXPECT_EQ(read(kTile), Access::gone);
  uint64_t cycles = 0;
  EXPECT_EQ(card->wall_clock(kTile, cycles), Access::gone);
  EXPECT_EQ(card->health(), Health::gone);
  pollfd p{card->hangup_fd(), POLLIN | POLLRDHUP, 0};
  EXPECT_EQ(poll(&p, 1, 0), 0) << "an in-place reset makes no event";

  emulated->store(kTile, 64, 1);  // nothing runs there any more
  const std::unique_ptr<Card> old = std::exchange(card, open_card(spec));
  EXPECT_EQ(read(kTile), Access::ok);
  EXPECT_EQ(std::count(words.begin(), words.end(), 0u), 8);
  EXPECT_EQ(card->health(), Health::ok);
  EXPECT_EQ(emulated->load_dram(0, 64), 0u);
  EXPECT_LT(emulated->clock(), 1000u);
  EXPECT_EQ(old->health(), Health::gone);
  EXPECT_EQ(emulated->fault_hits()[0], 1u);
}

TEST_P(CardFaults, a_reset_can_be_announced) {
  CardFault f = fault(FaultKind::reset, 10'000);
  f.notice_ns = 4000;
  make_and_open({f});
  EXPECT_EQ(card->health(), Health::ok);
  emulated->advance_clock(6000);
  until([&] { return card->health() != Health::ok; });
  EXPECT_EQ(card->health(), Health::leaving);
  EXPECT_EQ(read(kTile), Access::ok);
  emulated->advance_clock(4000);
  EXPECT_EQ(read(kTile), Access::gone);
}

TEST_P(CardFaults, a_reset_after_round_trips_is_announced_at_that_moment) {
  CardFault f = fault(FaultKind::reset, 3);
  f.after_is_round_trips = true;
  f.notice_ns = 4000;
  make_and_open({f});
  EXPECT_EQ(read(kTile), Access::ok);
  emulated->advance_clock(100'000);  // as long as that may be
  EXPECT_EQ(card->health(), Health::ok);
  EXPECT_EQ(read(kTile), Access::ok);
  EXPECT_EQ(read(kTile), Access::ok);
  until([&] { return card->health() != Health::ok; });
  EXPECT_EQ(card->health(), Health::leaving);
  EXPECT_EQ(read(kTile), Access::ok);
  emulated->advance_clock(4000);
  until([&] { return read(kTile) == Access::gone; });
}

TEST_P(CardFaults, an_announced_reset_comes_when_the_last_observer_has_left) {
  CardFault f = fault(FaultKind::reset, 1);
  f.after_is_round_trips = 1;
  f.notice_ns = 4000;
  make_and_open({f});
  std::unique_ptr<Card> second = open_card(spec);
  EXPECT_EQ(read(kTile), Access::ok);
  until([&] { return card->health() == Health::leaving; });
  card.reset();
  until([&] { return emulated->observers() == 1; });
  EXPECT_EQ(second->health(), Health::leaving);
  EXPECT_FALSE(emulated->lost());
  second.reset();
  until([&] { return emulated->fault_hits()[0] == 1; });
  EXPECT_TRUE(emulated->lost());
}

TEST_P(CardFaults, an_unplugged_card_hangs_up_and_cannot_be_found) {
  make_and_open({fault(FaultKind::unplug, 5000)});
  EXPECT_EQ(read(kTile), Access::ok);
  emulated->advance_clock(5000);
  EXPECT_EQ(read(kTile), Access::gone);
  pollfd p{card->hangup_fd(), POLLIN | POLLRDHUP, 0};
  until([&] { return poll(&p, 1, 0) == 1; });
  EXPECT_EQ(card->health(), Health::gone);
  EXPECT_EQ(read(kTile), Access::gone);
  EXPECT_THROW(open_card(spec), OpenError);
  EXPECT_TRUE(emulated->lost());
}

TEST_P(CardFaults, windows_are_refused_with_a_sentence) {
  CardFault f = fault(FaultKind::no_window);
  f.observers = 1;
  make({f});
  card = open_card(spec);
  try {
    open_card(spec);
    ADD_FAILURE() << "a second observer was let in";
  } catch (const OpenError& e) {
    EXPECT_NE(std::string(e.what()).find("no window is left"), std::string::npos) << e.what();
  }
  EXPECT_EQ(read(kTile), Access::ok);  // the first is not touched by that
  EXPECT_TRUE(good());
}

TEST_P(CardFaults, windows_come_back) {
  CardFault f = fault(FaultKind::no_window);
  f.for_ns = 3000;
  make({f});
  EXPECT_THROW(open_card(spec), OpenError);
  emulated->advance_clock(2999);
  EXPECT_THROW(open_card(spec), OpenError);
  emulated->advance_clock(1);
  EXPECT_NO_THROW(card = open_card(spec));
  EXPECT_EQ(emulated->fault_hits()[0], 2u);
}

// Between the load of the high half and that of the low half: 2^32 too early for who does not look again.
TEST_P(CardFaults, a_roll_over_between_two_loads_does_not_fool_the_wall_clock) {
  CardFault f = fault(FaultKind::roll_over);
  f.cycles = 100;
  const uint64_t period = uint64_t{1} << 32;
  make_and_open({f}, 3 * period - 50);
  const uint64_t loads = card->transactions().register_loads;
  uint64_t cycles = 0;
  EXPECT_EQ(card->wall_clock(kTile, cycles), Access::ok);
  EXPECT_EQ(cycles, 3 * period);
  EXPECT_EQ(card->transactions().register_loads - loads, 6u) << "it did not look again";
  EXPECT_EQ(emulated->fault_hits()[0], 1u);

  // Who loads them once is fooled.
  make_and_open({f}, 3 * period - 50);
  ASSERT_EQ(card->aim(Window::control, kTile, kRegisterWindow), Access::ok);
  uint32_t high = 0, low = 0;
  card->load_registers(Window::control, static_cast<uint32_t>(kWallClockHigh - kRegisterWindow), {&high, 1});
  card->load_registers(Window::control, static_cast<uint32_t>(kWallClockLow - kRegisterWindow), {&low, 1});
  EXPECT_EQ(uint64_t{high} << 32 | low, 2 * period);
}

TEST(CardFaultLimits, more_faults_than_the_page_holds_are_refused) {
  EmulatedCardOptions o;
  o.name = "fault-many-" + std::to_string(getpid());
  o.faults.resize(kMaxFaults + 1);
  EXPECT_THROW(EmulatedCard card(o), OpenError);
}

TEST(CardFaultLimits, a_clock_step_to_nothing_makes_the_clock_stand) {
  EmulatedCardOptions o;
  o.name = "fault-clock-" + std::to_string(getpid());
  o.clock_steps = {{0, 0}};
  EmulatedCard card(o);
  EXPECT_TRUE(card.clock_stands());
  const uint64_t clock = card.clock();
  std::this_thread::yield();
  EXPECT_EQ(card.clock(), clock);
}

std::string mode_of(const testing::TestParamInfo<bool>& info) {
  return info.param ? "strict" : "mapped";
}
INSTANTIATE_TEST_SUITE_P(Emulated, CardFaults, testing::Bool(), mode_of);

}  // namespace
}  // namespace ttc::card
