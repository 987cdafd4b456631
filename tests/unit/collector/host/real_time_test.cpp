// The priority of drain threads: the sentences on it, the share of a CPU it leaves to others, and the watchdog.
#include "collector/host/real_time.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <ctime>
#include <functional>
#include <random>
#include <thread>
#include <vector>

namespace ttc::collect {
namespace {

using Scheduling = RealTimeGrant::Scheduling;

TEST(RealTimeWords, what_was_granted_needs_no_advice) {
  const RealTimeGrant all{Scheduling::fifo, 10, 0, {}, true, {}};
  EXPECT_EQ(in_words(all, "/usr/bin/ttcollect"),
            "--realtime: the drain thread is under SCHED_FIFO, priority 10; memory is locked");
}

TEST(RealTimeWords, what_is_missing_comes_with_every_way_to_grant_it) {
  const RealTimeGrant nice{Scheduling::nice,
                           0,
                           -5,
                           "Operation not permitted; RLIMIT_RTPRIO is 0",
                           false,
                           "Cannot allocate memory; RLIMIT_MEMLOCK is 8192 KiB"};
  const std::string text = in_words(nice, "/opt/ttcollect");
  EXPECT_EQ(text.find('\n'), std::string::npos);
  for (const char* part :
       {"at nice -5", "RLIMIT_RTPRIO is 0", "RLIMIT_MEMLOCK is 8192 KiB",
        "setcap cap_sys_nice,cap_ipc_lock=ep /opt/ttcollect", "rtprio 10", "memlock unlimited", "limits.conf",
        "LimitRTPRIO=10", "LimitMEMLOCK=infinity", "--cap-add SYS_NICE --cap-add IPC_LOCK"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in: " << text;
  const RealTimeGrant unlocked{Scheduling::fifo, 10, 0, {}, false, "Cannot allocate memory"};
  const std::string of_memory = in_words(unlocked, "p");
  EXPECT_NE(of_memory.find("setcap cap_ipc_lock=ep p"), std::string::npos) << of_memory;
  EXPECT_EQ(of_memory.find("rtprio"), std::string::npos) << of_memory;
}

// Steps of any length, as sweeps are, on a machine that takes the CPU away now and then.
TEST(CpuBudget, in_every_stretch_no_more_than_the_share_and_a_burst_is_used) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 dice(seed);
  for (int world = 0; world < 50; ++world) {
    const double share = 0.1 + 0.1 * static_cast<double>(dice() % 10);
    const int64_t longest = 1 + static_cast<int64_t>(dice() % 3'000'000);
    uint64_t now = dice() % 1'000'000, cpu = dice() % 1'000'000;
    CpuBudget budget(now, cpu);
    std::vector<std::pair<uint64_t, uint64_t>> seen{{now, cpu}};
    for (int i = 0; i < 400; ++i) {
      const uint64_t used = dice() % static_cast<uint64_t>(longest);
      cpu += used;
      now += used + (dice() % 4 == 0 ? dice() % 1'000'000 : 0);
      now += budget.rest_ns(now, cpu, share);
      seen.emplace_back(now, cpu);
    }
    for (size_t from = 0; from < seen.size(); ++from)
      for (size_t to = from; to < seen.size(); ++to)
        ASSERT_LE(static_cast<double>(seen[to].second - seen[from].second),
                  share * static_cast<double>(seen[to].first - seen[from].first) + 2 * CpuBudget::kBurstNs +
                      static_cast<double>(longest));
  }
}

TEST(CpuBudget, who_sleeps_enough_is_never_made_to_rest) {
  uint64_t now = 0, cpu = 0;
  CpuBudget budget(now, cpu);
  for (int i = 0; i < 1000; ++i) {
    cpu += 80'000;
    now += 100'000;
    ASSERT_EQ(budget.rest_ns(now, cpu, 0.9), 0u) << i;
  }
}

TEST(CpuBudget, who_never_sleeps_rests_one_part_in_ten) {
  uint64_t now = 0, cpu = 0, rested = 0;
  CpuBudget budget(now, cpu);
  while (now < 1'000'000'000) {
    cpu += 50'000;
    now += 50'000;
    const uint64_t rest = budget.rest_ns(now, cpu, 0.9);
    EXPECT_TRUE(rest == 0 || rest >= CpuBudget::kRestNs);
    EXPECT_LT(rest, 300'000u);  // far below a poll deadline
    now += rest;
    rested += rest;
  }
  EXPECT_NEAR(static_cast<double>(rested) / static_cast<double>(now), 0.1, 0.01);
}

int scheduling_of_this_thread() {
  return sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
}

double cpu_s() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

// On a thread of its own: what fails must not leave the test's thread ahead of all others.
void on_a_thread(const std::function<void()>& body) {
  std::thread(body).join();
}

bool permitted() {
  const sched_param lowest{1};
  const bool granted = sched_setscheduler(0, SCHED_FIFO, &lowest) == 0;
  const sched_param none{};
  sched_setscheduler(0, SCHED_OTHER, &none);
  return granted;
}

TEST(RealTime, a_thread_that_does_not_sleep_is_stopped_by_the_watchdog_and_begins_again_later) {
  on_a_thread([] {
    if (!permitted()) return;
    std::vector<std::string> reported;
    RealTime real_time({}, [&](const std::string& text) { reported.push_back(text); },
                       {20'000'000, 5'000'000'000});
    ASSERT_EQ(scheduling_of_this_thread(), SCHED_FIFO);
    const double began = cpu_s();
    while (scheduling_of_this_thread() == SCHED_FIFO && cpu_s() < began + 5) {
    }
    ASSERT_EQ(scheduling_of_this_thread(), SCHED_OTHER) << "5 s of CPU time without a pause";
    EXPECT_EQ(real_time.rest_ns(1), 0u);
    ASSERT_EQ(reported.size(), 1u);
    EXPECT_NE(reported[0].find("did not sleep for 20 ms"), std::string::npos) << reported[0];
    EXPECT_EQ(real_time.account().stopped, 1u);
    real_time.rest_ns(4'999'999'999);
    EXPECT_EQ(scheduling_of_this_thread(), SCHED_OTHER) << "its pause is not over";
    real_time.rest_ns(5'000'000'001);
    EXPECT_EQ(scheduling_of_this_thread(), SCHED_FIFO);
    EXPECT_EQ(reported.size(), 1u);
  });
  bool granted = false;
  on_a_thread([&] { granted = permitted(); });
  if (!granted) GTEST_SKIP() << "SCHED_FIFO is not permitted here";
}

TEST(RealTime, a_thread_has_its_former_scheduling_afterwards_whatever_was_granted) {
  on_a_thread([] {
    const int before = getpriority(PRIO_PROCESS, 0);
    {
      const RealTime real_time({}, [](const std::string&) {});
    }
    EXPECT_EQ(scheduling_of_this_thread(), SCHED_OTHER);
    EXPECT_EQ(getpriority(PRIO_PROCESS, 0), before);
  });
}

TEST(RealTime, memory_is_locked_or_what_lacks_is_a_sentence_part) {
  const MemoryLock memory = lock_memory();
  munlockall();  // other tests of this process allocate
  EXPECT_EQ(memory.locked, memory.lacks.empty());
  if (!memory.locked) {
    EXPECT_NE(memory.lacks.find("RLIMIT_MEMLOCK is "), std::string::npos) << memory.lacks;
  }
}

}  // namespace
}  // namespace ttc::collect
