// The kernel-driver card against the model of the driver: its requests, and its behaviour when something is
// missing, refused, reset, pulled or silent. What every card must do: card_conformance_test.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "driver_iface/allow_list.hpp"
#include "driver_iface/emulated_card.hpp"
#include "driver_iface/guarded_card.hpp"
#include "driver_iface/model/driver_model.hpp"
#include "driver_iface/model/reset_sender.hpp"

namespace ttc::card {
namespace {

using kmd::DriverModel;
using kmd::ModelNode;
using kmd::Request;

class KmdCard : public testing::TestWithParam<const char*> {
 protected:
  KmdCard() {
    static int number = 0;
    notices = testing::TempDir() + "ttc-kmd-" + std::to_string(getpid()) + "-" + std::to_string(number++);
    model.set_notice_directory(notices);
    kmd::use_system(model);
  }
  ~KmdCard() override {
    card.reset();
    kmd::use_system(kmd::linux_system());
    rmdir(notices.c_str());
  }

  bool blackhole() const { return GetParam() == std::string("blackhole"); }
  static EmulatedCardOptions chip_options(const char* arch, const std::string& name) {
    EmulatedCardOptions o;
    o.name = name;
    o.arch = arch;
    o.board = arch == std::string("blackhole") ? "p150" : "n150";
    o.virtual_time = true;
    return o;
  }
  void add(ModelNode node = {}, EmulatedCardOptions options = {}) {
    static int number = 0;
    const std::string name = "kmd-" + std::to_string(getpid()) + "-" + std::to_string(number++);
    const auto rows = options.harvested_rows, columns = options.harvested_columns,
               channels = options.harvested_channels;
    const uint32_t contradictions = options.contradictions;
    options = chip_options(GetParam(), name);
    options.harvested_rows = rows;
    options.harvested_columns = columns;
    options.harvested_channels = channels;
    options.contradictions = contradictions;
    chips.push_back(std::make_unique<EmulatedCard>(options));
    chips.back()->announce();
    node.card = name;
    model.add(node);
  }
  EmulatedCard& chip() { return *chips.back(); }
  void open(const std::string& spec = "0", OpenOptions options = {}) { card = open_card(spec, options); }
  std::string refusal(const std::string& spec = "0") {
    try {
      open_card(spec);
    } catch (const OpenError& e) {
      return e.what();
    }
    return {};
  }
  void expect_refusal(const std::string& spec, std::initializer_list<const char*> parts) {
    const std::string why = refusal(spec);
    for (const char* part : parts) EXPECT_NE(why.find(part), std::string::npos) << part << " in: " << why;
    EXPECT_EQ(why.find('\n'), std::string::npos);
  }
  bool noted(const std::string& part) const {
    const auto& remarks = card->identity().remarks;
    return std::any_of(remarks.begin(), remarks.end(),
                       [&](const std::string& n) { return n.find(part) != std::string::npos; });
  }
  Coord tensix(size_t nth = 0) const {
    for (const Tile& t : card->tiles())
      if (t.kind == TileKind::tensix && !t.harvested && nth-- == 0) return t.at;
    return {};
  }
  Access read(Window window = Window::control, uint32_t bytes = 4096) {
    words.assign(bytes / 8, 0);
    if (const Access a = card->aim(window, tensix(), 0); a != Access::ok) return a;
    return card->copy(window, 0, words);
  }
  // The driver holds no resource of this process.
  void expect_nothing_held() {
    const auto s = model.state(0);
    EXPECT_TRUE(s.windows_taken.empty());
    EXPECT_EQ(s.descriptors, 0u);
    EXPECT_EQ(s.mappings, 0u);
    EXPECT_EQ(model.bad_unmaps(), 0u);
  }

