// A card, as narrow as an observer needs it. Every implementation (emulated card mapped and strict, kernel
// driver) passes the same conformance suite, tests/unit/driver_iface/card/conformance_suite.cpp.
//
// Cost model: one round trip is one aligned load of at most 64 bytes. Copies count the lines they touch;
// aiming a window is counted apart, and only when it really moves. All loads go through one of two windows of
// 2 MiB.
//
// The class is not thread-safe: one thread per card, because a window that moves under a reader tears (tt-kmd
// wormhole.c, blackhole.c). This interface cannot write to a card; index_writer.hpp can, and only that one store.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "driver_iface/arch.hpp"

namespace ttc::card {

// Why a card could not be opened, as one sentence: what, where, why, what to try.
struct OpenError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// The one that the others' windows are in the way.
struct NoWindowError : OpenError {
  using OpenError::OpenError;
};

struct Tile {
  Coord at;
  TileKind kind = TileKind::none;
  bool harvested = false;  // fused off: never aim at it
};

struct Identity {
  std::string spec;       // what was typed: 0, pci:0000:01:00.0, emu:NAME
  std::string live_name;  // names segments and files: wormhole-0011223344556677, emu-NAME
  const Arch* arch = nullptr;
  std::string board;
  uint32_t aiclk_mhz = 0;
  uint32_t max_compute_cores = 0;    // logical grid x * y
  std::vector<DramView> dram_views;  // by bank id, as tt-metal numbers them: fused-off channels have none
  int workload_pid = 0;              // 0: not known
  std::vector<std::string> remarks;  // remarks of opening the card, a sentence each
};

struct OpenOptions {
  bool power_vote =
      true;  // real cards: request once that firmware keeps tiles and DRAM clocked while the card is open
  // Real cards: permit loads of the reference timer (allow_list.hpp), which are unverified on silicon. An emulated one always serves it.
  bool reference_timer = false;
};

enum class Window : uint8_t { control, payload };
inline constexpr size_t kWindows = 2;

// What a window's memory is to this CPU. On a card of ordinary memory the two are one.
enum class Memory : uint8_t { uncached, write_combined };

enum class Access : uint8_t {
  ok,
  refused,  // not on the allow-list, misaligned or out of the window: no word was loaded
  suspect,  // the tile gave all-ones or was slow and is left alone for a while: the loaded words are invalid
  gone,     // the card was reset, removed or its process ended; the loaded words are invalid
};
enum class Health : uint8_t { ok, leaving, gone };  // leaving: announced, a last sweep is possible

// Monotone since opening; what this process did to the card.
struct Transactions {
  uint64_t round_trips = 0;  // loads and lines, registers included
  uint64_t bytes = 0;        // requested (a line touched for 8 bytes counts 8)
  uint64_t window_moves = 0;
  uint64_t register_loads = 0;  // part of round_trips
  uint64_t transport_ns = 0;    // spent on the way to the card, where there is one: not the card's doing
};

// What a card reports of itself, out of band: costs no round trip.
struct Telemetry {
  std::optional<uint32_t> aiclk_mhz;
  std::optional<uint32_t> power_mw;
  std::optional<int32_t> temperature_mc;  // thousandths of a degree Celsius
};

// A stretch of card memory that a plain read(2) can fetch. Charged when requested.
struct DescriptorRange {
  int fd = -1;
  uint64_t file_offset = 0;
  uint32_t bytes = 0;
  uint64_t token = 0;  // the implementation's
};

class Card {
 public:
  virtual ~Card() = default;
  Card() = default;
  Card(const Card&) = delete;
  Card& operator=(const Card&) = delete;

  virtual const Identity& identity() const = 0;
  // The workload's process now; identity() has the one at opening. 0: not known.
  virtual int workload_pid() { return identity().workload_pid; }
  virtual std::span<const Tile> tiles() const = 0;  // Tensix and Ethernet, in flat id order

