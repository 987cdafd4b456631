// The ring on plain arrays: exact positions, what a reader gets, and damaged bytes.
#include "shm/ring.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <random>
#include <vector>

namespace ttc::shm {
namespace {

struct Ring {
  explicit Ring(size_t capacity_bytes = 4096) : capacity(capacity_bytes), bytes(capacity_bytes + 64) {
    void* at = bytes.data();
    size_t room = bytes.size();
    words = {static_cast<uint64_t*>(std::align(64, capacity, at, room)), capacity / 8};
    std::fill(words.begin(), words.end(), 0);
    writer.emplace(control, words);
  }
  // A record whose words after the first are `fill`.
  bool put(uint32_t length, uint64_t fill, ChunkKind kind = ChunkKind::names) {
    uint64_t* to = writer->claim(length);
    if (!to) return false;
    write(to, length, fill, kind);
    writer->publish(length);
    return true;
  }
  static void write(uint64_t* to, uint32_t length, uint64_t fill, ChunkKind kind = ChunkKind::names) {
    store_word(to, length | uint64_t{static_cast<uint16_t>(kind)} << 32);
    for (size_t i = 1; i < (length + 7) / 8; ++i) store_word(to + i, fill);
  }
  uint64_t tail() const { return control.tail.load(); }
  uint64_t oldest() const { return control.oldest.load(); }
  RingCursor cursor() const { return {control, words}; }

