#include "collector/continuity/device_clock.hpp"

#include <algorithm>

#include "firmware_markers/frame.hpp"

namespace ttc::collect {
namespace {

// The clock may run faster than its nominal rate, and tiles are released from reset one after the other.
constexpr uint64_t kFastest = 2;
constexpr uint64_t kTilesApartMs = 1000;

uint64_t extrapolated(const DeviceClock::Reading& a, const DeviceClock::Reading& b, uint64_t host_ns) {
  const double rate = static_cast<double>(b.cycles - a.cycles) / static_cast<double>(b.host_ns - a.host_ns);
  return b.cycles + static_cast<uint64_t>(static_cast<double>(host_ns - b.host_ns) * rate);
}

}  // namespace

void DeviceClock::add(const Reading& reading) {
  readings_.push_back(reading);
  if (readings_.size() > kKept) readings_.pop_front();
}

uint64_t DeviceClock::at(uint64_t host_ns) const {
  const auto after = std::lower_bound(readings_.begin(), readings_.end(), host_ns,
                                      [](const Reading& r, uint64_t t) { return r.host_ns < t; });
  if (after == readings_.begin()) return after->cycles & markers::kClockMask;
  const auto before = std::prev(after);
  if (after == readings_.end()) {  // the tile is left alone
    if (readings_.size() < 2) return before->cycles & markers::kClockMask;
    return extrapolated(*std::prev(before), *before, host_ns) & markers::kClockMask;
  }
  const double part =
      static_cast<double>(host_ns - before->host_ns) / static_cast<double>(after->host_ns - before->host_ns);
  const double step = static_cast<double>(after->cycles - before->cycles) * part;
  return (before->cycles + static_cast<uint64_t>(step)) & markers::kClockMask;
}

uint64_t DeviceClock::ceiling(uint64_t host_ns) const {
  const Reading& last = readings_.back();
  const uint64_t since = host_ns > last.host_ns ? host_ns - last.host_ns : 0;
  return (last.cycles + since / 1000 * mhz_ * kFastest + kTilesApartMs * 1000 * mhz_) & markers::kClockMask;
}

}  // namespace ttc::collect
