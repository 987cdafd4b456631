// Paces an emulated workload by its observers: it continues only when they have fetched all words, so that a test can require zero
// loss. The host's reads of results wait for them likewise.
#pragma once
#include <atomic>
#include <cstdint>
#include <map>
#include <vector>

#include "tools/emulation/core.hpp"

namespace ttc::emulation {

class Pacing {
 public:
  // Stops waiting when no observer was attached for `no_observer_ns`.
  Pacing(World& world, uint64_t no_observer_ns)
      : world_(world),
        no_observer_ns_(no_observer_ns),
        on_(world.options().pace),
        first_after_read_(on_),
        at_once_(world.options().faults.is_unlike(Unlike::quick_relaunch)) {}

  void add(EmulatedCore& core) { cores_.push_back(&core); }
  void begin(const std::atomic<bool>& stop) { stop_ = &stop; }
  bool on() const { return on_; }
  // Waits, before the first launch after a reset, until an observer has polled the core.
  void before_launch(const EmulatedCore& core);
  void launched() { first_after_read_ = false; }
  // Waits until no core has more than `at_most` programs that were not fetched.
  void wait_unread(size_t at_most);
  // The host reads results and resets all cores. `last`: no launch follows, so observers need not detect the reset.
  void host_read(bool last);
  uint64_t host_reads() const { return host_reads_; }
  // Lets some time pass for another process; false: stop waiting.
  bool wait_step();

 private:
  struct LastPoll {
    uint64_t polls, seen_ns;  // of observers, and when they were counted
  };

  bool waits_for(const EmulatedCore& core);
  void wait_noticed();
  void wait_polls(const EmulatedCore& core, uint64_t polls);

  World& world_;
  uint64_t no_observer_ns_;
  bool on_;
  bool first_after_read_;
  bool at_once_;  // launches follow a results read at once, whether or not observers have detected it
  std::vector<EmulatedCore*> cores_;
  std::map<const EmulatedCore*, LastPoll> last_polls_;
  const std::atomic<bool>* stop_ = nullptr;
  uint64_t host_reads_ = 0, alone_since_ns_ = 0;
};

}  // namespace ttc::emulation
