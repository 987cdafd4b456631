// One straight piece of the relation between a device's cycle counter and host time. A `clock` chunk and an
// entry of the live clock table both hold one ClockHead and then ClockSegments, all of one clock domain (the
// tiles that share a counter). The mathematics is in collector/clock/CLOCK.md.
//
// Host time is CLOCK_MONOTONIC_RAW in sixteenths of a nanosecond: at 2 GHz a cycle is eight of them, so
// different cycles stay different times; 64 bits last 36 years of uptime.
//
// Writer: the collector's clock model (collector/sampling/clock_publisher.hpp). Reader: ClockMap
// (clock_map.hpp), after check_clock_body().
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

namespace ttc::collect {

using HostTime = uint64_t;  // sixteenths of a nanosecond
inline constexpr uint64_t kHostTicksPerNs = 16;
inline constexpr uint64_t kNoBound = ~uint64_t{0};

// Limits of the slopes that the collector draws. AICLK is from 200 to 1400 MHz (tt-zephyr-platforms
// lib/tenstorrent/bh_arc/aiclk_ppm.c: AICLK_FMIN_MIN, AICLK_FMAX_MAX); a twentieth either way is for the error of
// the points that a line joins. Time in which the counter was slower or stopped is left out between two segments.
inline constexpr uint64_t kSlowestHz = 190'000'000;
inline constexpr uint64_t kFastestHz = 1'470'000'000;

// What an error bound is derived from.
enum class BoundKind : uint8_t {
  none = 0,         // outside of everything measured: there is no bound
  hard = 1,         // on the chip's largest frequency alone
  conditional = 2,  // also on limits of how the frequency changes (tested, see CLOCK.md)
};
const char* to_string(BoundKind kind);

enum ClockFlags : uint8_t {
  kFinalSegment = 1,  // will not change any more
  // The other seven bits: how far the counter's pace can be from the segment's (pace_error()).
};

// Holds for markers with from_cycles <= cycles < to_cycles (64-bit device cycles):
//   host time = host_from + ((cycles - from_cycles) * scale >> shift)
// off by at most `bound` by its kind, and by at most `hard_bound` in any case.
struct ClockSegment {
  uint64_t from_cycles = 0;
  uint64_t to_cycles = 0;
  HostTime host_from = 0;
  uint64_t scale = 0;  // below 2^63
  uint64_t bound = kNoBound;
  uint64_t hard_bound = kNoBound;
  uint32_t era = 0;  // counts resets of the counter; the same cycles may come again in another one
  uint8_t shift = 0;
  BoundKind kind = BoundKind::none;
  uint8_t flags = 0;
  uint8_t domain = 0;
  // Host time at to_cycles. The next segment of the era begins there, or later if the counter had stopped.
  uint64_t host_to = 0;
};
static_assert(offsetof(ClockSegment, from_cycles) == 0 && offsetof(ClockSegment, to_cycles) == 8 &&
              offsetof(ClockSegment, host_from) == 16 && offsetof(ClockSegment, scale) == 24 &&
              offsetof(ClockSegment, bound) == 32 && offsetof(ClockSegment, hard_bound) == 40 &&
              offsetof(ClockSegment, era) == 48 && offsetof(ClockSegment, shift) == 52 &&
              offsetof(ClockSegment, kind) == 53 && offsetof(ClockSegment, flags) == 54 &&
              offsetof(ClockSegment, domain) == 55 && offsetof(ClockSegment, host_to) == 56 &&
              sizeof(ClockSegment) == 64 && std::is_trivially_copyable_v<ClockSegment> &&
              std::is_standard_layout_v<ClockSegment>);

// Precedes the segments of one clock domain.
struct ClockHead {
  uint32_t version = 1;
  uint8_t domain = 0;
  uint8_t reference_x = 0, reference_y = 0;  // the tile that was read
  uint8_t reserved0 = 0;
  uint32_t era = 0;               // of the latest segment
  uint32_t violations = 0;        // times the condition did not hold so far
  uint64_t dwell_ns = 0;          // less between two steps is not relied on;
  uint32_t least_step_ppm = 0;    // the condition: a step is at least so much,
  uint32_t wander_ppb_per_s = 0;  // and what is not even drifts no faster than this
  uint64_t largest_hz = 0;        // the only assumption of hard bounds
  // Host ticks to add to bounds for any but the reference tile; kNoBound: not known yet.
  uint64_t tile_spread = 0;
  uint64_t raw_ns = 0;  // when the three host clocks were compared
  int64_t realtime_minus_raw_ns = 0;
  int64_t boottime_minus_raw_ns = 0;
  uint64_t host_compare_ns = 0;  // error of both differences
  uint64_t reserved1[6] = {};
};
static_assert(offsetof(ClockHead, version) == 0 && offsetof(ClockHead, domain) == 4 &&
              offsetof(ClockHead, reference_x) == 5 && offsetof(ClockHead, reference_y) == 6 &&
              offsetof(ClockHead, reserved0) == 7 && offsetof(ClockHead, era) == 8 &&
              offsetof(ClockHead, violations) == 12 && offsetof(ClockHead, dwell_ns) == 16 &&
              offsetof(ClockHead, least_step_ppm) == 24 && offsetof(ClockHead, wander_ppb_per_s) == 28 &&
              offsetof(ClockHead, largest_hz) == 32 && offsetof(ClockHead, tile_spread) == 40 &&
              offsetof(ClockHead, raw_ns) == 48 && offsetof(ClockHead, realtime_minus_raw_ns) == 56 &&
              offsetof(ClockHead, boottime_minus_raw_ns) == 64 &&
              offsetof(ClockHead, host_compare_ns) == 72 && offsetof(ClockHead, reserved1) == 80 &&
              sizeof(ClockHead) == 128 && std::is_trivially_copyable_v<ClockHead> &&
              std::is_standard_layout_v<ClockHead>);

// The largest difference between the counter's pace anywhere in the segment and the segment's own pace, as a share of it: 1e-6 is a
// nanosecond in a millisecond. Conditional as the bound is. Without a value where there is no such limit, as where the counter
// may have stopped.
std::optional<double> pace_error(const ClockSegment& s);
// Stores the share, rounded up by a fifth at most.
void set_pace_error(ClockSegment& s, double share);

// A body is untrusted bytes: checks lengths, version, order, and that no field can make the arithmetic
// overflow. Returns the first error, or an empty string.
std::string check_clock_body(std::span<const char> body);
// Precondition: check_clock_body() returned an empty string. Copies, as a body need not be aligned.
ClockHead clock_head_of(std::span<const char> body);
ClockSegment clock_segment_of(std::span<const char> body, size_t index);
size_t clock_segments_in(std::span<const char> body);

// Whether its frequency is one of those the collector draws. Captures of earlier builds hold others.
bool has_possible_slope(const ClockSegment& s);
// Host ticks that so many cycles take at least and at most at such a frequency.
uint64_t fewest_ticks(uint64_t cycles);
uint64_t most_ticks(uint64_t cycles);

// The piece between two points of the relation, `to` later than `from` by at least a tick a cycle.
ClockSegment clock_segment_between(uint64_t from_cycles, HostTime host_from, uint64_t to_cycles,
                                   HostTime host_to);

inline HostTime host_time_at(const ClockSegment& s, uint64_t cycles) {
  const auto product = static_cast<unsigned __int128>(cycles - s.from_cycles) * s.scale;
  return s.host_from + static_cast<uint64_t>(product >> s.shift);
}

}  // namespace ttc::collect
