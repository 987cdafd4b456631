#include "ttcollect/clock_segment.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

namespace ttc::collect {

const char* to_string(BoundKind kind) {
  switch (kind) {
    case BoundKind::hard:
      return "hard";
    case BoundKind::conditional:
      return "conditional";
    case BoundKind::none:
      break;
  }
  return "none";
}

namespace {

// The least value of pace_error(); each code is a fifth more than the one before.
constexpr double kLeastPaceError = 1e-9;
constexpr uint64_t kTicksPerSecond = kHostTicksPerNs * 1'000'000'000;

std::string complaint(const ClockSegment& s) {
  if (s.to_cycles <= s.from_cycles) return "is empty";
  if (s.host_to <= s.host_from) return "ends before it begins";
  if (s.host_to - s.host_from < s.to_cycles - s.from_cycles) return "is faster than 16 GHz";
  if (s.shift == 0 || s.shift > 62 || s.scale >> 63) return "has a scale that overflows";
  if (s.scale >> s.shift == 0) return "gives two cycles one time";
  // The last cycle's time must lie before the end: this also keeps the product within 127 bits.
  const auto product = static_cast<unsigned __int128>(s.to_cycles - 1 - s.from_cycles) * s.scale;
  if ((product >> s.shift) >= s.host_to - s.host_from) return "is steeper than its ends";
  // What batch conversion does with it (clock_map.cpp) needs its length to fit.
  const uint64_t cycles = s.to_cycles - s.from_cycles;
  if (cycles >> s.shift || cycles >> 43) return "is too long";
  if (s.kind > BoundKind::conditional) return "has an unknown kind of bound";
  return {};
}

}  // namespace

std::string check_clock_body(std::span<const char> body) {
  if (body.size() < sizeof(ClockHead) || (body.size() - sizeof(ClockHead)) % sizeof(ClockSegment))
    return "a clock record has a length that cannot be";
  const ClockHead head = clock_head_of(body);
  if (head.version != 1)
    return "a clock record is of version " + std::to_string(head.version) + ", this build reads version 1";
  for (size_t i = 0; i < clock_segments_in(body); ++i) {
    const ClockSegment s = clock_segment_of(body, i);
    if (const std::string why = complaint(s); !why.empty())
      return "clock segment " + std::to_string(i) + " " + why;
    if (s.domain != head.domain) return "clock segment " + std::to_string(i) + " is of another domain";
  }
  return {};
}

std::optional<double> pace_error(const ClockSegment& s) {
  // Bounds by the pace are computed by the million: a call of exp2() for each is a tenth of the work.
  static const auto kShares = [] {
    std::array<double, 128> all{};
    for (unsigned code = 1; code < all.size(); ++code)
      all[code] = kLeastPaceError * std::exp2((code - 1) / 4.0);
    return all;
  }();
  const unsigned code = s.flags >> 1;
  if (code == 0) return std::nullopt;
  return kShares[code];
}

void set_pace_error(ClockSegment& s, double share) {
  const double steps = std::ceil(4 * std::log2(std::max(share, kLeastPaceError) / kLeastPaceError));
  const unsigned code = steps < 126 ? static_cast<unsigned>(steps) + 1 : 0;
  s.flags = static_cast<uint8_t>((s.flags & kFinalSegment) | code << 1);
}

ClockHead clock_head_of(std::span<const char> body) {
  ClockHead head;
  std::memcpy(&head, body.data(), sizeof head);
  return head;
}

size_t clock_segments_in(std::span<const char> body) {
  return (body.size() - sizeof(ClockHead)) / sizeof(ClockSegment);
}

ClockSegment clock_segment_of(std::span<const char> body, size_t index) {
  ClockSegment s;
  std::memcpy(&s, body.data() + sizeof(ClockHead) + index * sizeof s, sizeof s);
  return s;
}

uint64_t fewest_ticks(uint64_t cycles) {
  const auto ticks = static_cast<unsigned __int128>(cycles) * kTicksPerSecond;
  return static_cast<uint64_t>((ticks + kFastestHz - 1) / kFastestHz);
}

uint64_t most_ticks(uint64_t cycles) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(cycles) * kTicksPerSecond / kSlowestHz);
}

bool has_possible_slope(const ClockSegment& s) {
  const uint64_t cycles = s.to_cycles - s.from_cycles, ticks = s.host_to - s.host_from;
  return fewest_ticks(cycles) <= ticks && ticks <= most_ticks(cycles);
}

ClockSegment clock_segment_between(uint64_t from_cycles, HostTime host_from, uint64_t to_cycles,
                                   HostTime host_to) {
  ClockSegment s;
  s.from_cycles = from_cycles;
  s.to_cycles = to_cycles;
  s.host_from = host_from;
  s.host_to = host_to;
  const uint64_t ticks = host_to - host_from, cycles = to_cycles - from_cycles;
  // The scale gets as many bits of fraction as leave it below 2^63. It is rounded down by less than 2^-shift, and
  // cycles <= ticks < 2^shift, so all of it makes less than one tick.
  const uint64_t whole = ticks / cycles + 1;
  s.shift = static_cast<uint8_t>(63 - std::bit_width(whole));
  s.scale = static_cast<uint64_t>((static_cast<unsigned __int128>(ticks) << s.shift) / cycles);
  return s;
}

}  // namespace ttc::collect
