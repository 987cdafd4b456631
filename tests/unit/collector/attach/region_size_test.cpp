// Which size of the logs is believed, on logs in memory.
#include "collector/attach/region_size.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/support/fake_card.hpp"
#include "tests/support/frames.hpp"

namespace ttc::collect {
namespace {

constexpr uint32_t kBytes = 31728;  // of a log: 661 programs of 48 bytes
constexpr uint32_t kBase = 4096, kFrames = 150, kFrameWords = 12;
constexpr uint64_t kBegun = 1'000'000;  // device time at attaching

// One core's logs. Nothing behind a bank's end is read.
class MemoryLogs : public LogReader {
 public:
  explicit MemoryLogs(const markers::Layout& layout) : bytes_(kBase + 6 * kBytes) {
    for (uint32_t risc = 0; risc < device::kMaxRiscs; ++risc) {
      test::Words log;
      for (uint32_t i = 0; i < kFrames; ++i) {
        const uint64_t t = kBegun + 1000 * i + 100 * risc;
        const test::Words frame = test::frame_words(layout.format.identity(risc, 0, 0), i + 1,
                                                    {100, t, t + 90}, {101, t + 10, t + 80});
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

// 0: none was believed.
uint32_t learnt_of(uint32_t hint, uint32_t frames_landed) {
  Attachment attachment;
  attachment.layout = markers::layout_by_generation(4);
  attachment.dram_base = kBase;
  attachment.core_count_per_dram = 8;
  attachment.begun_cycles = kBegun;
  MemoryLogs logs(*attachment.layout);
  BusyCard card;
  RegionSize size(attachment, 0, 1, {hint});
  RegionSize::HostEnd landed;
  landed.fill(frames_landed * kFrameWords);
  size.learn(card, logs, {}, {landed, landed, frames_landed, device::Mode::normal, true});
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

}  // namespace
}  // namespace ttc::collect
