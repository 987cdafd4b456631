// One lane's DRAM log, written by the device-side profiler on a core that is a few arrays.
#pragma once
#include <array>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "firmware_markers/device/profiler.hpp"
#include "firmware_markers/frame.hpp"
#include "tools/emulation/zone_catalog.hpp"

namespace ttc::bench {

class ArrayPort {
 public:
  explicit ArrayPort(uint8_t flat_id, uint64_t seed) : random_(seed) {
    l1_[device::kG4.flat_id] = flat_id;
    l1_[device::kG4.core_count_per_dram] = 8;
    l1_[device::kG4.dram_address] = 1;  // not 0: the firmware then pushes
  }
  uint32_t control_address() const { return 0; }
  uint32_t buffer_address() const { return 4 * kControlWords; }
  uint32_t load(uint32_t address) const { return l1_[address / 4]; }
  void store(uint32_t address, uint32_t value) { l1_[address / 4] = value; }
  uint32_t clock_high() {
    clock_ += 30 + random_() % 64;
    return static_cast<uint32_t>(clock_ >> 32);
  }
  uint32_t clock_low() const { return static_cast<uint32_t>(clock_); }
  void push(uint32_t risc, uint32_t words, uint32_t, uint32_t) {
    const auto from = l1_.begin() + kControlWords + risc * device::kBufferWords;
    log.insert(log.end(), from, from + words);
    l1_[device::kG4.host_end + risc] = 0;  // the log here has no end
  }
  void wait_sent() const {}
  uint32_t noc_x() const { return 1; }
  uint32_t noc_y() const { return 1; }
  bool noc_busy() const { return false; }
  void recorded(uint32_t, uint32_t, uint32_t, uint64_t, uint64_t, uint64_t) { ++markers; }

  std::vector<uint32_t> log;
  size_t markers = 0;

 private:
  static constexpr uint32_t kControlWords = device::kG4.control_words;
  std::array<uint32_t, kControlWords + device::kMaxRiscs * device::kBufferWords + 4> l1_{};
  uint64_t clock_ = 5'000'000'000;
  std::mt19937_64 random_;
};

struct LogShape {
  uint32_t least_zones = 4, most_zones = 4;
  uint32_t data_every = 0;    // one frame in so many carries a TS_DATA; 0: none
  bool random_zones = false;  // which zones a launch has is drawn: hardly any two launches have the same
};

struct LaneLog {
  markers::Lane lane;
  std::vector<uint32_t> words;
  std::vector<size_t> frame_ends;  // in words
  size_t markers = 0;
};

// At least `bytes` of whole frames.
inline LaneLog make_lane_log(size_t bytes, uint8_t risc, uint8_t flat_id, const LogShape& shape,
                             const emulation::ZoneCatalog& zones, uint64_t seed) {
  using Risc = device::Profiler<ArrayPort, device::kG4>;
  ArrayPort port(flat_id, seed);
  Risc brisc(port, 0, 1 << 20), other(port, risc, 1 << 20);
  Risc& own = risc == 0 ? brisc : other;
  std::mt19937_64 random(seed + 1);
  LaneLog made{{&device::kG4, risc, flat_id}, {}, {}, 0};
  port.log.reserve(bytes / 4 + device::kBufferWords);
  for (uint32_t host = 1; port.log.size() * 4 < bytes; ++host) {
    brisc.open_launch();
    own.fw_start(zones.fw(risc).id);
    brisc.take_launch(true, host);
    own.kernel_start(zones.kernel(risc).id);
    const auto count =
        shape.least_zones + static_cast<uint32_t>(random() % (shape.most_zones - shape.least_zones + 1));
    for (uint32_t z = 0; z < count; ++z) {
      const uint32_t which = shape.random_zones ? static_cast<uint32_t>(random() % zones.kernel_zones()) : z;
      device::Scope<Risc> zone(own, zones.custom(risc, which).id);
    }
    if (shape.data_every && random() % shape.data_every == 0) own.data(zones.data(risc).id, random());
    own.kernel_end(zones.kernel(risc).id);
    own.fw_end(zones.fw(risc).id);
    brisc.finish_launch();
    made.frame_ends.push_back(port.log.size());
  }
  made.words = std::move(port.log);
  made.markers = port.markers;
  return made;
}

// The log cut at frames into pieces of about `bytes`, as spans of chunks are.
inline std::vector<std::span<const uint32_t>> pieces_of(const LaneLog& log, size_t bytes) {
  std::vector<std::span<const uint32_t>> pieces;
  size_t begin = 0;
  for (const size_t end : log.frame_ends)
    if ((end - begin) * 4 >= bytes || end == log.words.size()) {
      pieces.push_back(std::span(log.words).subspan(begin, end - begin));
      begin = end;
    }
  return pieces;
}

}  // namespace ttc::bench
