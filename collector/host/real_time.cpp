#include "collector/host/real_time.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "collector/host/cpu_set.hpp"

namespace ttc::collect {
namespace {

constexpr int kBestNice = -20;

std::atomic<int> real_time_threads{0};
// Written by the signal's handler on the thread that got it, so that no other thread reads it.
thread_local volatile sig_atomic_t stopped_by_watchdog = 0;

uint64_t thread_cpu_ns() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
}

uint64_t monotonic_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
}

// The soft limit, after it was raised to the hard one.
rlim_t raised_limit(__rlimit_resource resource) {
  rlimit limit{};
  getrlimit(resource, &limit);
  if (limit.rlim_cur != limit.rlim_max) {
    const rlimit raised{limit.rlim_max, limit.rlim_max};
    if (setrlimit(resource, &raised) == 0) limit = raised;
  }
  return limit.rlim_cur;
}

std::string in_units(rlim_t limit, rlim_t unit, const char* name) {
  return limit == RLIM_INFINITY ? "unlimited" : std::to_string(limit / unit) + name;
}

// Async-signal-safe: two system calls and a thread's own variable. The kernel signals the thread that did not sleep; on another thread the
// signal is that of RLIMIT_CPU, which ends the process as it would without this handler.
void on_cpu_limit(int number) {
  const int saved = errno;
  if ((syscall(SYS_sched_getscheduler, 0) & ~SCHED_RESET_ON_FORK) == SCHED_FIFO) {
    const sched_param none{};
    syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &none);
    stopped_by_watchdog = 1;
  } else {
    signal(number, SIG_DFL);
    raise(number);
  }
  errno = saved;
}

void take_cpu_limit_signal() {
  struct sigaction action {};
  action.sa_handler = on_cpu_limit;
  action.sa_flags = SA_RESTART;
  sigaction(SIGXCPU, &action, nullptr);
}

// Only an attempt shows what the kernel permits: capabilities, limits, cgroups, filters and user namespaces all take part.
void schedule(RealTimeGrant& grant, int nice_before) {
  const rlim_t most = raised_limit(RLIMIT_RTPRIO);
  for (const int priority :
       {RealTime::kPriority, static_cast<int>(std::min<rlim_t>(most, RealTime::kPriority))}) {
    if (priority == 0) break;
    const sched_param wanted{priority};
    if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &wanted) == 0) {
      grant = {RealTimeGrant::Scheduling::fifo,
               priority,
               nice_before,
               {},
               grant.memory_locked,
               grant.memory_lacks};
      return;
    }
    grant.scheduling_lacks = std::strerror(errno);
  }
  grant.scheduling_lacks += "; RLIMIT_RTPRIO is " + std::to_string(most);
  const rlim_t nice_limit = raised_limit(RLIMIT_NICE);  // 20 - the best value, getrlimit(2)
  const int permitted = 20 - static_cast<int>(std::min<rlim_t>(nice_limit, 40));
  grant.nice = nice_before;
  for (const int nice : {kBestNice, permitted}) {
    if (nice >= nice_before || setpriority(PRIO_PROCESS, 0, nice) != 0) continue;
    grant.scheduling = RealTimeGrant::Scheduling::nice;
    grant.nice = nice;
    return;
  }
}

// Future mappings may be locked only if no limit applies: mappings beyond a limit would fail from then on. If the limit
// is finite, one mapping that exceeds it shows whether it applies to this process.
bool limit_applies(rlim_t limit) {
  if (limit == RLIM_INFINITY) return false;
  const size_t bytes = limit + 4096;
  void* probe = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (probe == MAP_FAILED) return true;
  munmap(probe, bytes);
  return false;
}

std::string how_to_grant(const RealTimeGrant& grant, const std::string& program) {
  std::string capabilities, lines, unit, container;
  const auto add = [&](const char* capability, const std::string& line, const std::string& setting,
                       const char* option) {
    capabilities += (capabilities.empty() ? "" : ",") + std::string(capability);
    lines += (lines.empty() ? "\"" : " and \"") + line + "\"";
    unit += (unit.empty() ? "" : " ") + setting;
    container += (container.empty() ? "" : " ") + std::string(option);
  };
  const std::string priority = std::to_string(RealTime::kPriority);
  if (!grant.scheduling_lacks.empty())
    add("cap_sys_nice", "USER - rtprio " + priority, "LimitRTPRIO=" + priority + " RestrictRealtime=no",
        "--cap-add SYS_NICE");
  if (!grant.memory_locked)
    add("cap_ipc_lock", "USER - memlock unlimited", "LimitMEMLOCK=infinity", "--cap-add IPC_LOCK");
  return "sudo setcap " + capabilities + "=ep " + program + ", or " + lines +
         " in /etc/security/limits.conf; in a service " + unit + "; of a container " + container;
}

}  // namespace

