// What every card::Card must do, run on each implementation. To add one: write a Rig that can put bytes on
// the card and name its factory in INSTANTIATE_TEST_SUITE_P at the end.
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "driver_iface/allow_list.hpp"
#include "driver_iface/card.hpp"
#include "driver_iface/emulated_card.hpp"
#include "driver_iface/model/driver_model.hpp"
#include "driver_iface/model/reset_sender.hpp"

namespace ttc::card {
namespace {

// The other side of the card: what the test needs to be able to do to it.
class Rig {
 public:
  virtual ~Rig() = default;
  virtual std::string spec() const = 0;
  virtual std::string board() const = 0;
  virtual const Arch& arch() const = 0;
  virtual void store(Coord tile, uint32_t address, uint32_t value) = 0;
  virtual void store_dram(uint32_t view, uint64_t address, std::span<const uint32_t> words) = 0;
  virtual uint64_t clock() const = 0;
  virtual void advance_clock(uint64_t cycles) = 0;
  virtual AccessAccount account() const = 0;  // of all observers
  virtual void announce_leaving() = 0;
  virtual void vanish() = 0;
  virtual bool has_descriptor() const = 0;
  // Opening identifies the tiles by their registers; an emulated card needs no load for that.
  virtual bool opening_loads() const { return false; }
  // The other side counts every load and every refused access; a kernel driver counts aims only.
  virtual bool sees_loads() const { return true; }
};

using testing_support::report_listeners;

class EmulatedRig : public Rig {
 public:
  EmulatedRig(const char* arch, const char* board, bool strict, std::vector<CardFault> faults = {})
      : board_(board), strict_(strict) {
    static int number = 0;
    EmulatedCardOptions o;
    o.name = "conf-" + std::to_string(getpid()) + "-" + std::to_string(number++);
    o.arch = arch;
    o.board = board;
    o.strict = strict;
    o.virtual_time = true;
    o.faults = std::move(faults);
    spec_ = "emu:" + o.name;
    card_ = std::make_unique<EmulatedCard>(o);
    card_->announce();
  }
  std::string spec() const override { return spec_; }
  std::string board() const override { return board_; }
  const Arch& arch() const override { return card_->arch(); }
  void store(Coord tile, uint32_t address, uint32_t value) override { card_->store(tile, address, value); }
  void store_dram(uint32_t view, uint64_t address, std::span<const uint32_t> words) override {
    card_->store_dram(view, address, words);
  }
  uint64_t clock() const override { return card_->clock(); }
  void advance_clock(uint64_t cycles) override { card_->advance_clock(cycles); }
  AccessAccount account() const override { return card_->account(); }
  void announce_leaving() override { card_->announce_leaving(); }
  void vanish() override { card_.reset(); }
  bool has_descriptor() const override { return !strict_; }

 protected:
  std::string spec_, board_;
  bool strict_;
  std::unique_ptr<EmulatedCard> card_;
};

// An emulated card behind a node of the modelled kernel driver.
class DriverRig : public EmulatedRig {
 public:
  DriverRig(const char* arch, const char* board) : EmulatedRig(arch, board, false) {
    kmd::ModelNode node;
    node.card = spec_.substr(4);
    model_.set_notice_directory(testing::TempDir() + "ttc-notice-" + std::to_string(getpid()));
    model_.add(node);
    kmd::use_system(model_);
    spec_ = "pci:" + node.pci;
  }
  ~DriverRig() override {
    report_listeners(model_.notice_directory(), 2);  // an announced reset would keep the next rig's card shut
    kmd::use_system(kmd::linux_system());
    rmdir(model_.notice_directory().c_str());
  }
  AccessAccount account() const override {
    AccessAccount a{};
    a.window_moves = model_.state(0).window_moves;
    a.violations = model_.state(0).hazards.size() + model_.bad_unmaps();
    return a;
  }
  void announce_leaving() override { report_listeners(model_.notice_directory(), 1); }
  void vanish() override { model_.unplug(0); }
  bool has_descriptor() const override { return false; }
  bool opening_loads() const override { return true; }
  bool sees_loads() const override { return false; }

 private:
  mutable kmd::DriverModel model_;
};

// The rig is destroyed after the card: the test's members are declared in that order.
using Factory = std::unique_ptr<Rig> (*)();

class CardConformance : public testing::TestWithParam<Factory> {
 protected:
  void SetUp() override {
    rig = GetParam()();
    card = open_card(rig->spec());
    opened = card->transactions();
    account_opened = rig->account();
  }
  // Since it was opened.
  Transactions spent() const {
    Transactions t = card->transactions();
    t.round_trips -= opened.round_trips;
    t.bytes -= opened.bytes;
    t.window_moves -= opened.window_moves;
    t.register_loads -= opened.register_loads;
    return t;
  }
  const Arch& arch() const { return *card->identity().arch; }

  Coord tile_of(TileKind kind, bool harvested = false, size_t nth = 0) const {
    for (const Tile& t : card->tiles())
      if (t.kind == kind && t.harvested == harvested && nth-- == 0) return t.at;
    ADD_FAILURE() << "no such tile";
    return {};
  }
  Coord tensix(size_t nth = 0) const { return tile_of(TileKind::tensix, false, nth); }

