#include "collector/drain/continuity.hpp"

namespace ttc::collect {

std::optional<Proof> prove_same_epoch(const SameEpoch& e) {
  if (e.counters_not_back && e.canaries_intact && e.in_time) return Proof();
  return std::nullopt;
}

std::optional<Proof> prove_behind_reset(const BehindReset& e) {
  if (e.index_not_there && e.words_stand) return Proof();
  return std::nullopt;
}

std::optional<Proof> prove_across_one_reset(const AcrossReset& e) {
  const bool to_the_end = e.older_behind || e.with_the_others;
  const bool log_complete = e.nothing_announced || (e.cursor_stands && e.read_through && to_the_end);
  if (e.l1_shows_end || (log_complete && e.in_time_or_idle)) return Proof();
  return std::nullopt;
}

std::optional<Proof> prove_first_frame(const FirstFrame& e) {
  const bool shows_resets = e.counts_launches || e.pushes_often;
  if (e.another_lane_joined || e.host_never_read || (e.in_sight && shows_resets)) return Proof();
  return std::nullopt;
}

std::optional<Proof> prove_recycled(const RecycledLap& e) {
  if (e.resolved) return Proof();
  return std::nullopt;
}

std::optional<Proof> prove_l1_tail(const L1Tail& e) {
  if (e.begins_with_canary || e.nothing_before) return Proof();
  return std::nullopt;
}

}  // namespace ttc::collect
