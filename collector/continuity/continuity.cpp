#include "collector/continuity/continuity.hpp"

namespace ttc::collect {

std::optional<Proof> prove_same_epoch(const SameEpoch& e) {
  if (e.counters_not_back && e.canaries_intact && e.in_time) return Proof();
  return std::nullopt;
}

bool words_are_old(const BehindReset& e) {
  return e.index_not_there && e.words_stand;
}

std::optional<Proof> prove_behind_reset(const BehindReset& e) {
  if (words_are_old(e) && e.at_cursor && e.in_sight && e.l1_continues) return Proof();
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

std::optional<Proof> prove_no_launch_between(const UnsettledWords& e) {
  if (e.first_seen || e.not_later) return Proof();
  return std::nullopt;
}

std::optional<Proof> prove_counted_runs(const CountedRuns& e) {
  if (e.all_came || e.may_still_come || e.dropped || e.known) return Proof();
  return std::nullopt;
}

std::optional<Proof> prove_quiet(const QuietCore& e) {
  if (e.none_since || e.host_never_read || e.not_closed || e.being_pushed || e.uncounted) return Proof();
  return std::nullopt;
}

std::optional<Proof> prove_recycled(const RecycledLap& e) {
  if (e.resolved) return Proof();
  return std::nullopt;
}

std::optional<Proof> prove_same_place(const PlaceFound& e) {
  if (e.stayed || e.never_delivered) return Proof();
  return std::nullopt;
}

std::optional<Proof> prove_l1_tail(const L1Tail& e) {
  const bool follows = e.begins_with_canary || e.nothing_before || e.behind_last_push;
  if (follows || e.last_of_replay || e.holds_none) return Proof();
  return std::nullopt;
}

std::optional<Proof> prove_push_zones(const PushZones& e) {
  if (e.no_push || e.slots_hold_it) return Proof();
  return std::nullopt;
}

std::optional<RoomProof> prove_room(const LogRoom& e) {
  if (e.fits_any || e.not_said || e.nothing_before || e.emptied || e.not_cut) return RoomProof();
  return std::nullopt;
}

}  // namespace ttc::collect