  size_t capacity;
  std::vector<std::byte> bytes;
  RingControl control;
  std::span<uint64_t> words;
  std::optional<RingWriter> writer;
};

TEST(Ring, a_record_occupies_its_length_rounded_up_to_64_bytes) {
  for (const uint32_t length : {8u, 63u, 64u, 65u, 128u, 129u, 511u, 512u}) {
    Ring ring;
    ASSERT_TRUE(ring.put(length, 1));
    EXPECT_EQ(ring.tail(), (length + 63) / 64 * 64) << length;
    EXPECT_EQ(ring.oldest(), 0u);
  }
}

TEST(Ring, nothing_is_visible_before_it_is_published) {
  Ring ring;
  uint64_t* to = ring.writer->claim(128);
  Ring::write(to, 128, 5);
  RingCursor reader = ring.cursor();
  std::vector<uint64_t> chunk;
  EXPECT_EQ(reader.next(chunk), Poll::empty);
  ring.writer->publish(128);
  ASSERT_EQ(reader.next(chunk), Poll::record);
  EXPECT_EQ(chunk.size(), 16u);
  EXPECT_EQ(chunk[15], 5u);
  EXPECT_EQ(reader.next(chunk), Poll::empty);
}

TEST(Ring, records_come_out_whole_and_in_order_with_their_exact_length) {
  Ring ring;
  for (uint32_t i = 0; i < 7; ++i) ASSERT_TRUE(ring.put(64 + 9 * i, 100 + i));
  RingCursor reader = ring.cursor();
  std::vector<uint64_t> chunk;
  for (uint32_t i = 0; i < 7; ++i) {
    ASSERT_EQ(reader.next(chunk), Poll::record);
    EXPECT_EQ(chunk.size(), (64 + 9 * i + 7) / 8);
    EXPECT_EQ(static_cast<uint32_t>(chunk[0]), 64 + 9 * i);
    for (size_t w = 1; w < chunk.size(); ++w) EXPECT_EQ(chunk[w], 100 + i);
  }
  EXPECT_EQ(reader.position(), ring.tail());
  EXPECT_EQ(reader.lost_bytes(), 0u);
}

TEST(Ring, the_largest_record_is_an_eighth_of_the_ring) {
  Ring ring;
  EXPECT_EQ(ring.writer->capacity(), 4096u);
  EXPECT_EQ(ring.writer->max_record(), 512u);
  EXPECT_NE(ring.writer->claim(512), nullptr);
  EXPECT_EQ(ring.writer->claim(513), nullptr);
  EXPECT_EQ(ring.writer->claim(~uint64_t{0}), nullptr);
  EXPECT_TRUE(ring.put(512, 1));
  EXPECT_EQ(ring.tail(), 512u);
}

TEST(Ring, a_refused_claim_changes_nothing) {
  Ring ring;
  ring.put(512, 1);
  EXPECT_EQ(ring.writer->claim(4096), nullptr);
  EXPECT_EQ(ring.tail(), 512u);
  ring.put(64, 2);
  EXPECT_EQ(ring.tail(), 576u);
}

TEST(Ring, what_is_left_at_the_end_becomes_padding_that_readers_skip) {
  Ring ring;
  for (int i = 0; i < 8; ++i) ring.put(448, i);  // 8 * 448 = 3584, 512 left
  ring.put(448, 8);                              // 4032, 64 left
  EXPECT_EQ(ring.tail(), 4032u);
  RingCursor reader = ring.cursor();
  reader.to_newest();
  ring.put(128, 77);
  EXPECT_EQ(ring.tail(), 4096u + 128);
  EXPECT_EQ(ring.words[4032 / 8], 64u);  // length 64, kind padding
  std::vector<uint64_t> chunk;
  ASSERT_EQ(reader.next(chunk), Poll::record);
  EXPECT_EQ(chunk[1], 77u);
  EXPECT_EQ(reader.position(), 4096u + 128);
  EXPECT_EQ(reader.lost_bytes(), 0u);
  EXPECT_EQ(reader.next(chunk), Poll::empty);
}

TEST(Ring, a_record_that_just_fits_at_the_end_needs_no_padding) {
  Ring ring;
  for (int i = 0; i < 8; ++i) ring.put(512, i);
  EXPECT_EQ(ring.tail(), 4096u);
  EXPECT_EQ(ring.oldest(), 0u);
  RingCursor reader = ring.cursor();
  std::vector<uint64_t> chunk;
  for (uint64_t i = 0; i < 8; ++i) {
    ASSERT_EQ(reader.next(chunk), Poll::record);
    EXPECT_EQ(chunk[63], i);
  }
}

TEST(Ring, claiming_again_forgets_the_first_claim) {
  Ring ring;
  Ring::write(ring.writer->claim(512), 512, 1);
  uint64_t* again = ring.writer->claim(64);
  EXPECT_EQ(again, ring.words.data());
  Ring::write(again, 64, 2);
  ring.writer->publish(64);
  EXPECT_EQ(ring.tail(), 64u);
  RingCursor reader = ring.cursor();
  std::vector<uint64_t> chunk;
  ASSERT_EQ(reader.next(chunk), Poll::record);
  EXPECT_EQ(chunk.size(), 8u);
  EXPECT_EQ(chunk[7], 2u);
  EXPECT_EQ(reader.next(chunk), Poll::empty);
}

TEST(Ring, abandoned_claims_at_the_end_leave_a_readable_ring) {
  Ring ring;
  for (int i = 0; i < 9; ++i) ring.put(448, i);   // 64 left
  Ring::write(ring.writer->claim(512), 512, 99);  // pads, then is abandoned
  EXPECT_EQ(ring.tail(), 4096u);
  EXPECT_EQ(ring.oldest(), 896u);                 // [4096, 4608) took the first two records
  Ring::write(ring.writer->claim(512), 512, 98);  // and again: nothing moves
  EXPECT_EQ(ring.tail(), 4096u);
  EXPECT_EQ(ring.oldest(), 896u);
  ring.put(64, 42);
  RingCursor reader = ring.cursor();
  reader.to_oldest();
  std::vector<uint64_t> chunk;
  for (uint64_t i = 2; i < 9; ++i) {
    ASSERT_EQ(reader.next(chunk), Poll::record);
    EXPECT_EQ(chunk[1], i);
  }
  ASSERT_EQ(reader.next(chunk), Poll::record);
  EXPECT_EQ(chunk[1], 42u);
  EXPECT_EQ(reader.next(chunk), Poll::empty);
}

TEST(Ring, less_can_be_published_than_was_claimed) {
  Ring ring;
  uint64_t* to = ring.writer->claim(512);
  Ring::write(to, 72, 3);
  ring.writer->publish(72);
  EXPECT_EQ(ring.tail(), 128u);
  ring.put(64, 4);
  RingCursor reader = ring.cursor();
  std::vector<uint64_t> chunk;
  ASSERT_EQ(reader.next(chunk), Poll::record);
  EXPECT_EQ(chunk.size(), 9u);
  ASSERT_EQ(reader.next(chunk), Poll::record);
  EXPECT_EQ(chunk[1], 4u);
}

TEST(Ring, oldest_is_raised_by_the_claim_before_anything_is_overwritten) {
  Ring ring;
  for (int i = 0; i < 8; ++i) ring.put(512, i);
  EXPECT_EQ(ring.oldest(), 0u);
  ring.writer->claim(64);
  EXPECT_EQ(ring.oldest(), 512u);
  EXPECT_EQ(ring.tail(), 4096u);
  ring.writer->claim(512);
  EXPECT_EQ(ring.oldest(), 512u);
}

TEST(Ring, a_reader_that_is_lapped_knows_how_many_bytes_it_lost) {
  Ring ring;
  RingCursor reader = ring.cursor();
  for (int i = 0; i < 20; ++i) ring.put(512, i);
  std::vector<uint64_t> chunk;
  ASSERT_EQ(reader.next(chunk), Poll::lapped);
  EXPECT_EQ(reader.laps(), 1u);
  EXPECT_EQ(reader.lost_bytes(), 12u * 512);
  EXPECT_EQ(reader.position(), ring.oldest());
  for (uint64_t i = 12; i < 20; ++i) {
    ASSERT_EQ(reader.next(chunk), Poll::record);
    EXPECT_EQ(chunk[1], i);
  }
  EXPECT_EQ(reader.next(chunk), Poll::empty);
  for (int i = 20; i < 40; ++i) ring.put(512, i);
  ASSERT_EQ(reader.next(chunk), Poll::lapped);
  EXPECT_EQ(reader.laps(), 2u);
  EXPECT_EQ(reader.lost_bytes(), 24u * 512);
}

TEST(Ring, a_reader_can_start_at_the_oldest_intact_record_or_at_the_newest) {
  Ring ring;
  for (int i = 0; i < 20; ++i) ring.put(512, i);
  std::vector<uint64_t> chunk;
  RingCursor old = ring.cursor();
  old.to_oldest();
  ASSERT_EQ(old.next(chunk), Poll::record);
  EXPECT_EQ(chunk[1], 12u);
  EXPECT_EQ(old.lost_bytes(), 0u);
  RingCursor fresh = ring.cursor();
  fresh.to_newest();
  EXPECT_EQ(fresh.next(chunk), Poll::empty);
  ring.put(64, 20);
  ASSERT_EQ(fresh.next(chunk), Poll::record);
  EXPECT_EQ(chunk[1], 20u);
}

TEST(Ring, next_before_delivers_only_what_was_published_at_that_tail) {
  Ring ring;
  ring.put(64, 0);
  RingCursor reader = ring.cursor();
  const uint64_t before = reader.tail();
  ring.put(64, 1);
  std::vector<uint64_t> chunk;
  ASSERT_EQ(reader.next_before(before, chunk), Poll::record);
  EXPECT_EQ(reader.next_before(before, chunk), Poll::empty);
  EXPECT_EQ(reader.next_before(0, chunk), Poll::empty);
  ASSERT_EQ(reader.next_before(reader.tail(), chunk), Poll::record);
  EXPECT_EQ(chunk[1], 1u);
}

TEST(Ring, a_reader_behind_a_stale_tail_is_still_told_that_it_was_lapped) {
  Ring ring;
  ring.put(64, 0);
  RingCursor reader = ring.cursor();
  const uint64_t before = reader.tail();
  for (int i = 0; i < 20; ++i) ring.put(512, i);
  std::vector<uint64_t> chunk;
  EXPECT_EQ(reader.next_before(before, chunk), Poll::lapped);
  EXPECT_EQ(reader.lost_bytes(), ring.oldest());
  EXPECT_EQ(reader.next_before(before, chunk), Poll::empty);
}

TEST(Ring, a_writer_goes_on_where_the_control_words_stand) {
  Ring ring;
  for (int i = 0; i < 13; ++i) ring.put(448, i);
  const uint64_t tail = ring.tail();
  RingWriter second(ring.control, ring.words);
  uint64_t* to = second.claim(64);
  Ring::write(to, 64, 1000);
  second.publish(64);
  EXPECT_EQ(ring.tail(), tail + 64);
}

TEST(Ring, a_reader_that_polls_takes_what_was_announced_and_no_more) {
  Ring ring;
  RingCursor reader = ring.cursor();
  std::vector<uint64_t> chunk;
  ring.put(64, 0);
  ASSERT_EQ(reader.next(chunk), Poll::record) << "without announcements: by the tail";
  ring.writer->announce();
  ring.put(64, 1);
  ring.put(64, 2);
  EXPECT_EQ(reader.next(chunk), Poll::empty);
  EXPECT_EQ(reader.tail(), 192u) << "all the same it is published";
  ring.writer->announce();
  for (const uint64_t number : {1u, 2u}) {
    ASSERT_EQ(reader.next(chunk), Poll::record);
    EXPECT_EQ(chunk[1], number);
  }
  EXPECT_EQ(reader.next(chunk), Poll::empty);
}

TEST(Ring, a_reader_that_began_at_the_tail_waits_for_the_announcement_of_what_follows) {
  Ring ring;
  ring.put(64, 0);
  ring.writer->announce();
  ring.put(64, 1);
  RingCursor reader = ring.cursor();
  reader.to_newest();
  std::vector<uint64_t> chunk;
  EXPECT_EQ(reader.next(chunk), Poll::empty);
  ring.put(64, 2);
  EXPECT_EQ(reader.next(chunk), Poll::empty);
  ring.writer->announce();
  ASSERT_EQ(reader.next(chunk), Poll::record);
  EXPECT_EQ(chunk[1], 2u);
}

TEST(Ring, a_reader_behind_an_announcement_that_was_overwritten_knows_what_it_lost) {
  Ring ring;
  RingCursor reader = ring.cursor();
  ring.put(64, 0);
  ring.writer->announce();
  for (int i = 0; i < 20; ++i) ring.put(512, i);  // a sweep larger than the ring
  std::vector<uint64_t> chunk;
  EXPECT_EQ(reader.next(chunk), Poll::lapped);
  EXPECT_EQ(reader.lost_bytes(), ring.oldest());
  EXPECT_EQ(reader.next(chunk), Poll::empty);
  ring.writer->announce();
  EXPECT_EQ(reader.next(chunk), Poll::record);
  EXPECT_EQ(reader.position(), ring.oldest() + 512);
}

// What readers load for each record was stored for each record, so that every store waited for the line to come back.
TEST(Ring, oldest_was_stored_with_every_record_of_a_full_ring) {
  Ring ring(64 << 10);
  const uint64_t step = ring.writer->give_up_bytes();
  EXPECT_EQ(step, 1024u);
  while (ring.tail() < ring.capacity) ring.put(64, 1);
  uint64_t stores = 0;
  for (uint64_t before = ring.oldest(); ring.tail() < 9 * ring.capacity; before = ring.oldest()) {
    ring.put(64, 1);
    if (ring.oldest() == before) continue;
    ++stores;
    EXPECT_EQ(ring.oldest() - before, step);
  }
  EXPECT_EQ(stores, 8u * 64);
  EXPECT_GE(ring.tail() - ring.oldest(), ring.capacity - step) << "no more than that is given up";
  EXPECT_EQ(Ring(8 << 20).writer->give_up_bytes(), 4096u);
}

TEST(Ring, oldest_stays_far_below_the_tail_whatever_the_records) {
  std::mt19937 dice(20261123);
  for (const size_t capacity : {4096u, 8192u, 65536u}) {
    Ring ring(capacity);
    for (int i = 0; i < 4000; ++i) {
      ring.put(static_cast<uint32_t>(8 + dice() % (capacity / 8 - 7)), 1);
      ASSERT_LE(ring.tail() - ring.oldest(), capacity);
      if (ring.tail() > capacity) {
        ASSERT_GE(ring.tail() - ring.oldest(), capacity / 2);
      }
    }
  }
}

TEST(Ring, store_bytes_pads_the_last_word_with_zeros) {
  for (size_t length = 0; length <= 24; ++length) {
    std::array<uint64_t, 4> to;
    to.fill(~uint64_t{0});
    std::vector<unsigned char> from(length, 0xab);
    store_bytes(to.data(), from.data(), length);
    const auto* got = reinterpret_cast<const unsigned char*>(to.data());
    const size_t written = (length + 7) / 8 * 8;
    for (size_t i = 0; i < sizeof to; ++i)
      EXPECT_EQ(got[i], i < length ? 0xab : i < written ? 0 : 0xff) << length << " " << i;
  }
}

// Whatever the ring's bytes and positions are, a reader answers within a bounded number of steps and reads no
// byte outside the array (the array is exactly as large as the ring: asan detects a step outside).
Poll follow(const RingControl& control, std::span<const uint64_t> words, int limit = 10000) {
  RingCursor reader(control, words);
  reader.to_oldest();
  std::vector<uint64_t> chunk;
  Poll last = Poll::empty;
  for (int i = 0; i < limit; ++i) {
    last = reader.next(chunk);
    if (last == Poll::empty || last == Poll::damaged) return last;
    EXPECT_LE(chunk.size(), words.size());
  }
  ADD_FAILURE() << "no end after " << limit << " steps";
  return last;
}

TEST(Ring, damaged_lengths_are_reported_and_never_followed) {
  struct Case {
    const char* what;
    uint64_t position, tail;
    uint32_t length;
    Poll expected;
  };
  const Case cases[] = {
      {"zero", 0, 512, 0, Poll::damaged},
      {"huge", 0, 512, 0xffffffff, Poll::damaged},
      {"the largest that rounds within 32 bits", 0, 512, 0xffffffc0, Poll::damaged},
      {"sign bit", 0, 512, 0x80000000, Poll::damaged},
      {"beyond the tail", 0, 512, 576, Poll::damaged},
      {"one byte beyond the tail", 0, 512, 513, Poll::damaged},
      {"up to the tail", 0, 512, 512, Poll::empty},
      {"across the end", 4032, 4032 + 512, 128, Poll::damaged},
      {"up to the end", 4032, 4096, 64, Poll::empty},
      {"the whole ring", 0, 4096, 4096, Poll::empty},
      {"more than the ring", 0, 8192, 8192, Poll::damaged},
  };
  for (const Case& c : cases) {
    for (const ChunkKind kind : {ChunkKind::padding, ChunkKind::names}) {
      std::unique_ptr<uint64_t[]> words(new uint64_t[512]());
      RingControl control;
      control.oldest = c.position;
      control.tail = c.tail;
      words[(c.position % 4096) / 8] = c.length | uint64_t{static_cast<uint16_t>(kind)} << 32;
      EXPECT_EQ(follow(control, {words.get(), 512}), c.expected)
          << c.what << ", kind " << static_cast<int>(kind);
    }
  }
}

TEST(Ring, positions_that_make_no_sense_end_in_an_answer) {
  const uint64_t odd[] = {0,         1, 8, 63, 64, 4095, 4096, 4097, 1ull << 32, ~uint64_t{0}, ~uint64_t{63},
                          1ull << 63};
  for (const uint64_t oldest : odd)
    for (const uint64_t distance : {0ull, 1ull, 8ull, 64ull, 4096ull, ~0ull})
      for (const uint32_t length : {0u, 8u, 64u, 4096u, 0xffffffffu}) {
        std::unique_ptr<uint64_t[]> words(new uint64_t[512]);
        for (size_t i = 0; i < 512; ++i) words[i] = length | uint64_t{3} << 32;
        RingControl control;
        control.oldest = oldest;
        control.tail = oldest + distance;
        RingCursor reader(control, {words.get(), 512});
        reader.to_oldest();
        std::vector<uint64_t> chunk;
        for (int i = 0; i < 100; ++i) {
          const Poll poll = reader.next(chunk);
          if (poll == Poll::empty || poll == Poll::damaged) break;
        }
      }
}

// A sound ring never holds more than its capacity between oldest and tail, so this is damage; following it
// would walk 2^64 bytes of padding inside one call.
TEST(Ring, a_tail_more_than_a_capacity_ahead_is_damage) {
  for (const ChunkKind kind : {ChunkKind::names, ChunkKind::padding}) {
    std::unique_ptr<uint64_t[]> words(new uint64_t[512]);
    for (size_t i = 0; i < 512; ++i) words[i] = 64 | uint64_t{static_cast<uint16_t>(kind)} << 32;
    RingControl control;
    control.tail = 1u << 20;  // 256 times the ring: small enough for the test to end
    RingCursor reader(control, {words.get(), 512});
    std::vector<uint64_t> chunk;
    EXPECT_EQ(reader.next(chunk), Poll::damaged) << "kind " << static_cast<int>(kind);
  }
}

TEST(Ring, lengths_are_random_and_what_is_read_is_what_was_written) {
  uint64_t seed = 20240607;
  RecordProperty("seed", std::to_string(seed));
  const auto random = [&] {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return seed;
  };
  Ring ring(8192);
  RingCursor reader = ring.cursor();
  std::vector<uint64_t> chunk;
  uint64_t written = 0, read = 0, laps = 0;
  for (int step = 0; step < 20000; ++step) {
    const auto burst = random() % (step % 100 == 0 ? 60 : 4);
    for (uint64_t i = 0; i < burst; ++i) {
      if (random() % 8 == 0) Ring::write(ring.writer->claim(1024), 1024, ~0ull);  // abandoned
      ASSERT_TRUE(ring.put(static_cast<uint32_t>(64 + random() % 961), written++));
      ASSERT_LE(ring.tail() - ring.oldest(), ring.capacity);
    }
    while (random() % 3) {
      const Poll poll = reader.next(chunk);
      if (poll == Poll::empty) break;
      ASSERT_NE(poll, Poll::damaged) << "step " << step;
      if (poll == Poll::lapped) {
        ++laps;
        continue;
      }
      ASSERT_GE(chunk[1], read);
      read = chunk[1] + 1;
      for (size_t w = 2; w < chunk.size(); ++w) ASSERT_EQ(chunk[w], chunk[1]);
    }
  }
  EXPECT_GT(laps, 0u);
  EXPECT_EQ(reader.laps(), laps);
}

}  // namespace
}  // namespace ttc::shm
