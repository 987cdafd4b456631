// Locks of a process: who held each for how long, and who waited while another thread held it. Pure: events in, spans out.
//
// A lock that is shared may have several holders, a recursive one the same several times: it is held from its first obtain to
// its last release. A wait is one that began while another thread held the lock; how long each obtain took is a field of its
// hold. Clients read times before they queue events, so that a time may lie before the one in front of it: no span ends
// before it begins.
#pragma once
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

namespace ttc::tools {

struct LockSpan {
  uint64_t lock = 0;
  uint32_t thread = 0;  // that held it, or waited
  uint64_t begin_ns = 0, end_ns = 0;
  bool wait = false;
  uint64_t waited_ns = 0;     // of a hold, before it
  uint32_t other = 0;         // of a wait: who held the lock when it began
  const char* cut = nullptr;  // why the end is no release or obtain
};

class HostLocks {
 public:
  // Each returns what ended with the event.
  std::vector<LockSpan> wait(uint64_t lock, uint32_t thread, uint64_t ns);
  std::vector<LockSpan> obtain(uint64_t lock, uint32_t thread, uint64_t ns);
  // `thread` 0: that of the only holder, as of a lock that is not shared.
  std::vector<LockSpan> release(uint64_t lock, uint32_t thread, uint64_t ns);
  // All that is open ends here, for a reason.
  std::vector<LockSpan> cut(uint64_t ns, const char* why);

 private:
  struct Holder {
    uint64_t since_ns = 0, waited_ns = 0;
    uint32_t times = 0;
  };
  struct Waiter {
    uint64_t since_ns = 0;
    bool held = false;  // by another, when it began
    uint32_t other = 0;
  };
  struct Lock {
    std::map<uint32_t, Holder> holders;  // by thread
    std::map<uint32_t, Waiter> waiters;
  };
  std::unordered_map<uint64_t, Lock> locks_;
};

}  // namespace ttc::tools
