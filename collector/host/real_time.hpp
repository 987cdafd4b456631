// A drain thread with priority over the other threads on its CPU (--realtime), and the bounds that keep it from starving the machine.
//
// Requests SCHED_FIFO, or else the best nice value that is permitted, and memory that is not paged out. Soft limits are raised
// to their hard ones first. Two bounds hold while the thread is under SCHED_FIFO:
//   - a budget: the thread sleeps so that it takes at most kShare of a CPU (of all CPUs, divided by the threads, where there are
//     more threads than CPUs). kShare is below the kernel's own limit for real-time threads (sched_rt_runtime_us, 95 %), which
//     stops them for 50 ms at a time, twenty poll deadlines;
//   - a watchdog: a thread that has not slept for Watchdog::unslept_ns, and so does not reach its budget, gets SIGXCPU
//     (RLIMIT_RTTIME, setrlimit(2)) and schedules like any other from then on, for Watchdog::pause_ns.
// A child of the thread has neither (SCHED_RESET_ON_FORK).
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "collector/host/cpu_budget.hpp"

namespace ttc::collect {

struct RealTimeGrant {
  enum class Scheduling { fifo, nice, normal };  // nice: a better value than the process was started with
  Scheduling scheduling = Scheduling::normal;
  int priority = 0;              // under SCHED_FIFO
  int nice = 0;                  // otherwise
  std::string scheduling_lacks;  // why not SCHED_FIFO, a sentence part; empty if it was granted
  bool memory_locked = false;    // all of the process, also what it will allocate
  std::string memory_lacks;      // likewise
};
// One line: what was granted, what is missing, how to grant it to `program` (a path).
std::string in_words(const RealTimeGrant& grant, const std::string& program);

struct Watchdog {
  uint64_t unslept_ns = 200'000'000;
  uint64_t pause_ns = 10'000'000'000;
};

// Locks the memory of the whole process, also what it will map. It must be done before cards are attached to: where a ring is mapped
// already it takes some milliseconds, more than a poll deadline.
struct MemoryLock {
  bool locked = false;
  std::string lacks;  // why not, a sentence part
};
MemoryLock lock_memory();

// Applies to the thread that makes it, calls it and destroys it. The thread has its former scheduling afterwards; memory stays
// locked.
class RealTime {
 public:
  static constexpr int kPriority =
      10;  // above all that is not real-time, below the kernel's interrupt threads (50)
  static constexpr double kShare = 0.9;

  using Print = std::function<void(const std::string&)>;
  // `memory`: for the grant. `print` takes what happens later, as sentences.
  RealTime(const MemoryLock& memory, Print print, Watchdog watchdog = {});
  ~RealTime();
  RealTime(const RealTime&) = delete;
  RealTime& operator=(const RealTime&) = delete;

  const RealTimeGrant& grant() const { return grant_; }
  // How long the thread must sleep at least before it continues (CpuBudget). To be called once a sweep; also reports a thread that the watchdog
  // stopped, and gives it its priority back. `now_ns`: CLOCK_MONOTONIC.
  uint64_t rest_ns(uint64_t now_ns);

  struct Account {
    uint64_t rests = 0, rested_ns = 0;  // that rest_ns() required
    uint64_t stopped = 0;               // times the watchdog acted
  };
  const Account& account() const { return account_; }

 private:
  void begin();

  Print print_;
  Watchdog watchdog_;
  RealTimeGrant grant_;
  Account account_;
  CpuBudget budget_;
  int cpus_;  // on which it may run
  int nice_before_;
  bool running_ = false;  // under SCHED_FIFO
  uint64_t resume_ns_ = 0;
};

}  // namespace ttc::collect
