// What tests of every card::Card begin with: an opened card, and a Rig, which is the card's other side.
#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "driver_iface/allow_list.hpp"
#include "driver_iface/card.hpp"
#include "driver_iface/emulated_card.hpp"

namespace ttc::card {

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

}  // namespace ttc::card
