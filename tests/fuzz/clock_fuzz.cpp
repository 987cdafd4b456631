// Foreign bytes as a live clock table and as the bodies of clock chunks: refused, or converted without
// overflow, times strictly in order where cycles are.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "ttcollect/live_clock.hpp"

using namespace ttc::collect;

namespace {

void convert(const ClockMap& map) {
  constexpr uint64_t kMask = (uint64_t{1} << 44) - 1;
  std::vector<uint64_t> times;
  for (const ClockSegment& s : map.segments())
    for (const uint64_t at :
         {s.from_cycles, s.from_cycles + (s.to_cycles - s.from_cycles) / 2, s.to_cycles - 1, s.to_cycles})
      times.push_back(at & kMask);
  std::vector<HostTime> out(times.size());
  for (const ClockSegment& s : map.segments()) {
    std::vector<ClockMap::Run> runs;
    map.convert(times, s.host_from, out, runs);
    size_t converted = 0;
    for (const auto& run : runs) converted += run.count;
    if (converted != times.size()) std::abort();
    for (size_t i = 0; i < times.size(); ++i)
      if (map.at(times[i], s.host_from).host != out[i]) std::abort();
    const uint64_t middle = s.from_cycles + (s.to_cycles - s.from_cycles) / 2;
    if (middle > s.from_cycles && host_time_at(s, middle) <= s.host_from) std::abort();
    if (host_time_at(s, s.to_cycles - 1) >= s.host_to) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<uint64_t> words(size / 8);
  if (!words.empty()) std::memcpy(words.data(), data, words.size() * 8);
  for (const ClockMap& map : live_clock(words))
    if (!map.empty()) convert(map);
  const std::span<const char> body(reinterpret_cast<const char*>(data), size);
  if (!check_clock_body(body).empty()) return 0;
  ClockMap map;
  map.update(body);
  map.update(body);
  if (!map.empty()) convert(map);
  return 0;
}
