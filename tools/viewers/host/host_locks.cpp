#include "tools/viewers/host/host_locks.hpp"

#include <algorithm>

namespace ttc::tools {
namespace {

LockSpan span(uint64_t lock, uint32_t thread, uint64_t begin_ns, uint64_t end_ns) {
  LockSpan s;
  s.lock = lock;
  s.thread = thread;
  s.begin_ns = begin_ns;
  s.end_ns = std::max(begin_ns, end_ns);
  return s;
}

}  // namespace

std::vector<LockSpan> HostLocks::wait(uint64_t lock, uint32_t thread, uint64_t ns) {
  Lock& own = locks_[lock];
  const auto other = std::find_if(own.holders.begin(), own.holders.end(),
                                  [&](const auto& holder) { return holder.first != thread; });
  own.waiters[thread] = {ns, other != own.holders.end(), other == own.holders.end() ? 0 : other->first};
  return {};
}

std::vector<LockSpan> HostLocks::obtain(uint64_t lock, uint32_t thread, uint64_t ns) {
  Lock& own = locks_[lock];
  std::vector<LockSpan> ended;
  uint64_t waited_ns = 0;
  if (const auto waiter = own.waiters.find(thread); waiter != own.waiters.end()) {
    const Waiter& w = waiter->second;
    waited_ns = ns - std::min(ns, w.since_ns);
    if (w.held) {
      ended.push_back(span(lock, thread, w.since_ns, ns));
      ended.back().wait = true;
      ended.back().other = w.other;
    }
    own.waiters.erase(waiter);
  }
  Holder& holder = own.holders[thread];
  if (holder.times++ == 0) {
    holder.since_ns = ns;
    holder.waited_ns = waited_ns;
  }
  return ended;
}

std::vector<LockSpan> HostLocks::release(uint64_t lock, uint32_t thread, uint64_t ns) {
  Lock& own = locks_[lock];
  auto holder = own.holders.find(thread);
  if (thread == 0 && own.holders.size() == 1) holder = own.holders.begin();
  if (holder == own.holders.end()) return {};  // obtained before the client was read
  Holder& h = holder->second;
  if (--h.times > 0) return {};
  std::vector<LockSpan> ended{span(lock, holder->first, h.since_ns, ns)};
  ended.back().waited_ns = h.waited_ns;
  own.holders.erase(holder);
  return ended;
}

std::vector<LockSpan> HostLocks::cut(uint64_t ns, const char* why) {
  std::vector<LockSpan> ended;
  for (auto& [lock, own] : locks_) {
    for (const auto& [thread, h] : own.holders) {
      ended.push_back(span(lock, thread, h.since_ns, ns));
      ended.back().waited_ns = h.waited_ns;
      ended.back().cut = why;
    }
    for (const auto& [thread, w] : own.waiters) {
      if (!w.held) continue;
      ended.push_back(span(lock, thread, w.since_ns, ns));
      ended.back().wait = true;
      ended.back().other = w.other;
      ended.back().cut = why;
    }
  }
  locks_.clear();
  std::stable_sort(ended.begin(), ended.end(),
                   [](const LockSpan& a, const LockSpan& b) { return a.begin_ns < b.begin_ns; });
  return ended;
}

}  // namespace ttc::tools
