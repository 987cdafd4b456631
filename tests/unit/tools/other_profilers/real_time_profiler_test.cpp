// The real-time profiler's ring in an image of L1: where it is, and what is read of it while it goes round.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "tools/other_profilers/real_time.hpp"

namespace ttc::other_profilers {
namespace {

constexpr uint32_t kRing = 0x4000, kL1 = kRing + kRealTimeBytes + 0x4000;

class RealTimeRings : public testing::Test {
 protected:
  RealTimeRings() : image(kL1 / 8) {}
  void set(uint32_t address, uint32_t value) {
    std::memcpy(reinterpret_cast<char*>(image.data()) + address, &value, sizeof value);
  }
  void record(uint32_t id, uint64_t start, uint64_t end, bool sync = false) {
    const uint32_t slot = kRing + kRealTimeHeadBytes + written % kRealTimeSlots * kRealTimeSlotBytes;
    const uint32_t words[] = {
        static_cast<uint32_t>(start >> 32), static_cast<uint32_t>(start), id, sync ? 0xffffffff : 0,
        static_cast<uint32_t>(end >> 32),   static_cast<uint32_t>(end)};
    for (uint32_t w = 0; w < std::size(words); ++w) set(slot + 4 * w, words[w]);
    set(kRing, ++written);
    set(kRing + 4, written);
  }
  void run(uint32_t programs) {
    for (uint32_t i = 0; i < programs; ++i, now += 1000) record(written & 0xffff, now, now + 900);
  }
  ReadL1 reader() {
    return [this](uint32_t address, std::span<uint64_t> out) {
      if (broken) return false;
      std::memcpy(out.data(), reinterpret_cast<const char*>(image.data()) + address, out.size_bytes());
      if (during) during();
      return true;
    };
  }

  std::vector<uint64_t> image;
  uint32_t written = 0;
  uint64_t now = 0x300001000;
  bool broken = false;
  std::function<void()> during;
};

TEST_F(RealTimeRings, the_ring_is_found_by_what_stands_in_it) {
  run(7);
  EXPECT_FALSE(find_real_time_ring(image, 0)) << "too few records to be sure";
  run(2);
  EXPECT_EQ(find_real_time_ring(image, 0), kRing);
  EXPECT_EQ(find_real_time_ring(image, 0x100), kRing + 0x100);
  run(2 * kRealTimeSlots);
  EXPECT_EQ(find_real_time_ring(image, 0), kRing) << "when it has gone round";
  set(kRing + 32, 1);
  EXPECT_FALSE(find_real_time_ring(image, 0)) << "padding that is none";
}

TEST_F(RealTimeRings, chance_makes_no_ring) {
  for (const uint32_t seed : {1u, 2u, 3u}) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    for (uint64_t& word : image) word = random() % 4 == 0 ? 0 : random() >> random() % 64;
    EXPECT_FALSE(find_real_time_ring(image, 0));
  }
}

TEST_F(RealTimeRings, each_record_comes_once) {
  RealTimeRing ring(reader(), kRing);
  std::vector<OpRecord> records;
  for (const uint32_t programs : {10u, 0u, 3000u, 4000u}) {
    run(programs);
    ASSERT_TRUE(ring.look(records));
  }
  record(0, now, now, true);
  ASSERT_TRUE(ring.look(records));
  ASSERT_EQ(records.size(), 7011u);
  for (uint32_t i = 0; i < 7010; ++i) {
    ASSERT_EQ(records[i].index, i);
    ASSERT_EQ(records[i].end - records[i].start, 900u);
  }
  EXPECT_TRUE(records.back().sync);
  EXPECT_EQ(ring.missed(), 0u);
}

TEST_F(RealTimeRings, what_was_overwritten_is_counted) {
  RealTimeRing ring(reader(), kRing);
  std::vector<OpRecord> records;
  run(100);
  ring.look(records);
  run(5000);
  ring.look(records);
  EXPECT_EQ(records.size() + ring.missed(), 5100u);
  EXPECT_EQ(ring.missed(), 5000u - (kRealTimeSlots - 16));
  // The producer goes round while slots are copied.
  records.clear();
  run(50);
  during = [&] {
    run(kRealTimeSlots);
    during = {};
  };
  const uint64_t missed = ring.missed();
  ring.look(records);
  during = {};
  EXPECT_GT(ring.missed(), missed);
  for (const OpRecord& r : records) EXPECT_EQ(r.index & 0xffff, r.runtime_id) << "a record of another round";
}

TEST_F(RealTimeRings, a_device_that_is_opened_anew_begins_at_0) {
  RealTimeRing ring(reader(), kRing);
  std::vector<OpRecord> records;
  run(100);
  ring.look(records);
  std::fill(image.begin(), image.end(), 0);
  written = 0;
  run(5);
  ring.look(records);
  EXPECT_EQ(ring.restarts(), 1u);
  EXPECT_EQ(records.size(), 105u);
  set(kRing + 8, 1);
  EXPECT_TRUE(ring.look(records));
  EXPECT_TRUE(ring.terminated());
}

TEST_F(RealTimeRings, a_record_that_cannot_be_true_is_counted_and_left_out) {
  RealTimeRing ring(reader(), kRing);
  std::vector<OpRecord> records;
  record(1, 5000, 4000);
  ring.look(records);
  EXPECT_TRUE(records.empty());
  EXPECT_EQ(ring.doubtful(), 1u);
  broken = true;
  EXPECT_FALSE(ring.look(records));
}

}  // namespace
}  // namespace ttc::other_profilers
