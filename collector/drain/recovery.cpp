// What the host rewound over is still in DRAM until new frames overwrite it from the front. This file takes
// back what can be proven to follow the last delivered frame, and accounts for the rest.
#include <algorithm>
#include <utility>

#include "collector/drain/drain.hpp"

namespace ttc::collect {
namespace {

using card::Access;
using shm::LossCause;

constexpr int kSnapshotTries = 16;

}  // namespace

// The host writes the vector word by word; what is seen first may be half old. Two equal looks in a row are
// taken as the new state.
Access Drain::begin_epoch(CoreState& core) {
  core.polls.resets_checked = resets_.counted();
  read_clock(kCeilingAgeNs);
  auto snap = sample(core);
  for (int i = 0; i < kSnapshotTries && snap; ++i) {
    const auto again = sample(core);
    const bool same = again && again->host_end == snap->host_end && again->run_counter == snap->run_counter;
    snap = again;
    if (same) break;
  }
  if (!snap) return snap.error();
  if (const Access a = take_what_was_reset(core, *snap); a != Access::ok) return a;
  const auto was = core.rewind.late ? was_idle(core) : false;
  if (!was) return was.error();
  const bool idle = *was;
  // (In trace-only mode a replay's last frame is pushed by the next replay, reset or not.)
  if (kind_of(core).accumulates)
    if (const Access a = take_accumulated(core, *snap, idle); a != Access::ok) return a;
  core.account.begin_epoch(prove_reset(core, !core.rewind.late, idle));
  core.across = {};
  core.seen = *snap;
  ++epochs_;
  core.runs.begin_epoch();
  core.recycling.referee.see(snap->run_counter);
  core.landing.begin_epoch();
  core.epoch = {snap->read_time_ns, resets_.counted(), std::nullopt, true};
  core.polls.check_all = false;
  core.polls.proven_ns = snap->read_time_ns;
  core.rewind = {};
  core.firmware.proven = false;
  core.hosts.clear();  // older frames below must not pass for launches of this epoch
  core.notes |= shm::kNewEpoch;
  forget_laps(core);
  for (LaneState& lane : core.lanes) lane.begin_epoch();
  return Access::ok;
}

// After a host reset: delivers what L1 holds of the epoch that has ended, behind an interval where the log proves nothing.
Access Drain::take_accumulated(CoreState& core, const ControlSample& snap, bool idle) {
  const auto proofs = prove_reset(core, !core.rewind.late, idle);
  uint32_t pushed = 0;  // to the log of the new epoch
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r) {
    core.account.keep(r, proofs[r]);
    pushed |= uint32_t{snap.host_end[r] != 0} << r;
  }
  // The zones of the old epoch's last push were in slots that the new epoch may have cleared.
  if (pushed & 1) core.account.keep(0, prove_push_zones({.no_push = core.seen.run_counter == 0}));
  if (const Access a = publish_l1_rest(core, pushed); a != Access::ok) return a;
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r) core.across[r]->evidence.l1_shows_end = !(pushed >> r & 1);
  return Access::ok;
}

card::Expected<bool> Drain::frame_waits_at_front(const CoreState& core, uint32_t risc, FrontKinds kinds) {
  std::array<uint64_t, 8> raw;
  if (const Access a = reader_.log(core.core, risc, 0, raw); a != Access::ok) return card::failed(a);
  const std::span<const uint32_t> words(reinterpret_cast<const uint32_t*>(raw.data()), 16);
  const LaneState& lane = core.lanes[risc];
  if (!markers::frame_starts(words, 0, lane.lane)) return false;
  const uint64_t known_until = lane.digest.known ? lane.digest.last_time : attachment_.begun_cycles;
  const bool quick_push = words[device::kFwEndWord] == device::kUnsetWord;
  if (words[device::kFwStartWord] == device::kUnsetWord || (quick_push && kinds == FrontKinds::launches))
    return false;
  const uint64_t time = markers::first_time(words, known_until);
  // A quick push is there before its index is, so that it may also be of the epoch that begins: it counts as one that waits, for
  // nothing proves that it does not.
  return markers::clock_difference(time, known_until) > 0 &&
         markers::clock_difference(time, ceiling().time) < 0;
}

