// Word positions and bit fields of the on-card profiler formats, as plain integers.
//
// Freestanding: <stdint.h> only, so that one table serves the device-side header, the emulated firmware and
// the host-side decoder. A generation is a row of kFormats; nothing else in the tree knows its numbers.
//
// Source of every number: tt-metal kernel_profiler.hpp and profiler_common.h
//   G3: tt_metal/tools/profiler/kernel_profiler.hpp@6a16835d, @01223256 (Jan - Jul 2026)
//   G4: tt_metal/hw/inc/hostdev/profiler_common.h@c4b3fbc1 (mid Jul 2026 on)
// All words are 32-bit little-endian.
#pragma once
#include <stdint.h>

namespace ttc::device {

inline constexpr uint32_t kMaxRiscs = 5;            // BRISC, NCRISC, TRISC0..2 (Ethernet: ERISC0, ERISC1)
inline constexpr uint32_t kBufferWords = 512;       // one RISC's L1 buffer
inline constexpr uint32_t kFirstCustomWord = 12;    // 4 id words + 4 guaranteed markers of 2 words
inline constexpr uint32_t kUnsetWord = 0x80000000;  // both words of a guaranteed slot nobody wrote

// Guaranteed slots: first word of each. The order is not the order in time.
inline constexpr uint32_t kFwStartWord = 4;
inline constexpr uint32_t kFwEndWord = 6;
inline constexpr uint32_t kKernelStartWord = 8;
inline constexpr uint32_t kKernelEndWord = 10;

// Id words at the front of a buffer and of every frame.
inline constexpr uint32_t kIdSentinelHigh = 0;
inline constexpr uint32_t kIdSentinelLow = 1;
inline constexpr uint32_t kIdIdentity = 2;
inline constexpr uint32_t kIdHost = 3;

enum PacketType : uint32_t {
  kZoneStart = 0,
  kZoneEnd = 1,
  kZoneTotal = 2,  // no time stamp; the low word is a sum of cycles
  kTsData = 3,     // + one u64, high word first
  kTsEvent = 4,    // the 16-bit id is the event
  kTsData16B = 5,  // + two u64, each high word first
};

// High word of a marker: valid bit, 3-bit type, 16-bit id, 12 bits of time.
constexpr uint32_t marker_high(uint32_t type, uint32_t id, uint32_t clock_high) {
  return 0x80000000u | (type << 28) | ((id & 0xffffu) << 12) | (clock_high & 0xfffu);
}

struct Field {
  uint8_t shift;
  uint8_t bits;
  constexpr uint32_t mask() const { return ((1u << bits) - 1u) << shift; }
  constexpr uint32_t get(uint32_t word) const { return (word & mask()) >> shift; }
  constexpr uint32_t put(uint32_t value) const { return (value << shift) & mask(); }
};

struct Format {
  uint8_t generation;     // 3 = G3, 4 = G4; what chunks and files store
  uint8_t control_words;  // length of the control vector
  uint8_t host_end;       // HOST_BUFFER_END_INDEX of RISC 0; RISC r is the r-th word after it
  uint8_t device_end;     // DEVICE_BUFFER_END_INDEX of RISC 0, likewise
  uint8_t dram_address;   // DRAM_PROFILER_ADDRESS_DEFAULT
  uint8_t run_counter;
  uint8_t noc_x;
  uint8_t noc_y;
  uint8_t flat_id;
  uint8_t core_count_per_dram;
  uint8_t dropped;  // bit r = RISC r lost markers
  uint8_t done;
  uint8_t risc_dram_address;        // first per-RISC DRAM address word (the host rewrites them at each read)
  uint8_t risc_dram_address_count;  // how many of them lie inside the vector
  uint8_t done_tested_first;        // 1: a launch that is not for this core leaves DEVICE_END alone
  Field risc;                       // fields of the identity word
  Field flat;
  Field trace;

  constexpr uint32_t identity_fields() const { return risc.mask() | flat.mask() | trace.mask(); }
  constexpr uint32_t identity(uint32_t risc_index, uint32_t flat_index, uint32_t trace_count) const {
    return risc.put(risc_index) | flat.put(flat_index) | trace.put(trace_count);
  }
};

inline constexpr Format kG3 = {3,  32, 0,  5,  12, 13, 14,     15,     16,
                               17, 18, 19, 21, 5,  0,  {0, 3}, {3, 8}, {11, 16}};
inline constexpr Format kG4 = {4,  64, 0,  24, 50, 51, 52,     53,     54,
                               55, 56, 57, 60, 4,  1,  {0, 5}, {5, 8}, {13, 16}};

}  // namespace ttc::device
