// Attaching to a segment and what a reader gets: chunks in their order, counters, the end, and what it missed.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "shm/reader.hpp"
#include "shm/src/attempts.hpp"
#include "tests/unit/shm/segment_fixture.hpp"

namespace ttc::shm::segment_test {
namespace {

// The labels are in the enumeration's order; two lists that grew apart once gave counters each other's
// names.
TEST(Counters, are_labelled_by_their_own_names) {
  EXPECT_STREQ(label(Counter::sweeps), "sweeps");
  EXPECT_STREQ(label(Counter::markers), "markers");
  EXPECT_STREQ(label(Counter::unreadable_intervals), "unreadable_intervals");
  EXPECT_STREQ(label(Counter::wakes), "wakes");
  EXPECT_STREQ(label(Counter::link_bytes_per_s), "link_bytes_per_s");
  EXPECT_STREQ(label(Counter::clock_samples), "clock_samples");
  EXPECT_STREQ(label(Counter::clock_hz), "clock_hz");
  EXPECT_STREQ(label(Counter::missed_poll_deadlines), "missed_poll_deadlines");
}

// The clock was read twice an attempt. Where the deadline passed in between, an attempt that had found the
// segment of an earlier collector was refused instead, and with the reason of another case.
TEST(Attempts, one_that_succeeds_when_it_is_the_last_does_so_whenever_the_deadline_passes) {
  for (int deadline = 0; deadline < 8; ++deadline) {
    int time = 0;
    const auto now = [&] { return time++; };
    const auto attempt = [](bool last) -> std::string { return last ? "" : "its collector does not run"; };
    EXPECT_EQ(attempt_until(deadline, now, attempt, [&] { ++time; }), "") << deadline;
    time = 0;
    int attempts = 0;
    const auto never = [&](bool) { return "attempt " + std::to_string(++attempts); };
    EXPECT_EQ(attempt_until(deadline, now, never, [] {}), "attempt " + std::to_string(deadline + 1));
  }
}

TEST(Segment, a_reader_gets_what_the_writer_published) {
  const Name name("plain");
  SegmentWriter writer(name, "emu:card", 0xabcdef, small());
  Reader reader(name.text(), StartAt::oldest);
  EXPECT_EQ(reader.info().live_name, name.text());
  EXPECT_EQ(reader.info().device_spec, "emu:card");
  EXPECT_EQ(reader.info().session, 0xabcdefu);
  EXPECT_EQ(reader.info().writer_pid, getpid());
  EXPECT_EQ(reader.info().bytes, std::filesystem::file_size(name.path()));
  EXPECT_TRUE(reader.info().alive);
  EXPECT_FALSE(reader.info().ended);
  EXPECT_TRUE(reader.writer_alive());
  std::vector<uint64_t> chunk;
  EXPECT_EQ(reader.next(chunk, 0), Next::timeout);
  for (uint64_t i = 0; i < 5; ++i) publish(writer.ring(), i, static_cast<uint32_t>(8 * i));
  for (uint64_t i = 0; i < 5; ++i) {
    ASSERT_EQ(reader.next(chunk, 0), Next::chunk);
    EXPECT_EQ(header_of(chunk).sequence, i);
    EXPECT_EQ(body_of(chunk).size(), 8 * i);
  }
  EXPECT_EQ(reader.next(chunk, 0), Next::timeout);
  EXPECT_EQ(reader.lost_chunks() + reader.lost_bytes() + reader.laps(), 0u);
}

TEST(Segment, standing_chunks_come_first_and_whoever_starts_at_the_newest_gets_them_too) {
  const Name name("standing");
  SegmentWriter writer(name, "emu:card", 1, small());
  ASSERT_TRUE(writer.add_standing(ChunkKind::session, "{\"a\":1}"));
  publish(writer.ring(), 0);
  ASSERT_TRUE(writer.add_standing(ChunkKind::names, "late,name"));
  publish(writer.ring(), 1);
  for (const StartAt start : {StartAt::oldest, StartAt::newest}) {
    Reader reader(name.text(), start);
    std::vector<uint64_t> chunk;
    ASSERT_EQ(reader.next(chunk, 0), Next::chunk);
    EXPECT_EQ(header_of(chunk).kind, ChunkKind::session);
    EXPECT_EQ(header_of(chunk).session, 1u);
    EXPECT_EQ(body_text(chunk), "{\"a\":1}");
    ASSERT_EQ(reader.next(chunk, 0), Next::chunk);
    EXPECT_EQ(body_text(chunk), "late,name");
    if (start == StartAt::oldest) {
      for (uint64_t i = 0; i < 2; ++i) {
        ASSERT_EQ(reader.next(chunk, 0), Next::chunk);
        EXPECT_EQ(header_of(chunk).sequence, i);
      }
    }
    EXPECT_EQ(reader.next(chunk, 0), Next::timeout);
    EXPECT_EQ(reader.lost_chunks(), 0u);
  }
}

TEST(Segment, names_published_before_a_ring_chunk_are_delivered_before_it) {
  const Name name("order");
  SegmentWriter writer(name, "emu:card", 1, small());
  Reader reader(name.text(), StartAt::oldest);
  std::vector<uint64_t> chunk;
  uint64_t names = 0;
  std::thread thread([&] {
    for (uint64_t i = 0; i < 60; ++i) {
      writer.add_standing(ChunkKind::names, "n" + std::to_string(i));
      publish(writer.ring(), i);  // needs name i
    }
    writer.end();
  });
  for (;;) {
    const Next next = reader.next(chunk, 1000);
    if (next != Next::chunk) {
      EXPECT_EQ(next, Next::ended);
      break;
    }
    if (body_of(chunk)[0] == 'n')
      ++names;
    else
      EXPECT_GT(names, header_of(chunk).sequence);
  }
  thread.join();
  EXPECT_EQ(names, 60u);
}

TEST(Segment, a_full_standing_area_is_said_and_stays_readable) {
  const Name name("full");
  SegmentWriter writer(name, "emu:card", 1, small());
  int added = 0;
  while (writer.add_standing(ChunkKind::names, std::string(300, 'x'))) ++added;
  EXPECT_EQ(added, 8192 / 384);
  EXPECT_FALSE(writer.add_standing(ChunkKind::names, std::string(1 << 20, 'x')));
  Reader reader(name.text(), StartAt::newest);
  std::vector<uint64_t> chunk;
  for (int i = 0; i < added; ++i) {
    ASSERT_EQ(reader.next(chunk, 0), Next::chunk);
    EXPECT_EQ(body_of(chunk).size(), 300u);
  }
  EXPECT_EQ(reader.next(chunk, 0), Next::timeout);
}

TEST(Segment, counters_and_heartbeat_are_seen_by_readers) {
  const Name name("counters");
  SegmentWriter writer(name, "emu:card", 1, small());
  const Reader reader(name.text(), StartAt::newest);
  for (size_t i = 0; i < kCounters; ++i) {
    EXPECT_EQ(reader.counter(static_cast<Counter>(i)), 0u);
    writer.set(static_cast<Counter>(i), i + 1);
  }
  writer.add(Counter::chunks, 100);
  for (size_t i = 0; i < kCounters; ++i) {
    const uint64_t expected = i + 1 + (static_cast<Counter>(i) == Counter::chunks ? 100 : 0);
    EXPECT_EQ(reader.counter(static_cast<Counter>(i)), expected);
    EXPECT_EQ(writer.get(static_cast<Counter>(i)), expected);
    EXPECT_GT(std::strlen(label(static_cast<Counter>(i))), 0u);
  }
  EXPECT_EQ(reader.counter(Counter::count), 0u);
  EXPECT_EQ(reader.counter(static_cast<Counter>(0xffffffff)), 0u);
  writer.heartbeat(12345);
  EXPECT_EQ(reader.heartbeat_ns(), 12345u);
}

TEST(Segment, ended_comes_after_everything_and_stays) {
  const Name name("ended");
  std::vector<uint64_t> chunk;
  auto writer = std::make_unique<SegmentWriter>(name, "emu:card", 1, small());
  Reader reader(name.text(), StartAt::oldest);
  publish(writer->ring(), 0);
  publish(writer->ring(), 1);
  writer->end();
  for (int i = 0; i < 2; ++i) ASSERT_EQ(reader.next(chunk, 1000), Next::chunk);
  EXPECT_EQ(reader.next(chunk, 1000), Next::ended);
  writer.reset();
  EXPECT_EQ(reader.next(chunk, 1000), Next::ended);
  EXPECT_FALSE(reader.writer_alive());
  Reader late(name.text(), StartAt::oldest);
  EXPECT_TRUE(late.info().ended);
  EXPECT_FALSE(late.info().alive);
  for (int i = 0; i < 2; ++i) ASSERT_EQ(late.next(chunk, 0), Next::chunk);
  EXPECT_EQ(late.next(chunk, 0), Next::ended);
}

TEST(Segment, readers_hold_nothing_they_could_write_through) {
  const Name name("readonly");
  Reader reader = [&] {
    SegmentWriter writer(name, "emu:card", 1, small());
    writer.end();
    return Reader(name.text(), StartAt::oldest);
  }();
  std::ifstream maps("/proc/self/maps");
  int found = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find(name.path()) == std::string::npos) continue;
    ++found;
    EXPECT_NE(line.find(" r--s "), std::string::npos) << line;
    void* at = reinterpret_cast<void*>(std::stoull(line, nullptr, 16));
    EXPECT_NE(mprotect(at, 4096, PROT_READ | PROT_WRITE), 0) << "the mapping could be made writable";
  }
  EXPECT_EQ(found, 1);
  int descriptors = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (std::filesystem::read_symlink(entry, gone) != name.path()) continue;
    ++descriptors;
    const int fd = std::stoi(entry.path().filename());
    EXPECT_EQ(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
    EXPECT_TRUE(fcntl(fd, F_GETFD) & FD_CLOEXEC);
  }
  EXPECT_GE(descriptors, 1);
}