  // Points the window at the 2 MiB that hold `address` of the tile. Free when it already does.
  virtual Access aim(Window window, Coord tile, uint64_t address) = 0;

  // Aligned 4-byte loads of allow-listed registers, in order, never merged.
  virtual Access load_registers(Window window, uint32_t offset, std::span<uint32_t> out) = 0;

  // Copies bytes (a multiple of 8, at an offset that is one too) out of the window, each address once. `out`
  // is stored to in 64-bit release stores, because it may be ring memory that readers are copying
  // (shm/ring.hpp).
  virtual Access copy(Window window, uint32_t offset, std::span<uint64_t> out) = 0;

  // One load of memory, of 4 bytes (a 32-bit word) up to a line, at an offset that is a multiple of its
  // length, through the mapping that is named. For measuring what a load costs: copy() chooses mapping and
  // width itself. `refused` also where the window is not mapped that way.
  virtual Access one_load(Window, Memory, uint32_t /*offset*/, std::span<uint32_t>) {
    return Access::refused;
  }

  // 64-bit wall clock of a Tensix tile: live high, low, live high until the highs agree.
  virtual Access wall_clock(Coord tile, uint64_t& cycles) = 0;

  virtual Health health() = 0;
  // The longest that one line of a copy reasonably takes here. Behind a real link a round trip is about a
  // microsecond; behind a simulated one it can be fifty.
  virtual uint64_t line_allowance_ns() const { return 10'000; }
  // Something looked wrong: is the card itself still there? May cost a load that no window is needed for.
  virtual Health check() { return health(); }
  // Becomes readable (poll) when the card goes away; -1 when there is no such descriptor.
  virtual int hangup_fd() const = 0;

  // The NoC coordinate under which the chip answers for a tile.
  virtual Coord noc_place(Coord tile) const { return tile; }

  // Chips that renumber their memory channels (Blackhole) may do it in so many ways; which one this chip has
  // shows only in what is found there. Way 0 is used until another is chosen.
  virtual unsigned memory_numberings() const { return 1; }
  virtual void use_memory_numbering(unsigned) {}

  // Card memory as a file range, where the card has a descriptor that can be read. The range must be released
  // with what arrived. No window is needed; the tile rules are the same.
  virtual std::optional<DescriptorRange> descriptor_range(Coord tile, uint64_t address, uint32_t bytes) = 0;
  // If the result is not ok, the bytes that arrived cannot be trusted.
  virtual Access release(const DescriptorRange& range, std::span<const uint64_t> bytes_read) = 0;

  // The caller read words from this tile that cannot be true (all-ones where an index is kept). Returns
  // suspect, or gone. GuardedCard leaves the tile alone for a while.
  virtual Access doubt(Coord) { return Access::suspect; }

  virtual Telemetry telemetry() { return {}; }

  virtual Transactions transactions() const = 0;
};

// Opens emu:NAME, or a card of the kernel driver: its ordinal, its node, a by-id name or pci:DDDD:BB:DD.F.
// Throws OpenError.
std::unique_ptr<Card> open_card(const std::string& spec, const OpenOptions& options = {});
// Specs of everything that could be opened now.
std::vector<std::string> present_cards();

inline constexpr uint32_t kLineBytes = 64;
inline constexpr uint32_t kCopyBlockBytes = 1024;  // a copy that stalls ends, `suspect`, behind such a block
constexpr uint32_t lines_touched(uint64_t address, uint64_t bytes) {
  return bytes == 0 ? 0
                    : static_cast<uint32_t>((address + bytes - 1) / kLineBytes - address / kLineBytes + 1);
}
// Whether so many bytes from there can be one load.
constexpr bool is_one_load(uint32_t offset, uint64_t bytes) {
  return bytes >= 4 && bytes <= kLineBytes && (bytes & (bytes - 1)) == 0 && offset % bytes == 0;
}

}  // namespace ttc::card
