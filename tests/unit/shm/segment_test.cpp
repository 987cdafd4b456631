// Segments between real processes: who may create, attach, die, replace.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

#include "shm/reader.hpp"
#include "shm/src/attempts.hpp"
#include "shm/src/segment_file.hpp"
#include "tests/support/ring_chunks.hpp"
#include "tests/support/segment_refusal.hpp"

namespace ttc::shm {
namespace {

using Next = Reader::Next;

// A live name of this process, removed at the end with what it may leave.
class Name {
 public:
  explicit Name(const std::string& tag) : text_("test-" + std::to_string(getpid()) + "-" + tag) { remove(); }
  ~Name() { remove(); }
  operator const std::string&() const { return text_; }
  const std::string& text() const { return text_; }
  std::string remains() const { return text_ + ".remains"; }
  std::string path() const { return path_of(text_); }
  bool exists() const { return std::filesystem::exists(path()); }
  bool remains_exist() const { return std::filesystem::exists(path_of(remains())); }

 private:
  static std::string path_of(const std::string& name) {
    return "/dev/shm/ttcollect-" + name + "." + std::to_string(geteuid());
  }
  void remove() const {
    remove_segment(text_);
    remove_segment(remains());
  }
  std::string text_;
};

SegmentOptions small() {
  SegmentOptions o;
  o.ring_bytes = 64 << 10;
  o.standing_bytes = 8 << 10;
  o.loss_records = 64;
  return o;
}

std::string body_text(const std::vector<uint64_t>& chunk) {
  const auto body = body_of(chunk);
  return {body.begin(), body.end()};
}

// Runs `work` in a child that is then dead, by `how`: a signal, or 0 for _exit without any destructor.
void in_dead_child(int how, const std::function<void()>& work) {
  const pid_t pid = fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    work();
    if (how) raise(how);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  ASSERT_TRUE(how ? WIFSIGNALED(status) : WIFEXITED(status));
}

void crash_after(const std::string& name, uint64_t chunks, int how = SIGKILL) {
  in_dead_child(how, [&] {
    auto* writer = new SegmentWriter(name, "emu:x", 77, small());
    writer->add_standing(ChunkKind::session, "{}");
    for (uint64_t i = 0; i < chunks; ++i) publish(writer->ring(), i);
    writer->ring().claim(4096);  // killed in the middle of a claim
  });
}

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

TEST(Segment, a_second_writer_is_refused_and_the_first_goes_on) {
  const Name name("second");
  SegmentWriter writer(name, "emu:card", 1, small());
  Reader reader(name.text(), StartAt::oldest);
  const std::string why = error_of([&] { SegmentWriter second(name, "emu:card", 2, small()); });
  EXPECT_NE(why.find("pid " + std::to_string(getpid())), std::string::npos) << why;
  EXPECT_NE(why.find(name.text()), std::string::npos) << why;
  EXPECT_EQ(why.find('\n'), std::string::npos);
  publish(writer.ring(), 0);
  std::vector<uint64_t> chunk;
  EXPECT_EQ(reader.next(chunk, 0), Next::chunk);
  EXPECT_TRUE(reader.writer_alive());
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

TEST(Segment, its_mode_is_what_was_asked_whatever_the_umask) {
  const Name name("mode");
  const mode_t before = umask(0077);
  SegmentOptions options = small();
  for (const unsigned mode : {0640u, 0600u, 0644u}) {
    options.mode = mode;
    SegmentWriter writer(name, "emu:card", 1, options);
    struct stat status {};
    EXPECT_EQ(stat(name.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, mode);
  }
  umask(before);
  EXPECT_EQ(SegmentOptions{}.mode, 0640u);
}

TEST(Segment, an_unknown_group_is_a_sentence_and_leaves_nothing) {
  const Name name("group");
  SegmentOptions options = small();
  options.group = "no-such-group-here";
  const std::string why = error_of([&] { SegmentWriter writer(name, "emu:card", 1, options); });
  EXPECT_NE(why.find("no-such-group-here"), std::string::npos) << why;
  EXPECT_FALSE(name.exists());
}

TEST(Segment, bad_live_names_are_refused) {
  const std::string prefix = "test-" + std::to_string(getpid()) + "-";
  for (const std::string& bad : {std::string(), prefix + std::string(61 - prefix.size(), 'n'), prefix + "a/b",
                                 "../" + prefix, std::string(5000, 'x')})
    EXPECT_FALSE(error_of([&] { SegmentWriter writer(bad, "emu:card", 1, small()); }).empty()) << bad;
  for (const std::string& bad :
       {std::string("a/b"), std::string("../../etc/passwd"), std::string(5000, 'x')}) {
    EXPECT_FALSE(error_of([&] { Reader reader(bad, StartAt::oldest); }).empty()) << bad;
    EXPECT_FALSE(remove_segment(bad));
  }
}

TEST(Segment, the_longest_live_name_and_any_device_spec_fit) {
  const std::string prefix = "test-" + std::to_string(getpid()) + "-";
  const Name name(std::string(60 - prefix.size(), 'n'));
  crash_after(name, 1);  // remains have a longer name still
  SegmentWriter writer(name, std::string(200, 'd'), 1, small());
  const Reader reader(name.text(), StartAt::oldest);
  EXPECT_EQ(reader.info().live_name, name.text());
  EXPECT_EQ(reader.info().device_spec, std::string(63, 'd'));
  EXPECT_TRUE(name.remains_exist());
}

// Twice what /dev/shm has altogether, so that nothing is reserved on the way to the refusal.
uint64_t too_large() {
  struct statvfs shm {};
  if (statvfs("/dev/shm", &shm) != 0 || shm.f_blocks == 0) return 0;
  return uint64_t{shm.f_blocks} * shm.f_frsize * 2;
}

TEST(Segment, a_ring_larger_than_dev_shm_is_one_sentence_and_leaves_nothing) {
  const Name name("large");
  SegmentOptions options = small();
  options.ring_bytes = too_large();
  if (options.ring_bytes == 0) GTEST_SKIP() << "/dev/shm has no size";
  const std::string why = error_of([&] { SegmentWriter writer(name, "emu:card", 1, options); });
  EXPECT_NE(why.find("/dev/shm"), std::string::npos) << why;
  EXPECT_NE(why.find("--ring"), std::string::npos) << why;
  EXPECT_EQ(why.find('\n'), std::string::npos);
  EXPECT_FALSE(name.exists());
  EXPECT_NO_THROW(SegmentWriter(name, "emu:card", 1, small()).end());
}

// DESIGN, promise 6: what a crash left is still there to be exported. A wrong --ring must not cost it.
TEST(Segment, crash_remains_survive_a_start_that_fails_for_lack_of_room) {
  const Name name("sacrificed");
  SegmentOptions options = small();
  options.ring_bytes = too_large();
  if (options.ring_bytes == 0) GTEST_SKIP() << "/dev/shm has no size";
  crash_after(name, 3);
  EXPECT_FALSE(error_of([&] { SegmentWriter writer(name, "emu:card", 1, options); }).empty());
  EXPECT_TRUE(name.exists() || name.remains_exist());
}

TEST(Segment, the_ring_is_rounded_up_to_a_power_of_two) {
  const Name name("round");
  SegmentOptions options = small();
  for (const auto& [asked, got] :
       {std::pair<uint64_t, uint64_t>{0, 65536}, {65537, 131072}, {200000, 262144}}) {
    options.ring_bytes = asked;
    SegmentWriter writer(name, "emu:card", 1, options);
    EXPECT_EQ(writer.ring().capacity(), got);
    EXPECT_EQ(writer.session(), 1u);
  }
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

// FUTEX_WAIT without FUTEX_PRIVATE_FLAG: no lock of the C library sleeps so.
bool sleeps_in_shared_futex(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/syscall");
  std::string number, word, operation;
  if (!(file >> number)) throw std::runtime_error("/proc/self/task/ID/syscall cannot be read");
  return file >> word >> operation && number == std::to_string(SYS_futex) && operation == "0x0";
}

TEST(Segment, a_blocked_reader_is_woken) {
  const Name name("wake");
  SegmentWriter writer(name, "emu:card", 1, small());
  Reader reader(name.text(), StartAt::oldest);
  reader.set_recheck(3'600'000);  // a reader that slept on would run into ctest's limit
  std::atomic<pid_t> id{0};
  Next found = Next::timeout;
  std::thread thread([&] {
    id = gettid();
    std::vector<uint64_t> chunk;
    found = reader.next(chunk, 3'600'000);
  });
  while (id == 0 || !sleeps_in_shared_futex(id)) std::this_thread::yield();
  publish(writer.ring(), 0);
  writer.wake_readers();
  thread.join();
  EXPECT_EQ(found, Next::chunk);
}

TEST(Segment, a_reader_that_polls_has_a_sweep_when_it_is_announced) {
  const Name name("announced");
  SegmentWriter writer(name, "emu:card", 1, small());
  Reader reader(name.text(), StartAt::oldest);
  std::vector<uint64_t> chunk;
  publish(writer.ring(), 0);
  writer.wake_readers();
  ASSERT_EQ(reader.next(chunk, 0), Next::chunk);
  publish(writer.ring(), 1);
  publish(writer.ring(), 2);
  EXPECT_EQ(reader.next(chunk, 0), Next::timeout);
  EXPECT_EQ(reader.tail(), reader.position());
  writer.wake_readers();
  EXPECT_GT(reader.tail(), reader.position());
  for (const uint64_t sequence : {1u, 2u}) {
    ASSERT_EQ(reader.next(chunk, 0), Next::chunk);
    EXPECT_EQ(header_of(chunk).sequence, sequence);
  }
}

TEST(Segment, what_nobody_announces_comes_after_a_sleep_at_the_latest) {
  const Name name("unannounced");
  SegmentWriter writer(name, "emu:card", 1, small());
  Reader reader(name.text(), StartAt::oldest);
  reader.set_recheck(1);
  std::vector<uint64_t> chunk;
  publish(writer.ring(), 0);
  writer.wake_readers();
  ASSERT_EQ(reader.next(chunk, 0), Next::chunk);
  publish(writer.ring(), 1);
  ASSERT_EQ(reader.next(chunk, 600'000), Next::chunk);
  EXPECT_EQ(header_of(chunk).sequence, 1u);
}

TEST(Segment, an_orderly_end_announces_everything) {
  const Name name("announced-end");
  SegmentWriter writer(name, "emu:card", 1, small());
  Reader reader(name.text(), StartAt::oldest);
  std::vector<uint64_t> chunk;
  publish(writer.ring(), 0);
  writer.wake_readers();
  publish(writer.ring(), 1);
  writer.end();
  for (const uint64_t sequence : {0u, 1u}) {
    ASSERT_EQ(reader.next(chunk, 0), Next::chunk);
    EXPECT_EQ(header_of(chunk).sequence, sequence);
  }
  EXPECT_EQ(reader.next(chunk, 0), Next::ended);
}

TEST(Segment, a_timeout_is_waited_out_when_nothing_comes) {
  const Name name("timeout");
  SegmentWriter writer(name, "emu:card", 1, small());
  Reader reader(name.text(), StartAt::oldest);
  std::vector<uint64_t> chunk;
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(reader.next(chunk, 30), Next::timeout);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(30));
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
}  // namespace ttc::shm
