// What a reader makes of a segment whose bytes are not trusted.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "shm/reader.hpp"
#include "tests/support/ring_chunks.hpp"
#include "tests/support/segment_refusal.hpp"

namespace ttc::shm {
namespace {

using Next = Reader::Next;

constexpr size_t kCountersAt = 512, kStandingAt = 1024, kStandingBytes = 1024, kRingAt = 2048,
                 kRingBytes = 4096;

// A small sound segment in an allocation of exactly its size, so that asan detects any step outside.
struct Fake {
  explicit Fake(size_t size = kRingAt + kRingBytes) : total(size) {
    void* at = nullptr;
    if (posix_memalign(&at, 64, total) != 0) std::abort();
    std::memset(at, 0, total);
    bytes = static_cast<std::byte*>(at);
    h = new (bytes) SegmentHeader;
    h->total_bytes = total;
    h->counters_offset = kCountersAt;
    h->counters_count = 2;
    h->standing_offset = kStandingAt;
    h->standing_capacity = kStandingBytes;
    h->ring_offset = kRingAt;
    h->ring_capacity = kRingBytes;
    h->session = 5;
    std::strcpy(h->live_name, "fake");
    h->magic = kMagic;
  }
  Fake(const Fake&) = delete;
  ~Fake() { free(bytes); }
  std::span<const std::byte> span() const { return {bytes, total}; }
  uint64_t* word(size_t offset) { return reinterpret_cast<uint64_t*>(bytes + offset); }
  void fill() {
    ChunkHeader chunk;
    chunk.bytes = 80;
    chunk.kind = ChunkKind::names;
    store_bytes(word(kStandingAt), &chunk, sizeof chunk);
    h->standing_tail = 128;
    RingWriter ring(h->ring, {word(kRingAt), kRingBytes / 8});
    for (uint64_t i = 0; i < 30; ++i) publish(ring, i, 200);
  }

