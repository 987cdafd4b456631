// The kernel-driver card's vote for power, and the messages of the driver's model that follow from votes and closes.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "driver_iface/model/driver_model.hpp"
#include "tests/unit/driver_iface/kmd/kmd_card_fixture.hpp"

namespace ttc::card {
namespace {

TEST_P(KmdCard, the_vote_keeps_tiles_clocked_when_the_workload_leaves) {
  add();
  const int workload = model.open_as(4242, "/dev/tenstorrent/0", O_RDWR);
  open();
  model.close(workload);
  card.reset();
  // The workload's own, ours beside it (unchanged), ours alone at once, nothing; a Wormhole's driver waits with the last.
  const std::vector<uint16_t> at_once{0x7FFE, 0x7FFE, 0x0006};
  if (chip().arch().name == "wormhole_b0") {
    EXPECT_EQ(model.state(0).power_messages, at_once);
  }
  model.grace_over(0);
  EXPECT_EQ(model.state(0).power_messages, (std::vector<uint16_t>{0x7FFE, 0x7FFE, 0x0006, 0x0000}));
}

TEST_P(KmdCard, the_vote_can_be_switched_off) {
  add();
  const int workload = model.open_as(4242, "/dev/tenstorrent/0", O_RDWR);
  open("0", {.power_vote = false});
  EXPECT_TRUE(noted("no power vote"));
  EXPECT_EQ(model.asked()[Request::set_power_state], 0u);
  model.close(workload);
  EXPECT_EQ(model.state(0).power_messages, (std::vector<uint16_t>{0x7FFE, 0x0000}));
}

// What the real driver does (measured on tt-kmd 2.10 in a virtual machine) and tests of ours must be able to rely on.
TEST_P(KmdCard, the_model_sends_no_message_when_somebody_closes_who_never_voted) {
  add();
  const int workload = model.open_as(4242, "/dev/tenstorrent/0", O_RDWR);
  open("0", {.power_vote = false});
  const std::vector<uint16_t> of_workload = model.state(0).power_messages;
  card.reset();  // beside the workload
  EXPECT_EQ(model.state(0).power_messages, of_workload);
  model.close(workload);
  open("0", {.power_vote = false});
  model.grace_over(0);
  const size_t before = model.state(0).power_messages.size();
  card.reset();  // as the last one
  model.grace_over(0);
  EXPECT_EQ(model.state(0).power_messages.size(), before);
}

TEST_P(KmdCard, the_model_powers_a_wormhole_down_some_time_after_the_last_close_only) {
  for (const unsigned minor : {8u, 10u}) {
    ModelNode node;
    node.ordinal = minor;
    node.minor = minor;
    add(node);
    const std::string path = "/dev/tenstorrent/" + std::to_string(minor);
    const bool waits = minor >= 9 && chip().arch().name == "wormhole_b0";
    const std::vector<uint16_t> opened{0x7FFE}, over{0x7FFE, 0x0000};
    model.close(model.open_as(4242, path, O_RDWR));
    EXPECT_EQ(model.state(minor).power_messages, waits ? opened : over);
    model.grace_over(minor);
    EXPECT_EQ(model.state(minor).power_messages, over);
    model.grace_over(minor);
    EXPECT_EQ(model.state(minor).power_messages, over) << "it was sent twice";
  }
}

TEST_P(KmdCard, firmware_that_takes_no_votes_is_no_error) {
  ModelNode node;
  node.firmware_votes = false;
  add(node);
  open();
  EXPECT_TRUE(noted("firmware takes no such messages"));
  EXPECT_EQ(read(), Access::ok);
}

}  // namespace
}  // namespace ttc::card
