// The page that an emulated card shares with the processes that open it: identity, clock world, what has
// landed in DRAM, and the account of every access.
//
// Card and observers may be builds of different compilers but of one version: kPageVersion and the size, both
// in the greeting (emu_wire.hpp), refuse any other. A change of this page or of a struct in it raises
// kPageVersion; no reader of another version exists. The offsets are pinned so that no compiler differs.
//
// Who writes: the fields under "card" only the card; those under "account" the access layer of any observer,
// by atomic add. `landed` is stored with release behind the words that have landed.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "driver_iface/arch.hpp"
#include "driver_iface/card.hpp"
#include "driver_iface/card_fault.hpp"
#include "driver_iface/contradiction.hpp"

namespace ttc::card::emu {

inline constexpr uint32_t kPageVersion = 11;
inline constexpr uint32_t kMaxFlatIds = 256;
inline constexpr uint32_t kMaxRiscs = 5;
inline constexpr uint32_t kMaxSegments = 16384;  // clocks that move many times a second
inline constexpr uint32_t kMaxTiles = 17 * 12;

// Straight pieces of device time; segment i holds from host_ns[i] on. Written before the card is announced.
struct ClockWorld {
  uint32_t is_virtual = 0;
  uint32_t segments = 0;
  struct Segment {
    uint64_t host_ns;  // CLOCK_MONOTONIC_RAW
    uint64_t cycles;
    uint64_t hz;
  } segment[kMaxSegments]{};
};
static_assert(offsetof(ClockWorld, is_virtual) == 0 && offsetof(ClockWorld, segments) == 4 &&
              offsetof(ClockWorld, segment) == 8 && offsetof(ClockWorld::Segment, host_ns) == 0 &&
              offsetof(ClockWorld::Segment, cycles) == 8 && offsetof(ClockWorld::Segment, hz) == 16 &&
              sizeof(ClockWorld::Segment) == 24 && sizeof(ClockWorld) == 393224);

enum class ViolationKind : uint32_t {
  none,
  forbidden_tile,  // no tile, or a kind an observer must not read
  harvested_tile,
  forbidden_register,  // not on the allow-list
  unaligned_register,
  outside_memory,
  too_many_windows,
  write,
  kinds
};
const char* to_string(ViolationKind kind);

struct Violation {
  ViolationKind kind;
  uint32_t tile;  // x | y << 8
  uint64_t address;
};
static_assert(offsetof(Violation, kind) == 0 && offsetof(Violation, tile) == 4 &&
              offsetof(Violation, address) == 8 && sizeof(Violation) == 16);
inline constexpr uint32_t kKeptViolations = 64;

struct Page {
  // card
  uint32_t version = kPageVersion;
  uint32_t bytes = sizeof(Page);
  char arch[16]{};
  char board[16]{};
  uint32_t aiclk_mhz = 0;
  uint32_t max_compute_cores = 0;
  int32_t workload_pid = 0;
  uint32_t round_trip_ns = 0;
  uint8_t harvested[kMaxTiles]{};  // by y * grid_x + x
  ClockWorld clock;
  std::atomic<uint64_t> virtual_cycles{0};
  std::atomic<uint64_t> clock_zero{0};  // what the clock showed when it was last restarted
  std::atomic<uint32_t> leaving{0};
  // The place of the profiler's logs, so that reads of them can be recognised for pacing. P = 0: not known.
  uint32_t control_address[kMaxTiles]{};  // by tile, as kinds of cores have theirs at different places
  uint32_t control_bytes = 0;
  uint32_t index_offset = 0, index_words = 0;  // of a control vector: all that may ever be written
  uint32_t log_base = 0;
  uint32_t bytes_per_risc = 0;
  uint32_t cores_per_bank = 0;
  uint32_t faults = 0;
  CardFault fault[kMaxFaults]{};
  std::atomic<uint64_t> attended_since{0};  // time_axis_ns() when the first observer was let in; 0: none yet
  std::atomic<uint32_t> resets{0};          // of the card
  uint32_t contradictions = 0;              // set of Contradiction
  std::atomic<uint64_t> landing_due_ns{0};  // host_now_ns() when the next posted write lands; 0: none
  // (host resets so far) << 32 | words, per lane. Landed: what a read can find. Read: what observers fetched.
  std::atomic<uint64_t> landed[kMaxFlatIds * kMaxRiscs]{};
  std::atomic<uint64_t> timer_zero_ns{
      0};  // on the card's time axis: when the reference timer was last 0; may lie before it (wraps)
  int32_t drift_ppm = 0;                 // of the crystal that tile clocks and the reference timer share
  std::atomic<uint32_t> host_writes{0};  // begun and ended, of the host: odd while one is under way

