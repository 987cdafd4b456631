// Plays a plan on the emulated card the way firmware writes: L1 buffers, then the DRAM logs, the index before
// the data where BRISC pushes for all, after it where a RISC pushes in the middle of a run. The card's
// virtual clock is moved to the launches' times. Before a log is full, and at the end, the host reads and
// resets, and waits until observers have what was there.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>

#include "tools/emulation/world.hpp"
#include "tools/replay/replay_plan.hpp"

namespace ttc::emulation {

struct ReplayOptions {
  double speed = 0;  // of the original; 0: as fast as it goes
  uint64_t hz = 0;   // of the card's clock
  uint64_t no_observer_ns =
      30'000'000'000;  // waiting for observers ends when no observer was there for so long
};

class ReplayPlayer {
 public:
  ReplayPlayer(World& world, const ReplayPlan& plan, const ReplayOptions& options);

  void play(const std::atomic<bool>& stop);
  uint64_t launches() const { return launches_; }
  uint64_t host_reads() const { return host_reads_; }
  uint64_t unread_words() const { return unread_words_; }  // that no observer fetched before they were reset

 private:
  struct Core {
    const WorldCore* where;
    bool used = false;     // by the plan
    bool entered = false;  // since the last reset
  };

  // An event on one core at one time; a core's steps are in order.
  struct Step {
    enum Kind : uint8_t { open, push, finish } kind;
    uint64_t at;  // as ReplayLaunch::begin
    const ReplayLaunch* launch;
    uint8_t risc = 0;
    const ReplayFrame* frame = nullptr;
  };

  static void append_steps(const ReplayLaunch& l, std::vector<Step>& steps);
  void schedule();
  void play(const Step& step);
  void open(const Core& core, const ReplayLaunch& l);
  void write(const Core& core, uint32_t risc, const ReplayFrame& frame);
  void push_in_run(const Core& core, const ReplayLaunch& l, uint32_t risc, const ReplayFrame& frame);
  void finish(const Core& core, const ReplayLaunch& l);
  void post(const Core& core, uint32_t risc, uint32_t at, uint32_t words);
  void stamp(const Core& core, uint32_t risc, uint16_t trace_counter);
  bool fits(const Core& core, const ReplayLaunch& l) const;
  uint32_t log_words() const { return world_.options().bytes_per_risc / 4; }
  void host_read(bool last);

  void clock_to(uint64_t cycles);
  void let_notice_clock(Core& core, uint64_t at);
  bool wait(const std::function<bool()>& done);
  void wait_read();
  void wait_polls(uint64_t polls, uint64_t at_least_ns);

  uint32_t control(const Core& core, uint32_t word) const;
  void set_control(const Core& core, uint32_t word, uint32_t value);
  void set_buffer(const Core& core, uint32_t risc, uint32_t word, uint32_t value);

  World& world_;
  const ReplayPlan& plan_;
  ReplayOptions options_;
  bool pad_lanes_;
  std::map<card::Coord, Core> cores_;
  std::vector<Step> steps_;
  const std::atomic<bool>* stop_ = nullptr;
  uint64_t pace_host_ns_ = 0, pace_cycles_ = 0;  // with a speed: the clock showed this then
  uint64_t noticed_cycles_ = 0;                  // observers have read the clock at this value or later
  uint64_t alone_since_ns_ = 0;
  bool waits_ = true;
  uint64_t launches_ = 0, host_reads_ = 0, unread_words_ = 0;
};

}  // namespace ttc::emulation
