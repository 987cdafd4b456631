// A core made of arrays on which the device header runs, its BRISC, and its log as a decoder reads it.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "firmware_markers/decoder.hpp"
#include "firmware_markers/device/profiler.hpp"

namespace ttc::device {

using markers::packet_id;
using markers::packet_type;

inline constexpr uint32_t kFw = 0x2F6D, kKernel = 0xFE3E, kZone = 0x1234, kPush = 0x4321;
inline constexpr uint32_t kLogWords = 600;
inline constexpr uint32_t kFlat = 11, kCores = 8;

template <const Format& F>
struct Machine {
  Machine() : logs(kMaxRiscs, std::vector<uint32_t>(kLogWords)) {
    words[F.dram_address] = 0x20;
    words[F.flat_id] = kFlat;
    words[F.core_count_per_dram] = kCores;
    std::fill(l1.begin(), l1.end(), 0x5a5a5a5a);
  }

  // The control vector at 0x100, the buffers right behind it, and room to detect an overrun of the last one.
  uint32_t control_address() const { return 0x100; }
  uint32_t buffer_address() const { return 0x100 + 4 * F.control_words; }
  uint32_t load(uint32_t address) {
    return address < buffer_address() ? words.at((address - 0x100) / 4)
                                      : l1.at((address - buffer_address()) / 4);
  }
  void store(uint32_t address, uint32_t v) {
    if (address >= buffer_address()) {
      l1.at((address - buffer_address()) / 4) = v;
      return;
    }
    const uint32_t word = (address - 0x100) / 4;
    words.at(word) = v;
    steps.push_back("cv" + std::to_string(word) + "=" + std::to_string(v));
  }
  uint32_t& buffer(uint32_t risc, uint32_t word) { return l1.at(risc * kBufferWords + word); }
  uint32_t clock_high() { return static_cast<uint32_t>(++now >> 32); }
  uint32_t clock_low() { return static_cast<uint32_t>(++now); }
  void push(uint32_t risc, uint32_t count, uint32_t bank, uint32_t offset) {
    steps.push_back("push" + std::to_string(risc));
    EXPECT_EQ(bank, kFlat / kCores);
    const uint32_t region = (kFlat % kCores * kMaxRiscs + risc) * kLogWords * 4;
    ASSERT_GE(offset, region);
    ASSERT_LE((offset - region) / 4 + count, kLogWords) << "writes into the next RISC's region";
    if (!overruns) {
      EXPECT_EQ(count % 4, 0u) << "every push is a multiple of 16 bytes";
    }
    EXPECT_GT(count, 0u);
    std::copy_n(l1.begin() + risc * kBufferWords, count, logs[risc].begin() + (offset - region) / 4);
  }
  void wait_sent() { steps.push_back("wait"); }
  uint32_t noc_x() { return 18; }
  uint32_t noc_y() { return 21; }
  void recorded(uint32_t, uint32_t, uint32_t, uint64_t, uint64_t, uint64_t) { ++records; }
  bool noc_busy() { return busy; }

  std::span<const uint32_t> log(uint32_t risc) const {
    return std::span(logs[risc]).first(words[F.host_end + risc]);
  }

  std::array<uint32_t, F.control_words> words{};
  std::array<uint32_t, kMaxRiscs * kBufferWords + 4> l1;
  std::vector<std::vector<uint32_t>> logs;
  std::vector<std::string> steps;
  uint64_t now = 0x5'0010'0000;
  size_t records = 0;
  bool busy = false;
  bool overruns = false;  // expected by this test
};

template <const Format& F>
struct Brisc {
  explicit Brisc(Machine<F>& m) : profiler(m, 0, kLogWords * 4) {}
  void begin(uint32_t host, bool mine = true) {
    profiler.open_launch();
    profiler.fw_start(kFw);
    profiler.take_launch(mine, host);
  }
  void finish(bool mine = true) {
    profiler.fw_end(kFw, mine);
    profiler.finish_launch();
  }
  void zones(size_t count) {
    for (size_t i = 0; i < count; ++i)
      if (profiler.zone_start(kZone)) profiler.zone_end(kZone);
  }
  Profiler<Machine<F>, F> profiler;
};

struct Decoded {
  Decoded(const Format& f, uint32_t risc, std::span<const uint32_t> words)
      : decoder(markers::Lane{&f, static_cast<uint8_t>(risc), kFlat}) {
    decoder.decode(words, batch);
  }
  markers::LaneDecoder decoder;
  markers::Batch batch;
};

}  // namespace ttc::device