  // account
  std::atomic<uint64_t> read[kMaxFlatIds * kMaxRiscs]{};
  std::atomic<uint64_t> control_reads[kMaxTiles]{};  // copies out of a tile's control vector
  std::atomic<uint32_t> latched_high[kMaxTiles]{};
  std::atomic<uint32_t> timer_high{0};   // that the last load of the reference timer's low half latched
  std::atomic<uint32_t> log_changes{0};  // of `landed` and `read`: counted behind each; the card counts, too
  std::atomic<uint64_t> round_trips{0};
  std::atomic<uint64_t> register_loads{0};
  std::atomic<uint64_t> window_moves{0};
  std::atomic<uint64_t> descriptor_bytes{0};
  std::atomic<uint64_t> index_writes{0};
  std::atomic<uint64_t> violations{0};
  Violation violation[kKeptViolations]{};
  std::atomic<uint64_t> fault_began[kMaxFaults]{};  // attended_ns() + 1, for faults that last a while
  std::atomic<uint64_t> fault_hits[kMaxFaults]{};
};
static_assert(offsetof(Page, version) == 0 && offsetof(Page, bytes) == 4 && offsetof(Page, arch) == 8 &&
              offsetof(Page, board) == 24 && offsetof(Page, aiclk_mhz) == 40 &&
              offsetof(Page, max_compute_cores) == 44 && offsetof(Page, workload_pid) == 48 &&
              offsetof(Page, round_trip_ns) == 52 && offsetof(Page, harvested) == 56 &&
              offsetof(Page, clock) == 264 && offsetof(Page, virtual_cycles) == 393488 &&
              offsetof(Page, clock_zero) == 393496 && offsetof(Page, leaving) == 393504 &&
              offsetof(Page, control_address) == 393508 && offsetof(Page, control_bytes) == 394324 &&
              offsetof(Page, index_offset) == 394328 && offsetof(Page, index_words) == 394332 &&
              offsetof(Page, log_base) == 394336 && offsetof(Page, bytes_per_risc) == 394340 &&
              offsetof(Page, cores_per_bank) == 394344 && offsetof(Page, faults) == 394348 &&
              offsetof(Page, fault) == 394352 && offsetof(Page, attended_since) == 395888 &&
              offsetof(Page, resets) == 395896 && offsetof(Page, contradictions) == 395900 &&
              offsetof(Page, landing_due_ns) == 395904 && offsetof(Page, landed) == 395912 &&
              offsetof(Page, timer_zero_ns) == 406152 && offsetof(Page, drift_ppm) == 406160 &&
              offsetof(Page, read) == 406168 && offsetof(Page, control_reads) == 416408 &&
              offsetof(Page, latched_high) == 418040 && offsetof(Page, timer_high) == 418856 &&
              offsetof(Page, log_changes) == 418860 && offsetof(Page, round_trips) == 418864 &&
              offsetof(Page, register_loads) == 418872 && offsetof(Page, window_moves) == 418880 &&
              offsetof(Page, descriptor_bytes) == 418888 && offsetof(Page, index_writes) == 418896 &&
              offsetof(Page, violations) == 418904 && offsetof(Page, violation) == 418912 &&
              offsetof(Page, fault_began) == 419936 && offsetof(Page, fault_hits) == 420064 &&
              sizeof(Page) == 420192 && std::is_standard_layout_v<Page>);

uint64_t host_now_ns();                 // CLOCK_MONOTONIC_RAW
uint64_t device_now(const Page& page);  // cycles, 64 bits
// What a tile's counter shows when those of the chip show `cycles`: the same, unless contradicted.
uint64_t on_tile(const Page& page, Coord tile, uint64_t cycles);
uint64_t timer_now(const Page& page);  // ticks of the reference timer
// A reset of the card since `resets` ends what was open then.
bool cut_off(const Page& page, uint32_t resets);
uint64_t time_axis_ns(const Page& page);  // host time, or what virtual cycles amount to; never 0
// The piece that holds at that time; the first one also before it.
const ClockWorld::Segment& piece_at(const ClockWorld& world, uint64_t host_ns);
uint64_t device_at(const ClockWorld& world, uint64_t host_ns);
uint32_t aiclk_mhz(const Page& page);  // as set now, rounded: crystals' errors do not show

// File layout of the card's memory: every tile's L1, then every GDDR channel. Sparse.
uint64_t tile_offset(const Arch& arch, Coord tile);
uint64_t channel_offset(const Arch& arch, uint32_t channel);
uint64_t memory_bytes(const Arch& arch);

}  // namespace ttc::card::emu
