// A guarded card over one that is scripted, as the clock is.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "driver_iface/guarded_card.hpp"
#include "tests/support/fake_card.hpp"

namespace ttc::card {

inline constexpr Coord kGuardedTile{1, 2}, kOtherTile{1, 1};
inline constexpr Coord kDram{0, 0};
inline constexpr uint64_t kMs = 1'000'000;

inline uint64_t clock_ns;
inline uint64_t test_clock() {
  return clock_ns;
}
inline uint64_t interruptions;
inline uint64_t test_interruptions() {
  return interruptions;
}

// L1 and registers hold the tile's coordinates; tiles can be silent or slow.
class ScriptedCard : public FakeCard {
 public:
  ScriptedCard() {
    for (uint8_t x = 1; x <= 4; ++x)
      for (uint8_t y = 1; y <= 5; ++y) tiles_.push_back({{x, y}, TileKind::tensix, false});
    tiles_.push_back({{6, 1}, TileKind::tensix, true});
  }
  Access aim(Window window, Coord tile, uint64_t address) override {
    place(window, tile, address);
    return Access::ok;
  }
  Access load_registers(Window window, uint32_t, std::span<uint32_t> out) override {
    const Coord tile = touch(window);
    for (uint32_t& v : out) v = silent.count(tile) ? ~0u : tile.x | uint32_t{tile.y} << 6;
    return Access::ok;
  }
  Access copy(Window window, uint32_t offset, std::span<uint64_t> out) override {
    const Coord tile = touch(window);
    const bool unanswered = silent_loads > 0 && silent_loads-- > 0;
    for (size_t i = 0; i < out.size(); ++i) {
      const uint64_t address = base_of(window) + offset + 8 * i;
      const bool blank = unanswered || silent.count(tile) || (tile == kDram && address >= blank_from);
      out[i] = blank ? ~uint64_t{0} : address;
    }
    return Access::ok;
  }
  Access one_load(Window window, Memory, uint32_t, std::span<uint32_t> out) override {
    const Coord tile = touch(window);
    for (uint32_t& v : out) v = silent.count(tile) || full_of_ones ? ~0u : 1;
    return Access::ok;
  }
  Access wall_clock(Coord tile, uint64_t& cycles) override {
    place(Window::control, tile, base_of(Window::control));
    touch(Window::control);
    cycles = silent.count(tile) ? ~uint64_t{0} : 77;
    return Access::ok;
  }
  Health health() override { return health_now; }
  std::optional<DescriptorRange> descriptor_range(Coord, uint64_t, uint32_t bytes) override {
    return DescriptorRange{3, 0, bytes, 0};
  }
  Access release(const DescriptorRange&, std::span<const uint64_t>) override { return Access::ok; }
  Transactions transactions() const override { return {.transport_ns = transport_ns}; }

  std::set<Coord> silent;
  std::map<Coord, uint64_t> slow_ns;
  std::function<void()> on_load;
  std::map<Coord, unsigned> touched;
  unsigned silent_loads = 0;           // so many copies come back as all-ones
  bool full_of_ones = false;           // what single loads bring of every tile
  uint64_t blank_from = ~uint64_t{0};  // of kDram
  uint64_t transport_ns = 0, transport_per_load_ns = 0;
  Health health_now = Health::ok;

 private:
  Coord touch(Window window) {
    const Coord tile = tile_of(window);
    ++touched[tile];
    transport_ns += transport_per_load_ns;
    clock_ns += slow_ns[tile] + transport_per_load_ns;
    if (on_load) on_load();
    return tile;
  }
};

class Guarded : public testing::Test {
 protected:
  Guarded() {
    clock_ns = 1'000'000'000;
    interruptions = 0;
    auto scripted = std::make_unique<ScriptedCard>();
    below = scripted.get();
    card = std::make_unique<GuardedCard>(std::move(scripted), test_clock, test_interruptions);
  }
  Access read(Coord tile, uint64_t address = 64) {
    const Window window = tile == kDram ? Window::payload : Window::control;
    if (const Access a = card->aim(window, tile, address); a != Access::ok) return a;
    return card->copy(window, static_cast<uint32_t>(address & (kWindowBytes - 1)), words);
  }

  // This CPU runs something else for `loads` loads: another thread, or another virtual machine.
  void take_cpu_away(unsigned loads, uint64_t ns = 3 * kMs) {
    below->on_load = [loads, ns]() mutable {
      if (loads == 0) return;
      --loads;
      clock_ns += ns;
    };
  }

  ScriptedCard* below;
  std::unique_ptr<GuardedCard> card;
  std::array<uint64_t, 8> words{};
};

}  // namespace ttc::card
