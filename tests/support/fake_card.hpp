// A card for tests to derive from: an identity, a healthy state, and no access. A test overrides the accesses that may
// happen; any other fails the test with the name of the call.
#pragma once
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "driver_iface/card.hpp"

namespace ttc::card {

class FakeCard : public Card {
 public:
  explicit FakeCard(const std::string& spec = "fake", const char* arch = "wormhole_b0") {
    identity_.spec = identity_.live_name = spec;
    identity_.arch = arch_by_name(arch);
    identity_.dram_views = identity_.arch->dram_views_without(0);
    identity_.aiclk_mhz = 1000;
  }

  const Identity& identity() const override { return identity_; }
  std::span<const Tile> tiles() const override { return tiles_; }
  Health health() override { return Health::ok; }
  int hangup_fd() const override { return -1; }
  Transactions transactions() const override { return transactions_; }

  Access aim(Window, Coord, uint64_t) override { return unexpected("aim"); }
  Access load_registers(Window, uint32_t, std::span<uint32_t>) override {
    return unexpected("load_registers");
  }
  Access copy(Window, uint32_t, std::span<uint64_t>) override { return unexpected("copy"); }
  Access one_load(Window, Memory, uint32_t, std::span<uint32_t>) override { return unexpected("one_load"); }
  Access wall_clock(Coord, uint64_t&) override { return unexpected("wall_clock"); }
  std::optional<DescriptorRange> descriptor_range(Coord, uint64_t, uint32_t) override {
    unexpected("descriptor_range");
    return std::nullopt;
  }
  Access release(const DescriptorRange&, std::span<const uint64_t>) override { return unexpected("release"); }

 protected:
  // What a derived aim() does of it: where the window is.
  void place(Window window, Coord tile, uint64_t address) {
    aimed_[static_cast<size_t>(window)] = {tile, address & ~(kWindowBytes - 1)};
  }
  Coord tile_of(Window window) const { return aimed_[static_cast<size_t>(window)].first; }
  uint64_t base_of(Window window) const { return aimed_[static_cast<size_t>(window)].second; }

  Identity identity_;
  std::vector<Tile> tiles_;
  Transactions transactions_;

 private:
  static Access unexpected(const char* call) {
    ADD_FAILURE() << "the card's " << call << "() was called, and the test does not provide it";
    return Access::refused;
  }
  std::array<std::pair<Coord, uint64_t>, kWindows> aimed_{};
};

}  // namespace ttc::card
