#include "ttcollect/host_events.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace {

using namespace ttc::collect;

std::vector<char> body_of(const HostRecords& records, uint32_t version = kHostChunkVersion) {
  HostChunkHead head;
  head.version = version;
  std::vector<char> body(sizeof head + records.size());
  std::memcpy(body.data(), &head, sizeof head);
  if (!records.empty()) std::memcpy(body.data() + sizeof head, records.bytes().data(), records.size());
  return body;
}

struct Kept {
  EventKind kind;
  uint32_t subject;
  int64_t time;
  uint64_t value;
  std::string text;
  bool operator==(const Kept&) const = default;
};

std::vector<Kept> read(std::span<const char> body) {
  HostChunkReader reader(body);
  std::vector<Kept> all;
  for (HostEvent e; reader.next(e);) all.push_back({e.kind, e.subject, e.time, e.value, std::string(e.text)});
  EXPECT_EQ(reader.why_not(), "");
  return all;
}

TEST(HostChunks, what_was_written_is_read) {
  std::mt19937_64 random(4711);
  const auto number = [&](unsigned most_bits) { return random() >> (64 - random() % (most_bits + 1)) % 64; };
  for (int round = 0; round < 200; ++round) {
    HostRecords records;
    std::vector<Kept> written;
    for (uint64_t n = random() % 40; n > 0; --n) {
      const Kept one{static_cast<EventKind>(random() % 256), static_cast<uint32_t>(number(32)),
                     static_cast<int64_t>(number(64)), number(64),
                     std::string(random() % 4 ? 0 : random() % 70'000, 'x')};
      records.add({one.kind, one.subject, one.time, one.value, one.text});
      written.push_back(one);
    }
    ASSERT_EQ(read(body_of(records)), written) << round;
  }
}

// The room that a burst takes is by these.
TEST(HostChunks, a_zone_takes_about_ten_bytes) {
  HostRecords records;
  int64_t ticks = 1'000'000'000'000;
  for (int i = 0; i < 1000; ++i) {
    records.add({EventKind::zone_begin, 4711, ticks += 300, 97, {}});
    records.add({EventKind::zone_end, 4711, ticks += 500, 0, {}});
  }
  EXPECT_LE(records.size(), 10'000u);
}

TEST(HostChunks, any_cut_ends_in_an_answer) {
  HostRecords records;
  std::vector<size_t> ends{sizeof(HostChunkHead)};
  const auto add = [&](const HostEvent& event) {
    records.add(event);
    ends.push_back(sizeof(HostChunkHead) + records.size());
  };
  add({EventKind::message, 1, 200, 3, "text"});
  add({EventKind::plot, 1, -5, ~uint64_t{0}, {}});
  add({EventKind::zone_end, 300, 1'000'000, 3, {}});
  const std::vector<char> body = body_of(records);
  for (size_t bytes = 0; bytes <= body.size(); ++bytes) {
    HostChunkReader reader(std::span<const char>(body).first(bytes));
    size_t read = 0, whole = 0;
    for (HostEvent event; reader.next(event);) ++read;
    while (whole < records.size() && whole < ends.size() - 1 && ends[whole + 1] <= bytes) ++whole;
    EXPECT_EQ(read, whole) << bytes;
    EXPECT_EQ(reader.why_not().empty(), ends[whole] == bytes) << bytes;
  }
}

// Captures up to November 2026.
TEST(HostChunks, version_1_is_read) {
  HostRecord record;
  record.kind = static_cast<uint8_t>(EventKind::message);
  record.subject = 7;
  record.time = 8;
  record.value = 9;
  record.text_bytes = 5;
  std::vector<char> body = body_of({}, 1);
  const auto* bytes = reinterpret_cast<const char*>(&record);
  body.insert(body.end(), bytes, bytes + sizeof record);
  constexpr std::string_view kPadded{"hello\0\0\0", 8};
  body.insert(body.end(), kPadded.begin(), kPadded.end());
  EXPECT_EQ(read(body), (std::vector<Kept>{{EventKind::message, 7, 8, 9, "hello"}}));
  for (size_t bytes_left = sizeof(HostChunkHead) + 1; bytes_left < body.size(); ++bytes_left) {
    HostChunkReader cut(std::span<const char>(body).first(bytes_left));
    HostEvent event;
    EXPECT_FALSE(cut.next(event));
    EXPECT_NE(cut.why_not(), "");
  }
}

// On a machine that was up for a year, times were whole multiples of 4 and 8 ns.
TEST(HostTimes, nanoseconds_of_a_machine_that_runs_for_long_are_exact) {
  constexpr int64_t kYear = 31'536'000'000'000'001;
  HostChunkHead head{};
  relate_raw_ns(head, kYear);
  for (const int64_t later : {0, 1, 2, 3, 10, 999'999'999})
    EXPECT_EQ(raw_ns_of(head, kYear + later), kYear + later);
}

}  // namespace