// L1 holds the core's last run. When BRISC has closed it, a kernel took part in it, and it is later than what
// was delivered, it is not delivered. (BRISC's FW zone alone says nothing: it also opens for launches that
// are not for this core.)
card::Expected<Drain::LastRun> Drain::look_at_last_run(const CoreState& core) {
  const auto brisc = reader_.slots(core.core, 0);
  if (!brisc) return card::failed(brisc.error());
  const uint64_t opened = brisc->time_of(device::kFwStartWord), closed = brisc->time_of(device::kFwEndWord);
  const markers::FrameDigest& digest = core.lanes[0].digest;
  const uint64_t looked = cycles_at(core.polls.proven_ns);  // when it was open then, nothing came after
  if (closed == 0 || (!digest.known && !core.rewind.pending())) {
    const bool new_one = closed == 0 && opened != 0 && markers::clock_difference(opened, looked) > 0;
    return new_one ? LastRun::open : LastRun::delivered;
  }
  if (markers::clock_difference(closed, digest.known ? digest.last_time : looked) <= 0)
    return LastRun::delivered;
  bool kernel_ran = brisc->time_of(device::kKernelEndWord) != 0;
  for (uint32_t r = 1; r < core.core.riscs && !kernel_ran; ++r) {
    const auto other = reader_.slots(core.core, r);
    if (!other) return card::failed(other.error());
    kernel_ran = other->time_of(device::kFwEndWord) != 0;
  }
  if (kernel_ran) return LastRun::undelivered;
  // A launch for other cores has cleared what an earlier one left: of that, nothing is known.
  const bool cleared = opened != 0 && markers::clock_difference(opened, looked) > 0;
  return cleared ? LastRun::open : LastRun::delivered;
}

// Takes what the host reset the indices over. What was taken once is not read again where a later lane cannot be read. To take a
// lane's frames lasts, and the new epoch may push meanwhile: lanes that never showed anything are examined first.
Access Drain::take_what_was_reset(CoreState& core, const ControlSample& snap) {
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r) {
    if (core.across[r] || !never_showed_any(core, r, snap)) continue;
    const auto nothing = nothing_at_front(core, r);
    if (!nothing) return nothing.error();
    core.across[r].emplace().evidence.nothing_announced = *nothing;
  }
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r) {
    if (core.across[r]) continue;
    Recovered recovered;
    if (const Access a = recover_lane(core, r, snap, recovered); a != Access::ok) return a;
    core.across[r] = recovered;
  }
  return Access::ok;
}

// The end of a launch pushes every RISC's frame. Where some came back that had not been seen before the reset, lanes that do not
// reach the same launch may lack theirs: a sentinel was damaged, or the new epoch stands on it.
const LaneState* Drain::furthest_recovered(const CoreState& core) const {
  const LaneState* furthest = nullptr;
  if (!kind_of(core).counts_launches) return nullptr;
  for (const LaneState& lane : core.lanes)
    if (lane.chain_end != 0 && !lane.pushes_early &&
        (!furthest || markers::clock_difference(lane.digest.last_time, furthest->digest.last_time) > 0))
      furthest = &lane;
  return furthest;
}

std::array<std::optional<Proof>, device::kMaxRiscs> Drain::prove_reset(const CoreState& core, bool in_time,
                                                                       bool idle) const {
  std::array<std::optional<Proof>, device::kMaxRiscs> proofs;
  const LaneState* furthest = furthest_recovered(core);
  // What BRISC delivered last shows for every lane that the core has not run since, unless it came from the front of a log that an
  // epoch was missed in: then it shows that only for lanes that came as far.
  const bool brisc_stood = !core.across[0] || !core.across[0]->behind_gap;
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r) {
    const LaneState& lane = core.lanes[r];
    const Recovered recovered = core.across[r].value_or(Recovered{});
    AcrossReset evidence = recovered.evidence;
    const bool came_as_far =
        furthest && lane.chain_end != 0 && lane.digest.host_id == furthest->digest.host_id;
    evidence.with_the_others =
        !furthest || !lane.delivered || came_as_far || recovered.sat_out_launch == furthest->digest.host_id;
    evidence.in_time_or_idle = in_time || (idle && (brisc_stood || came_as_far));
    proofs[r] = prove_across_one_reset(evidence);
  }
  return proofs;
}

// Polled again: the log is not empty any more.
card::Expected<bool> Drain::is_being_pushed(const CoreState& core) const {
  const auto now = sample(core);
  if (!now) return card::failed(now.error());
  return !now->empty();
}

// The log is empty: a last run that was not delivered went by unseen. The vector is read again
// afterwards: the run may just be being pushed. Then nothing is decided until the first frame shows how long the core was
// out of sight.
Access Drain::check_last_run(CoreState& core, bool& decided) {
  core.epoch.last_run_unchecked = false;
  const auto run = look_at_last_run(core);
  if (!run) return run.error();
  QuietCore evidence{.none_since = *run == LastRun::delivered, .not_closed = *run == LastRun::open};
  if (!prove_quiet(evidence)) {
    const auto pushed = is_being_pushed(core);
    if (!pushed) return pushed.error();
    evidence.being_pushed = *pushed;
  }
  decided = !evidence.being_pushed;
  core.account.keep_all(prove_quiet(evidence));
  return Access::ok;
}

