#include "tools/formats/sync_info.hpp"

#include <cstdio>

#include "ttcollect/clock_map.hpp"

namespace ttc::tools {
namespace {

constexpr std::string_view kHead =
    "device id,core_x, "
    "core_y,device,host_tracy,host_real,write_overhead,host_start,delay,frequency,tracy_ratio,"
    "tracy_base_time,device_frequency_ratio,device_shift\n";

}  // namespace

void SyncInfo::begin(const Session&) {
  if (!head_written_) out_.append(kHead);
  head_written_ = true;
}

void SyncInfo::clock(uint32_t chip, const collect::ClockMap& map) {
  if (map.head().domain != 0) return;  // the format has one clock a device
  Device& d = devices_[chip];
  for (const collect::ClockSegment& s : map.segments()) {
    if (!(s.flags & collect::kFinalSegment) || s.host_from < d.written_until) continue;
    if (!collect::has_possible_slope(s))
      continue;  // of an earlier build: the counter stood, or nothing is known
    if (d.first == 0) d.first = s.host_from;
    d.written_until = s.host_to;
    const uint64_t start_ns = d.first / collect::kHostTicksPerNs;
    const double ns = static_cast<double>(s.host_from - d.first) / collect::kHostTicksPerNs;
    const double ghz = static_cast<double>(s.to_cycles - s.from_cycles) * collect::kHostTicksPerNs /
                       static_cast<double>(s.host_to - s.host_from);
    char row[320];
    const int length = std::snprintf(
        row, sizeof row, "%5u,%5u,%5u,%20llu,%20llu,%20.2f,%20u,%20llu,%20.2f,%20.15f,%20.15f,%20llu,1.0,0\n",
        chip, map.head().reference_x, map.head().reference_y, static_cast<unsigned long long>(s.from_cycles),
        static_cast<unsigned long long>(ns), ns, 0u, static_cast<unsigned long long>(start_ns),
        static_cast<double>(s.from_cycles) - ghz * ns, ghz, 1.0, static_cast<unsigned long long>(start_ns));
    out_.append({row, static_cast<size_t>(length)});
    ++rows_;
  }
}

std::vector<std::string> SyncInfo::remarks() const {
  if (rows_) return {};
  return {"this source holds no clock model (collected with --no-sync, or for less than a second)"};
}

}  // namespace ttc::tools
