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
  if (core.reset_generation == reset_generation_) ++reset_generation_;
  core.reset_generation = reset_generation_;
  device_time_.sample(kCeilingAgeNs);
  Snapshot snap, again;
  if (const Access a = read_snapshot(core, snap); a != Access::ok) return a;
  for (int i = 0; i < kSnapshotTries; ++i) {
    if (const Access a = read_snapshot(core, again); a != Access::ok) return a;
    const bool same = again.host_end == snap.host_end && again.run_counter == snap.run_counter;
    snap = again;
    if (same) break;
  }
  if (const Access a = take_what_was_reset(core, snap); a != Access::ok) return a;
  bool idle = false;
  if (core.rewound_late)
    if (const Access a = was_idle(core, idle); a != Access::ok) return a;
  // (In trace-only mode a replay's last frame is pushed by the next replay, reset or not.)
  if (mode_of(core) == device::Mode::accumulate)
    if (const Access a = take_accumulated(core, snap, idle); a != Access::ok) return a;
  core.account.begin_epoch(prove_reset(core, !core.rewound_late, idle));
  core.across = {};
  core.seen_stored = again.stored;
  ++epochs_;
  core.run_counter = 0;
  core.recycling.referee.see(again.run_counter);
  core.runs_delivered = 0;
  core.unexplained_visits = 0;
  core.seen_end = again.host_end;
  core.seen_runs = again.run_counter;
  core.landed_end = core.landing_end = {};
  core.last_run_unchecked = true;
  core.entered.reset();
  core.ask_all = false;
  core.rewound_ns = 0;
  core.rewound_late = false;
  core.firmware_proven = false;
  core.hosts.clear();  // older frames below must not pass for launches of this epoch
  core.epoch_since_ns = core.proven_ns = again.read_time_ns;
  core.notes |= shm::kNewEpoch;
  forget_laps(core);
  for (LaneState& lane : core.lanes) {
    lane.cursor = 0;
    lane.chain_end = 0;
    lane.witness_words = 0;
    lane.waits = false;
    lane.old_host.reset();
    lane.settled_words = 0;
    lane.stuck_since_ns = 0;
    lane.first_of_epoch = true;
    lane.entered_until = 0;
  }
  return Access::ok;
}

// After a host reset: delivers what L1 holds of the epoch that has ended, behind an interval where the log proves nothing.
Access Drain::take_accumulated(CoreState& core, const Snapshot& snap, bool idle) {
  const auto proofs = prove_reset(core, !core.rewound_late, idle);
  uint32_t pushed = 0;  // to the log of the new epoch
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r) {
    if (!proofs[r]) core.account.break_off(r);
    pushed |= uint32_t{snap.host_end[r] != 0} << r;
  }
  // The zones of the old epoch's last push were in slots that the new epoch may have cleared.
  if ((pushed & 1) && core.seen_runs != 0) core.account.break_off(0);
  if (const Access a = publish_l1_rest(core, pushed); a != Access::ok) return a;
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r) core.across[r]->evidence.l1_shows_end = !(pushed >> r & 1);
  return Access::ok;
}

