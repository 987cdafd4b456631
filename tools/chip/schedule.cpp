#include "tools/chip/schedule.hpp"

#include <algorithm>

namespace ttc::chip {
namespace {

constexpr size_t kMostAhead = 64;       // programs in the command queue
constexpr Cycles kWriteProgram = 1200;  // the dispatcher's, for a program of few cores
constexpr Cycles kWriteCore = 12;       // and for each core
// The time from the last done to the next go message; published tables have 530 to 600 ns from FW zone to FW zone.
constexpr Cycles kGoAfterDone = 160;
constexpr double kCompileFactor = 40;  // the first of an op is built; the others are found in the cache

// FNV-1a.
uint64_t checksum_of(const Launched& l, const ChipWorkload& workload) {
  uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](uint64_t value) {
    for (int byte = 0; byte < 8; ++byte, value >>= 8) hash = (hash ^ (value & 0xff)) * 0x100000001b3;
  };
  add(static_cast<uint64_t>(l.op - workload.ops.data()));
  for (const char c : l.op->code) add(static_cast<unsigned char>(c));
  for (const Race& race : l.timeline.races)
    if (race.kind == Race::data) add(race.lost ? 0 : 1);
  return hash;
}

}  // namespace

Schedule::Schedule(Shape shape, ChipWorkload workload, HostPace pace, uint64_t seed, uint64_t hz)
    : shape_(std::move(shape)), workload_(std::move(workload)), pace_(pace), seed_(seed), hz_(hz) {
  for (size_t op = 0; op < workload_.ops.size(); ++op)
    programs_.push_back(program_of(workload_.ops[op], shape_, workload_.jitter, seed_ + op));
  launched_before_.resize(programs_.size());
  largest_.resize(programs_.size());
}

Launched Schedule::next() {
  Launched l;
  l.number = number_++;
  l.op = &workload_.ops[op_];
  const ChipProgram& program = programs_[op_];
  Sizes& largest = largest_[op_];
  l.first_of_its_kind = !launched_before_[op_];
  launched_before_[op_] = true;
  if (++repeated_ == l.op->repeat) {
    repeated_ = 0;
    op_ = (op_ + 1) % workload_.ops.size();
  }

  if (ends_.size() == kMostAhead) {
    host_free_ = std::max(host_free_, ends_.front());
    ends_.pop_front();
  }
  const double host_us = l.op->host_us * (l.first_of_its_kind ? kCompileFactor : 1);
  l.host_begin = host_free_ + of_us(l.op->gap_us);
  if (l.number > 0) l.host_begin = std::max(l.host_begin, host_before_ + pace_.apart);
  host_before_ = l.host_begin;
  l.host_end = host_free_ = l.host_begin + of_us(host_us);
  l.written_begin = std::max(l.host_end, dispatcher_free_);
  l.written_end = l.written_begin + kWriteProgram + kWriteCore * program.cores.size();
  l.go = dispatcher_free_ = std::max({l.written_end, done_ + kGoAfterDone, idle_});
  try {
    l.timeline = run(shape_, program, l.go, seed_ * 0x9e3779b97f4a7c15 + l.number, false, largest);
  } catch (Deadlock& deadlock) {
    l.timeline = std::move(deadlock.until);
    l.hung = deadlock.what();
  }
  largest.moments = std::max(largest.moments, l.timeline.moments.size());
  largest.steps = std::max(largest.steps, l.timeline.steps.size());
  l.checksum = checksum_of(l, workload_);
  done_ = l.timeline.end();
  idle_ = l.timeline.steps.back().at + 1;
  ends_.push_back(done_);
  return l;
}

std::vector<ProgramPart> program_path(const Launched& l, Cycles done_before) {
  std::vector<ProgramPart> path;
  const auto part = [&](Cycles begin, Cycles end, const char* what) {
    if (begin < end) path.push_back({begin, end, kNoCore, 0, what});
  };
  if (l.go > l.written_end) {
    part(done_before, l.go, "previous program");
  } else {
    if (l.written_begin == l.host_end) part(l.host_begin, l.host_end, "host");
    part(l.written_begin, l.written_end, "dispatcher writes the program");
  }
  for (const PathPart& p : critical_path(l.timeline)) {
    std::string what(to_string(p.why));
    if (p.why == Why::channel || p.why == Why::port || p.why == Why::buffer || p.why == Why::semaphore)
      what += " " + std::to_string(p.what);
    path.push_back({p.begin, p.end, p.core, p.risc, what});
  }
  return path;
}

}  // namespace ttc::chip