  static uint32_t pattern(uint64_t address) {
    return static_cast<uint32_t>(address * 2654435761u ^ 0x5bd1e995);
  }
  static uint64_t pattern64(uint64_t address) {
    return pattern(address) | uint64_t{pattern(address + 4)} << 32;
  }
  void fill_l1(Coord tile, uint32_t from, uint32_t to) {
    for (uint32_t a = from; a < to; a += 4) rig->store(tile, a, pattern(a));
  }
  void fill_dram(uint32_t view, uint64_t from, uint32_t bytes, uint32_t salt = 0) {
    std::vector<uint32_t> words(bytes / 4);
    for (size_t i = 0; i < words.size(); ++i) words[i] = pattern(from + 4 * i) + salt;
    rig->store_dram(view, from, words);
  }
  static void expect_pattern(std::span<const uint64_t> got, uint64_t address) {
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_EQ(got[i], pattern64(address + 8 * i)) << "at 0x" << std::hex << address + 8 * i;
  }

  // Refused, reported to the card, and nothing loaded: neither counted nor stored.
  template <class F>
  void expect_refused(const char* what, F access) {
    const Transactions before = card->transactions();
    const AccessAccount account = rig->account();
    EXPECT_EQ(access(), Access::refused) << what;
    const Transactions after = card->transactions();
    EXPECT_EQ(after.round_trips, before.round_trips) << what;
    EXPECT_EQ(after.bytes, before.bytes) << what;
    EXPECT_EQ(after.window_moves, before.window_moves) << what;
    EXPECT_EQ(rig->account().round_trips, account.round_trips) << what;
    EXPECT_EQ(rig->account().window_moves, account.window_moves) << what;
    EXPECT_EQ(rig->account().violations, account.violations + rig->sees_loads()) << what;
  }
  void expect_account_agrees() {
    const Transactions t = card->transactions();
    const AccessAccount a = rig->account();
    EXPECT_EQ(a.window_moves, t.window_moves);
    if (!rig->sees_loads()) return;
    EXPECT_EQ(a.round_trips, t.round_trips);
    EXPECT_EQ(a.register_loads, t.register_loads);
  }
  uint32_t load(Coord tile, uint64_t address) {
    uint32_t value = 0;
    EXPECT_EQ(card->aim(Window::control, tile, kRegisterWindow), Access::ok);
    EXPECT_EQ(
        card->load_registers(Window::control, static_cast<uint32_t>(address - kRegisterWindow), {&value, 1}),
        Access::ok);
    return value;
  }

