#include "tools/report/host/thread_times.hpp"

#include <algorithm>

#include "tools/report/host/host_stream.hpp"

namespace ttc::report {

using collect::EventKind;
using collect::HostEvent;
using collect::ThreadState;

// Switches of different CPUs may come a little out of order.
void ThreadTimes::go(Thread& thread, Is next, uint64_t at_ns) {
  ThreadTime& time = thread.time;
  if (!thread.any) time.begin_ns = at_ns;
  thread.any = true;
  time.end_ns = std::max(time.end_ns, at_ns);
  const uint64_t took = thread.is != Is::unknown && at_ns > thread.since_ns ? at_ns - thread.since_ns : 0;
  switch (thread.is) {
    case Is::running:
      time.running_ns += took;
      break;
    case Is::sleeping:
      time.sleeping_ns += took;
      break;
    case Is::blocked:
      time.blocked_ns += took;
      break;
    case Is::ready:
      time.ready_ns += took;
      time.longest_ready_ns = std::max(time.longest_ready_ns, took);
      break;
    case Is::other:
      time.other_ns += took;
      break;
    case Is::unknown:
      break;
  }
  time.switches += next == Is::running;
  thread.is = next;
  thread.since_ns = at_ns;
}

void ThreadTimes::push(std::span<const uint64_t> chunk) {
  const shm::ChunkHeader& h = shm::header_of(chunk);
  if (h.kind != shm::ChunkKind::host_events && h.kind != shm::ChunkKind::host_names) return;
  if (shm::body_of(chunk).empty()) return;  // redacted
  collect::HostChunkReader reader(shm::body_of(chunk));
  Process& process = processes_[{h.session, reader.head().process}];
  for (HostEvent event; reader.next(event);) {
    const auto at =
        static_cast<uint64_t>(std::max<int64_t>(collect::raw_ns_of(reader.head(), event.time), 0));
    switch (event.kind) {
      case EventKind::process:
        process.label = process_of(event).label();
        break;
      case EventKind::thread_name:
        process.threads[event.subject].time.name = event.text;
        break;
      case EventKind::thread_runs:
        go(process.threads[event.subject], Is::running, at);
        break;
      case EventKind::thread_woken:
        if (Thread& thread = process.threads[event.subject]; thread.is != Is::running)
          go(thread, Is::ready, at);
        break;
      case EventKind::thread_stops: {
        constexpr unsigned kStateShift = 8;
        const auto state = static_cast<ThreadState>(event.value >> kStateShift);
        go(process.threads[event.subject],
           state == ThreadState::preempted ? Is::ready
           : state == ThreadState::sleeps  ? Is::sleeping
           : state == ThreadState::blocked ? Is::blocked
                                           : Is::other,
           at);
        break;
      }
      default:
        break;
    }
  }
}

std::vector<ThreadTime> ThreadTimes::threads() const {
  std::vector<ThreadTime> all;
  for (const auto& [number, process] : processes_) {
    const size_t first = all.size();
    for (const auto& [tid, thread] : process.threads) {
      if (!thread.any) continue;
      all.push_back(thread.time);
      all.back().tid = tid;
      all.back().process = process.label;
    }
    std::stable_sort(all.begin() + static_cast<std::ptrdiff_t>(first), all.end(),
                     [](const ThreadTime& a, const ThreadTime& b) { return a.running_ns > b.running_ns; });
  }
  return all;
}

}  // namespace ttc::report
