#include "firmware_markers/metal_date.hpp"

#include <charconv>

namespace ttc::markers {

std::optional<MetalDate> parse_metal_date(std::string_view text) {
  if (text.size() != 7 || text[4] != '-') return std::nullopt;
  MetalDate date;
  const char* const end = text.data() + text.size();
  const auto year = std::from_chars(text.data(), text.data() + 4, date.year);
  const auto month = std::from_chars(text.data() + 5, end, date.month);
  if (year.ptr != text.data() + 4 || month.ptr != end || date.month < 1 || date.month > 12)
    return std::nullopt;
  return date;
}

// tt-metal profiler_common.h. G3's last month before the re-spaced vector is June.
MetalDate usual_metal_date(unsigned generation) {
  switch (generation) {
    case 16:
      return {2025, 2};
    case 1:
      return {2025, 6};
    case 2:
      return {2025, 12};
    case 3:
      return {2026, 6};
    default:
      return {2026, 9};
  }
}

}  // namespace ttc::markers
