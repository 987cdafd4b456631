// The card half of the emulated card: memory, clocks, the socket that observers connect to, the account of their
// accesses. The owner emulates what runs on the card (firmware, host habits) and writes through the
// calls here.
//
// One writer thread calls the memory functions; a thread of this class serves observers. Destroying the card
// ends every connection. No part of it outlives the process: memory is anonymous, the socket abstract.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "driver_iface/card.hpp"
#include "driver_iface/card_fault.hpp"
#include "driver_iface/contradiction.hpp"

namespace ttc::card {

struct ClockStep {
  uint64_t after_ns;  // since the card was made
  uint64_t hz;        // 0: the clock is stopped, and so is what runs on it
};

// What the tile clocks really did: from `host_ns` (CLOCK_MONOTONIC_RAW) on at `hz`, counted from `cycles`.
struct ClockPiece {
  uint64_t host_ns;
  uint64_t cycles;
  uint64_t hz;
};

struct EmulatedCardOptions {
  std::string name;
  std::string arch = "wormhole_b0";
  std::string board = "n150";
  std::vector<uint8_t>
      harvested_rows;  // NOC0 y of Tensix rows; empty: the board's default count, from the end
  std::vector<uint8_t> harvested_columns;
  std::vector<uint8_t> harvested_channels;  // of memory; empty: the board's default count, from the end
  bool unharvested = false;   // no tile is fused off, whatever the board: a chip with all its cores
  bool strict = false;        // every access over the socket
  bool writable = true;       // grants a writer of index words
  bool virtual_time = false;  // the clock moves only by advance_clock()
  uint32_t round_trip_ns = 0;
  uint64_t hz = 1'000'000'000;
  int32_t drift_ppm = 0;
  uint64_t start_cycles = 5'000'000'000;
  std::vector<ClockStep> clock_steps;
  uint32_t aiclk_mhz = 1000;
  std::vector<CardFault> faults;          // at most kMaxFaults
  uint32_t max_compute_cores = 0;         // what the card reports; 0: as many as it has
  uint32_t contradictions = 0;            // set of Contradiction
  uint64_t timer_start = 30'000'000'000;  // ticks of the reference timer, 50 MHz, when the card is made
};

// The place of the profiler logs, by which the card counts what of them was read (for pacing).
struct LogGeometry {
  uint32_t control_address;  // of the control vectors in L1
  uint32_t control_bytes;
  uint32_t base;
  uint32_t bytes_per_risc;
  uint32_t cores_per_bank;
  uint32_t index_offset = 0, index_words = 0;  // of a control vector: what a writer may clear
};

struct AccessAccount {
  uint64_t round_trips, register_loads, window_moves, descriptor_bytes, violations;
  uint64_t index_writes;  // by a writer, each of one or more words
};

// The L1 of one tile, for repeated stores; the card must outlive it. Stores and loads as EmulatedCard does.
class TileMemory {
 public:
  uint32_t load(uint32_t l1_address) const { return words_[l1_address / 4].load(std::memory_order_relaxed); }
  void store(uint32_t l1_address, uint32_t value) const {
    if (!lost_->load(std::memory_order_relaxed))
      words_[l1_address / 4].store(value, std::memory_order_relaxed);
  }

 private:
  friend class EmulatedCard;
  TileMemory(std::atomic<uint32_t>* words, const std::atomic<bool>* lost) : words_(words), lost_(lost) {}

  std::atomic<uint32_t>* words_;
  const std::atomic<bool>* lost_;
};

class EmulatedCard {
 public:
  explicit EmulatedCard(const EmulatedCardOptions& options);  // throws OpenError
  // Lets observers in; until then the card can be prepared unseen. Throws OpenError when the name is taken.
  void announce();
  ~EmulatedCard();
  EmulatedCard(const EmulatedCard&) = delete;
  EmulatedCard& operator=(const EmulatedCard&) = delete;

  const Arch& arch() const;
  std::span<const DramView> dram_views() const;  // by bank id
  std::span<const Tile> tiles() const;  // Tensix and Ethernet in x-major order, harvested ones marked

  // Memory, in 32-bit words, relaxed atomics: what a core's store is to a reader on the other side of PCIe.
  TileMemory l1(Coord tile) const;
  uint32_t load(Coord tile, uint32_t l1_address) const { return l1(tile).load(l1_address); }
  void store(Coord tile, uint32_t l1_address, uint32_t value) { l1(tile).store(l1_address, value); }
  void store_dram(uint32_t view, uint64_t address,
                  std::span<const uint32_t> words);  // address a multiple of 8
  uint32_t load_dram(uint32_t view, uint64_t address) const;

  uint64_t clock() const;
  uint64_t clock_on(Coord tile, uint64_t cycles) const;  // what that tile shows when clock() is `cycles`
  std::vector<ClockPiece> clock_pieces() const;          // real time only; of a card that was never reset
  bool clock_may_stand() const;                          // it has clock steps
  bool clock_stands() const;                             // one to 0 Hz holds at the moment
  void advance_clock(uint64_t cycles);                   // virtual time only

  void set_log_geometry(const LogGeometry& geometry);
  void set_control_address(Coord tile, uint32_t l1_address);  // where a tile's vector is not with the others
  // Words of a lane a reader can now find, since the `resets`-th host reset; lane = flat id * 5 + RISC.
  void set_landed(uint32_t lane, uint32_t resets, uint32_t words);
  // When the next write under way lands, by CLOCK_MONOTONIC_RAW; 0: none is. Reads wait for one that is
  // overdue.
  void set_landing_due(uint64_t raw_ns);
  uint32_t words_read(uint32_t lane, uint32_t resets) const;
  // Everything of the lane up to `words` counts as read from now on.
  void assume_read(uint32_t lane, uint32_t resets, uint32_t words);
  uint64_t control_reads(Coord tile) const;  // how often observers examined this tile's vector

  // Announces that the card will go away soon, as a resetting user-mode driver does.
  void announce_leaving();
  size_t observers() const;
  // A fault has reset or pulled the card: its firmware has stopped, and stores have no effect.
  bool lost() const;
  std::vector<uint64_t> fault_hits() const;  // how often each fault of the options struck
  AccessAccount account() const;
  std::vector<std::string> violations() const;  // the first few, as text

 private:
  friend class HostWrite;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// While one exists, the owner's stores are one write of the host; there is one at a time. A host needs less than kLongestNs for it; where the owner
// needs more, as the machine gives it no CPU, an observer that has found the write under way for that long reads on when it has ended.
class HostWrite {
 public:
  static constexpr uint64_t kLongestNs = 25'000;

  explicit HostWrite(EmulatedCard& card);
  ~HostWrite();
  HostWrite(const HostWrite&) = delete;
  HostWrite& operator=(const HostWrite&) = delete;

 private:
  EmulatedCard& card_;
};

}  // namespace ttc::card