  std::string notices;
  DriverModel model;
  std::vector<std::unique_ptr<EmulatedCard>> chips;
  std::unique_ptr<Card> card;
  std::vector<uint64_t> words;
};

// --- its requests

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

// --- names

// What the search for tiles rests on: a fused-off tile reports that it is off, and a tile its coordinates.
TEST_P(KmdCard, contradicted_tiles_are_not_found_as_they_are) {
  add();
  open();
  const auto working = [&] {
    return std::count_if(card->tiles().begin(), card->tiles().end(),
                         [](const Tile& t) { return t.kind == TileKind::tensix && !t.harvested; });
  };
  const auto all = working();
  card.reset();
  EmulatedCardOptions unsaid;
  unsaid.contradictions = static_cast<uint32_t>(Contradiction::fused_off_unsaid);
  ModelNode second;
  second.ordinal = 1;
  second.pci = "0000:02:00.0";
  add(second, unsaid);
  open("1");
  EXPECT_EQ(working() > all, !blackhole()) << "Blackhole's telemetry names its columns besides";
  card.reset();
  EmulatedCardOptions other_names;
  other_names.contradictions = static_cast<uint32_t>(Contradiction::node_id);
  ModelNode third;
  third.ordinal = 2;
  third.pci = "0000:03:00.0";
  add(third, other_names);
  open("2");
  EXPECT_LT(working(), all);
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

// --- drivers

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

// --- power

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

TEST_P(KmdCard, firmware_that_takes_no_votes_is_no_error) {
  ModelNode node;
  node.firmware_votes = false;
  add(node);
  open();
  EXPECT_TRUE(noted("firmware takes no such messages"));
  EXPECT_EQ(read(), Access::ok);
}

// --- tiles

TEST_P(KmdCard, fused_off_tiles_are_learnt_from_the_chip) {
  EmulatedCardOptions o;
  if (blackhole())
    o.harvested_columns = {3, 12};
  else
    o.harvested_rows = {4};
  add({}, o);
  open();
  ASSERT_EQ(card->tiles().size(), chip().tiles().size());
  for (size_t i = 0; i < card->tiles().size(); ++i) {
    EXPECT_EQ(card->tiles()[i].at, chip().tiles()[i].at);
    EXPECT_EQ(card->tiles()[i].harvested, chip().tiles()[i].harvested);
  }
  EXPECT_TRUE(model.state(0).hazards.empty()) << model.state(0).hazards.front();
}

// Blackhole renumbers columns around fused-off ones: each tile must be reached under its physical name.
TEST_P(KmdCard, every_tile_shows_its_own_memory) {
  EmulatedCardOptions o;
  if (blackhole()) o.harvested_columns = {1, 6};
  add({}, o);
  open();
  for (const Tile& t : chip().tiles()) chip().store(t.at, 64, 0x1000u + t.at.x * 64u + t.at.y);
  for (const Tile& t : card->tiles()) {
    if (t.harvested) continue;
    uint64_t word = 0;
    ASSERT_EQ(card->aim(Window::control, t.at, 0), Access::ok);
    ASSERT_EQ(card->copy(Window::control, 64, {&word, 1}), Access::ok);
    EXPECT_EQ(word, 0x1000u + t.at.x * 64u + t.at.y);
  }
}

TEST_P(KmdCard, one_tile_whose_clock_is_off_is_left_out) {
  add();
  const Coord off{4, 3};
  model.harvest(0, off);
  open();
  EXPECT_EQ(card->aim(Window::control, off, 0), Access::refused);
  EXPECT_EQ(card->aim(Window::control, off, kRegisterWindow), Access::refused);
  EXPECT_EQ(read(), Access::ok);
}

TEST_P(KmdCard, a_chip_whose_tiles_do_not_answer_is_left_alone) {
  add();
  for (const Tile& t : chip().tiles()) model.silence(0, t.at);
  expect_refusal("0", {"do not answer over the NoC", "no more tiles are read"});
  expect_nothing_held();
}

// They should answer; a board whose fused-off tiles do not costs one read a line.
TEST_P(KmdCard, fused_off_lines_that_do_not_answer_are_left_out_as_a_whole) {
  ModelNode node;
  node.telemetry = false;  // which would show it
  add(node);
  const auto dead = [&](Coord c) { return blackhole() ? c.x == 15 || c.x == 16 : c.y == 10 || c.y == 11; };
  for (const Tile& t : chip().tiles())
    if (t.kind == TileKind::tensix && dead(t.at)) model.silence(0, t.at);
  open();
  for (const Tile& t : card->tiles())
    if (t.kind == TileKind::tensix) {
      EXPECT_EQ(t.harvested, dead(t.at)) << int{t.at.x} << "," << int{t.at.y};
    }
  EXPECT_TRUE(noted("2 tiles do not answer"));
}

TEST_P(KmdCard, a_second_chip_without_a_pci_function_is_told_of) {
  if (blackhole()) GTEST_SKIP() << "n300 is Wormhole";
  ModelNode node;
  node.card_type = "n300";
  add(node);
  open();
  EXPECT_TRUE(noted("second chip of an n300 is no PCI function"));
}

TEST_P(KmdCard, with_a_memory_channel_fused_off_the_others_are_reached_under_either_numbering) {
  if (!blackhole()) GTEST_SKIP() << "Wormhole has all its channels";
  constexpr uint64_t kPlace = 0x40'0000;
  for (const bool in_order : {false, true})
    for (uint8_t off = 0; off < 8; ++off) {
      ModelNode node;
      node.ordinal = 8u * in_order + off;
      node.memory_in_order = in_order;
      EmulatedCardOptions options;
      options.harvested_channels = {off};
      add(node, options);
      for (uint32_t bank = 0; bank < 7; ++bank)
        chip().store_dram(bank, kPlace, std::vector<uint32_t>{bank + 100, off});
      open(std::to_string(node.ordinal));
      ASSERT_EQ(card->identity().dram_views.size(), 7u);
      ASSERT_EQ(card->memory_numberings(), 2u);
      card->use_memory_numbering(in_order);
      for (uint32_t bank = 0; bank < 7; ++bank) {
        const DramView& view = card->identity().dram_views[bank];
        EXPECT_NE(view.channel, off);
        uint64_t word = 0;
        ASSERT_EQ(card->aim(Window::payload, view.endpoint, view.offset + kPlace), Access::ok);
        ASSERT_EQ(card->copy(Window::payload, (view.offset + kPlace) & (kWindowBytes - 1), {&word, 1}),
                  Access::ok);
        EXPECT_EQ(word, (bank + 100) | uint64_t{off} << 32)
            << "bank " << bank << " without channel " << int{off};
      }
      EXPECT_EQ(card->aim(Window::payload, card->identity().arch->ports(off)[0], 0), Access::refused);
      card.reset();
    }
}

TEST_P(KmdCard, a_chip_with_two_memory_channels_fused_off_is_refused) {
  if (!blackhole()) GTEST_SKIP() << "Wormhole has all its channels";
  ModelNode node;
  node.dram_channels = 0xf3;
  add(node);
  expect_refusal("0", {"memory channel", "fused off"});
  expect_nothing_held();
}

TEST_P(KmdCard, sensors_of_the_driver_are_telemetry) {
  add();
  open();
  const Telemetry t = card->telemetry();
  EXPECT_TRUE(t.aiclk_mhz.has_value());
  EXPECT_EQ(t.power_mw, 21'750u);
  EXPECT_EQ(t.temperature_mc, 48'500);
}

TEST_P(KmdCard, without_telemetry_the_tiles_alone_tell) {
  if (!blackhole()) GTEST_SKIP() << "only Blackhole's is read";
  ModelNode node;
  node.telemetry = false;
  add(node);
  open();
  EXPECT_TRUE(noted("telemetry table is not there"));
  EXPECT_EQ(read(), Access::ok);
}

// --- resets and removal

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

INSTANTIATE_TEST_SUITE_P(Archs, KmdCard, testing::Values("wormhole_b0", "blackhole"),
                         [](const auto& of) { return std::string(of.param); });

}  // namespace
}  // namespace ttc::card