// The poll that noticed the reset came late: more than one epoch may have ended since the one before. Nothing is missing only if
// the core has not run since what was delivered.
card::Expected<bool> Drain::was_idle(const CoreState& core) {
  switch (mode_of(core)) {
    case device::Mode::normal: {
      const auto run = look_at_last_run(core);
      if (!run) return card::failed(run.error());
      return *run == LastRun::delivered;
    }
    case device::Mode::trace_only: {  // the replay it was in when it was last polled?
      const auto slots = reader_.slots(core.core, 0);
      if (!slots) return card::failed(slots.error());
      const uint64_t began = slots->time_of(device::kFwStartWord);
      return began == 0 || markers::clock_difference(began, cycles_at(core.polls.proven_ns)) <= 0;
    }
    case device::Mode::accumulate:  // BRISC's slots hold no launch; what L1 holds is evidence of its own
      break;
  }
  return false;
}

// The log is empty, nothing of this core was ever delivered, and this poll came late. What was stored in L1
// since the poll before, and is in no log, went by unseen: a closed run with a kernel, or a buffer that
// was begun again because a quick push has emptied it.
Access Drain::check_never_seen(CoreState& core, bool& decided) {
  const uint64_t before = cycles_at(core.polls.before_ns);
  bool ran = false, begun = false;
  for (uint32_t r = 0; r < core.core.riscs && !ran; ++r) {
    const auto slots = reader_.slots(core.core, r, true);
    if (!slots) return slots.error();
    const auto since = [&](uint32_t word) { return slots->holds_later(word, before); };
    const bool closed = since(device::kKernelEndWord) && since(device::kFwEndWord);
    const bool open = slots->time_of(device::kFwStartWord) != 0 && slots->time_of(device::kFwEndWord) == 0;
    const bool opened_before = open && !since(device::kFwStartWord);
    ran = closed || (opened_before && since(device::kFirstCustomWord));
    begun = begun || (open && !opened_before);
  }
  // A launch that has begun since has cleared what earlier ones left.
  if (!ran && begun && kind_of(core).counts_launches) decided = false;
  QuietCore evidence{.none_since = !ran, .uncounted = !kind_of(core).counts_launches};
  if (ran) evidence.host_never_read = !reader_.host_has_read(core.core).value_or(true);
  if (!prove_quiet(evidence)) {
    const auto pushed = is_being_pushed(core);
    if (!pushed) return pushed.error();
    evidence.being_pushed = *pushed;
    decided = !*pushed;
  }
  core.account.keep_all(prove_quiet(evidence));
  return Access::ok;
}

// Nothing of this epoch was delivered: a frame at the front that is later than what was is of an epoch that
// has ended, or of this one. Examined before the indices are: they move before a frame lands, so the frame
// is of this epoch only if they show it. And a launch that begins while they are read was not there yet.
card::Expected<Drain::Front> Drain::look_at_front(const CoreState& core) {
  const auto begun = [](const LaneState& lane) { return lane.cursor != 0; };
  Front front = Front::not_asked;
  if (std::any_of(core.lanes.begin(), core.lanes.end(), begun)) return front;
  for (uint32_t r = 0; r < device::kMaxRiscs && front != Front::frame; ++r) {
    if (!core.lanes[r].delivered || !core.lanes[r].digest.known) continue;
    const auto waits = frame_waits_at_front(core, r, FrontKinds::launches);
    if (!waits) return card::failed(waits.error());
    front = *waits ? Front::frame : Front::empty;
  }
  return front;
}

// Another core was reset, or this poll came late, and this one shows nothing new. A push may have come and
// gone, or stand where one of the same length stood before.
Access Drain::check_unseen_reset(CoreState& core, Front front) {
  const auto intact = front != Front::frame ? canaries_stand(core, core.polls.check_all) : false;
  if (!intact) return intact.error();
  core.polls.resets_checked = resets_.counted();
  if (!*intact) note_reset(core, true);
  return Access::ok;
}

// Cores are reset whole: one lane's canary shows it for all, and where there is none, nothing is known. But a
// reset in the middle of a push can leave a lane's index as it was: where that may have happened, `all` are
// read.
card::Expected<bool> Drain::canaries_stand(CoreState& core, bool all) {
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r) {
    if (core.lanes[r].canary.words() == 0) continue;
    const auto intact = canary_at_cursor(core, r);
    if (!intact || !*intact || !all) return intact;
  }
  core.polls.check_all = false;
  return true;
}