// Pages are locked as they are touched: stacks and arenas that are never used take no memory.
MemoryLock lock_memory() {
  const rlim_t limit = raised_limit(RLIMIT_MEMLOCK);
  const bool asked = mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) == 0;
  const int error = asked ? ENOMEM : errno;
  if (asked && !limit_applies(limit)) return {true, {}};
  if (asked) munlockall();
  return {false, std::string(std::strerror(error)) + "; RLIMIT_MEMLOCK is " + in_units(limit, 1024, " KiB")};
}

std::string in_words(const RealTimeGrant& grant, const std::string& program) {
  using Scheduling = RealTimeGrant::Scheduling;
  std::string text = "--realtime: the drain thread ";
  if (grant.scheduling == Scheduling::fifo)
    text += "is under SCHED_FIFO, priority " + std::to_string(grant.priority);
  else
    text += (grant.scheduling == Scheduling::nice ? "is at nice " : "stays at nice ") +
            std::to_string(grant.nice) + ", as SCHED_FIFO is refused (" + grant.scheduling_lacks + ")";
  text += grant.memory_locked ? "; memory is locked" : "; memory is not locked (" + grant.memory_lacks + ")";
  if (grant.scheduling_lacks.empty() && grant.memory_locked) return text;
  return text + ". To grant what is missing: " + how_to_grant(grant, program);
}

RealTime::RealTime(const MemoryLock& memory, Print print, Watchdog watchdog)
    : print_(std::move(print)),
      watchdog_(watchdog),
      budget_(monotonic_ns(), thread_cpu_ns()),
      cpus_(std::max(1, static_cast<int>(allowed_cpus().size()))),
      nice_before_(getpriority(PRIO_PROCESS, 0)) {
  stopped_by_watchdog = 0;  // also makes room for it, which the handler must not
  take_cpu_limit_signal();
  grant_.memory_locked = memory.locked;
  grant_.memory_lacks = memory.lacks;
  begin();
}

RealTime::~RealTime() {
  const sched_param none{};
  if (running_) --real_time_threads;
  sched_setscheduler(0, SCHED_OTHER, &none);
  if (grant_.scheduling == RealTimeGrant::Scheduling::nice) setpriority(PRIO_PROCESS, 0, nice_before_);
}

// The limit first: the kernel raises it each time it signals.
void RealTime::begin() {
  rlimit limit{};
  getrlimit(RLIMIT_RTTIME, &limit);
  limit.rlim_cur = watchdog_.unslept_ns / 1000;
  if (limit.rlim_max != RLIM_INFINITY)
    limit.rlim_cur = std::min(limit.rlim_cur, limit.rlim_max / 2);  // at the hard limit the kernel kills
  setrlimit(RLIMIT_RTTIME, &limit);
  schedule(grant_, nice_before_);
  running_ = grant_.scheduling == RealTimeGrant::Scheduling::fifo;
  if (running_) ++real_time_threads;
  resume_ns_ = 0;
}

uint64_t RealTime::rest_ns(uint64_t now_ns) {
  if (stopped_by_watchdog) {
    stopped_by_watchdog = 0;
    running_ = false;
    --real_time_threads;
    ++account_.stopped;
    resume_ns_ = now_ns + watchdog_.pause_ns;
    print_("the drain thread did not sleep for " + std::to_string(watchdog_.unslept_ns / 1'000'000) +
           " ms, so it has no real-time priority for " + std::to_string(watchdog_.pause_ns / 1'000'000'000) +
           " s");
  }
  if (resume_ns_ && now_ns >= resume_ns_) begin();
  if (!running_) return 0;
  const double share = kShare * std::min(1.0, static_cast<double>(cpus_) / real_time_threads.load());
  const uint64_t rest = budget_.rest_ns(now_ns, thread_cpu_ns(), share);
  account_.rests += rest != 0;
  account_.rested_ns += rest;
  return rest;
}

}  // namespace ttc::collect
