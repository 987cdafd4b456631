// Logs typed by hand, written the way the firmware lays them out, and what LaneDecoder makes of them.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

#include "firmware_markers/decoder.hpp"

namespace ttc::markers::decoder_test {

using device::marker_high;

inline constexpr uint32_t kFw = 0x2F6D, kKernel = 0xFE3E, kZone = 0x1234;
inline const Lane kLane{&device::kG3, 2, 37};
inline constexpr uint64_t kRoll = uint64_t{1} << 32;
using Time = std::optional<uint64_t>;  // empty: an unset slot

// A lane's DRAM log, written the way the firmware lays it out.
class Log {
 public:
  explicit Log(Lane lane = kLane) : lane_(lane) {}

  Log& frame(uint32_t host, Time fw_start, Time fw_end = {}, Time kernel_start = {}, Time kernel_end = {},
             uint32_t trace = 0) {
    words.insert(words.end(), {0, 0, lane_.format->identity(lane_.risc, lane_.flat_id, trace), host});
    slot(device::kZoneStart, kFw, fw_start);
    slot(device::kZoneEnd, kFw, fw_end);
    slot(device::kZoneStart, kKernel, kernel_start);
    slot(device::kZoneEnd, kKernel, kernel_end);
    return *this;
  }
  Log& marker(uint32_t type, uint32_t id, uint64_t time) {
    return raw({marker_high(type, id, static_cast<uint32_t>(time >> 32)), static_cast<uint32_t>(time)});
  }
  Log& zone(uint64_t start, uint64_t end, uint32_t id = kZone) {
    return marker(device::kZoneStart, id, start).marker(device::kZoneEnd, id, end);
  }
  Log& data(uint32_t id, uint64_t time, uint64_t value) {
    return marker(device::kTsData, id, time).u64(value);
  }
  Log& data16(uint32_t id, uint64_t time, uint64_t first, uint64_t second) {
    return marker(device::kTsData16B, id, time).u64(first).u64(second);
  }
  Log& total(uint32_t id, uint32_t sum) { return raw({marker_high(device::kZoneTotal, id, 0), sum}); }
  Log& padding() { return raw({device::kUnsetWord, 0}); }
  Log& u64(uint64_t value) { return raw({static_cast<uint32_t>(value >> 32), static_cast<uint32_t>(value)}); }
  Log& raw(std::initializer_list<uint32_t> more) {
    words.insert(words.end(), more);
    return *this;
  }

  std::vector<uint32_t> words;

 private:
  void slot(uint32_t type, uint32_t id, Time time) {
    if (time)
      marker(type, id, *time);
    else
      raw({device::kUnsetWord, device::kUnsetWord});
  }
  Lane lane_;
};

struct Decoded {
  explicit Decoded(const Log& log, Lane lane = kLane) : decoder(lane) { decoder.decode(log.words, batch); }
  const Marker& operator[](size_t i) const { return batch.markers()[i]; }
  size_t size() const { return batch.markers().size(); }
  size_t frames() const { return batch.frames().size(); }
  std::vector<uint64_t> times() const {
    std::vector<uint64_t> out;
    for (const Marker& m : batch.markers()) out.push_back(m.time_cycles);
    return out;
  }
  const Anomalies& odd() const { return decoder.anomalies(); }
  LaneDecoder decoder;
  Batch batch;
};

using Times = std::vector<uint64_t>;

inline bool none(const Anomalies& a) {
  return !(a.unparsable_words | a.resyncs | a.damaged_sentinels | a.overrun_frames | a.truncated_packets |
           a.unknown_packets | a.stale_markers | a.duplicate_markers | a.repaired_times | a.backward_times);
}

}  // namespace ttc::markers::decoder_test
