// How the kernel-driver card is opened: its requests to the driver, names of cards, what refuses it, versions of the driver.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <set>
#include <string>
#include <vector>

#include "driver_iface/model/driver_model.hpp"
#include "tests/unit/driver_iface/kmd/kmd_card_fixture.hpp"

namespace ttc::card {
namespace {

TEST_P(KmdCard, opens_read_only_and_asks_each_thing_once) {
  add();
  open();
  EXPECT_EQ(model.open_flags(), std::set<int>{O_RDONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK});
  auto asked = model.asked();
  EXPECT_EQ(asked[Request::get_driver_info], 1u);
  EXPECT_EQ(asked[Request::get_device_info], 1u);
  EXPECT_EQ(asked[Request::set_power_state], 1u);
  EXPECT_EQ(asked[Request::allocate_window], 2u);
  EXPECT_EQ(asked[Request::query_mappings], 1u);
  EXPECT_EQ(asked[Request::free_window], 0u);
  EXPECT_TRUE(model.state(0).hazards.empty()) << model.state(0).hazards.front();
}

TEST_P(KmdCard, takes_two_windows_of_two_megabytes_and_four_mappings) {
  add();
  open();
  const auto s = model.state(0);
  EXPECT_EQ(s.windows_taken, blackhole() ? (std::vector<uint32_t>{0, 1}) : (std::vector<uint32_t>{156, 157}));
  EXPECT_EQ(s.mappings, 4u);  // control, payload twice, the page of the node id
  card.reset();
  expect_nothing_held();
  EXPECT_EQ(model.asked()[Request::free_window], 2u);
}

TEST_P(KmdCard, in_steady_state_only_aims_and_an_occasional_question_reach_the_driver) {
  add();
  open();
  const auto before = model.asked();
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(card->aim(Window::control, tensix(i % 4), 0), Access::ok);
    words.resize(16);
    ASSERT_EQ(card->copy(Window::control, 0, words), Access::ok);
  }
  auto after = model.asked();
  EXPECT_EQ(after[Request::configure_window], before.at(Request::configure_window) + 100);
  after[Request::configure_window] = before.at(Request::configure_window);
  EXPECT_EQ(after, before);
}

TEST_P(KmdCard, a_hundred_times_attached_and_detached_leave_nothing) {
  add();
  for (int i = 0; i < 100; ++i) {
    open();
    card.reset();
  }
  expect_nothing_held();
  EXPECT_TRUE(model.state(0).hazards.empty());
}

TEST_P(KmdCard, every_form_of_name_opens_the_same_card) {
  ModelNode node;
  node.ordinal = 3;
  node.pci = "0001:c2:00.0";
  add(node);
  const std::string by_id =
      std::string("/dev/tenstorrent/by-id/") + (blackhole() ? "blackhole-" : "wormhole-") + node.asic_id;
  for (const std::string& spec :
       {std::string("3"), std::string("/dev/tenstorrent/3"), by_id, std::string("pci:0001:c2:00.0")}) {
    open(spec);
    EXPECT_EQ(card->identity().spec, spec);
    EXPECT_EQ(card->identity().live_name, blackhole() ? "blackhole-0123ABCD" : "wormhole-0123ABCD");
  }
  EXPECT_EQ(present_cards().front(), "pci:0001:c2:00.0");
}

TEST_P(KmdCard, without_an_asic_id_the_pci_address_names_the_segment) {
  ModelNode node;
  for (const char* id : {"", "0000000000000000"}) {
    node.asic_id = id;
    add(node);
    open(std::to_string(node.ordinal++));
    EXPECT_EQ(card->identity().live_name, "pci-0000-01-00.0");
  }
}

TEST_P(KmdCard, what_is_no_card_is_one_sentence) {
  add();
  expect_refusal("7", {"7: there is no /dev/tenstorrent/7", "ttcollect list", "modprobe"});
  expect_refusal("/dev/tenstorrent/9", {"there is no such node"});
  expect_refusal("/dev/null", {"/dev/null: this is not a node of the Tenstorrent driver", "not opened"});
  expect_refusal("pci:0000:99:00.0", {"no node", "0000:99:00.0"});
  expect_refusal("nonsense", {"not of a form that is known"});
  EXPECT_TRUE(model.open_flags().size() == 1);
  expect_nothing_held();
}

TEST_P(KmdCard, no_permission_is_one_sentence) {
  ModelNode node;
  node.open_error = EACCES;
  add(node);
  expect_refusal("0", {"no permission", "/dev/tenstorrent/0", "udev"});
}

TEST_P(KmdCard, an_exclusive_holder_is_named) {
  add();
  const int other = model.open_as(4242, "/dev/tenstorrent/0", O_RDWR | O_EXCL | O_NONBLOCK);
  ASSERT_GT(other, 0);
  expect_refusal("0", {"exclusively", "pid 4242 (workload)", "--wait"});
  model.close(other);
  EXPECT_NO_THROW(open());
  EXPECT_EQ(model.open_as(4242, "/dev/tenstorrent/0", O_RDWR | O_EXCL | O_NONBLOCK), -EAGAIN);
}

TEST_P(KmdCard, when_windows_ran_out_the_sentence_says_who_has_the_card) {
  add();
  const int other = model.open_as(4242, "/dev/tenstorrent/0", O_RDWR);
  for (const unsigned left : {1u, 0u}) {
    model.take_windows(other, left);
    expect_refusal("0", {"no window of 2 MiB is left", "pid 4242 (workload)"});
    EXPECT_EQ(model.state(0).descriptors, 1u);
    EXPECT_EQ(model.state(0).mappings, 0u);
  }
  model.close(other);
  EXPECT_NO_THROW(open());
}

TEST_P(KmdCard, every_driver_from_2_0_on_is_worked_with) {
  for (unsigned minor = 0; minor <= 11; ++minor) {
    ModelNode node;
    node.ordinal = minor;
    node.minor = minor;
    add(node);
    open(std::to_string(minor));
    EXPECT_EQ(read(), Access::ok);
    EXPECT_TRUE(noted("driver 2." + std::to_string(minor) + ".1"));
    EXPECT_EQ(noted("does not report who"), minor < 5);
    EXPECT_EQ(noted("has no power votes"), minor < 6);
    EXPECT_EQ(noted("does not revoke mappings"), minor == 6);
    EXPECT_EQ(noted("newer than"), minor > 10);
    EXPECT_EQ(model.state(minor).power_messages.size(), minor < 6 ? 0u : 1u);
  }
}

TEST_P(KmdCard, older_drivers_and_other_interfaces_are_refused) {
  ModelNode old;
  old.major = 1;
  old.minor = 34;
  old.api_level = 1;
  add(old);
  expect_refusal("0", {"too old", "2.0"});
  ModelNode future;
  future.ordinal = 1;
  future.major = 3;
  future.api_level = 3;
  add(future);
  expect_refusal("1", {"interface level 3"});
  expect_nothing_held();
}

}  // namespace
}  // namespace ttc::card
