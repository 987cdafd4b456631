// Word positions and bit fields of the on-card profiler formats, as plain integers.
//
// Freestanding: <stdint.h> only, so that one table serves the device-side header, the emulated firmware and
// the host-side decoder. A generation is a row of kFormats; no other file has its numbers.
//
// Source of every number: tt-metal kernel_profiler.hpp and profiler_common.h
//   G1: tt_metal/hostdevcommon/api/hostdevcommon/profiler_common.h@ef2f96d4 (late 2024 to mid 2025); the word
//       with the launch's id is 16+16 bits at first and 32 bits in the middle of 2025
//   G2: G1 with a trace counter in the identity (second half of 2025)
//   G3: tt_metal/tools/profiler/kernel_profiler.hpp@6a16835d, @01223256 (Jan - Jul 2026)
//   G4: tt_metal/hw/inc/hostdev/profiler_common.h@c4b3fbc1 (mid Jul 2026 on)
// All words are 32-bit little-endian. In prose: docs/reference/device-profiler.md.
#pragma once
#include <stdint.h>

namespace ttc::device {

inline constexpr uint32_t kMaxRiscs = 5;            // BRISC, NCRISC, TRISC0..2 (Ethernet: ERISC0, ERISC1)
inline constexpr uint32_t kBufferWords = 512;       // one RISC's L1 buffer
inline constexpr uint32_t kFirstCustomWord = 12;    // 4 id words + 4 guaranteed markers of 2 words
inline constexpr uint32_t kSums = 2;                // accumulators of a RISC, written behind all its markers
inline constexpr uint32_t kUnsetWord = 0x80000000;  // both words of a guaranteed slot that was not written

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

// TRACE_REPLAY_STATUS, in trace-only mode.
inline constexpr uint32_t kExpectFwStart = 1u << 31;
inline constexpr uint32_t kExpectKernelStart = 1u << 30;
inline constexpr uint32_t kExpectEnds = 1u << 29;

struct Field {
  uint8_t shift;
  uint8_t bits;  // 0: the field does not exist
  constexpr uint32_t mask() const { return (bits == 32 ? ~0u : (1u << bits) - 1u) << shift; }
  constexpr uint32_t get(uint32_t word) const { return (word & mask()) >> shift; }
  constexpr uint32_t put(uint32_t value) const { return (value << shift) & mask(); }
};

struct Format {
  uint8_t generation;     // what chunks and files store
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
  uint8_t trace_status;             // TRACE_REPLAY_STATUS, written in trace-only mode; 0: not there
  uint8_t dispatch_core;            // not 0 on cores that record as in normal mode where others accumulate
  uint8_t risc_dram_address;        // first per-RISC DRAM address word (the host rewrites them at each read)
  uint8_t risc_dram_address_count;  // how many of them lie inside the vector; 0: none in this generation

  // Fields of the identity word, and of the word after it.
  Field risc;
  Field flat;
  Field trace;
  Field host_id;

  PacketType last_type;  // the highest packet type of this generation

  // Behaviour of the firmware that wrote it (tt-metal kernel_profiler.hpp), for the emulated one.
  bool early_2025;             // finish waits for the DRAM address and clears DEVICE_END; run count in the id
  bool done_tested_first;      // a launch that is not for this core leaves DEVICE_END alone
  bool quick_push_guarded;     // quick push tests DROPPED first and keeps four words in reserve
  bool quick_push_ends_late;   // its zone's END is stored after the push: first custom of the next frame
  bool guaranteed_when_full;   // a frame that no longer fits whole still pushes its first 12 words
  bool whole_packet_reserved;  // room for a data packet is tested with the packet's real length

  constexpr uint32_t identity_fields() const { return risc.mask() | flat.mask() | trace.mask(); }
  constexpr uint32_t identity(uint32_t risc_index, uint32_t flat_index, uint32_t trace_count) const {
    return risc.put(risc_index) | flat.put(flat_index) | trace.put(trace_count);
  }
};

// The launch's id has 16 bits until early 2025 and shares its word with the run counter; otherwise as kG1.
inline constexpr Format kG1Narrow = {.generation = 16,
                                     .control_words = 32,
                                     .host_end = 0,
                                     .device_end = 5,
                                     .dram_address = 12,
                                     .run_counter = 13,
                                     .noc_x = 14,
                                     .noc_y = 15,
                                     .flat_id = 16,
                                     .core_count_per_dram = 17,
                                     .dropped = 18,
                                     .done = 19,
                                     .trace_status = 0,
                                     .dispatch_core = 0,
                                     .risc_dram_address = 0,
                                     .risc_dram_address_count = 0,
                                     .risc = {0, 3},
                                     .flat = {3, 8},
                                     .trace = {0, 0},
                                     .host_id = {16, 16},
                                     .last_type = kZoneTotal,
                                     .early_2025 = true,
                                     .done_tested_first = false,
                                     .quick_push_guarded = false,
                                     .quick_push_ends_late = false,
                                     .guaranteed_when_full = false,
                                     .whole_packet_reserved = false};

constexpr Format with_wide_host_id(Format f) {
  f.generation = 1;
  f.host_id = {0, 32};
  f.last_type = kTsEvent;
  f.early_2025 = false;
  return f;
}
inline constexpr Format kG1 = with_wide_host_id(kG1Narrow);

constexpr Format with_trace_count(Format f) {
  f.generation = 2;
  f.trace_status = 20;
  f.trace = {11, 16};
  f.quick_push_ends_late = true;
  return f;
}
inline constexpr Format kG2 = with_trace_count(kG1);

constexpr Format with_risc_addresses(Format f) {
  f.generation = 3;
  f.risc_dram_address = 21;
  f.risc_dram_address_count = 5;
  f.last_type = kTsData16B;
  f.quick_push_guarded = true;
  f.quick_push_ends_late = false;
  f.guaranteed_when_full = true;
  return f;
}
inline constexpr Format kG3 = with_risc_addresses(kG2);

inline constexpr Format kG4 = {.generation = 4,
                               .control_words = 64,
                               .host_end = 0,
                               .device_end = 24,
                               .dram_address = 50,
                               .run_counter = 51,
                               .noc_x = 52,
                               .noc_y = 53,
                               .flat_id = 54,
                               .core_count_per_dram = 55,
                               .dropped = 56,
                               .done = 57,
                               .trace_status = 58,
                               .dispatch_core = 59,
                               .risc_dram_address = 60,
                               .risc_dram_address_count = 4,
                               .risc = {0, 5},
                               .flat = {5, 8},
                               .trace = {13, 16},
                               .host_id = {0, 32},
                               .last_type = kTsData16B,
                               .early_2025 = false,
                               .done_tested_first = true,
                               .quick_push_guarded = true,
                               .quick_push_ends_late = false,
                               .guaranteed_when_full = true,
                               .whole_packet_reserved = true};

// How the firmware was built; the words look alike and mean different things (tt-metal kernel_profiler.hpp).
enum class Mode : uint8_t {
  normal = 0,
  trace_only = 1,  // all RISCs write into buffer 0, a frame a replay; L1 holds the last one
  accumulate = 2,  // many launches in a frame, all zones in the custom area, no host id; L1 holds the rest
};

}  // namespace ttc::device
