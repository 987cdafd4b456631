// What a segment's writer leaves, dead or ended: readers read it, the next writer keeps or replaces it, a list shows it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "shm/reader.hpp"
#include "shm/src/segment_file.hpp"
#include "tests/unit/shm/segment_fixture.hpp"

namespace ttc::shm::segment_test {
namespace {

TEST(Segment, a_file_without_a_size_is_refused_for_that_reason) {
  const Name name("no-size");
  std::ofstream(name.path()).close();
  EXPECT_NE(error_of([&] { Reader reader(name.text(), StartAt::oldest, 5); }).find("it has no size yet"),
            std::string::npos);
}

// It was taken for an empty one and removed, by fields that another version has elsewhere.
TEST(Segment, what_a_collector_of_another_major_version_left_is_kept_by_the_next_one) {
  const Name name("other-major");
  in_dead_child(0, [&] { new SegmentWriter(name, "emu:x", 77, small()); });
  std::fstream file(name.path(), std::ios::in | std::ios::out | std::ios::binary);
  const uint32_t major = kAbiMajor + 1;
  file.seekp(offsetof(SegmentHeader, abi_major)).write(reinterpret_cast<const char*>(&major), sizeof major);
  file.close();
  EXPECT_NE(error_of([&] { Reader reader(name.text(), StartAt::oldest); }).find("its format is version"),
            std::string::npos);
  SegmentWriter next(name, "emu:x", 78, small());
  EXPECT_TRUE(name.remains_exist());
}

// A collector that starts holds what an earlier one left for a moment; readers that wait for it must not
// attach to that.
TEST(Segment, what_is_being_taken_away_is_not_alive) {
  const Name name("taken");
  { SegmentWriter(name, "emu:x", 1, small()).end(); }
  const int fd = open(name.path().c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_TRUE(take_over(fd));
  const Reader reader(name, StartAt::oldest);
  EXPECT_FALSE(reader.info().alive);
  EXPECT_FALSE(reader.writer_alive());
  EXPECT_FALSE(remove_segment(name)) << "another process is about to";
  EXPECT_THROW(SegmentWriter(name, "emu:x", 2, small()), SegmentError) << "one at a time";
  close(fd);
  const SegmentWriter next(name, "emu:x", 3, small());
  const int other = open(name.path().c_str(), O_RDWR | O_CLOEXEC);
  EXPECT_FALSE(take_over(other)) << "a living one's is not taken away";
  close(other);
}

TEST(Segment, what_a_dead_writer_published_is_read_and_then_its_death_is_reported) {
  for (const int how : {0, SIGKILL}) {
    const Name name("died");
    crash_after(name, 20, how);
    Reader reader(name.text(), StartAt::oldest);
    EXPECT_FALSE(reader.writer_alive());
    EXPECT_FALSE(reader.info().alive);
    EXPECT_FALSE(reader.info().ended);
    std::vector<uint64_t> chunk;
    ASSERT_EQ(reader.next(chunk, 0), Next::chunk);
    EXPECT_EQ(header_of(chunk).kind, ChunkKind::session);
    for (uint64_t i = 0; i < 20; ++i) {
      ASSERT_EQ(reader.next(chunk, 0), Next::chunk);
      EXPECT_EQ(header_of(chunk).sequence, i);
    }
    EXPECT_EQ(reader.next(chunk, 60000), Next::writer_died);
    EXPECT_EQ(reader.next(chunk, 0), Next::writer_died);
  }
}

TEST(Segment, a_reader_that_waits_notices_that_its_writer_is_killed) {
  const Name name("killed");
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t pid = fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    SegmentWriter writer(name, "emu:x", 1, small());
    publish(writer.ring(), 0);
    (void)!write(ready[1], "r", 1);
    for (;;) pause();
  }
  char c;
  ASSERT_EQ(read(ready[0], &c, 1), 1);
  Reader reader(name.text(), StartAt::oldest);
  EXPECT_TRUE(reader.writer_alive());
  EXPECT_EQ(reader.info().writer_pid, pid);
  std::vector<uint64_t> chunk;
  ASSERT_EQ(reader.next(chunk, 0), Next::chunk);
  EXPECT_EQ(reader.next(chunk, 0), Next::timeout);
  EXPECT_FALSE(remove_segment(name)) << "a living writer's";
  const std::string why = error_of([&] { SegmentWriter second(name, "emu:x", 2, small()); });
  EXPECT_NE(why.find("pid " + std::to_string(pid)), std::string::npos) << why;
  std::thread killer([&] { kill(pid, SIGKILL); });
  EXPECT_EQ(reader.next(chunk, 60000), Next::writer_died);
  killer.join();
  waitpid(pid, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
}

TEST(Segment, crash_remains_are_moved_aside_and_stay_readable) {
  const Name name("remains");
  crash_after(name, 3);
  SegmentWriter writer(name, "emu:card", 2, small());
  Reader remains(name.remains(), StartAt::oldest);
  EXPECT_EQ(remains.info().live_name, name.remains());
  EXPECT_EQ(remains.info().session, 77u);
  std::vector<uint64_t> chunk;
  int chunks = 0;
  Next next;
  while ((next = remains.next(chunk, 0)) == Next::chunk) ++chunks;
  EXPECT_EQ(next, Next::writer_died);
  EXPECT_EQ(chunks, 4);
  Reader reader(name.text(), StartAt::oldest);
  EXPECT_EQ(reader.info().session, 2u);
  EXPECT_EQ(reader.next(chunk, 0), Next::timeout);
}

TEST(Segment, one_crash_is_kept_the_last) {
  const Name name("lastcrash");
  crash_after(name, 1);
  crash_after(name, 2);
  crash_after(name, 0);  // published nothing: nothing to keep
  SegmentWriter writer(name, "emu:card", 1, small());
  Reader remains(name.remains(), StartAt::oldest);
  std::vector<uint64_t> chunk;
  int chunks = 0;
  while (remains.next(chunk, 0) == Next::chunk) ++chunks;
  EXPECT_EQ(chunks, 3);
}

TEST(Segment, an_orderly_end_is_replaced_without_remains_and_its_readers_keep_their_view) {
  const Name name("replaced");
  auto first = std::make_unique<SegmentWriter>(name, "emu:card", 1, small());
  publish(first->ring(), 0);
  first->end();
  first.reset();
  Reader old(name.text(), StartAt::oldest);
  SegmentWriter second(name, "emu:card", 2, small());
  EXPECT_FALSE(name.remains_exist());
  std::vector<uint64_t> chunk;
  EXPECT_EQ(old.next(chunk, 0), Next::chunk);
  EXPECT_EQ(old.next(chunk, 0), Next::ended);
  EXPECT_EQ(Reader(name.text(), StartAt::oldest).info().session, 2u);
}

TEST(Segment, garbage_of_the_right_name_does_not_block_a_writer) {
  const Name name("garbage");
  for (const size_t bytes : {size_t{0}, size_t{10}, size_t{511}, size_t{4096}, size_t{100000}}) {
    std::ofstream(name.path(), std::ios::binary) << std::string(bytes, '\xee');
    const std::string why = error_of([&] { Reader reader(name.text(), StartAt::oldest); });
    EXPECT_NE(why.find("live:" + name.text()), std::string::npos) << why;
    SegmentWriter writer(name, "emu:card", 1, small());
    EXPECT_TRUE(Reader(name.text(), StartAt::oldest).writer_alive());
    writer.end();
  }
}

TEST(Segment, listing_tells_the_living_the_ended_the_crashed_and_the_unreadable_apart) {
  const Name live("l-live"), ended("l-ended"), crashed("l-crashed"), garbage("l-garbage");
  SegmentWriter writer(live, "emu:card", 1, small());
  SegmentWriter(ended, "emu:card", 2, small()).end();
  crash_after(crashed, 1);
  std::ofstream(garbage.path()) << "nothing of ours";
  const auto all = list_segments();
  const auto find = [&](const std::string& name) {
    const auto it = std::find_if(all.begin(), all.end(), [&](const auto& i) { return i.live_name == name; });
    return it == all.end() ? SegmentInfo{} : *it;
  };
  EXPECT_TRUE(find(live).alive);
  EXPECT_FALSE(find(live).ended);
  EXPECT_TRUE(find(live).refused.empty());
  EXPECT_FALSE(find(ended).alive);
  EXPECT_TRUE(find(ended).ended);
  EXPECT_EQ(find(crashed).live_name, crashed.text());
  EXPECT_FALSE(find(crashed).alive);
  EXPECT_FALSE(find(crashed).ended);
  EXPECT_EQ(find(garbage).live_name, garbage.text());
  EXPECT_FALSE(find(garbage).refused.empty());

  EXPECT_FALSE(remove_segment(live));
  EXPECT_TRUE(live.exists());
  EXPECT_TRUE(remove_segment(ended));
  EXPECT_TRUE(remove_segment(crashed));
  EXPECT_TRUE(remove_segment(garbage));
  EXPECT_FALSE(remove_segment(garbage));
  EXPECT_FALSE(crashed.exists() || garbage.exists() || ended.exists());
}

}  // namespace
}  // namespace ttc::shm::segment_test
