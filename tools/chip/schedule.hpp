// Programs one after another, as a host enqueues them and a dispatcher launches them: the host runs ahead, the dispatcher writes
// a program's configuration while the one before runs, and its go message leaves when both are done with.
#pragma once
#include <algorithm>
#include <deque>
#include <vector>

#include "tools/chip/workload.hpp"

namespace ttc::chip {

struct Launched {
  uint32_t number = 0;  // from 0
  const ChipOp* op = nullptr;
  bool first_of_its_kind = false;             // the host has it compiled, later ones are found in its cache
  Cycles host_begin = 0, host_end = 0;        // it was enqueued
  Cycles written_begin = 0, written_end = 0;  // its configuration, by the dispatcher
  Cycles go = 0;
  Timeline timeline;
  std::string hung;  // the program never ends: which RISC waits for what. Nothing follows it
  // Hash of its output: the same for an op in every run, unless a race was lost.
  uint64_t checksum = 0;
};

// The critical path of one program, from what held up its go message to the moment the dispatcher has read that it is done.
struct ProgramPart {
  Cycles begin, end;
  uint16_t core;  // kNoCore: host or dispatcher
  uint8_t risc;
  std::string what;
};
std::vector<ProgramPart> program_path(const Launched& launched, Cycles done_before);

struct HostPace {
  Cycles apart = 0;  // the host enqueues programs no closer than this, whatever they are
};

class Schedule {
 public:
  // Times begin with 0. `hz`: of the tile clock, for what the host takes. Throws WorkloadError (program_of).
  Schedule(Shape shape, ChipWorkload workload, HostPace pace, uint64_t seed, uint64_t hz);

  // Its steps begin with the go message, which no earlier program's steps reach past.
  Launched next();
  uint32_t launched() const { return number_; }
  // Cores that take no part in the simulation are busy with the last program until then: the next go message waits for them.
  void others_done(Cycles at) { idle_ = std::max(idle_, at); }
  const Shape& shape() const { return shape_; }
  void set_watched(Watched watched) { shape_.watched = std::move(watched); }

 private:
  Cycles of_us(double us) const { return static_cast<Cycles>(us * static_cast<double>(hz_) / 1e6); }

  Shape shape_;
  ChipWorkload workload_;
  HostPace pace_;
  uint64_t seed_, hz_;
  Cycles host_free_ = 0, host_before_ = 0, dispatcher_free_ = 0, done_ = 0, idle_ = 0;
  std::deque<Cycles> ends_;            // of programs the host may be ahead of
  std::vector<ChipProgram> programs_;  // by op
  std::vector<bool> launched_before_;  // by op; the first time it is compiled
  std::vector<Sizes> largest_;         // by op, of its timelines so far
  uint32_t number_ = 0;
  size_t op_ = 0;
  unsigned repeated_ = 0;
};

}  // namespace ttc::chip
