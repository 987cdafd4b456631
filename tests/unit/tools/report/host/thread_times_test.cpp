#include "tools/report/host/thread_times.hpp"

#include <gtest/gtest.h>

#include "tests/support/host_chunks.hpp"

namespace ttc::report {
namespace {

using collect::EventKind;
using collect::ThreadState;
using tests::HostChunk;

uint64_t stop(ThreadState state) {
  return 3 | static_cast<uint64_t>(state) << 8;
}

TEST(ThreadTimes, states_add_up_to_the_whole) {
  ThreadTimes times;
  const std::string program = std::string("python3") + '\0' + "machine" + '\0' + "rank=2" + '\0';
  HostChunk()
      .add(EventKind::process, 0, 0, 77, program)
      .add(EventKind::thread_name, 9, 0, 0, "dispatch")
      .push_names(times);
  HostChunk()
      .add(EventKind::thread_stops, 9, 1010, stop(ThreadState::sleeps))
      .add(EventKind::thread_woken, 9, 1030, 3)
      .add(EventKind::thread_runs, 9, 1032, 3)
      .add(EventKind::thread_woken, 9, 1040, 3)  // it runs: that is of no meaning
      .add(EventKind::thread_stops, 9, 1052, stop(ThreadState::preempted))
      .add(EventKind::thread_runs, 9, 1060, 3)
      .add(EventKind::thread_stops, 9, 1070, stop(ThreadState::blocked))
      .add(EventKind::thread_runs, 9, 1100, 3)
      .add(EventKind::thread_runs, 8, 1000, 3)
      .add(EventKind::thread_stops, 8, 1001, stop(ThreadState::other))
      .push(times, 0);
  const std::vector<ThreadTime> threads = times.threads();
  ASSERT_EQ(threads.size(), 2u);
  const ThreadTime& t = threads[0];  // a tick is two nanoseconds
  EXPECT_EQ(t.process, "77 python3 rank 2");
  EXPECT_EQ(t.name, "dispatch");
  EXPECT_EQ(t.tid, 9u);
  EXPECT_EQ(t.running_ns, 60u);
  EXPECT_EQ(t.sleeping_ns, 40u);
  EXPECT_EQ(t.ready_ns, 20u);
  EXPECT_EQ(t.longest_ready_ns, 16u);
  EXPECT_EQ(t.blocked_ns, 60u);
  EXPECT_EQ(t.switches, 3u);
  EXPECT_EQ(t.running_ns + t.sleeping_ns + t.ready_ns + t.blocked_ns + t.other_ns, t.end_ns - t.begin_ns);
  EXPECT_EQ(threads[1].running_ns, 2u);
}

}  // namespace
}  // namespace ttc::report