  size_t total;
  std::byte* bytes;
  SegmentHeader* h;
};

void set_slot(CounterSlot& slot, const char* label, uint64_t value) {
  std::strcpy(slot.label, label);
  slot.value = value;
}

// How the reader takes it: the sentence of its refusal, or how following it ends. Never a crash, never
// endless.
std::string outcome(const Fake& fake, StartAt start = StartAt::oldest) {
  try {
    Reader reader(fake.span(), start);
    std::vector<uint64_t> chunk;
    for (int i = 0; i < 1000; ++i) {
      const Next next = reader.next(chunk, 0);
      for (size_t c = 0; c <= kCounters; ++c) reader.counter(static_cast<Counter>(c));
      if (next == Next::chunk || next == Next::lapped) continue;
      EXPECT_EQ(next == Next::damaged, !reader.damage().empty());
      if (next == Next::damaged) {
        EXPECT_EQ(reader.next(chunk, 0), Next::damaged) << "damage stays";
      }
      return next == Next::damaged ? "damaged: " + reader.damage()
             : next == Next::ended ? "ended"
                                   : "timeout";
    }
    return "endless";
  } catch (const SegmentError& e) {
    return std::string("refused: ") + e.what();
  }
}

TEST(ForeignSegment, a_sound_one_is_read) {
  Fake fake;
  EXPECT_EQ(outcome(fake), "timeout");
  fake.fill();
  EXPECT_EQ(outcome(fake), "timeout");
  Reader reader(fake.span(), StartAt::oldest);
  std::vector<uint64_t> chunk;
  int chunks = 0;
  while (reader.next(chunk, 0) == Next::chunk) ++chunks;
  EXPECT_GT(chunks, 8);
  EXPECT_FALSE(reader.writer_alive());
  fake.h->state = SegmentState::ended;
  EXPECT_EQ(outcome(fake), "ended");
}

TEST(ForeignSegment, header_fields_that_contradict_its_size_are_refused) {
  struct Case {
    const char* what;
    std::function<void(SegmentHeader&)> damage;
    const char* expected;
  };
  const Case cases[] = {
      {"no magic", [](auto& h) { h.magic = 0; }, "refused: it is not complete"},
      {"other magic", [](auto& h) { h.magic = kMagic + 1; }, "refused: it is not complete"},
      {"newer abi", [](auto& h) { h.abi_major = 2; }, "refused: its format is version 2"},
      {"older abi", [](auto& h) { h.abi_major = 0; }, "refused: its format is version 0"},
      {"newer minor", [](auto& h) { h.abi_minor = 9; }, "timeout"},
      {"size 0", [](auto& h) { h.total_bytes = 0; }, "refused: its size"},
      {"size less", [](auto& h) { --h.total_bytes; }, "refused: its size"},
      {"size more", [](auto& h) { ++h.total_bytes; }, "refused: its size"},
      {"counters in the header", [](auto& h) { h.counters_offset = 0; }, "refused: its counters"},
      {"counters unaligned", [](auto& h) { h.counters_offset = 520; }, "refused: its counters"},
      {"counters behind the end", [](auto& h) { h.counters_offset = 1 << 20; }, "refused: its counters"},
      {"counters wrap", [](auto& h) { h.counters_offset = ~uint64_t{63}; }, "refused: its counters"},
      {"no counters", [](auto& h) { h.counters_count = 0; }, "timeout"},
      {"counters over the end", [](auto& h) { h.counters_count = 4096; }, "refused: its counters"},
      {"count wraps", [](auto& h) { h.counters_count = uint64_t{1} << 58; }, "refused: its counters"},
      {"count huge", [](auto& h) { h.counters_count = ~uint64_t{0}; }, "refused: its counters"},
      {"standing in the header", [](auto& h) { h.standing_offset = 448; }, "refused: its standing"},
      {"standing unaligned", [](auto& h) { h.standing_offset += 8; }, "refused: its standing"},
      {"standing over the end", [](auto& h) { h.standing_capacity = 1 << 20; }, "refused: its standing"},
      {"standing huge", [](auto& h) { h.standing_capacity = ~uint64_t{0}; }, "refused: its standing"},
      {"standing wraps", [](auto& h) { h.standing_offset = ~uint64_t{63}; }, "refused: its standing"},
      {"ring in the header", [](auto& h) { h.ring_offset = 0; }, "refused: its ring"},
      {"ring unaligned", [](auto& h) { h.ring_offset -= 8; }, "refused: its ring"},
      {"ring over the end", [](auto& h) { h.ring_offset += 64; }, "refused: its ring"},
      {"ring wraps", [](auto& h) { h.ring_offset = ~uint64_t{63}; }, "refused: its ring"},
      {"ring 0", [](auto& h) { h.ring_capacity = 0; }, "refused: its ring"},
      {"ring too small", [](auto& h) { h.ring_capacity = 2048; }, "refused: its ring"},
      {"ring no power of two", [](auto& h) { h.ring_capacity = 4095; }, "refused: its ring"},
      {"ring too large", [](auto& h) { h.ring_capacity = 8192; }, "refused: its ring"},
      {"ring huge", [](auto& h) { h.ring_capacity = uint64_t{1} << 63; }, "refused: its ring"},
      {"oldest beyond tail", [](auto& h) { h.ring.oldest = h.ring.tail + 64; },
       "refused: its ring positions"},
      {"oldest unaligned", [](auto& h) { h.ring.oldest += 8; }, "refused: its ring positions"},
      {"announced beyond tail", [](auto& h) { h.ring.announced = h.ring.tail + 64; },
       "refused: its ring positions"},
      {"announced unaligned", [](auto& h) { h.ring.announced = 8; }, "refused: its ring positions"},
      {"tail unaligned", [](auto& h) { h.ring.tail += 1; }, "refused: its ring positions"},
      {"standing tail beyond", [](auto& h) { h.standing_tail = 1088; }, "damaged: the standing"},
      {"standing tail huge", [](auto& h) { h.standing_tail = ~uint64_t{0}; }, "damaged: the standing"},
      {"standing tail in a header", [](auto& h) { h.standing_tail = 32; }, "damaged: a standing"},
      {"standing tail in a chunk", [](auto& h) { h.standing_tail = 64; }, "damaged: a standing"},
      {"standing tail after nothing", [](auto& h) { h.standing_tail = 192; }, "damaged: a standing"},
      {"odd state", [](auto& h) { h.state = static_cast<SegmentState>(77); }, "timeout"},
      {"odd clock table", [](auto& h) { h.clock_offset = h.clock_bytes = ~uint64_t{0}; },
       "refused: its clock table"},
      {"loss table in the header", [](auto& h) { h.loss_offset = 64, h.loss_bytes = 64; },
       "refused: its loss table"},
      {"loss table over the end", [](auto& h) { h.loss_offset = kStandingAt, h.loss_bytes = 1 << 20; },
       "refused: its loss table"},
      {"loss table huge", [](auto& h) { h.loss_offset = kStandingAt, h.loss_bytes = ~uint64_t{0}; },
       "refused: its loss table"},
      {"losses without a table", [](auto& h) { h.losses = 1; }, "damaged: the loss table's end"},
      {"more losses than fit",
       [](auto& h) { h.loss_offset = kStandingAt, h.loss_bytes = 2 * sizeof(LossRecord), h.losses = 3; },
       "damaged: the loss table's end"},
      {"losses huge",
       [](auto& h) { h.loss_offset = kStandingAt, h.loss_bytes = 1024, h.losses = ~uint64_t{0}; },
       "damaged: the loss table's end"},
      {"losses of any bytes",
       [](auto& h) { h.loss_offset = kStandingAt, h.loss_bytes = 1024, h.losses = 18; }, "timeout"},
      {"odd pid", [](auto& h) { h.writer_pid = -1; }, "timeout"},
      {"names without end",
       [](auto& h) {
         std::memset(h.live_name, 'x', sizeof h.live_name);
         std::memset(h.device_spec, 'y', sizeof h.device_spec);
       },
       "timeout"},
  };
  for (const Case& c : cases) {
    Fake fake;
    fake.fill();
    c.damage(*fake.h);
    EXPECT_EQ(outcome(fake).rfind(c.expected, 0), 0u) << c.what << ": " << outcome(fake);
  }
}

// A removed counter once moved all behind it: readers found counters by number, and would have shown those of
// a segment that another version left under each other's names.
TEST(ForeignSegment, counters_are_found_by_their_labels_wherever_they_are) {
  Fake fake;
  auto* slots = reinterpret_cast<CounterSlot*>(fake.bytes + kCountersAt);
  set_slot(slots[0], "of_a_later_version", 7);
  set_slot(slots[1], "markers", 11);
  set_slot(slots[2], "sweeps", 13);
  set_slot(slots[3], "markers", 17);
  fake.h->counters_count = 4;
  Reader reader(fake.span(), StartAt::oldest);
  EXPECT_EQ(reader.counter(Counter::markers), 11u) << "the first of that name";
  EXPECT_EQ(reader.counter(Counter::sweeps), 13u);
  EXPECT_EQ(reader.counter(Counter::frames), 0u) << "the segment has none";
  EXPECT_EQ(reader.counter(Counter::count), 0u);
  std::memset(slots[1].label, 'x', sizeof slots[1].label);  // without an end
  EXPECT_EQ(Reader(fake.span(), StartAt::oldest).counter(Counter::markers), 17u);
}

// Between oldest and tail there is never more than the ring holds (see ring_test).
TEST(ForeignSegment, a_tail_further_ahead_than_the_ring_is_long_is_damage) {
  Fake fake;
  fake.fill();
  fake.h->ring.tail += 4096;
  EXPECT_TRUE(outcome(fake).rfind("damaged", 0) == 0 || outcome(fake).rfind("refused", 0) == 0)
      << outcome(fake);
}

TEST(ForeignSegment, any_value_in_any_header_word_ends_in_an_answer) {
  for (size_t offset = 0; offset < sizeof(SegmentHeader); offset += 8)
    for (const uint64_t value :
         {uint64_t{0}, uint64_t{1}, uint64_t{8}, uint64_t{63}, uint64_t{64}, uint64_t{512}, uint64_t{2048},
          uint64_t{4096}, uint64_t{6144}, uint64_t{6208}, uint64_t{0xffffffff}, uint64_t{1} << 58,
          uint64_t{1} << 63, ~uint64_t{63}, ~uint64_t{0}}) {
      Fake fake;
      fake.fill();
      *fake.word(offset) = value;
      for (const StartAt start : {StartAt::oldest, StartAt::newest}) {
        const std::string got = outcome(fake, start);
        EXPECT_NE(got, "endless") << "word at " << offset << " = " << value;
        EXPECT_NE(got, "refused: ");
      }
    }
}

TEST(ForeignSegment, a_mapping_of_any_other_size_is_refused) {
  Fake fake;
  for (size_t size = 0; size < fake.total; size += 61) {
    const std::string why = error_of([&] { Reader reader(fake.span().first(size), StartAt::oldest); });
    EXPECT_FALSE(why.empty()) << size;
  }
}

TEST(ForeignSegment, chunk_lengths_that_make_no_sense_are_damage) {
  for (const size_t at : {kStandingAt, kRingAt})
    for (const uint32_t length : {0u, 1u, 8u, 63u, 1025u, 4096u, 0x7fffffffu, 0xfffffff9u, 0xffffffffu}) {
      Fake fake;
      fake.fill();
      // A ring that starts at its first byte, so that the damaged record is the next one.
      fake.h->ring.oldest = 0;
      fake.h->ring.tail = 512;
      *fake.word(at) = length | uint64_t{3} << 32;
      EXPECT_EQ(outcome(fake).rfind("damaged", 0), 0u) << at << " " << length << ": " << outcome(fake);
    }
}

TEST(ForeignSegment, single_bit_flips_anywhere_end_in_an_answer) {
  Fake sound;
  sound.fill();
  Fake fake;
  for (size_t bit = 0; bit < sound.total * 8; bit += 7) {  // every bit of each byte, over seven bytes
    std::memcpy(static_cast<void*>(fake.bytes), sound.bytes, sound.total);
    fake.bytes[bit / 8] ^= std::byte(1 << bit % 8);
    ASSERT_NE(outcome(fake), "endless") << "bit " << bit;
  }
}

// Its size need not be a multiple of anything when it comes as a span. In a process of its own: asan ends it.
TEST(ForeignSegment, a_standing_area_of_four_bytes_at_the_very_end_is_not_read_beyond) {
  EXPECT_EXIT(
      {
        Fake fake(kRingAt + kRingBytes + 4);
        fake.h->standing_offset = kRingAt + kRingBytes;
        fake.h->standing_capacity = 4;
        fake.h->standing_tail = 4;
        _exit(outcome(fake).rfind("damaged", 0) == 0 ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace ttc::shm
