// Durations and sizes, by one rule for the options of all programs and for triggers, faults and windows.
//
// Both are a number and a unit without space: digits, optionally a point and digits; no sign, no exponent.
// Units are written as here, upper and lower case are not the same. 0 needs no unit, any other number does.
// Digits below the smallest unit are cut off; a number above 0 that would become 0 is refused.
//   duration   ns, us, ms, s, m or min, h, d                    kept in nanoseconds, up to 11574 days (10^18
//   ns) size       B; KiB, MiB, GiB, TiB and K, M, G, T: powers of 1024; kB, MB, GB, TB: powers of 1000
//                                                               kept in bytes, up to 10^18
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ttc::program {

struct ParsedUnits {
  std::optional<uint64_t> value;
  std::string error;  // a sentence, where there is no value
};

ParsedUnits parse_duration(std::string_view text);
ParsedUnits parse_size(std::string_view text);

// Used by interfaces that take milliseconds: rounded up, so that a duration above 0 stays above 0; a longer one
// becomes the most that they hold.
unsigned milliseconds_of(uint64_t nanoseconds);

}  // namespace ttc::program
