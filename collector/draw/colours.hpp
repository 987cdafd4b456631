// What a colour means, in every picture and viewer of ours: one table, 0xRRGGBB.
#pragma once
#include <cstdint>
#include <string_view>

namespace ttc::draw {

// The colours of firmware zones that Tenstorrent's fork of Tracy gives to a processor (tenstorrent/tracy
// TracyTTDeviceData.hpp). Kernel zones have three quarters of it.
constexpr uint32_t colour_of_processor(std::string_view processor) {
  if (processor == "BRISC") return 0xee9a00;
  if (processor == "NCRISC") return 0x43cd80;
  if (processor == "TRISC_0") return 0x6ca6cd;
  if (processor == "TRISC_1") return 0x00e5ee;
  if (processor == "TRISC_2") return 0x98f5ff;
  return 0xb0a0c0;  // Ethernet, and a core as a whole
}
constexpr uint32_t darker(uint32_t rgb) {
  const auto three_quarters = [](uint32_t c) { return c - c / 4; };
  return three_quarters(rgb >> 16) << 16 | three_quarters(rgb >> 8 & 255) << 8 | three_quarters(rgb & 255);
}

inline constexpr uint32_t kProfilerColour = 0xcd4f39, kDispatchColour = 0x9370db, kUserColour = 0x66a061,
                          kEventColour = 0xd4af37, kProgramColour = 0x5b8ff9;
// The colours of the workload's host side: zones of threads, locks that are held and waited for, frames.
inline constexpr uint32_t kHostColour = 0x8fa9c4, kLockColour = 0xb58db6, kWaitColour = 0xe8833a,
                          kFrameColour = 0xa9b665;
inline constexpr uint32_t kLossColour = 0xff2020;  // and of zones without a partner

}  // namespace ttc::draw
