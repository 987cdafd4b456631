#include "collector/device_time.hpp"

#include <algorithm>

#include "firmware_markers/frame.hpp"

namespace ttc::collect {
void DeviceTime::sample(bool now) {
  const uint64_t host = clock_();
  if (!now && host - samples_.back().host_ns < kEveryNs) return;
  uint64_t cycles = 0;
  if (card_.wall_clock(tile_, cycles) != card::Access::ok) return;  // the next visit meets the same trouble
  samples_.push_back({host, cycles});
  if (samples_.size() > kKept) samples_.pop_front();
}

uint64_t DeviceTime::at(uint64_t host_ns) {
  if (samples_.back().host_ns < host_ns) sample(true);
  const auto after = std::lower_bound(samples_.begin(), samples_.end(), host_ns,
                                      [](const Sample& s, uint64_t t) { return s.host_ns < t; });
  if (after == samples_.begin()) return after->cycles & markers::kClockMask;
  const auto before = std::prev(after);
  if (after == samples_.end()) return before->cycles & markers::kClockMask;
  const double part =
      static_cast<double>(host_ns - before->host_ns) / static_cast<double>(after->host_ns - before->host_ns);
  const double step = static_cast<double>(after->cycles - before->cycles) * part;
  return (before->cycles + static_cast<uint64_t>(step)) & markers::kClockMask;
}

}  // namespace ttc::collect