// Are the words just before the cursor still the ones that were delivered?
card::Expected<bool> Drain::canary_at_cursor(const CoreState& core, uint32_t risc) const {
  const LaneState& lane = core.lanes[risc];
  if (lane.canary.none()) return true;
  const uint32_t words = lane.canary.words();
  std::array<uint64_t, Canary::kWords / 2> raw;
  if (const Access a = reader_.log(core.core, risc, lane.cursor - words, {raw.data(), words / 2});
      a != Access::ok)
    return card::failed(a);
  const auto* now = reinterpret_cast<const uint32_t*>(raw.data());
  if (CoreReader::silent({now, words})) return card::failed(reader_.doubt_bank(core.core));
  return lane.canary.stands({now, words});
}

bool Drain::never_showed_any(const CoreState& core, uint32_t risc, const ControlSample& snap) const {
  const LaneState& lane = core.lanes[risc];
  return lane.cursor == 0 && core.seen.host_end[risc] == 0 && snap.host_end[risc] == 0 && !lane.delivered &&
         !kind_of(core).accumulates;
}

// Of such a lane. What came and was reset since the last poll is at the front of its log; what an earlier session left there is
// recognised by its time. A frame may also be the new epoch's first one: then it stands on what was there before.
card::Expected<bool> Drain::nothing_at_front(const CoreState& core, uint32_t risc) {
  if (!region_size_.known() || !kind_of(core).counts_launches) return true;
  const auto waits = frame_waits_at_front(core, risc, FrontKinds::all);
  if (!waits) return waits;
  return !*waits;
}

// Takes what the lane's log still holds behind the cursor, or, where the new epoch has come further, behind that.
Access Drain::recover_lane(CoreState& core, uint32_t risc, const ControlSample& snap, Recovered& recovered) {
  AcrossReset& evidence = recovered.evidence;
  LaneState& lane = core.lanes[risc];
  const uint32_t new_end = snap.host_end[risc];
  const uint32_t seen = core.seen.host_end[risc];
  const bool accumulates = kind_of(core).accumulates;
  evidence.nothing_announced =
      seen <= lane.cursor && new_end <= lane.cursor && !lane.digest.known && !accumulates;
  // Without a time to compare, older bytes cannot be distinguished from lost ones. Accumulating firmware stores nothing in
  // the middle of a frame, so what is later than the begin of collecting is its.
  const bool timeless = !lane.digest.known && !(accumulates && may_have_stored(core, risc));
  if (timeless && accumulates) evidence.nothing_announced = seen == 0 && new_end == 0;
  if (!region_size_.known() || evidence.nothing_announced || timeless) return Access::ok;
  const bool had_digest = std::exchange(lane.digest.known, 1) != 0;
  if (!had_digest) lane.digest.last_time = attachment_.begun_cycles;
  Chain chain;
  if (!had_digest) {  // only a frame that L1 shows as well is surely not of before
    const auto buffer = reader_.first_marker(core.core, risc);
    if (!buffer) return buffer.error();
    chain.begins_with = lane.l1.canary != 0 ? lane.l1.canary : markers::first_custom_time(*buffer);
  }
  chain.at = std::max(lane.cursor, lane.chain_end);
  bool passed_newer = false;
  const bool not_reached = new_end <= chain.at;
  const auto intact = not_reached && lane.chain_end == 0 ? canary_at_cursor(core, risc) : not_reached;
  if (!intact) return intact.error();
  const bool stands = *intact;
  if (stands) {
    chain.has_canary = lane.chain_end == 0 && !lane.canary.none();
    if (chain.has_canary) chain.announced = seen;
  } else {
    const auto survivor = find_survivor(core, risc, new_end);
    if (!survivor) return survivor.error();
    passed_newer = survivor->passed_newer;
    if (!survivor->at) {
      if (!had_digest) lane.digest = {};
      return Access::ok;
    }
    chain.at = *survivor->at;
    chain.behind_gap = recovered.behind_gap = true;
  }
  if (const Access a = publish_chain(core, risc, chain); a != Access::ok) return a;
  if (!had_digest && !chain.begins) {
    lane.digest = {};
    evidence.nothing_announced = seen == 0 && new_end == 0 && !chain.incomplete;
  }
  evidence.cursor_stands =
      stands || (chain.begins && !passed_newer);  // behind survivors nothing was written any more
  recovered.sat_out_launch = chain.sat_out_launch;
  evidence.older_behind = chain.older_behind;
  evidence.read_through = !chain.incomplete && (!stands || seen <= std::max(chain.at, chain.sat_out_until));
  return Access::ok;
}

}  // namespace ttc::collect
