#include "ttcollect/live_clock.hpp"

#include <cstring>

namespace ttc::collect {

std::vector<ClockMap> live_clock(std::span<const uint64_t> words) {
  std::vector<ClockMap> maps;
  while (!words.empty()) {
    const uint64_t length_untrusted = words.front();
    words = words.subspan(1);
    if (length_untrusted > words.size_bytes() || length_untrusted % 8) break;
    const std::span<const char> body(reinterpret_cast<const char*>(words.data()), length_untrusted);
    if (!check_clock_body(body).empty()) break;
    maps.emplace_back().update(body);
    words = words.subspan(length_untrusted / 8);
  }
  return maps;
}

}  // namespace ttc::collect
