#include "cut_mapping.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>

namespace ttc::shm {

// `version` is odd while begin and end change, so that the handler takes them together or not at all. The one of a thread that is
// inside the handler does not change: the mapping is being read.
struct WatchedMapping {
  std::atomic<uint32_t> version{0};
  std::atomic<uintptr_t> begin{0}, end{0};  // 0, 0: free
  std::atomic<bool> cut{false};
  WatchedMapping* next = nullptr;
};

namespace {

std::atomic<WatchedMapping*> watched_mappings{nullptr};  // none is ever removed: they are used again
std::mutex changing;  // of those who add and free; never taken by the handler
struct sigaction before {};

WatchedMapping* mapping_of(uintptr_t address) {
  for (WatchedMapping* w = watched_mappings.load(std::memory_order_acquire); w; w = w->next) {
    const uint32_t version = w->version.load(std::memory_order_acquire);
    const uintptr_t begin = w->begin.load(std::memory_order_acquire);
    const uintptr_t end = w->end.load(std::memory_order_acquire);
    if (version % 2 == 0 && w->version.load(std::memory_order_acquire) == version && begin <= address &&
        address < end)
      return w;
  }
  return nullptr;
}

void pass_on(int number, siginfo_t* info, void* context) {
  if (before.sa_flags & SA_SIGINFO) return before.sa_sigaction(number, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) return before.sa_handler(number);
  // The load is made again on return and ends the process as it would have without us.
  sigaction(SIGBUS, &before, nullptr);
}

void on_sigbus(int number, siginfo_t* info, void* context) {
  const int error = errno;
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  WatchedMapping* const w =
      info->si_code > 0 ? mapping_of(address) : nullptr;  // of a load, not sent by a process
  if (!w) return pass_on(number, info, context);
  // All behind a page that is behind the end is, too.
  const uintptr_t page = address & ~(static_cast<uintptr_t>(sysconf(_SC_PAGESIZE)) - 1);
  void* const zeros = mmap(reinterpret_cast<void*>(page), w->end.load(std::memory_order_relaxed) - page,
                           PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (zeros == MAP_FAILED) return pass_on(number, info, context);
  w->cut.store(true, std::memory_order_release);
  errno = error;
}

void install() {
  struct sigaction action {};
  action.sa_sigaction = on_sigbus;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, &before);
}

void set(WatchedMapping& w, uintptr_t begin, uintptr_t end) {
  w.version.fetch_add(1, std::memory_order_acq_rel);
  w.begin.store(begin, std::memory_order_release);
  w.end.store(end, std::memory_order_release);
  w.version.fetch_add(1, std::memory_order_acq_rel);
}

}  // namespace

CutMapping::CutMapping(const void* at, size_t bytes) {
  static std::once_flag installed;
  std::call_once(installed, install);
  const auto begin = reinterpret_cast<uintptr_t>(at);
  const std::lock_guard lock(changing);
  WatchedMapping* free = watched_mappings.load(std::memory_order_relaxed);
  while (free && free->end.load(std::memory_order_relaxed) != 0) free = free->next;
  if (!free) {
    free = new WatchedMapping;
    free->next = watched_mappings.load(std::memory_order_relaxed);
    watched_mappings.store(free, std::memory_order_release);
  }
  free->cut.store(false, std::memory_order_relaxed);
  set(*free, begin, begin + bytes);
  watched_ = free;
}

CutMapping::~CutMapping() {
  const std::lock_guard lock(changing);
  set(*watched_, 0, 0);
}

bool CutMapping::cut() const {
  return watched_->cut.load(std::memory_order_acquire);
}

}  // namespace ttc::shm
