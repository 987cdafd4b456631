#include <time.h>

#include <algorithm>

#include "driver_iface/allow_list.hpp"
#include "driver_iface/emu/emu_page.hpp"

namespace ttc::card::emu {

uint64_t host_now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

const ClockWorld::Segment& piece_at(const ClockWorld& world, uint64_t host_ns) {
  const auto* const end = world.segment + world.segments;
  const auto* const next =
      std::upper_bound(world.segment + 1, end, host_ns,
                       [](uint64_t ns, const ClockWorld::Segment& s) { return ns < s.host_ns; });
  return next[-1];
}

uint64_t device_at(const ClockWorld& world, uint64_t host_ns) {
  const ClockWorld::Segment& s = piece_at(world, host_ns);
  if (host_ns < s.host_ns) return s.cycles;
  const auto product = static_cast<unsigned __int128>(host_ns - s.host_ns) * s.hz;
  return s.cycles + static_cast<uint64_t>(product / 1000000000u);
}

uint64_t device_now(const Page& page) {
  const uint64_t cycles = page.clock.is_virtual ? page.virtual_cycles.load(std::memory_order_relaxed)
                                                : device_at(page.clock, host_now_ns());
  const uint64_t shown = cycles - page.clock_zero.load(std::memory_order_relaxed);
  if (!has(page.contradictions, Contradiction::clock_back)) return shown;
  const uint64_t since = page.attended_since.load(std::memory_order_acquire);
  return since == 0 ? shown : shown - (time_axis_ns(page) - since) / kBackEveryNs * kBackCycles;
}

uint64_t on_tile(const Page& page, Coord tile, uint64_t cycles) {
  if (tile.y % 2 == 0) return cycles;
  if (has(page.contradictions, Contradiction::tile_rates)) cycles += cycles / 1'000'000 * kFasterPpm;
  if (has(page.contradictions, Contradiction::tile_stops)) {
    constexpr uint64_t kRuns = kStopEvery - kStopEvery / 4;
    cycles = cycles / kStopEvery * kRuns + std::min(cycles % kStopEvery, kRuns);
  }
  return cycles;
}

uint64_t timer_now(const Page& page) {
  const uint64_t ns = time_axis_ns(page) - page.timer_zero_ns.load(std::memory_order_relaxed);
  const auto ppm = static_cast<uint64_t>(1'000'000 + page.drift_ppm) *
                   (has(page.contradictions, Contradiction::timer_rate) ? 99 : 100);
  return static_cast<uint64_t>(static_cast<unsigned __int128>(ns) * kTimerHz * ppm / 100'000'000 /
                               1'000'000'000);
}

bool cut_off(const Page& page, uint32_t resets) {
  return page.resets.load(std::memory_order_acquire) != resets &&
         !has(page.contradictions, Contradiction::reset_unseen);
}

uint32_t aiclk_mhz(const Page& page) {
  const ClockWorld& c = page.clock;
  if (c.is_virtual) return page.aiclk_mhz;
  const uint64_t hz = piece_at(c, host_now_ns()).hz;
  const bool wrong = has(page.contradictions, Contradiction::aiclk_wrong);
  return static_cast<uint32_t>(((wrong ? hz / 10 * 11 : hz) + 500'000) / 1'000'000);
}

uint64_t time_axis_ns(const Page& page) {
  if (!page.clock.is_virtual) return host_now_ns();
  const auto cycles = page.virtual_cycles.load(std::memory_order_relaxed) - page.clock.segment[0].cycles;
  return 1 + static_cast<uint64_t>(static_cast<unsigned __int128>(cycles) * 1000000000u /
                                   page.clock.segment[0].hz);
}

uint64_t tile_offset(const Arch& arch, Coord tile) {
  return (uint64_t{tile.y} * arch.grid_x + tile.x) * kWindowBytes;
}
uint64_t channel_offset(const Arch& arch, uint32_t channel) {
  return uint64_t{arch.grid_x} * arch.grid_y * kWindowBytes + channel * arch.channel_bytes;
}
uint64_t memory_bytes(const Arch& arch) {
  return channel_offset(arch, arch.channels);
}

const char* to_string(ViolationKind kind) {
  switch (kind) {
    case ViolationKind::forbidden_tile:
      return "forbidden tile";
    case ViolationKind::harvested_tile:
      return "harvested tile";
    case ViolationKind::forbidden_register:
      return "forbidden register";
    case ViolationKind::unaligned_register:
      return "unaligned register";
    case ViolationKind::outside_memory:
      return "outside memory";
    case ViolationKind::too_many_windows:
      return "too many windows";
    case ViolationKind::write:
      return "write in observe mode";
    default:
      return "none";
  }
}

}  // namespace ttc::card::emu
