// One writer, three readers, a ring small enough to be lapped all the time. Every word of a record is derived
// from its sequence, so a torn record cannot look whole. Run it under thread sanitizer as well.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "shm/ring.hpp"

namespace ttc::shm {
namespace {

constexpr size_t kCapacity = 16 << 10;

uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}
uint32_t length_of(uint64_t sequence) {
  return static_cast<uint32_t>(64 + mix(sequence) % (kCapacity / 8 - 63));
}
uint64_t word_of(uint64_t sequence, size_t index) {
  return mix(sequence * 4096 + index);
}

struct Result {
  uint64_t records = 0, torn = 0, out_of_order = 0, delivered_bytes = 0, lost_bytes = 0, laps = 0, end = 0,
           start = 0;
  bool damaged = false;
};

// `pause`: how many turns the reader idles after each record, to be lapped more or less often.
Result follow(const RingControl& control, std::span<const uint64_t> ring, const std::atomic<bool>& done,
              unsigned pause) {
  Result r;
  RingCursor cursor(control, ring);
  cursor.to_oldest();
  r.start = cursor.position();
  std::vector<uint64_t> chunk;
  uint64_t expected = 0;
  for (;;) {
    const bool last = done.load(std::memory_order_acquire);
    const uint64_t before = cursor.position();
    const uint64_t lost_before = cursor.lost_bytes();
    switch (cursor.next(chunk)) {
      case Poll::empty:
        r.delivered_bytes += cursor.position() - before;  // a padding record at the tail
        if (last) {
          r.lost_bytes = cursor.lost_bytes();
          r.laps = cursor.laps();
          r.end = cursor.position();
          return r;
        }
        std::this_thread::yield();
        continue;
      case Poll::lapped:
        r.delivered_bytes += cursor.position() - before - (cursor.lost_bytes() - lost_before);
        continue;
      case Poll::damaged:
        r.damaged = true;
        return r;
      case Poll::record:
        break;
    }
    r.delivered_bytes += cursor.position() - before;
    ++r.records;
    const uint64_t sequence = chunk[1];
    if (sequence < expected) ++r.out_of_order;
    expected = sequence + 1;
    bool whole = chunk.size() == (length_of(sequence) + 7) / 8 &&
                 static_cast<uint32_t>(chunk[0]) == length_of(sequence);
    for (size_t i = 2; whole && i < chunk.size(); ++i) whole = chunk[i] == word_of(sequence, i);
    if (!whole) ++r.torn;
    for (unsigned i = 0; i < pause; ++i) std::this_thread::yield();
  }
}

TEST(RingThreads, no_torn_record_is_ever_delivered_and_lost_plus_delivered_adds_up) {
  constexpr uint64_t kRecords = 60000;
  std::vector<uint64_t> storage(kCapacity / 8 + 8);
  void* at = storage.data();
  size_t room = storage.size() * 8;
  const std::span<uint64_t> ring(static_cast<uint64_t*>(std::align(64, kCapacity, at, room)), kCapacity / 8);
  RingControl control;
  std::atomic<bool> done{false};
  std::atomic<unsigned> ready{0};

  Result results[3];
  std::vector<std::thread> readers;
  for (unsigned i = 0; i < 3; ++i)
    readers.emplace_back([&, i] {
      ready.fetch_add(1);
      results[i] = follow(control, ring, done, i * 3);
    });
  while (ready.load() < 3) std::this_thread::yield();

  RingWriter writer(control, ring);
  for (uint64_t s = 0; s < kRecords; ++s) {
    if (s % 17 == 0) {  // abandoned half-written
      uint64_t* junk = writer.claim(kCapacity / 8);
      for (size_t i = 0; i < 64; ++i) store_word(junk + i, ~uint64_t{0});
    }
    const uint32_t length = length_of(s);
    uint64_t* to = writer.claim(length);
    ASSERT_NE(to, nullptr);
    store_word(to, length | uint64_t{static_cast<uint16_t>(ChunkKind::names)} << 32);
    store_word(to + 1, s);
    for (size_t i = 2; i < (length + 7) / 8; ++i) store_word(to + i, word_of(s, i));
    writer.publish(length);
    if (s % 5 == 0) writer.announce();
    if (s % 8 == 0) std::this_thread::yield();  // two cores: let everybody in
  }
  writer.announce();
  done.store(true, std::memory_order_release);
  for (std::thread& t : readers) t.join();

  for (const Result& r : results) {
    EXPECT_FALSE(r.damaged);
    EXPECT_EQ(r.torn, 0u);
    EXPECT_EQ(r.out_of_order, 0u);
    EXPECT_GT(r.records, 0u);
    EXPECT_EQ(r.end, control.tail.load());
    EXPECT_EQ(r.start + r.delivered_bytes + r.lost_bytes, r.end);
    EXPECT_EQ(r.laps == 0, r.lost_bytes == 0);
    RecordProperty("laps", std::to_string(r.laps));
  }
}

}  // namespace
}  // namespace ttc::shm
