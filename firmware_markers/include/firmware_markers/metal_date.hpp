// Which tt-metal built the workload, as a month.
//
// Payloads carry numbers (kinds of NoC events, counters, dispatch commands) whose meaning changed with
// tt-metal and is not on the card. Tables of these numbers are therefore rows with a first month, and
// the month comes from the user or, failing that, from the layout generation. A number that the row lacks
// stays a number.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace ttc::markers {

struct MetalDate {
  uint16_t year = 0;
  uint8_t month = 0;  // 1..12
  constexpr unsigned months() const { return year * 12u + month; }
};
constexpr bool operator==(MetalDate a, MetalDate b) {
  return a.months() == b.months();
}
constexpr bool operator<(MetalDate a, MetalDate b) {
  return a.months() < b.months();
}
constexpr bool operator<=(MetalDate a, MetalDate b) {
  return a.months() <= b.months();
}

// Accepts the form "2026-04" only.
std::optional<MetalDate> parse_metal_date(std::string_view text);

// The last month in which tt-metal wrote this layout generation, or for the newest one the last that was
// read.
MetalDate usual_metal_date(unsigned generation);

}  // namespace ttc::markers
