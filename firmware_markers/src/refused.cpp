#include "refused.hpp"

#include <algorithm>

#include "firmware_markers/discovery.hpp"

namespace ttc::markers {
namespace {

// Sources: tt-metal profiler_common.h of each period (G0, G3b, G4-diag, fork), kernel_profiler.hpp (debug
// dump), STREAMING_PROFILER.md.
constexpr uint32_t kStalled = 0xffffffff;
constexpr uint32_t kForkVectorWords = 80;
constexpr uint32_t kLargestFlag = 15;  // a dispatch flag is small, an address is not

bool carries(std::span<const uint32_t> buffers, size_t at, uint32_t identity_fields, uint32_t identity) {
  const size_t word = at + device::kIdIdentity;
  return word < buffers.size() && (buffers[word] & identity_fields) == identity;
}

Refused debug_dump() {
  return {"debug dump",
          "a per-RISC DRAM address is STALLED or points to a second buffer: the workload runs with "
          "TT_METAL_DEVICE_DEBUG_DUMP_ENABLED, whose buffers only that mode's own thread can follow; run the "
          "workload without it"};
}

Refused g3b() {
  return {"G3b",
          "the per-RISC DRAM addresses lie one word later than in G3 (builds of July 2026 only); use a "
          "tt-metal before or after that month"};
}

Refused g0() {
  return {"G0",
          "separate BRISC and ERISC slots, firmware of August and September 2024; use a tt-metal of late "
          "2024 or newer"};
}

// Compares with where G0 has its words, and what each may hold (tt-metal profiler_common.h). Its buffer was allocated
// anywhere.
bool looks_g0(std::span<const uint32_t> words) {
  constexpr size_t kDeviceEnd = 6, kReset = 12, kDram = 14, kX = 16, kY = 17, kFlat = 18, kDropped = 19,
                   kDone = 20, kWords = 32;
  if (words.size() < kWords || words[kReset] != 0 || words[kDram] == 0 || words[kDram] % 32) return false;
  for (size_t i = kDeviceEnd; i < kReset; ++i)
    if (words[i] % 2 || words[i] > device::kBufferWords + 4) return false;
  return words[kX] <= 63 && words[kY] <= 63 && words[kFlat] <= 255 && words[kDropped] < 64 &&
         words[kDone] <= 1;
}

// G4's own words, where firmware was given no log: who wrote these places it, and no ring has been set up.
bool looks_logless_g4(std::span<const uint32_t> words) {
  const device::Format& f = device::kG4;
  return words[f.dram_address] == 0 && words[f.core_count_per_dram] != 0 && words[f.flat_id] <= 255 &&
         words[f.done] <= 1 && words[f.host_end] >= device::kFirstCustomWord;
}

bool looks_streaming(std::span<const uint32_t> words) {
  constexpr size_t kHeads = 0, kTails = 24, kArmed = 48, kCoreXy = 49, kStalls = 50, kRingWords = 512;
  if (words.size() < 64 || words[kArmed] > 1) return false;
  if (std::any_of(words.begin() + 5, words.begin() + 16, [](uint32_t w) { return w != 0; })) return false;
  bool moved = words[kCoreXy] != 0;
  const bool bounded = words[kArmed] != 0;  // else producers overwrite what is not taken
  for (size_t r = 0; r < device::kMaxRiscs; ++r) {
    if (words[kTails + r] < words[kHeads + r] && !bounded) return false;
    if (words[kTails + r] - words[kHeads + r] > kRingWords && bounded) return false;
    moved = moved || words[kTails + r] != 0;
  }
  if (words[kCoreXy] & 0xffc0ffc0) return false;  // y << 16 | x, or 0
  if (words[kCoreXy] == 0 && looks_logless_g4(words)) return false;
  return moved && words[kStalls] < 0xffff0000;
}

bool looks_idle(std::span<const uint32_t> words) {
  return words.size() > device::kG4.dram_address && words[device::kG3.dram_address] == 0 &&
         words[device::kG4.dram_address] == 0;
}

}  // namespace

Refused refused_variant(std::span<const uint32_t> vector, std::span<const uint32_t> buffers,
                        const Layout& layout, const ControlVector& parsed) {
  const device::Format& f = layout.format;
  const bool has_run = parsed.run_counter != 0 && parsed.host_end[0] != 0;
  if (has_run && f.control_words == 32 &&
      carries(buffers, 0, ~0u, device::kG4.identity(0, parsed.flat_id, 0)) &&
      device::kG4.identity(0, parsed.flat_id, 0) != f.identity(0, parsed.flat_id, 0))
    return {
        "G4 diagnostic build",
        "a 32-word control vector with the identities of G4 (tt-metal PR 52549); use a released tt-metal"};
  if (has_run && f.control_words == 64 &&
      !carries(buffers, 0, f.risc.mask() | f.flat.mask(), f.identity(0, parsed.flat_id, 0)) &&
      carries(buffers, kForkVectorWords - 64, f.risc.mask() | f.flat.mask(),
              f.identity(0, parsed.flat_id, 0)))
    return {"fork with an 80-word control vector",
            "the buffers lie 64 bytes further than upstream firmware has them; use upstream tt-metal"};
  if (f.risc_dram_address_count == 0) return {};
  const auto first = vector.subspan(f.risc_dram_address, f.risc_dram_address_count);
  if (f.control_words == 32) {
    // One word further, what is reserved in G3 is TRISC2's address in G3b, and BRISC's word is a flag.
    if (vector[f.risc_dram_address + f.risc_dram_address_count] == parsed.dram_address) return g3b();
    if (first[0] != 0 && first[0] <= kLargestFlag) return g3b();
  }
  for (const uint32_t address : first)
    if (address == kStalled || (address != 0 && address != parsed.dram_address)) return debug_dump();
  return {};
}

Refused refused_stranger(std::span<const uint32_t> words, bool anchored) {
  if (!anchored && looks_g0(words)) return g0();
  if (anchored && looks_streaming(words))
    return {"streaming profiler",
            "its rings use the same memory (TT_METAL_STREAMING_PROFILER); run the workload with "
            "TT_METAL_DEVICE_PROFILER=1 instead"};
  if (anchored && looks_idle(words))
    return {kProfilerOff.data(), "the host has written no DRAM address into the control vector"};
  return {};
}

std::string why_not_read(std::string_view generation) {
  for (const Refused& r : {g0(), g3b()})
    if (same_ignoring_case(r.name, generation)) return std::string(r.name) + ": " + r.why;
  return {};
}

}  // namespace ttc::markers