bool Drain::frame_waits_at_front(const CoreState& core, uint32_t risc, FrontKinds kinds, Access& access) {
  std::array<uint64_t, 8> raw;
  const LogRead read{core.core.bank, log_address(core, risc, 0), raw};
  access = logs_.read({&read, 1});
  const std::span<const uint32_t> words(reinterpret_cast<const uint32_t*>(raw.data()), 16);
  const LaneState& lane = core.lanes[risc];
  if (access != Access::ok || !markers::frame_starts(words, 0, lane.lane)) return false;
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

// The four guaranteed slots of a RISC as its L1 buffer holds them now.
Access Drain::read_slots(const CoreState& core, uint32_t risc, std::array<uint32_t, 8>& slots) {
  std::array<uint64_t, 4> raw;
  const uint32_t address =
      core.core.buffer_address + 4 * (risc * device::kBufferWords + device::kFwStartWord);
  Access a = card_.aim(card::Window::control, core.core.at, address);
  if (a == Access::ok) a = card_.copy(card::Window::control, address & (card::kWindowBytes - 1), raw);
  if (a == Access::ok) std::copy_n(reinterpret_cast<const uint32_t*>(raw.data()), 8, slots.begin());
  return a;
}

// L1 holds the core's last run. When BRISC has closed it, a kernel took part in it, and it is later than what
// was delivered, it is not delivered. (BRISC's FW zone alone says nothing: it also opens for launches that
// are not for this core.)
Access Drain::look_at_last_run(const CoreState& core, LastRun& run) {
  std::array<uint32_t, 8> slots;
  const auto time_of = [&](uint32_t word) {
    const uint32_t at = word - device::kFwStartWord;
    return slots[at] == device::kUnsetWord ? 0 : markers::marker_time(slots[at], slots[at + 1]);
  };
  if (const Access a = read_slots(core, 0, slots); a != Access::ok) return a;
  const uint64_t opened = time_of(device::kFwStartWord), closed = time_of(device::kFwEndWord);
  const markers::FrameDigest& brisc = core.lanes[0].digest;
  const uint64_t looked = device_time_.at(core.proven_ns);  // when it was open then, nothing came after
  const bool new_one = closed == 0 && opened != 0 && markers::clock_difference(opened, looked) > 0;
  run = new_one ? LastRun::open : LastRun::delivered;
  if (closed == 0 || (!brisc.known && core.rewound_ns == 0)) return Access::ok;
  if (markers::clock_difference(closed, brisc.known ? brisc.last_time : looked) <= 0) return Access::ok;
  bool kernel_ran = time_of(device::kKernelEndWord) != 0;
  for (uint32_t r = 1; r < core.core.riscs && !kernel_ran; ++r) {
    if (const Access a = read_slots(core, r, slots); a != Access::ok) return a;
    kernel_ran = time_of(device::kFwEndWord) != 0;
  }
  // A launch for other cores has cleared what an earlier one left: of that, nothing is known.
  const bool cleared = opened != 0 && markers::clock_difference(opened, looked) > 0;
  run = kernel_ran ? LastRun::undelivered : cleared ? LastRun::open : LastRun::delivered;
  return Access::ok;
}

// Takes what the host reset the indices over. What was taken once is not read again where a later lane cannot be read.
Access Drain::take_what_was_reset(CoreState& core, const Snapshot& snap) {
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
const Drain::LaneState* Drain::furthest_recovered(const CoreState& core) const {
  const LaneState* furthest = nullptr;
  if (mode_of(core) != device::Mode::normal) return nullptr;
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

// The log is empty: a last run that was not delivered went by unseen. The vector is looked at again
// afterwards: it may just be being pushed. Then nothing is decided, and the first frame to come is asked how
// long the core was out of sight.
Access Drain::check_last_run(CoreState& core, bool& decided) {
  core.last_run_unchecked = false;
  LastRun run = LastRun::open;
  if (const Access a = look_at_last_run(core, run); a != Access::ok) return a;
  if (run != LastRun::undelivered) return Access::ok;
  Snapshot now;
  if (const Access a = read_snapshot(core, now); a != Access::ok) return a;
  const bool empty =
      std::all_of(now.host_end.begin(), now.host_end.end(), [](uint32_t words) { return words == 0; });
  if (empty && now.run_counter == 0)
    core.account.break_off_all();
  else
    decided = false;
  return Access::ok;
}

// The poll that noticed the reset came late: more than one epoch may have ended since the one before. Nothing is missing only if
// the core has not run since what was delivered.
Access Drain::was_idle(CoreState& core, bool& idle) {
  LastRun run = LastRun::delivered;
  Access access = Access::ok;
  std::array<uint32_t, 8> slots;
  switch (mode_of(core)) {
    case device::Mode::normal:
      access = look_at_last_run(core, run);
      break;
    case device::Mode::trace_only:  // the replay it was in when it was last looked at?
      access = read_slots(core, 0, slots);
      if (access == Access::ok && slots[0] != device::kUnsetWord &&
          markers::clock_difference(markers::marker_time(slots[0], slots[1]),
                                    device_time_.at(core.proven_ns)) > 0)
        run = LastRun::open;
      break;
    case device::Mode::accumulate:  // BRISC's slots hold no launch; what L1 holds is evidence of its own
      run = LastRun::open;
      break;
  }
  idle = run == LastRun::delivered;
  return access;
}

// The log is empty, nothing of this core was ever delivered, and this look came late. What was stored in L1
// since the look before, and is in no log, went by unseen: a closed run with a kernel, or a buffer that
// begins anew because a quick push has emptied it.
Access Drain::check_never_seen(CoreState& core, bool& decided) {
  const uint64_t before = device_time_.at(core.previous_look_ns);
  bool ran = false, begun = false;
  for (uint32_t r = 0; r < core.core.riscs && !ran; ++r) {
    std::array<uint64_t, 5> raw;  // the four slots and the first custom marker
    const uint32_t address = core.core.buffer_address + 4 * (r * device::kBufferWords + device::kFwStartWord);
    Access a = card_.aim(card::Window::control, core.core.at, address);
    if (a == Access::ok) a = card_.copy(card::Window::control, address & (card::kWindowBytes - 1), raw);
    if (a != Access::ok) return a;
    std::array<uint32_t, 10> words;
    std::copy_n(reinterpret_cast<const uint32_t*>(raw.data()), 10, words.begin());
    const auto since = [&](uint32_t word) {
      const uint32_t at = word - device::kFwStartWord;
      return markers::is_marker(words[at]) && !markers::is_blank(words[at]) &&
             markers::clock_difference(markers::marker_time(words[at], words[at + 1]), before) > 0;
    };
    const bool closed = since(device::kKernelEndWord) && since(device::kFwEndWord);
    const bool open = words[0] != device::kUnsetWord && words[2] == device::kUnsetWord;
    const bool opened_before = open && !since(device::kFwStartWord);
    ran = closed || (opened_before && since(device::kFirstCustomWord));
    begun = begun || (open && !opened_before);
  }
  // A launch that has begun since has cleared what earlier ones left.
  if (!ran && begun && mode_of(core) == device::Mode::normal) decided = false;
  if (!ran || !host_has_read(core)) return Access::ok;
  Snapshot now;  // unless it is just being pushed
  if (const Access a = read_snapshot(core, now); a != Access::ok) return a;
  const bool empty =
      std::all_of(now.host_end.begin(), now.host_end.end(), [](uint32_t words) { return words == 0; });
  if (mode_of(core) != device::Mode::normal) return Access::ok;
  if (empty && now.run_counter == 0)
    core.account.break_off_all();
  else
    decided = false;
  return Access::ok;
}

// Nothing of this epoch was delivered: a frame at the front that is later than what was is of an epoch that
// has ended, or of this one. Looked at before the indices are: they move before a frame lands, so the frame
// is of this epoch only if they show it. And a launch that begins on our looking at them was not there yet.
Access Drain::look_at_front(const CoreState& core, Front& front) {
  const auto begun = [](const LaneState& lane) { return lane.cursor != 0; };
  if (std::any_of(core.lanes.begin(), core.lanes.end(), begun)) return Access::ok;
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r) {
    if (!core.lanes[r].delivered || !core.lanes[r].digest.known) continue;
    Access access = Access::ok;
    const bool waits = frame_waits_at_front(core, r, FrontKinds::launches, access);
    if (access != Access::ok) return access;
    front = waits ? Front::frame : Front::empty;
    if (waits) break;
  }
  return Access::ok;
}

// Another core was reset, or this look came late, and this one shows nothing new. A push may have come and
// gone, or stand where one of the same length stood before.
Access Drain::check_unseen_reset(CoreState& core, Front front) {
  bool intact = front != Front::frame;
  if (intact)
    if (const Access a = ask_witnesses(core, core.ask_all, intact); a != Access::ok) return a;
  core.reset_generation = reset_generation_;
  if (!intact) note_rewind(core, true);
  return Access::ok;
}

// Cores are reset whole: one lane's witness speaks for all, and where there is none, nothing is known. But a
// reset in the middle of a push can leave a lane's index as it was: where that may have happened, `all` are
// asked.
Access Drain::ask_witnesses(CoreState& core, bool all, bool& intact) {
  for (uint32_t r = 0; r < device::kMaxRiscs && intact; ++r) {
    if (core.lanes[r].witness_words < 2) continue;
    if (const Access a = witness_at_cursor(core, r, intact); a != Access::ok) return a;
    if (!all) return Access::ok;
  }
  if (intact) core.ask_all = false;
  return Access::ok;
}

// Are the words just before the cursor still the ones that were delivered?
Access Drain::witness_at_cursor(const CoreState& core, uint32_t risc, bool& intact) {
  const LaneState& lane = core.lanes[risc];
  intact = true;
  if (lane.witness_words == 0) return Access::ok;
  const uint32_t words = lane.witness_words & ~1u;
  std::array<uint64_t, kWitnessWords / 2> raw;
  const LogRead read{core.core.bank, log_address(core, risc, lane.cursor - words), {raw.data(), words / 2}};
  if (const Access a = logs_.read({&read, 1}); a != Access::ok) return a;
  const auto* now = reinterpret_cast<const uint32_t*>(raw.data());
  if (silent({now, words})) return doubt_bank(core);
  intact = std::equal(now, now + words, lane.witness.begin() + (lane.witness_words - words));
  return Access::ok;
}

// A lane that never showed anything. What came and was reset since the last poll is at the front of its log; what an
// earlier session left there is recognised by its time. Where the index has moved, it is the new epoch's first frame.
Access Drain::nothing_at_front(CoreState& core, uint32_t risc, bool& nothing) {
  nothing = true;
  if (!region_size_.known() || mode_of(core) != device::Mode::normal) return Access::ok;
  Access access = Access::ok;
  if (!frame_waits_at_front(core, risc, FrontKinds::all, access)) return access;
  Snapshot now;
  if (const Access a = read_snapshot(core, now); a != Access::ok) return a;
  nothing = now.host_end[risc] != 0;
  return Access::ok;
}

// Takes what the lane's log still holds behind the cursor, or, where the new epoch has come further, behind that.
Access Drain::recover_lane(CoreState& core, uint32_t risc, const Snapshot& snap, Recovered& recovered) {
  AcrossReset& evidence = recovered.evidence;
  LaneState& lane = core.lanes[risc];
  const uint32_t new_end = snap.host_end[risc];
  const uint32_t seen = core.seen_end[risc];
  const bool accumulates = mode_of(core) == device::Mode::accumulate;
  if (lane.cursor == 0 && seen == 0 && new_end == 0 && !lane.delivered && !accumulates)
    return nothing_at_front(core, risc, evidence.nothing_announced);
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
    std::array<uint32_t, device::kFirstCustomWord + 2> buffer;
    if (const Access a = read_l1_canary(core, risc, buffer); a != Access::ok) return a;
    chain.begins_with = lane.l1_canary != 0 ? lane.l1_canary : markers::first_custom_time(buffer);
  }
  chain.at = std::max(lane.cursor, lane.chain_end);
  bool passed_newer = false;
  bool stands = new_end <= chain.at;
  if (stands && lane.chain_end == 0)
    if (const Access a = witness_at_cursor(core, risc, stands); a != Access::ok) return a;
  if (stands) {
    chain.has_witness = lane.chain_end == 0 && lane.witness_words != 0;
    if (chain.has_witness) chain.announced = seen;
  } else {
    std::optional<uint32_t> survivor;
    if (const Access a = find_survivor(core, risc, new_end, survivor, passed_newer); a != Access::ok)
      return a;
    if (!survivor) {
      if (!had_digest) lane.digest = {};
      return Access::ok;
    }
    chain.at = *survivor;
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
