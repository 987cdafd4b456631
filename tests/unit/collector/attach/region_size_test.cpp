// Which size of the logs is accepted, on logs in memory.
#include "collector/attach/region_size.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "collector/attach/card_access.hpp"
#include "tests/support/fake_card.hpp"
#include "tests/support/frames.hpp"

namespace ttc::collect {
namespace {

constexpr uint32_t kBytes = 31728;  // of a log: 661 programs of 48 bytes
constexpr uint32_t kBase = 4096, kFrames = 150, kFrameWords = 12;
constexpr uint32_t kBankBytes = 6 * 64000;  // all usual sizes lie in it
constexpr uint64_t kBegun = 1'000'000;      // device time at attaching

// A launch's frame, or a push of accumulating firmware: of that, ids and slots are unset, and the zone follows them.
test::Words frame_at(uint64_t t, uint32_t identity, uint32_t launch, device::Mode mode) {
  if (mode == device::Mode::normal)
    return test::frame_words(identity, launch, {100, t, t + 90}, {101, t + 10, t + 80});
  test::Words frame = test::frame_words(identity, 0, {}, {});
  test::put_zone(frame, {100, t, t + 90});
  return frame;
}

// One core's logs. Nothing behind a bank's end is read.
class MemoryLogs : public LogReader {
 public:
  MemoryLogs(const markers::Layout& layout, device::Mode mode) : bytes_(kBase + kBankBytes) {
    for (uint32_t risc = 0; risc < device::kMaxRiscs; ++risc) {
      test::Words log;
      for (uint32_t i = 0; i < kFrames; ++i) {
        const test::Words frame =
            frame_at(kBegun + 1000 * i + 100 * risc, layout.format.identity(risc, 0, 0), i + 1, mode);
        log.insert(log.end(), frame.begin(), frame.end());
      }
      std::memcpy(bytes_.data() + kBase + risc * kBytes, log.data(), 4 * log.size());
    }
  }
  card::Access read(std::span<const LogRead> reads) override {
    for (const LogRead& r : reads) {
      if (r.address + r.out.size_bytes() > bytes_.size()) return card::Access::refused;
      std::memcpy(r.out.data(), bytes_.data() + r.address, r.out.size_bytes());
    }
    return card::Access::ok;
  }

 private:
  std::vector<uint8_t> bytes_;
};

// Its L1 gives no evidence.
class BusyCard : public card::FakeCard {
 public:
  card::Access aim(card::Window, card::Coord, uint64_t) override { return card::Access::suspect; }
};

// The mode of the firmware, as far as the drain has it.
struct KnownMode {
  device::Mode is = device::Mode::normal;
  bool known = true;
};

// 0: none was accepted.
uint32_t learnt_of(uint32_t hint, uint32_t frames_landed, KnownMode mode = {}) {
  Attachment attachment;
  attachment.layout = markers::layout_by_generation(4);
  attachment.dram_base = kBase;
  attachment.core_count_per_dram = 8;
  attachment.begun_cycles = kBegun;
  MemoryLogs logs(*attachment.layout, mode.is);
  BusyCard card;
  CardAccess port(card, logs, attachment.clock, nullptr);
  const CoreReader reader(port, attachment);
  RegionSize size(attachment, 0, 1, {hint});
  RegionSize::HostEnd landed;
  landed.fill(frames_landed * static_cast<uint32_t>(frame_at(kBegun, 0, 1, mode.is).size()));
  const device::Mode believed = mode.known ? mode.is : device::Mode::normal;
  size.learn(reader, {}, {landed, landed, frames_landed, reader.now_ns(), believed, mode.known, !mode.known});
  return size.known() ? size.bytes() : 0;
}

TEST(RegionSize, of_a_running_core_the_log_stands_where_it_begins_and_where_its_index_ends) {
  EXPECT_EQ(learnt_of(kBytes, 100), kBytes);
  EXPECT_EQ(learnt_of(kBytes + 16, 100), 0u);
}

// Frames of one length, and a log that grew while it was looked for: some frames further on it looked as if it began and ended.
TEST(RegionSize, a_place_behind_which_the_log_began_is_not_its_begin) {
  for (uint32_t frames = 1; frames <= 10; ++frames)
    EXPECT_EQ(learnt_of(kBytes + 4 * kFrameWords * frames, 100), 0u) << frames << " frames";
}

// Right after a push L1 does not show that firmware accumulates. A card that rested then was not read until its next launch.
TEST(RegionSize, frames_of_accumulating_firmware_show_it_before_the_mode_is_known) {
  EXPECT_EQ(learnt_of(kBytes, 100, {device::Mode::accumulate, true}), kBytes);
  EXPECT_EQ(learnt_of(kBytes, 100, {device::Mode::accumulate, false}), kBytes);
  EXPECT_EQ(learnt_of(kBytes, 100, {device::Mode::normal, false}), kBytes);
  EXPECT_EQ(learnt_of(kBytes + 16, 100, {device::Mode::accumulate, false}), 0u);
}

}  // namespace
}  // namespace ttc::collect
