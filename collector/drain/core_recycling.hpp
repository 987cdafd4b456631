// Connects a core's machine and recycling (RECYCLE.md): when a core is recycled and why not, and how the stream continues behind a
// recycle. The protocol itself is core_recycle.cpp.
#pragma once
#include <span>
#include <string>

#include "collector/core/core_part.hpp"

namespace ttc::collect {

class CoreRecycling : CorePart {
 public:
  explicit CoreRecycling(const CorePart& part) : CorePart(part) {}

  // Called at the end of a visit that found news.
  card::Access consider(const ControlSample& snap);
  bool provisional_moved(const ControlSample& snap) const;
  void reopen();
  card::Access go_on();
  // A recycle that cleared the lane's index ended without a verdict.
  void account_unresolved(uint32_t risc, const CoreRecycle& recycle);
  // A host reset: laps and counts start from zero.
  void forget_laps();
  // Markers of those who push in the middle of runs, whether or not a push has shown it yet.
  static bool pushes_soon(std::span<const uint32_t> frames);

 private:
  double fill(const ControlSample& snap) const;
  std::string why_never() const;
  RecycleCore recycle_core() const;
  CoreRecycle::Deps recycle_deps();
  void find_place();
  void report_refusal();
  void announce_fill(double filled);
  void go_on_after_surprise(const CoreRecycle& recycle);

  // recycle_outcome.cpp
  void publish_new_frames(uint32_t risc, const CoreRecycle::Result& result);
  void count_new_frames(uint32_t risc, const LaneOutcome& outcome);
  void count_verdict(const RecycleState& state, const LaneOutcome& outcome, bool lap, bool provisional);
  void take_resolved_lane(uint32_t risc, const CoreRecycle::Result& result, const Proof& resolved);
  void take_resolved(const CoreRecycle& recycle, const Proof& resolved);
  void account_cut_frames(uint32_t risc, const LaneOutcome& taken);
  void account_lost_place(uint32_t risc, const LaneOutcome& found, const CoreRecycle::Result& result);
};

}  // namespace ttc::collect