TEST(Segment, a_reader_waits_for_a_segment_that_is_about_to_appear) {
  const Name name("appear");
  std::unique_ptr<SegmentWriter> writer;
  std::thread thread([&] { writer = std::make_unique<SegmentWriter>(name, "emu:card", 9, small()); });
  Reader reader(name.text(), StartAt::oldest, 60000);
  EXPECT_EQ(reader.info().session, 9u);
  thread.join();
}

TEST(Segment, a_missing_segment_is_a_sentence_with_its_name) {
  const Name name("missing");
  const std::string why = error_of([&] { Reader reader(name.text(), StartAt::oldest); });
  EXPECT_NE(why.find("live:" + name.text()), std::string::npos) << why;
  EXPECT_NE(why.find("no such segment"), std::string::npos) << why;
}

TEST(Segment, a_lapped_reader_knows_the_bytes_and_the_chunks_it_lost) {
  const Name name("lapped");
  SegmentWriter writer(name, "emu:card", 1, small());
  Reader reader(name.text(), StartAt::oldest);
  std::vector<uint64_t> chunk;
  publish(writer.ring(), 0, 960);
  ASSERT_EQ(reader.next(chunk, 0), Next::chunk);
  for (uint64_t i = 1; i <= 200; ++i) publish(writer.ring(), i, 960);  // 64 of 1 KiB fit
  ASSERT_EQ(reader.next(chunk, 0), Next::lapped);
  EXPECT_EQ(reader.laps(), 1u);
  EXPECT_EQ(reader.lost_bytes(), 136u * 1024);
  ASSERT_EQ(reader.next(chunk, 0), Next::chunk);
  EXPECT_EQ(header_of(chunk).sequence, 137u);
  EXPECT_EQ(reader.lost_chunks(), 136u);
  uint64_t got = 1;
  while (reader.next(chunk, 0) == Next::chunk) ++got;
  EXPECT_EQ(got, 64u);
}

}  // namespace
}  // namespace ttc::shm::segment_test
