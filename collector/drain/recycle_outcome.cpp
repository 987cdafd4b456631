// How the stream continues behind a recycle.
#include <algorithm>
#include <utility>

#include "collector/core/epoch_entry.hpp"
#include "collector/drain/core_recycling.hpp"

namespace ttc::collect {
void CoreRecycling::publish_new_frames(uint32_t risc, const CoreRecycle::Result& result) {
  const LaneOutcome& o = result.lanes[risc];
  const LaneState& lane = core.lanes[risc];
  const uint64_t most = (publisher.max_chunk_bytes() - Publisher::kHeadBytes) / 4;
  for (size_t i = 0; i < o.frames.size();) {
    const NewFrame& first = o.frames[i];
    uint32_t words = 0;
    size_t n = i;
    for (; n < o.frames.size(); ++n) {
      const NewFrame& f = o.frames[n];
      if (f.in_new_lap != first.in_new_lap || f.at != first.at + words || words + f.words > most) break;
      words += f.words;
    }
    const bool front = first.in_new_lap;
    const std::vector<uint32_t>& source = front ? result.front[risc] : result.old_place[risc];
    const uint32_t* from = source.data() + (front ? first.at : first.at - lane.cursor);
    uint64_t* slot = publisher.claim(Publisher::kHeadBytes + (4ull * words + 7) / 8 * 8);
    std::vector<uint64_t> copy((words + 1) / 2);
    std::copy_n(from, words, reinterpret_cast<uint32_t*>(copy.data()));
    shm::store_bytes(slot + Publisher::kHeadBytes / 8, copy.data(), 8 * copy.size());
    announce_names();
    const Publisher::Span span{static_cast<uint8_t>(risc),
                               lane.lap.base + (front ? o.old_end : 0) + first.at,
                               words,
                               Publisher::kHeadBytes,
                               first.before,
                               shm::SpanSource::dram_log,
                               first.at + words};
    publisher.publish_words(slot, Publisher::kHeadBytes + 8 * copy.size(),
                            chunk_core(result.runs, result.read_time_ns, core.notes), {&span, 1});
    core.notes = 0;
    i = n;
  }
}

void CoreRecycling::count_new_frames(uint32_t risc, const LaneOutcome& o) {
  LaneState& lane = core.lanes[risc];
  lane.lap.frames += o.frames.size();
  dev.counters.frames += o.frames.size();
  std::vector<uint32_t> hosts;
  for (const NewFrame& f : o.frames) {
    dev.counters.markers += f.markers;
    hosts.push_back(f.host_id);
    if (risc == 0 && !f.sat_out) ++core.runs.delivered, ++core.runs.total, ++core.recycling.referee.came;
  }
  if (risc != 0) return;
  remember_hosts(hosts);
  dev.counters.programs = std::max(dev.counters.programs, core.runs.total);
}

// Counts the verdict on a lane that was cleared.
void CoreRecycling::count_verdict(const RecycleState& state, const LaneOutcome& o, bool lap,
                                  bool provisional) {
  RecycleAccount& account = dev.options.recycling->account;
  ++account.verdicts[static_cast<size_t>(o.verdict)];
  account.lanes += !state.reopened;
  account.provisional += provisional;
  account.withdrawn += state.reopened && !lap;
  for (const NewFrame& f : o.frames) account.recovered += !f.in_new_lap && f.at < o.old_end && lap;
}

void CoreRecycling::take_resolved_lane(uint32_t risc, const CoreRecycle::Result& result,
                                       const Proof& resolved) {
  LaneState& lane = core.lanes[risc];
  const LaneOutcome& o = result.lanes[risc];
  const bool cleared = result.cleared >> risc & 1;
  const bool found_again = o.verdict == Verdict::found_again;
  const bool may_lag = dev.facts.indices_may_lag;
  if (found_again) account_lost_place(risc, o, result);
  account_cut_frames(risc, o);
  publish_new_frames(risc, result);
  count_new_frames(risc, o);
  const uint32_t pos = lane.cursor;
  const bool lap = found_again || (cleared && o.verdict != Verdict::torn && o.verdict != Verdict::lost_write);
  const bool provisional = lap && !found_again && o.cursor == 0 && may_lag;
  if (cleared) count_verdict(core.recycling, o, lap, provisional);
  lane.cursor = provisional ? o.old_end : o.cursor;
  if (provisional)
    core.recycling.provisional |= 1u << risc;
  else if (lap)
    lane.lap.base += o.old_end;
  // The words before the cursor, wherever they are now.
  const bool at_front = lap && !provisional;
  const std::vector<uint32_t>& source = at_front ? result.front[risc] : result.old_place[risc];
  const uint32_t origin = at_front ? 0 : pos;
  if (lane.cursor != pos || at_front) {
    lane.canary.clear();
    lane.canary.append(std::span(source).first(lane.cursor - std::min(origin, lane.cursor)));
  }
  if (!o.frames.empty()) {
    lane.delivered = true;
    if (!found_again) core.account.extend(risc, resolved, o.digest.last_time);
  }
  lane.digest = o.digest;
  lane.forget_what_follows();
  lane.caution.waits = false;
  if (result.settled && lane.lap.frames != 0)
    lane.lap.ahead = static_cast<int64_t>(lane.lap.frames) - result.runs;
}

void CoreRecycling::take_resolved(const CoreRecycle& recycle, const Proof& resolved) {
  RecycleState& state = core.recycling;
  RecycleAccount& account = dev.options.recycling->account;
  const CoreRecycle::Result& result = recycle.result();
  account.surprises += recycle.lacks_frames() && !recycle.only_finds_place();
  account.found_again += recycle.lacks_frames();
  account.crossed += recycle.crossed();
  for (uint32_t r = 0; r < core.tile.riscs; ++r) take_resolved_lane(r, result, resolved);
  // Frames of the lap before lie under the new one's: their launches must not pass for its own.
  if (core.hosts.size() > 1) core.hosts.erase(core.hosts.begin(), core.hosts.end() - 1);
  core.seen.host_end = result.index;
  core.landing.all_landed(result.index, reader.now_ns());
  core.seen.run_counter = core.runs.counter = result.runs;
  state.referee.see(result.runs);
  core.polls.caught_up.ns = core.polls.proven_ns = result.read_time_ns;
  core.runs.missing_visits = 0;
  state.last = {result.runs, result.settled};
  if (!recycle.lacks_frames()) return;
  core.runs.delivered = result.runs;  // launches before it that lack are in the intervals
  state.place_lost = false;
  state.find_pause_ns = 0;
}

// Near the end of a log firmware writes the guaranteed words alone of a frame that does not fit.
void CoreRecycling::account_cut_frames(uint32_t risc, const LaneOutcome& taken) {
  for (size_t i = 0; i < taken.frames.size(); ++i) {
    const NewFrame& frame = taken.frames[i];
    const bool last = i + 1 == taken.frames.size();
    const uint64_t until = last ? taken.digest.last_time : taken.frames[i + 1].before.last_time;
    core.account.room_between(risc,
                              prove_room({.fits_any = frame.at + longest_frame() <= dev.log_words(),
                                          .not_cut = frame.words != device::kFirstCustomWord}),
                              frame.before.last_time, until);
  }
}

// What the lane pushed between its last frame that was taken and the first of `found` may be missing.
void CoreRecycling::account_lost_place(uint32_t risc, const LaneOutcome& found,
                                       const CoreRecycle::Result& result) {
  LaneState& lane = core.lanes[risc];
  if (found.frames.empty()) {
    const bool stayed = found.cursor == lane.cursor && !(result.cleared >> risc & 1);
    core.account.keep(risc, prove_same_place({.stayed = stayed, .never_delivered = !lane.delivered}));
    return core.account.end_of_drops(risc, cycles_at(result.read_time_ns));
  }
  const std::span<const uint32_t> log(result.front[risc]);
  const NewFrame& first = found.frames.front();
  const uint64_t begins =
      EpochEntry::gap_end(lane, log.subspan(first.at, first.words), lane.digest.last_time);
  core.account.deliver(risc, std::nullopt, begins, found.digest.last_time);
  core.account.end_of_drops(risc, begins);
}

}  // namespace ttc::collect
