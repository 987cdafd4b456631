// When the threads of a workload's processes had a CPU and when they waited, out of the context switches that `ttcollect run
// --context-switches` records. A thread that is woken is ready: it waits for a CPU and for nothing else, as one that was preempted.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shm/chunk.hpp"
#include "ttcollect/host_events.hpp"

namespace ttc::report {

struct ThreadTime {
  std::string process, name;
  uint32_t tid = 0;
  uint64_t switches = 0;  // that it got a CPU
  uint64_t running_ns = 0, sleeping_ns = 0, blocked_ns = 0, ready_ns = 0, other_ns = 0;
  uint64_t longest_ready_ns = 0;
  uint64_t begin_ns = 0, end_ns = 0;  // of what is known, CLOCK_MONOTONIC_RAW
};

class ThreadTimes {
 public:
  // All chunks but those of the host's side are passed over.
  void push(std::span<const uint64_t> chunk);
  // The threads by process, the busiest thread first.
  std::vector<ThreadTime> threads() const;

 private:
  enum class Is : uint8_t { unknown, running, sleeping, blocked, ready, other };
  struct Thread {
    ThreadTime time;
    Is is = Is::unknown;
    uint64_t since_ns = 0;
    bool any = false;
  };
  struct Process {
    std::string label;
    std::map<uint32_t, Thread> threads;
  };
  static void go(Thread& thread, Is next, uint64_t at_ns);
  std::map<std::pair<uint64_t, uint32_t>, Process> processes_;  // by session and number
};

}  // namespace ttc::report
