// The walk over the packets of a frame: whole packets in order and nothing else, the same as the decoder
// finds, whatever the words hold.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "firmware_markers/decoder.hpp"
#include "firmware_markers/packets.hpp"

namespace ttc::markers {
namespace {

using namespace device;

constexpr uint8_t kRisc2 = 2, kFlatId9 = 9;
constexpr uint32_t kPacketSeeds = 400;

using Words = std::vector<uint32_t>;

struct Dice : std::mt19937 {
  using std::mt19937::mt19937;
  uint32_t operator()() { return static_cast<uint32_t>(std::mt19937::operator()()); }
};

void put_packet(Words& words, uint32_t type, uint32_t id, uint64_t time) {
  words.push_back(marker_high(type, id, static_cast<uint32_t>(time >> 32)));
  words.push_back(static_cast<uint32_t>(time));
}

Words head_of(uint64_t time) {
  const Format& format = layout_by_generation(4)->format;
  Words words{0, 0, format.identity(kRisc2, kFlatId9, 0), 7};
  put_packet(words, kZoneStart, 1, time);
  put_packet(words, kZoneEnd, 1, time + 1000000);
  put_packet(words, kZoneStart, 2, time + 1);
  put_packet(words, kZoneEnd, 2, time + 999999);
  return words;
}

// A frame of packets of all types. It depends on the seed alone.
Words random_frame(Dice& random) {
  uint64_t time = (uint64_t{random()} << 32 | random()) & (kClockMask >> 1);
  Words words = head_of(time);
  for (uint32_t left = random() % 60; left; --left) {
    time += 1 + random() % 500;
    const uint32_t type = random() % 6, id = random() % 0xffff;
    if (random() % 16 == 0) {
      words.insert(words.end(), {kUnsetWord, 0});
      continue;
    }
    put_packet(words, type, id, time);
    if (type == kZoneTotal) words.end()[-2] &= ~0xfffu, words.back() = random();
    for (uint32_t i = 2; i < packet_words(type); ++i) words.push_back(random());
  }
  return words;
}

std::vector<Packet> packets_of(std::span<const uint32_t> words, size_t at, size_t* end = nullptr) {
  std::vector<Packet> all;
  const size_t ended = for_each_packet(words, at, [&](const Packet& p) {
    all.push_back(p);
    return Walking::on;
  });
  if (end) *end = ended;
  return all;
}

// The custom markers of the first frame, as the decoder has them.
std::vector<Marker> decoded(std::span<const uint32_t> words, Batch& batch) {
  LaneDecoder decoder({&layout_by_generation(4)->format, kRisc2, kFlatId9});
  batch.clear();
  decoder.decode_buffer(words, batch);
  std::vector<Marker> customs;
  for (const Marker& m : batch.markers(batch.frames()[0]))
    if (!(m.flags & kGuaranteed)) customs.push_back(m);
  return customs;
}

void expect_as_decoded(const Words& words) {
  Batch batch;
  const std::vector<Marker> customs = decoded(words, batch);
  size_t end = 0, at = kFirstCustomWord;
  auto marker = customs.begin();
  for (const Packet& p : packets_of(words, kFirstCustomWord, &end)) {
    ASSERT_EQ(p.at, at);
    at += p.words;
    ASSERT_LE(at, words.size());
    if (p.blank()) continue;
    ASSERT_NE(marker, customs.end()) << "word " << p.at;
    EXPECT_EQ(p.type(), static_cast<uint32_t>(marker->type)) << "word " << p.at;
    EXPECT_EQ(p.id(), marker->id) << "word " << p.at;
    EXPECT_EQ(p.timed(), marker->type != MarkerType::zone_total) << "word " << p.at;
    if (p.timed())
      EXPECT_EQ(marker->flags & kRepaired ? repaired(p.time()) : p.time(), marker->time_cycles)
          << "word " << p.at;
    else
      EXPECT_EQ(p.low, batch.payload(marker->payload)) << "word " << p.at;
    ++marker;
  }
  EXPECT_EQ(marker, customs.end());
  EXPECT_EQ(at, end);
}

TEST(Packets, have_the_length_of_their_type) {
  Words words;
  put_packet(words, kZoneStart, 3, 10);
  put_packet(words, kTsData, 4, 20);
  words.insert(words.end(), {0xffffffff, 0xfffffffe});  // payload that looks like a marker
  put_packet(words, kTsData16B, 5, 30);
  words.insert(words.end(), {1, 2, 3, 4});
  put_packet(words, kTsEvent, 6, 40);
  size_t end = 0;
  const auto packets = packets_of(words, 0, &end);
  ASSERT_EQ(packets.size(), 4u);
  EXPECT_EQ(end, words.size());
  const size_t at[] = {0, 2, 6, 12};
  const uint32_t lengths[] = {2, 4, 6, 2};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(packets[i].at, at[i]);
    EXPECT_EQ(packets[i].words, lengths[i]);
    EXPECT_EQ(packets[i].id(), 3 + i);
    EXPECT_EQ(packets[i].time(), 10 * (i + 1));
  }
}

TEST(Packets, end_in_front_of_what_is_none) {
  const auto end_of = [](const Words& words) {
    size_t end = 0;
    packets_of(words, 0, &end);
    return end;
  };
  Words zone;
  put_packet(zone, kZoneStart, 3, 10);
  const auto with = [&](std::initializer_list<uint32_t> more) {
    Words words = zone;
    words.insert(words.end(), more);
    return words;
  };
  EXPECT_EQ(end_of({}), 0u);
  EXPECT_EQ(end_of(zone), 2u);
  EXPECT_EQ(end_of(with({0, 0, 0x80000001, 1})), 2u);               // the sentinel of the next frame
  EXPECT_EQ(end_of(with({0x80000001})), 2u);                        // half a packet
  EXPECT_EQ(end_of(with({marker_high(6, 1, 0), 5, 6, 7})), 2u);     // a type without a length
  EXPECT_EQ(end_of(with({marker_high(kTsData, 1, 0), 5, 6})), 2u);  // its payload is cut
  EXPECT_EQ(end_of(with({marker_high(kTsData, 1, 0), 5, 6, 7})), 6u);
}

TEST(Packets, a_visit_ends_the_walk_behind_a_packet_or_in_front_of_it) {
  Words words;
  for (uint32_t i = 0; i < 4; ++i) put_packet(words, kZoneStart, i, 10 * i);
  for (const Walking last : {Walking::ends_here, Walking::ended_here}) {
    uint32_t visits = 0;
    const size_t end = for_each_packet(words, 0, [&](const Packet& p) {
      ++visits;
      return p.id() == 2 ? last : Walking::on;
    });
    EXPECT_EQ(visits, 3u);
    EXPECT_EQ(end, last == Walking::ends_here ? 6u : 4u);
  }
}

TEST(Packets, unset_slots_padding_and_totals_have_no_time) {
  const Words words{kUnsetWord, kUnsetWord, kUnsetWord, 0, marker_high(kZoneTotal, 9, 0), 123};
  const auto packets = packets_of(words, 0);
  ASSERT_EQ(packets.size(), 3u);
  for (const Packet& p : packets) EXPECT_FALSE(p.timed());
  EXPECT_TRUE(packets[0].blank() && packets[1].blank() && !packets[2].blank());
}

TEST(Packets, of_random_frames_are_the_markers_that_the_decoder_finds) {
  size_t all = 0;
  for (uint32_t seed = 1; seed <= kPacketSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Dice random(seed);
    const Words words = random_frame(random);
    size_t end = 0;
    all += packets_of(words, kFirstCustomWord, &end).size();
    EXPECT_EQ(end, words.size());
    expect_as_decoded(words);
    if (HasFailure()) return;
  }
  EXPECT_GT(all, 10 * kPacketSeeds);
}

TEST(Packets, of_damaged_frames_are_the_markers_that_the_decoder_finds) {
  size_t cut_short = 0;
  for (uint32_t seed = 1; seed <= kPacketSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Dice random(seed);
    Words words = random_frame(random);
    if (words.size() == kFirstCustomWord) continue;
    for (uint32_t damaged = 1 + random() % 4; damaged; --damaged) {
      const size_t at = kFirstCustomWord + random() % (words.size() - kFirstCustomWord);
      words[at] = random() % 2 ? words[at] ^ 1u << random() % 32 : static_cast<uint32_t>(random());
    }
    if (random() % 4 == 0) words.resize(kFirstCustomWord + random() % (words.size() - kFirstCustomWord));
    size_t end = 0;
    packets_of(words, kFirstCustomWord, &end);
    cut_short += end < words.size();
    expect_as_decoded(words);
    if (HasFailure()) return;
  }
  EXPECT_GT(cut_short, kPacketSeeds / 10);
}

}  // namespace
}  // namespace ttc::markers
