// How long reading a card takes from here: single loads of every width through either mapping, and each kind
// of access as the collector makes it, through all its checks. The spread between hosts is larger than a
// factor of five (tt-umd tests/microbenchmark), so every session carries a short version.
//
// Reads L1 of one Tensix tile far behind the profiler, DRAM far behind the logs, the node id register and the
// wall clock. A tile that turns suspect on the way ends the rows that need it; no read is tried again.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "driver_iface/card.hpp"
#include "ttcollect/host_time.hpp"

namespace ttc::collect {

enum class ProbeKind : uint8_t { reg, load, stream_l1, stream_dram, re_aim, wall_clock };
std::string_view to_string(ProbeKind kind);

// Nanoseconds of one operation, the clock's own cost included.
struct ProbeRow {
  ProbeKind kind = ProbeKind::load;
  card::Memory memory = card::Memory::uncached;  // that it went through
  uint32_t bytes = 0;                            // of one operation; 0: moves none
  uint32_t samples = 0;
  uint32_t min = 0, p50 = 0, p90 = 0, p99 = 0, max = 0;
  double bytes_per_s() const;  // at the median
};

struct ProbeOptions {
  uint32_t samples = 1000;            // of each operation
  uint64_t budget_ns = ~uint64_t{0};  // of all together: rows whose share is used up have fewer samples
  uint32_t stream_bytes = 64 << 10;   // a multiple of 64
};
// A few milliseconds at most, and a few hundred round trips: what attaching can afford.
inline constexpr ProbeOptions kFastProbe{16, 3'000'000, 4 << 10};

// An operation that was broken off, or could not begin.
struct ProbeGap {
  ProbeKind kind = ProbeKind::load;
  uint32_t bytes = 0, samples = 0;  // of one operation; that were made before
  const char* why = "";
};

struct LinkProbe {
  card::Coord tile;
  uint32_t timer_ns = 0;       // two reads of the clock directly after each other
  std::vector<ProbeRow> rows;  // those that could be made, at least one sample each
  std::vector<ProbeGap> left_out;
  // The fastest bulk read, 0 when none could be made.
  double best_bytes_per_s() const;
  const ProbeRow* row(ProbeKind kind, card::Memory memory, uint32_t bytes) const;
};

// Measures on `tile`, which must be a Tensix tile that is not harvested.
LinkProbe probe_link(card::Card& card, card::Coord tile, const ProbeOptions& options,
                     const HostClock& clock = raw_now_ns);

}  // namespace ttc::collect