  std::unique_ptr<Rig> rig;
  std::unique_ptr<Card> card;
  Transactions opened;
  AccessAccount account_opened{};
};

TEST_P(CardConformance, identity_says_what_was_opened) {
  const Identity& id = card->identity();
  EXPECT_EQ(id.spec, rig->spec());
  EXPECT_FALSE(id.live_name.empty());
  EXPECT_EQ(id.live_name.find('/'), std::string::npos);
  ASSERT_NE(id.arch, nullptr);
  EXPECT_EQ(id.arch->name, rig->arch().name);
  EXPECT_EQ(id.board, rig->board());
  EXPECT_GT(id.aiclk_mhz, 0u);
  const auto tiles = card->tiles();
  EXPECT_EQ(id.max_compute_cores, std::count_if(tiles.begin(), tiles.end(), [](const Tile& t) {
              return t.kind == TileKind::tensix && !t.harvested;
            }));
}

TEST_P(CardConformance, tiles_are_all_tensix_and_ethernet_in_flat_id_order) {
  const auto tiles = card->tiles();
  std::vector<Coord> expected;
  for (uint8_t x = 0; x < arch().grid_x; ++x)
    for (uint8_t y = 0; y < arch().grid_y; ++y)
      if (const TileKind k = arch().kind_at({x, y}); k == TileKind::tensix || k == TileKind::ethernet)
        expected.push_back({x, y});
  ASSERT_EQ(tiles.size(), expected.size());
  size_t harvested = 0;
  for (size_t i = 0; i < tiles.size(); ++i) {
    EXPECT_EQ(tiles[i].at, expected[i]);
    EXPECT_EQ(tiles[i].kind, arch().kind_at(tiles[i].at));
    if (tiles[i].harvested) {
      EXPECT_EQ(tiles[i].kind, TileKind::tensix);
    }
    harvested += tiles[i].harvested;
  }
  const Board* board = board_by_name(card->identity().board);
  ASSERT_NE(board, nullptr);
  const size_t row = board->harvested_rows ? 8 : 0;         // Tensix tiles in a Wormhole row
  const size_t column = board->harvested_columns ? 10 : 0;  // and in a Blackhole column
  EXPECT_EQ(harvested, board->harvested_rows * row + board->harvested_columns * column);
}

TEST_P(CardConformance, opening_loads_registers_at_most) {
  EXPECT_EQ(opened.round_trips > 0, rig->opening_loads());
  EXPECT_EQ(opened.round_trips, opened.register_loads);
  EXPECT_EQ(opened.bytes, 4 * opened.register_loads);
  EXPECT_LE(opened.window_moves, opened.register_loads);
  EXPECT_EQ(rig->account().violations, 0u);
  EXPECT_EQ(card->health(), Health::ok);
}

TEST_P(CardConformance, a_copy_of_l1_delivers_its_bytes_and_costs_the_lines_it_touches) {
  const Coord at = tensix(3);
  fill_l1(at, 0, 16 << 10);
  ASSERT_EQ(card->aim(Window::control, at, 0), Access::ok);
  for (const uint32_t offset : {0u, 8u, 48u, 56u, 64u, 72u, 120u, 128u, 4088u, 4096u})
    for (const uint32_t bytes : {8u, 16u, 56u, 64u, 72u, 128u, 136u, 4096u}) {
      std::vector<uint64_t> out(bytes / 8, ~uint64_t{0});
      const Transactions before = card->transactions();
      ASSERT_EQ(card->copy(Window::control, offset, out), Access::ok) << offset << " " << bytes;
      expect_pattern(out, offset);
      const Transactions after = card->transactions();
      EXPECT_EQ(after.round_trips - before.round_trips, lines_touched(offset, bytes))
          << offset << " " << bytes;
      EXPECT_EQ(after.bytes - before.bytes, bytes);
      EXPECT_EQ(after.window_moves, before.window_moves);
    }
  expect_account_agrees();
  EXPECT_EQ(rig->account().violations, 0u);
}

// What the link probe measures with: every width, both mappings, 4 bytes included.
TEST_P(CardConformance, one_load_of_any_width_delivers_its_bytes_and_is_one_round_trip) {
  const Coord at = tensix(1);
  fill_l1(at, 0, 256);
  ASSERT_EQ(card->aim(Window::payload, at, 0), Access::ok);
  for (const Memory memory : {Memory::uncached, Memory::write_combined})
    for (const uint32_t bytes : {4u, 8u, 16u, 32u, 64u})
      for (const uint32_t offset : {0u, bytes, 192u - bytes, 128u}) {
        std::vector<uint32_t> out(bytes / 4 + 1, 42);
        const Transactions before = card->transactions();
        ASSERT_EQ(card->one_load(Window::payload, memory, offset, std::span(out).first(bytes / 4)),
                  Access::ok)
            << offset << " " << bytes;
        for (uint32_t i = 0; i < bytes / 4; ++i)
          ASSERT_EQ(out[i], pattern(offset + 4 * i)) << offset << " " << bytes;
        EXPECT_EQ(out.back(), 42u);
        const Transactions after = card->transactions();
        EXPECT_EQ(after.round_trips - before.round_trips, 1u);
        EXPECT_EQ(after.bytes - before.bytes, bytes);
        EXPECT_EQ(after.register_loads, before.register_loads);
        EXPECT_EQ(after.window_moves, before.window_moves);
      }
  fill_dram(0, 4096, 64);
  const DramView& view = arch().dram_views()[0];
  ASSERT_EQ(card->aim(Window::payload, view.endpoint, view.offset + 4096), Access::ok);
  uint32_t word = 0;
  const auto in_window = static_cast<uint32_t>((view.offset + 4096) % kWindowBytes);
  ASSERT_EQ(card->one_load(Window::payload, Memory::write_combined, in_window + 4, {&word, 1}), Access::ok);
  EXPECT_EQ(word, pattern(4096 + 4));
  expect_account_agrees();
  EXPECT_EQ(rig->account().violations, 0u);
}

TEST_P(CardConformance, one_load_that_would_be_several_or_of_something_else_is_refused) {
  std::vector<uint32_t> out(32, 42);
  const auto load = [&](uint32_t offset, size_t words) {
    return card->one_load(Window::payload, Memory::uncached, offset, std::span(out).first(words));
  };
  expect_refused("window not aimed", [&] { return load(0, 1); });
  ASSERT_EQ(card->aim(Window::payload, tensix(), 0), Access::ok);
  for (const size_t words : {0u, 3u, 5u, 6u, 7u, 12u, 17u, 32u})
    expect_refused("no width a load has", [&] { return load(0, words); });
  for (const uint32_t slip : {1u, 2u, 3u}) expect_refused("misaligned word", [&] { return load(slip, 1); });
  for (const size_t words : {2u, 4u, 8u, 16u})
    expect_refused("misaligned", [&] { return load(static_cast<uint32_t>(2 * words), words); });
  expect_refused("behind L1", [&] { return load(arch().tensix_l1_bytes, 1); });
  expect_refused("behind the window", [&] { return load(kWindowBytes, 1); });
  expect_refused("at the largest offset", [&] { return load(0xfffffffc, 1); });
  ASSERT_EQ(card->aim(Window::payload, tensix(), kRegisterWindow), Access::ok);
  expect_refused("a register",
                 [&] { return load(static_cast<uint32_t>(kWallClockLow - kRegisterWindow), 1); });
  EXPECT_EQ(std::count(out.begin(), out.end(), 42u), static_cast<ptrdiff_t>(out.size()));
}

TEST_P(CardConformance, large_copies_cost_no_more_than_their_lines) {
  const Coord at = tensix();
  fill_l1(at, 0, 256 << 10);
  ASSERT_EQ(card->aim(Window::payload, at, 0), Access::ok);
  for (const uint32_t offset : {0u, 8u, 56u})
    for (const uint32_t bytes : {32u << 10, (32u << 10) + 8, 40u << 10, 64u << 10, 200u << 10}) {
      std::vector<uint64_t> out(bytes / 8);
      const Transactions before = card->transactions();
      ASSERT_EQ(card->copy(Window::payload, offset, out), Access::ok);
      expect_pattern(out, offset);
      EXPECT_EQ(card->transactions().round_trips - before.round_trips, lines_touched(offset, bytes))
          << offset << " " << bytes;
    }
  expect_account_agrees();
}

TEST_P(CardConformance, l1_can_be_read_up_to_its_last_word_on_every_tile_kind) {
  for (const TileKind kind : {TileKind::tensix, TileKind::ethernet}) {
    const Coord at = tile_of(kind);
    const uint32_t end = kind == TileKind::tensix ? arch().tensix_l1_bytes : arch().ethernet_l1_bytes;
    fill_l1(at, end - 128, end);
    std::vector<uint64_t> out(16);
    ASSERT_EQ(card->aim(Window::control, at, end - 8), Access::ok);
    ASSERT_EQ(card->copy(Window::control, end - 128, out), Access::ok);
    expect_pattern(out, end - 128);
    expect_refused("a word behind the end", [&] { return card->copy(Window::control, end - 120, out); });
    expect_refused("only behind the end", [&] { return card->copy(Window::control, end, out); });
  }
}

TEST_P(CardConformance, tiles_have_memories_of_their_own) {
  for (size_t i = 0; i < 4; ++i) rig->store(tensix(i), 64, static_cast<uint32_t>(i + 1));
  for (size_t i = 0; i < 4; ++i) {
    uint64_t word = 0;
    ASSERT_EQ(card->aim(Window::control, tensix(i), 0), Access::ok);
    ASSERT_EQ(card->copy(Window::control, 64, {&word, 1}), Access::ok);
    EXPECT_EQ(word, i + 1);
  }
}

TEST_P(CardConformance, every_dram_view_delivers_what_was_stored_in_it_and_nothing_of_another) {
  const auto views = arch().dram_views();
  for (uint32_t v = 0; v < views.size(); ++v) fill_dram(v, 4096, 256, v);
  std::vector<uint64_t> out(32);
  for (uint32_t v = 0; v < views.size(); ++v) {
    const uint64_t address = views[v].offset + 4096;
    ASSERT_EQ(card->aim(Window::payload, views[v].endpoint, address), Access::ok);
    ASSERT_EQ(card->copy(Window::payload, static_cast<uint32_t>(address % kWindowBytes), out), Access::ok);
    for (size_t i = 0; i < out.size(); ++i) {
      ASSERT_EQ(static_cast<uint32_t>(out[i]), pattern(4096 + 8 * i) + v) << "view " << v;
      ASSERT_EQ(static_cast<uint32_t>(out[i] >> 32), pattern(4096 + 8 * i + 4) + v) << "view " << v;
    }
  }
  EXPECT_EQ(rig->account().violations, 0u);
}

TEST_P(CardConformance, all_ports_of_a_channel_show_the_same_memory) {
  const auto views = arch().dram_views();
  for (uint32_t v = 0; v < views.size(); ++v) fill_dram(v, 0, 64, v);
  for (uint32_t v = 0; v < views.size(); ++v) {
    int ports = 0;
    for (uint8_t x = 0; x < arch().grid_x; ++x)
      for (uint8_t y = 0; y < arch().grid_y; ++y) {
        if (arch().channel_at({x, y}) != views[v].channel) continue;
        ++ports;
        uint64_t word = 0;
        ASSERT_EQ(card->aim(Window::payload, {x, y}, views[v].offset), Access::ok);
        ASSERT_EQ(
            card->copy(Window::payload, static_cast<uint32_t>(views[v].offset % kWindowBytes), {&word, 1}),
            Access::ok);
        EXPECT_EQ(static_cast<uint32_t>(word), pattern(0) + v);
      }
    EXPECT_GE(ports, 2);
  }
}

TEST_P(CardConformance, dram_is_read_on_both_sides_of_a_window_edge_and_up_to_its_end) {
  fill_dram(0, kWindowBytes - 128, 256);
  std::vector<uint64_t> out(16);
  const Coord port = arch().dram_views()[0].endpoint;
  ASSERT_EQ(card->aim(Window::payload, port, kWindowBytes - 8), Access::ok);
  ASSERT_EQ(card->copy(Window::payload, kWindowBytes - 128, out), Access::ok);
  expect_pattern(out, kWindowBytes - 128);
  expect_refused("across the window's end",
                 [&] { return card->copy(Window::payload, kWindowBytes - 64, out); });
  ASSERT_EQ(card->aim(Window::payload, port, kWindowBytes), Access::ok);
  ASSERT_EQ(card->copy(Window::payload, 0, out), Access::ok);
  expect_pattern(out, kWindowBytes);

  const auto last = static_cast<uint32_t>(arch().dram_views().size() - 1);
  const DramView& view = arch().dram_views()[last];
  const uint64_t end = arch().channel_bytes;
  fill_dram(last, end - view.offset - 128, 128);
  ASSERT_EQ(card->aim(Window::payload, view.endpoint, end - 8), Access::ok);
  ASSERT_EQ(card->copy(Window::payload, kWindowBytes - 128, out), Access::ok);
  expect_pattern(out, end - view.offset - 128);
}

TEST_P(CardConformance, what_changes_on_the_card_is_seen_by_the_next_copy) {
  const Coord at = tensix();
  ASSERT_EQ(card->aim(Window::control, at, 0), Access::ok);
  for (uint32_t i = 1; i < 50; ++i) {
    rig->store(at, 1024, i);
    uint64_t word = 0;
    ASSERT_EQ(card->copy(Window::control, 1024, {&word, 1}), Access::ok);
    ASSERT_EQ(word, i);
  }
}

TEST_P(CardConformance, a_window_is_counted_as_moved_only_when_it_moves) {
  const auto moves = [&] { return spent().window_moves; };
  const Coord a = tensix(0), b = tensix(1);
  EXPECT_EQ(card->aim(Window::control, a, 0), Access::ok);
  EXPECT_EQ(moves(), 1u);
  EXPECT_EQ(card->aim(Window::control, a, 0), Access::ok);
  EXPECT_EQ(card->aim(Window::control, a, 4096), Access::ok);
  EXPECT_EQ(moves(), 1u);
  EXPECT_EQ(card->aim(Window::control, b, 0), Access::ok);
  EXPECT_EQ(moves(), 2u);
  EXPECT_EQ(card->aim(Window::payload, b, 0), Access::ok);  // the other window
  EXPECT_EQ(moves(), 3u);
  EXPECT_EQ(card->aim(Window::control, b, kRegisterWindow), Access::ok);
  EXPECT_EQ(moves(), 4u);
  EXPECT_EQ(card->aim(Window::control, b, kWallClockLow), Access::ok);
  EXPECT_EQ(moves(), 4u);
  EXPECT_EQ(card->aim(Window::payload, b, 64), Access::ok);
  EXPECT_EQ(moves(), 4u);
  EXPECT_EQ(spent().round_trips, 0u);
  expect_account_agrees();
}

TEST_P(CardConformance, the_two_windows_do_not_disturb_each_other) {
  fill_l1(tensix(0), 0, 64);
  fill_dram(0, 0, 64, 0);
  std::vector<uint64_t> out(8);
  ASSERT_EQ(card->aim(Window::control, tensix(0), 0), Access::ok);
  ASSERT_EQ(card->aim(Window::payload, arch().dram_views()[0].endpoint, 0), Access::ok);
  rig->store(tensix(0), 0, 0x1111);
  ASSERT_EQ(card->copy(Window::control, 0, out), Access::ok);
  EXPECT_EQ(static_cast<uint32_t>(out[0]), 0x1111u);
  ASSERT_EQ(card->copy(Window::payload, 0, out), Access::ok);
  expect_pattern(out, 0);
}

TEST_P(CardConformance, a_refused_aim_leaves_the_window_where_it_was) {
  fill_l1(tensix(), 0, 64);
  ASSERT_EQ(card->aim(Window::control, tensix(), 0), Access::ok);
  expect_refused("harvested", [&] { return card->aim(Window::control, tile_of(TileKind::tensix, true), 0); });
  std::vector<uint64_t> out(8);
  ASSERT_EQ(card->copy(Window::control, 0, out), Access::ok);
  expect_pattern(out, 0);
  ASSERT_EQ(card->aim(Window::control, tensix(), 0), Access::ok);
  EXPECT_EQ(spent().window_moves, 1u);
}

TEST_P(CardConformance, registers_are_loaded_in_order_and_each_is_a_round_trip) {
  const Coord at = tensix(2);
  const uint32_t node = load(at, arch().node_id_address);
  EXPECT_EQ(node & 0x3f, at.x);
  EXPECT_EQ(node >> 6 & 0x3f, at.y);
  const Transactions before = card->transactions();
  uint32_t clock[3] = {};
  ASSERT_EQ(
      card->load_registers(Window::control, static_cast<uint32_t>(kWallClockLow - kRegisterWindow), clock),
      Access::ok);
  const uint64_t now = rig->clock();
  EXPECT_EQ(clock[0], static_cast<uint32_t>(now));
  EXPECT_EQ(clock[1], static_cast<uint32_t>(now >> 32));
  EXPECT_EQ(clock[2], static_cast<uint32_t>(now >> 32));
  const Transactions after = card->transactions();
  EXPECT_EQ(after.round_trips - before.round_trips, 3u);
  EXPECT_EQ(after.register_loads - before.register_loads, 3u);
  EXPECT_EQ(after.bytes - before.bytes, 12u);
  expect_account_agrees();
}

TEST_P(CardConformance, the_wall_clock_is_the_cards_clock_and_never_goes_back) {
  uint64_t last = 0;
  const uint64_t to_carry = (uint64_t{1} << 32) - static_cast<uint32_t>(rig->clock());
  for (const uint64_t step : {uint64_t{0}, uint64_t{1}, uint64_t{1000}, to_carry - 1002, uint64_t{1},
                              uint64_t{1}, uint64_t{1} << 33}) {
    rig->advance_clock(step);
    uint64_t cycles = 0;
    const uint64_t before = rig->clock();
    ASSERT_EQ(card->wall_clock(tensix(), cycles), Access::ok);
    EXPECT_GE(cycles, before);
    EXPECT_LE(cycles, rig->clock());
    EXPECT_GE(cycles, last);
    last = cycles;
  }
}

TEST_P(CardConformance, loading_the_low_half_latches_the_high_half_of_that_tile_only) {
  rig->advance_clock((uint64_t{1} << 32) - static_cast<uint32_t>(rig->clock()) - 5);
  const auto high = static_cast<uint32_t>(rig->clock() >> 32);
  const Coord a = tensix(0), b = tensix(1);
  EXPECT_EQ(load(a, kWallClockLow), 0xfffffffbu);
  EXPECT_EQ(load(b, kWallClockLow), 0xfffffffbu);
  rig->advance_clock(10);
  EXPECT_EQ(load(a, kWallClockHigh), high + 1);
  EXPECT_EQ(load(a, kWallClockLatched), high);
  EXPECT_EQ(load(a, kWallClockHigh), high + 1);
  EXPECT_EQ(load(a, kWallClockLatched), high);
  EXPECT_EQ(load(b, kWallClockLow), 5u);
  EXPECT_EQ(load(b, kWallClockLatched), high + 1);
  EXPECT_EQ(load(a, kWallClockLatched), high);
}

TEST_P(CardConformance, tiles_an_observer_must_not_touch_are_refused) {
  expect_refused("harvested tile",
                 [&] { return card->aim(Window::control, tile_of(TileKind::tensix, true), 0); });
  expect_refused("registers of a harvested tile", [&] {
    return card->aim(Window::control, tile_of(TileKind::tensix, true), kRegisterWindow);
  });
  expect_refused("outside the grid", [&] { return card->aim(Window::control, {255, 255}, 0); });
  expect_refused("just outside the grid", [&] { return card->aim(Window::control, {arch().grid_x, 1}, 0); });
  for (uint8_t x = 0; x < arch().grid_x; ++x)
    for (uint8_t y = 0; y < arch().grid_y; ++y) {
      const TileKind k = arch().kind_at({x, y});
      if (k == TileKind::tensix || k == TileKind::ethernet || k == TileKind::dram) continue;
      const std::string what = "tile kind " + std::to_string(static_cast<int>(k));
      expect_refused(what.c_str(), [&] { return card->aim(Window::payload, {x, y}, 0); });
    }
  uint64_t cycles = 7;
  expect_refused("clock of a harvested tile",
                 [&] { return card->wall_clock(tile_of(TileKind::tensix, true), cycles); });
  EXPECT_EQ(cycles, 7u);
}

TEST_P(CardConformance, registers_that_are_not_on_the_allow_list_are_refused) {
  const auto registers = [&](uint64_t address, size_t count) {
    std::vector<uint32_t> values(count, 0xdeadbeef);
    const Access access =
        card->load_registers(Window::control, static_cast<uint32_t>(address - kRegisterWindow), values);
    for (const uint32_t v : values) EXPECT_EQ(v, 0xdeadbeefu) << std::hex << address;
    return access;
  };
  expect_refused("window not aimed", [&] { return registers(kWallClockLow, 1); });
  ASSERT_EQ(card->aim(Window::control, tensix(), 0), Access::ok);
  expect_refused("window aimed at memory", [&] { return registers(kWallClockLow, 1); });
  ASSERT_EQ(card->aim(Window::control, tensix(), kRegisterWindow), Access::ok);
  for (const uint64_t address :
       {uint64_t{0xFFB11000}, uint64_t{0xFFB00000}, kRegisterWindow, kWallClockLow - 4, kWallClockLatched + 4,
        uint64_t{0xFFBFFFFC}, uint64_t{0xFFC00000}})
    expect_refused("register not listed", [&] { return registers(address, 1); });
  for (const uint64_t slip : {1, 2, 3})
    expect_refused("unaligned register", [&] { return registers(kWallClockLow + slip, 1); });
  ASSERT_EQ(card->aim(Window::payload, tensix(), 0), Access::ok);
  uint64_t word = 0;
  expect_refused("memory copy of registers", [&] {
    return card->copy(Window::control, static_cast<uint32_t>(kWallClockLow - kRegisterWindow), {&word, 1});
  });
}

// "refused: nothing was loaded" (card.hpp) also when the first of several is allowed.
TEST_P(CardConformance, a_run_of_registers_is_refused_as_a_whole) {
  ASSERT_EQ(card->aim(Window::control, tensix(), kRegisterWindow), Access::ok);
  uint32_t values[2] = {0xdeadbeef, 0xdeadbeef};
  expect_refused("the second is not listed", [&] {
    return card->load_registers(Window::control, static_cast<uint32_t>(kWallClockLatched - kRegisterWindow),
                                values);
  });
  EXPECT_EQ(values[0], 0xdeadbeefu);
  expect_account_agrees();
}

TEST_P(CardConformance, memory_outside_and_misaligned_copies_are_refused) {
  std::vector<uint64_t> out(8, 42);
  expect_refused("window not aimed", [&] { return card->copy(Window::payload, 0, out); });
  const Coord at = tensix();
  expect_refused("aim behind L1", [&] { return card->aim(Window::control, at, arch().tensix_l1_bytes); });
  expect_refused("aim between L1 and registers", [&] { return card->aim(Window::control, at, 0x4000000); });
  expect_refused("aim behind the registers", [&] { return card->aim(Window::control, at, 0xFFC00000); });
  expect_refused("aim at the end of the address space",
                 [&] { return card->aim(Window::control, at, ~uint64_t{0}); });
  const Coord port = arch().dram_views()[0].endpoint;
  expect_refused("aim behind DRAM", [&] { return card->aim(Window::payload, port, arch().channel_bytes); });
  expect_refused("aim far behind DRAM", [&] { return card->aim(Window::payload, port, ~uint64_t{0}); });
  ASSERT_EQ(card->aim(Window::control, at, 0), Access::ok);
  for (const uint32_t slip : {1u, 2u, 4u, 7u, 12u})
    expect_refused("misaligned copy", [&] { return card->copy(Window::control, slip, out); });
  expect_refused("behind the window", [&] { return card->copy(Window::control, kWindowBytes, out); });
  expect_refused("at the largest offset", [&] { return card->copy(Window::control, 0xfffffff8, out); });
  expect_refused("the other window was not aimed", [&] { return card->copy(Window::payload, 0, out); });
  for (const uint64_t word : out) EXPECT_EQ(word, 42u);
}

// "refused: nothing was loaded" (card.hpp) also for a copy so long that an implementation would split it.
TEST_P(CardConformance, a_long_copy_over_the_end_is_refused_as_a_whole) {
  ASSERT_EQ(card->aim(Window::control, tensix(), 0), Access::ok);
  std::vector<uint64_t> out((64 << 10) / 8, 42);
  expect_refused("64 KiB over the end",
                 [&] { return card->copy(Window::control, arch().tensix_l1_bytes - (40 << 10), out); });
  EXPECT_EQ(std::count(out.begin(), out.end(), 42u), static_cast<ptrdiff_t>(out.size()));
  expect_account_agrees();
}

TEST_P(CardConformance, leaving_is_seen_and_leaves_time_for_a_last_sweep) {
  fill_l1(tensix(), 0, 64);
  rig->announce_leaving();
  EXPECT_EQ(card->health(), Health::leaving);
  std::vector<uint64_t> out(8);
  ASSERT_EQ(card->aim(Window::control, tensix(), 0), Access::ok);
  EXPECT_EQ(card->copy(Window::control, 0, out), Access::ok);
  expect_pattern(out, 0);
}

TEST_P(CardConformance, a_card_that_is_gone_is_noticed) {
  ASSERT_EQ(card->aim(Window::control, tensix(), 0), Access::ok);
  pollfd p{card->hangup_fd(), POLLIN | POLLRDHUP, 0};
  if (p.fd >= 0) {
    EXPECT_EQ(poll(&p, 1, 0), 0);
  }
  rig->vanish();
  std::vector<uint64_t> out(8);
  const bool copy_says_so = card->copy(Window::control, 0, out) == Access::gone;
  const bool descriptor_says_so = p.fd >= 0 && poll(&p, 1, 0) == 1;
  EXPECT_TRUE(copy_says_so || descriptor_says_so);
  EXPECT_EQ(card->health(), Health::gone);
  EXPECT_EQ(card->health(), Health::gone);
}

TEST_P(CardConformance, windows_run_out_with_a_sentence_and_come_back) {
  std::vector<std::unique_ptr<Card>> others;
  std::string why;
  for (int i = 0; i < 256 && why.empty(); ++i) try {
      others.push_back(open_card(rig->spec()));
    } catch (const OpenError& e) {
      why = e.what();
    }
  ASSERT_FALSE(others.empty());
  EXPECT_NE(why.find("window"), std::string::npos) << why;
  EXPECT_NE(why.find(rig->spec().substr(rig->spec().find(':') + 1)), std::string::npos) << why;
  for (int i = 0; i < 5; ++i) {
    others.pop_back();
    ASSERT_NO_THROW(others.push_back(open_card(rig->spec())));
  }
  EXPECT_EQ(card->health(), Health::ok);
}

TEST_P(CardConformance, observers_aim_their_own_windows) {
  auto other = open_card(rig->spec());
  rig->store(tensix(0), 0, 10);
  rig->store(tensix(1), 0, 11);
  uint64_t word = 0;
  ASSERT_EQ(card->aim(Window::control, tensix(0), 0), Access::ok);
  ASSERT_EQ(other->aim(Window::control, tensix(1), 0), Access::ok);
  ASSERT_EQ(card->copy(Window::control, 0, {&word, 1}), Access::ok);
  EXPECT_EQ(word, 10u);
  ASSERT_EQ(other->copy(Window::control, 0, {&word, 1}), Access::ok);
  EXPECT_EQ(word, 11u);
  EXPECT_EQ(spent().round_trips, 1u);
  if (rig->sees_loads()) {
    EXPECT_EQ(rig->account().round_trips, 2u);
  }
}

TEST_P(CardConformance, a_descriptor_delivers_the_same_bytes_and_is_charged) {
  fill_dram(1, 4096 + 8, 8192);
  const DramView& view = arch().dram_views()[1];
  const auto range = card->descriptor_range(view.endpoint, view.offset + 4096 + 8, 8192);
  if (!rig->has_descriptor()) {
    EXPECT_FALSE(range);
    return;
  }
  ASSERT_TRUE(range);
  EXPECT_EQ(range->bytes, 8192u);
  std::vector<uint64_t> out(1024);
  ASSERT_EQ(pread(range->fd, out.data(), 8192, static_cast<off_t>(range->file_offset)), 8192);
  card->release(*range, out);
  expect_pattern(out, 4096 + 8);
  EXPECT_EQ(card->transactions().round_trips, lines_touched(view.offset + 4096 + 8, 8192));
  EXPECT_EQ(card->transactions().bytes, 8192u);
  EXPECT_EQ(rig->account().descriptor_bytes, 8192u);
  EXPECT_EQ(card->transactions().window_moves, 0u);
  expect_account_agrees();
  EXPECT_EQ(rig->account().violations, 0u);

  fill_l1(tensix(), 0, 256);
  const auto l1 = card->descriptor_range(tensix(), 64, 192);
  ASSERT_TRUE(l1);
  ASSERT_EQ(pread(l1->fd, out.data(), 192, static_cast<off_t>(l1->file_offset)), 192);
  expect_pattern(std::span(out).first(24), 64);
}

TEST_P(CardConformance, a_descriptor_is_no_way_around_the_rules) {
  if (!rig->has_descriptor()) GTEST_SKIP() << "no descriptor";
  const Coord port = arch().dram_views()[0].endpoint;
  const auto refused = [&](const char* what, Coord tile, uint64_t address, uint32_t bytes) {
    expect_refused(
        what, [&] { return card->descriptor_range(tile, address, bytes) ? Access::ok : Access::refused; });
  };
  refused("harvested", tile_of(TileKind::tensix, true), 0, 64);
  refused("no tile", {255, 255}, 0, 64);
  refused("behind L1", tensix(), arch().tensix_l1_bytes, 64);
  refused("over the end of L1", tensix(), arch().tensix_l1_bytes - 64, 128);
  refused("behind DRAM", port, arch().channel_bytes, 64);
  refused("over the end of DRAM", port, arch().channel_bytes - 64, 128);
  refused("the largest length", port, 0, 0xfffffff8);
  refused("registers", tensix(), 0xFFB11000, 64);
  // Read-only, whatever the flags of the range are.
  const auto range = card->descriptor_range(port, 0, 64);
  ASSERT_TRUE(range);
  const uint64_t word = 1;
  EXPECT_LT(pwrite(range->fd, &word, 8, static_cast<off_t>(range->file_offset)), 0);
}

std::unique_ptr<Rig> wormhole_mapped() {
  return std::make_unique<EmulatedRig>("wormhole_b0", "n150", false);
}
std::unique_ptr<Rig> wormhole_strict() {
  return std::make_unique<EmulatedRig>("wormhole_b0", "n150", true);
}
std::unique_ptr<Rig> blackhole_mapped() {
  return std::make_unique<EmulatedRig>("blackhole", "p150", false);
}
std::unique_ptr<Rig> blackhole_strict() {
  return std::make_unique<EmulatedRig>("blackhole", "p150", true);
}

std::unique_ptr<Rig> wormhole_driver() {
  return std::make_unique<DriverRig>("wormhole_b0", "n150");
}
std::unique_ptr<Rig> blackhole_driver() {
  return std::make_unique<DriverRig>("blackhole", "p150");
}

// Every fault there is, none of which has begun.
std::vector<CardFault> faults_to_come() {
  std::vector<CardFault> faults;
  for (uint32_t k = 0; k < static_cast<uint32_t>(FaultKind::kinds); ++k) {
    CardFault f;
    f.kind = static_cast<FaultKind>(k);
    f.after = ~uint64_t{0} >> 1;
    faults.push_back(f);
  }
  return faults;
}
std::unique_ptr<Rig> wormhole_mapped_with_faults_to_come() {
  return std::make_unique<EmulatedRig>("wormhole_b0", "n150", false, faults_to_come());
}
std::unique_ptr<Rig> wormhole_strict_with_faults_to_come() {
  return std::make_unique<EmulatedRig>("wormhole_b0", "n150", true, faults_to_come());
}

std::string name_of(const testing::TestParamInfo<Factory>& info) {
  constexpr const char* kNames[] = {"wormhole_mapped",  "wormhole_strict", "blackhole_mapped",
                                    "blackhole_strict", "faulty_mapped",   "faulty_strict",
                                    "wormhole_driver",  "blackhole_driver"};
  return kNames[info.index];
}
INSTANTIATE_TEST_SUITE_P(All, CardConformance,
                         testing::Values(&wormhole_mapped, &wormhole_strict, &blackhole_mapped,
                                         &blackhole_strict, &wormhole_mapped_with_faults_to_come,
                                         &wormhole_strict_with_faults_to_come, &wormhole_driver,
                                         &blackhole_driver),
                         name_of);

}  // namespace
}  // namespace ttc::card
