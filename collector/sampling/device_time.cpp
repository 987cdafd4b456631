#include "collector/sampling/device_time.hpp"

#include <algorithm>

#include "firmware_markers/frame.hpp"

namespace ttc::collect {
namespace {

// The clock may run faster than it was said to, and tiles are released from reset one after the other.
constexpr uint64_t kFastest = 2;
constexpr uint64_t kTilesApartMs = 1000;

uint64_t extrapolated(const DeviceTime::Sample& a, const DeviceTime::Sample& b, uint64_t host_ns) {
  const double rate = static_cast<double>(b.cycles - a.cycles) / static_cast<double>(b.host_ns - a.host_ns);
  return b.cycles + static_cast<uint64_t>(static_cast<double>(host_ns - b.host_ns) * rate);
}

}  // namespace

void DeviceTime::sample(uint64_t older_than_ns) {
  const uint64_t host = clock_();
  if (host - samples_.back().host_ns < older_than_ns) return;
  uint64_t cycles = 0;
  if (card_.wall_clock(tile_, cycles) != card::Access::ok) return;  // the next visit meets the same trouble
  samples_.push_back({host, cycles});
  if (samples_.size() > kKept) samples_.pop_front();
}

uint64_t DeviceTime::at(uint64_t host_ns) {
  if (samples_.back().host_ns < host_ns) sample(0);
  const auto after = std::lower_bound(samples_.begin(), samples_.end(), host_ns,
                                      [](const Sample& s, uint64_t t) { return s.host_ns < t; });
  if (after == samples_.begin()) return after->cycles & markers::kClockMask;
  const auto before = std::prev(after);
  if (after == samples_.end()) {  // no sample to be had: the tile is left alone
    if (samples_.size() < 2) return before->cycles & markers::kClockMask;
    return extrapolated(*std::prev(before), *before, host_ns) & markers::kClockMask;
  }
  const double part =
      static_cast<double>(host_ns - before->host_ns) / static_cast<double>(after->host_ns - before->host_ns);
  const double step = static_cast<double>(after->cycles - before->cycles) * part;
  return (before->cycles + static_cast<uint64_t>(step)) & markers::kClockMask;
}

uint64_t DeviceTime::ceiling(uint64_t host_ns) const {
  const uint64_t mhz = card_.identity().aiclk_mhz;
  const Sample& last = samples_.back();
  const uint64_t since = host_ns > last.host_ns ? host_ns - last.host_ns : 0;
  return (last.cycles + since / 1000 * mhz * kFastest + kTilesApartMs * 1000 * mhz) & markers::kClockMask;
}

}  // namespace ttc::collect
