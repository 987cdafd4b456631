#include "ttcollect/late_reader.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <ctime>

#include "ttcollect/host_time.hpp"

namespace ttc::collect {
namespace {

constexpr uint64_t kLargestRing = uint64_t{1} << 31;

// The time as UTC, to a millisecond, by what both clocks show now.
std::string utc_of_raw(uint64_t raw_ns) {
  const uint64_t now_raw = raw_now_ns();
  const uint64_t at = before(host_clock_ns(CLOCK_REALTIME), now_raw > raw_ns ? now_raw - raw_ns : 0);
  const auto seconds = static_cast<std::time_t>(at / 1'000'000'000);
  std::tm utc{};
  char date[40], text[64];
  std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", gmtime_r(&seconds, &utc));
  std::snprintf(text, sizeof text, "%s.%03lluZ", date,
                static_cast<unsigned long long>(at / 1'000'000 % 1000));
  return text;
}

std::string ring_for(uint64_t bytes) {
  const uint64_t ring = std::bit_ceil(std::max(bytes, uint64_t{1} << 20));
  return ring > kLargestRing ? std::string() : " or --ring " + std::to_string(ring >> 20) + "MiB";
}

}  // namespace

std::string late_reader(const shm::Reader& reader) {
  const shm::Reader::Overwritten& gone = reader.overwritten();
  if (gone.chunks == 0) return {};
  std::string text = "live:" + reader.info().live_name + ": " + std::to_string(gone.chunks) + " chunks (" +
                     std::to_string(gone.bytes) +
                     " bytes) had been overwritten in the ring before this reader came";
  if (gone.kept_from_ns)
    text += "; what was read from the card before " + utc_of_raw(gone.kept_from_ns) + " is gone";
  return text + "; a reader that follows from the start, a capture file (-o)" + ring_for(reader.tail()) +
         " would have kept it so far";
}

}  // namespace ttc::collect
