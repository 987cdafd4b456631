// The kernel-driver card when its chip is reset, pulled, silent or slow under it.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "driver_iface/allow_list.hpp"
#include "driver_iface/guarded_card.hpp"
#include "driver_iface/model/driver_model.hpp"
#include "driver_iface/model/reset_sender.hpp"
#include "tests/unit/driver_iface/kmd/kmd_card_fixture.hpp"

namespace ttc::card {
namespace {

TEST_P(KmdCard, the_model_keeps_a_lock_over_a_reset_until_its_stale_descriptor_closes) {
  add();
  const int holder = model.open_as(4242, "/dev/tenstorrent/0", O_RDWR | O_APPEND);
  kmd::LockControl lock;
  lock.index = 40;
  ASSERT_EQ(model.ioctl(holder, Request::lock_control, &lock), 0);
  ASSERT_EQ(lock.value, 1);
  model.reset(0);
  model.post_reset(0);
  const int other = model.open_as(4343, "/dev/tenstorrent/0", O_RDWR | O_APPEND);
  ASSERT_EQ(model.ioctl(other, Request::lock_control, &lock), 0);
  EXPECT_EQ(lock.value, 0) << "a reset freed the lock";
  EXPECT_EQ(model.ioctl(holder, Request::lock_control, &lock), -ENODEV);
  model.close(holder);
  ASSERT_EQ(model.ioctl(other, Request::lock_control, &lock), 0);
  EXPECT_EQ(lock.value, 1);
}

TEST_P(KmdCard, a_reset_while_reading_is_an_answer_and_everything_is_given_back) {
  add();
  for (const Window window : {Window::control, Window::payload}) {
    open();
    ASSERT_EQ(read(window), Access::ok);
    model.reset(0);
    EXPECT_EQ(card->copy(window, 0, words), Access::gone);
    expect_nothing_held();  // at once, not at a later call
    EXPECT_EQ(card->health(), Health::gone);
    EXPECT_EQ(card->aim(window, tensix(), 0), Access::gone);
    EXPECT_EQ(card->copy(window, 0, words), Access::gone);
    model.post_reset(0);
    card.reset();
  }
}

TEST_P(KmdCard, a_reset_is_noticed_by_whatever_is_done_next) {
  add();
  const auto after_reset = [&](auto&& act) {
    open();
    EXPECT_EQ(read(), Access::ok);
    uint64_t cycles = 0;
    EXPECT_EQ(card->wall_clock(tensix(), cycles), Access::ok);
    model.reset(0);
    act();
    EXPECT_EQ(card->health(), Health::gone);
    expect_nothing_held();
    model.post_reset(0);
  };
  after_reset([&] { EXPECT_EQ(card->aim(Window::control, tensix(1), 0), Access::gone); });
  after_reset([&] {
    uint32_t id = 0;
    const auto offset = card->identity().arch->node_id_address - static_cast<uint32_t>(kRegisterWindow);
    EXPECT_EQ(card->load_registers(Window::control, offset, {&id, 1}), Access::gone);
  });
  after_reset([&] { EXPECT_EQ(card->check(), Health::gone); });
}

// It was "mapping a window failed: No such device", and nothing waited for the card.
TEST_P(KmdCard, a_reset_that_overlaps_a_mapping_while_opening_is_told_as_a_reset) {
  add();
  for (unsigned before = 0; before < 3; ++before) {
    model.hold_reset_lock(0, before);
    expect_refusal("0", {"being reset", "--wait"});
    EXPECT_TRUE(model.state(0).windows_taken.empty());
  }
  EXPECT_EQ(refusal(), "");
}

TEST_P(KmdCard, opening_between_reset_and_restore_waits_and_works_afterwards) {
  add();
  model.reset(0);
  expect_refusal("0", {"being reset", "--wait"});
  expect_nothing_held();
  model.post_reset(0);
  open();
  EXPECT_EQ(read(), Access::ok);
}

// Before 2.7 the driver leaves the mappings in place, before 2.6 the descriptors too: loads return
// all-ones.
TEST_P(KmdCard, on_older_drivers_all_ones_are_looked_into) {
  for (const unsigned minor : {0u, 5u, 6u}) {
    ModelNode node;
    node.ordinal = minor;
    node.minor = minor;
    add(node);
    card = std::make_unique<GuardedCard>(open_card(std::to_string(minor)));
    ASSERT_EQ(read(), Access::ok);
    model.reset(minor);
    EXPECT_EQ(read(), Access::gone) << "2." << minor;
    EXPECT_EQ(card->health(), Health::gone);
  }
}

TEST_P(KmdCard, a_dead_link_is_told_from_a_silent_tile) {
  add();
  card = std::make_unique<GuardedCard>(open_card("0"));
  ASSERT_EQ(read(), Access::ok);
  model.silence(0, tensix());
  EXPECT_EQ(read(), Access::suspect);
  EXPECT_EQ(card->health(), Health::ok);
  ASSERT_EQ(card->aim(Window::control, tensix(1), 0), Access::ok);
  EXPECT_EQ(card->copy(Window::control, 0, words), Access::ok);
  model.break_link(0);
  EXPECT_EQ(card->copy(Window::control, 0, words), Access::gone);
  EXPECT_EQ(card->health(), Health::gone);
}

TEST_P(KmdCard, a_load_that_is_slow_is_looked_into_and_one_that_stalls_without_an_answer_ends_the_copy) {
  add();
  open();
  chip().store(tensix(), 3 * 4096, 77);
  ASSERT_EQ(read(Window::payload, 4 * 4096), Access::ok);
  const uint64_t loads = card->transactions().register_loads;
  const auto copy_with_stall = [&](uint64_t ns) {
    words.assign(words.size(), 0);
    EXPECT_EQ(card->aim(Window::payload, tensix(1), 0), Access::ok);
    EXPECT_EQ(card->aim(Window::payload, tensix(0), 0), Access::ok);
    model.stall(0, 4096, ns);
    return card->copy(Window::payload, 0, words);
  };
  EXPECT_EQ(copy_with_stall(20'000'000), Access::ok);
  EXPECT_EQ(card->transactions().register_loads, loads + 1) << "the chip's own node id was not read";
  EXPECT_EQ(words[3 * 512], 77u);
  EXPECT_EQ(copy_with_stall(200'000'000), Access::ok) << "the block that stalled was answered";
  EXPECT_EQ(words[3 * 512], 77u);
  // Time that the host of a virtual machine took from the thread is not the tile's.
  const auto copy_with_steal = [&] {
    words.assign(words.size(), 0);
    EXPECT_EQ(card->aim(Window::payload, tensix(1), 0), Access::ok);
    EXPECT_EQ(card->aim(Window::payload, tensix(0), 0), Access::ok);
    model.stall(0, 4096, 200'000'000, DriverModel::Stall::cpu_stolen);
    return card->copy(Window::payload, 0, words);
  };
  EXPECT_EQ(copy_with_steal(), Access::ok);
  EXPECT_EQ(words[3 * 512], 77u);
  model.silence(0, tensix());
  EXPECT_EQ(copy_with_stall(200'000'000), Access::suspect);
  EXPECT_EQ(words[3 * 512], 0u) << "it went on after a stall";
  EXPECT_EQ(card->health(), Health::ok);
  // The same with the card gone behind it.
  EXPECT_EQ(card->aim(Window::payload, tensix(1), 0), Access::ok);
  EXPECT_EQ(card->aim(Window::payload, tensix(0), 0), Access::ok);
  model.break_link(0);
  model.stall(0, 4096, 20'000'000);
  EXPECT_EQ(card->copy(Window::payload, 0, words), Access::gone);
}

TEST_P(KmdCard, unplugging_is_noticed_and_the_card_can_come_back_under_its_number) {
  add();
  open();
  ASSERT_EQ(read(Window::payload), Access::ok);
  model.unplug(0);
  EXPECT_EQ(card->copy(Window::payload, 0, words), Access::gone);
  expect_refusal("0", {"there is no /dev/tenstorrent/0"});
  add();  // while the old one is still held
  auto again = open_card("0");
  EXPECT_EQ(again->health(), Health::ok);
  EXPECT_EQ(card->health(), Health::gone);
}

// The notice comes before the reset: there is time for a last poll, and closing leaves nothing in its way.
TEST_P(KmdCard, an_announced_reset_leaves_time_to_let_go) {
  add();
  open();
  EXPECT_EQ(card->health(), Health::ok);
  ASSERT_EQ(testing_support::report_listeners(notices, 1), 1u);
  EXPECT_EQ(card->health(), Health::leaving);
  EXPECT_EQ(read(), Access::ok);
  card.reset();
  expect_nothing_held();
  expect_refusal("0", {"announced", "--wait"});  // or its windows would be in the way again
  expect_nothing_held();
  model.reset(0);
  model.post_reset(0);
  expect_refusal("0", {"announced"});
  ASSERT_EQ(testing_support::report_listeners(notices, 2), 1u);
  open();
  EXPECT_EQ(card->health(), Health::ok) << "an announcement is for the cards that were open";
}

TEST_P(KmdCard, resets_under_many_readers_hurt_none_but_their_own_card) {
  constexpr unsigned kCards = 3;
  for (unsigned i = 0; i < kCards; ++i) {
    ModelNode node;
    node.ordinal = i;
    node.pci = "0000:0" + std::to_string(i + 1) + ":00.0";
    add(node);
  }
  std::atomic<unsigned> reading{0}, gone{0}, wrong{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kCards; ++i)
    threads.emplace_back([&, i] {
      auto mine = open_card(std::to_string(i));
      const Coord tile = mine->tiles()[1].at;
      std::vector<uint64_t> out(512);
      if (mine->aim(Window::payload, tile, 0) != Access::ok) ++wrong;
      ++reading;
      for (;;) {
        const Access a = mine->copy(Window::payload, 0, out);
        if (a == Access::gone) break;
        if (a != Access::ok) ++wrong;
        if (stop && i == kCards - 1) return;  // the one that is never reset
      }
      ++gone;
    });
  while (reading < kCards) std::this_thread::yield();
  for (unsigned i = 0; i + 1 < kCards; ++i) model.reset(i);
  while (gone < kCards - 1) std::this_thread::yield();
  stop = true;
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(gone, kCards - 1);
}

}  // namespace
}  // namespace ttc::card
