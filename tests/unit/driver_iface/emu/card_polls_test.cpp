// A card that awaits polls, mapped and strict: when its time stands and when it goes on. Nothing here waits for
// host time to pass; what must happen is waited for, however long it takes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "driver_iface/emu/emu_polls.hpp"
#include "driver_iface/emulated_card.hpp"

namespace ttc::card {
namespace {

constexpr Coord kPolled{1, 2}, kAlsoPolled{1, 3};

class CardPolls : public testing::TestWithParam<bool> {
 protected:
  CardPolls() {
    static int number = 0;
    EmulatedCardOptions o;
    o.name = "polls-" + std::to_string(getpid()) + "-" + std::to_string(number++);
    o.strict = GetParam();
    o.await_polls = true;
    o.start_cycles = 1000;
    spec = "emu:" + o.name;
    emulated = std::make_unique<EmulatedCard>(o);
    emulated->set_log_geometry({0, 256, 0, 0, 1});
    emulated->announce();
  }
  static void poll(Card& card, Coord tile) {
    std::array<uint64_t, 8> words{};
    ASSERT_EQ(card.aim(Window::control, tile, 0), Access::ok);
    ASSERT_EQ(card.copy(Window::control, 0, words), Access::ok);
  }
  static void until(const std::function<bool()>& done) {
    while (!done()) std::this_thread::yield();
  }
  void until_it_stands() {
    until([&] { return emulated->clock_stands(); });
  }
  bool goes_on_from(uint64_t card_ns) const { return emulated->now_ns() > card_ns; }

  std::string spec;
  std::unique_ptr<EmulatedCard> emulated;
};

TEST_P(CardPolls, time_begins_with_the_first_observer_that_polls) {
  const uint64_t made_ns = emulated->now_ns();
  EXPECT_TRUE(emulated->clock_stands());
  auto card = open_card(spec);
  poll(*card, kPolled);  // attaching
  const auto clock = card->announce_polls();
  ASSERT_TRUE(clock);
  poll(*card, kPolled);
  EXPECT_EQ(clock(), made_ns);
  EXPECT_EQ(emulated->now_ns(), made_ns);
  EXPECT_EQ(emulated->clock(), 1000u);
  card->begin_polls();
  until([&] { return goes_on_from(made_ns); });
  EXPECT_GT(clock(), made_ns);
}

TEST_P(CardPolls, the_card_stands_when_a_poll_is_late_and_goes_on_where_it_stood) {
  auto card = open_card(spec);
  const auto clock = card->announce_polls();
  card->begin_polls();
  for (int i = 0; i < 3; ++i) {
    for (const Coord tile : {kPolled, kAlsoPolled}) poll(*card, tile);
    const uint64_t polled_ns = clock();
    until_it_stands();
    const uint64_t stood_ns = clock(), cycles = emulated->clock();
    EXPECT_LE(stood_ns, polled_ns + emu::kPollWithinNs);
    poll(*card, kAlsoPolled);  // the other one, whose poll is older, is late still
    EXPECT_TRUE(emulated->clock_stands());
    EXPECT_EQ(clock(), stood_ns);
    EXPECT_EQ(emulated->clock(), cycles);
    poll(*card, kPolled);
    EXPECT_LT(clock() - stood_ns, emu::kPollWithinNs + 1);
    until([&] { return goes_on_from(stood_ns); });
  }
}

TEST_P(CardPolls, an_observer_that_only_looks_on_is_not_awaited) {
  auto card = open_card(spec), other = open_card(spec);
  card->announce_polls();
  card->begin_polls();
  poll(*other, kPolled);
  poll(*card, kAlsoPolled);
  until_it_stands();
  const uint64_t stood_ns = emulated->now_ns();
  poll(*card, kAlsoPolled);
  until([&] { return goes_on_from(stood_ns); });
}

TEST_P(CardPolls, the_latest_of_several_observers_is_waited_for_until_it_leaves) {
  auto card = open_card(spec), late = open_card(spec);
  for (Card* observer : {late.get(), card.get()}) {
    observer->announce_polls();
    observer->begin_polls();
    poll(*observer, kPolled);
  }
  until_it_stands();
  const uint64_t stood_ns = emulated->now_ns();
  poll(*card, kPolled);
  EXPECT_EQ(emulated->now_ns(), stood_ns);
  late.reset();
  until([&] {
    poll(*card, kPolled);
    return goes_on_from(stood_ns);
  });
}

TEST_P(CardPolls, a_tile_that_is_left_out_for_long_is_not_awaited) {
  auto card = open_card(spec);
  card->announce_polls();
  card->begin_polls();
  poll(*card, kPolled);
  poll(*card, kAlsoPolled);
  until_it_stands();
  const uint64_t stood_ns = emulated->now_ns();
  for (int i = 0; i < 2 * 64 && !goes_on_from(stood_ns); ++i) poll(*card, kPolled);
  poll(*card, kPolled);
  until([&] { return goes_on_from(stood_ns); });
}

TEST_P(CardPolls, time_never_goes_back_when_observers_come) {
  auto card = open_card(spec);
  card->announce_polls();
  card->begin_polls();
  std::atomic<bool> over{false};
  std::thread reader([&] {
    for (uint64_t last = 0; !over;) {
      const uint64_t now = emulated->now_ns();
      ASSERT_GE(now, last);
      last = now;
    }
  });
  for (int i = 0; i < 50; ++i) {
    auto other = open_card(spec);
    const auto clock = other->announce_polls();
    const uint64_t stood_ns = clock();
    poll(*card, kPolled);
    EXPECT_GE(clock(), stood_ns);
    other->begin_polls();
    EXPECT_GE(clock(), stood_ns);
  }
  over = true;
  reader.join();
}

INSTANTIATE_TEST_SUITE_P(MappedAndStrict, CardPolls, testing::Bool(),
                         [](const auto& p) { return p.param ? "strict" : "mapped"; });

TEST(CardWithoutPolls, offers_no_clock_of_its_own) {
  EmulatedCardOptions o;
  o.name = "no-polls-" + std::to_string(getpid());
  EmulatedCard emulated(o);
  emulated.announce();
  auto card = open_card("emu:" + o.name);
  EXPECT_FALSE(card->announce_polls());
  card->begin_polls();
  EXPECT_FALSE(emulated.clock_stands());
}

}  // namespace
}  // namespace ttc::card
