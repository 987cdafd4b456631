// When a reader that sleeps or polls is given what was published: at an announcement, at the end, or after a sleep.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "shm/reader.hpp"
#include "tests/unit/shm/segment_fixture.hpp"

namespace ttc::shm::segment_test {
namespace {

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

}  // namespace
}  // namespace ttc::shm::segment_test
