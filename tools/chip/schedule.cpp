#include "tools/chip/schedule.hpp"

#include <algorithm>

namespace ttc::chip {
namespace {

constexpr size_t kMostAhead = 64;       // programs in the command queue
constexpr Cycles kWriteProgram = 1200;  // the dispatcher's, for a program of few cores
constexpr Cycles kWriteCore = 12;       // and for each core
constexpr Cycles kGoAfterDone = 260;    // from the last done to the next go message
constexpr double kCompileFactor = 40;   // the first of an op is built; the others are found in the cache

}  // namespace

Schedule::Schedule(Shape shape, ChipWorkload workload, HostPace pace, uint64_t seed, uint64_t hz)
    : shape_(std::move(shape)), workload_(std::move(workload)), pace_(pace), seed_(seed), hz_(hz) {}

Launched Schedule::next() {
  Launched l;
  l.number = number_++;
  l.op = &workload_.ops[op_];
  auto known = programs_.find(l.op);
  l.first_of_its_kind = known == programs_.end();
  if (l.first_of_its_kind)
    known = programs_.emplace(l.op, program_of(*l.op, shape_, workload_.jitter, seed_ + op_)).first;
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
  l.written_end = l.written_begin + kWriteProgram + kWriteCore * known->second.cores.size();
  l.go = dispatcher_free_ = std::max({l.written_end, done_ + kGoAfterDone, idle_});
  l.timeline = run(shape_, known->second, l.go, seed_ * 0x9e3779b97f4a7c15 + l.number);
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
