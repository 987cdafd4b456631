// What a look at a core's control vector shows, and what is remembered of it.
#include <algorithm>
#include <utility>

#include "collector/drain/drain.hpp"

namespace ttc::collect {
namespace {

using card::Access;
using card::Window;

constexpr uint32_t kWitnessEvery = 16;  // quiet looks

}  // namespace

Access Drain::read_part(const CoreState& core, const ControlPart& part, uint32_t* words) {
  std::array<uint64_t, 32> raw;
  const uint32_t address = core.core.control_address + 4 * part.first_word;
  Access a = card_.aim(Window::control, core.core.at, address);
  if (a == Access::ok)
    a = card_.copy(Window::control, address & (card::kWindowBytes - 1), {raw.data(), part.words / 2});
  const auto* from = reinterpret_cast<const uint32_t*>(raw.data());
  if (a == Access::ok) std::copy_n(from, part.words, words + part.first_word);
  return a;
}

Access Drain::read_snapshot(const CoreState& core, Snapshot& snap) {
  std::array<uint32_t, 68> words{};
  snap.read_time_ns = attachment_.clock();
  const bool stored = may_accumulate(core);
  if (stored)
    if (const Access a = read_part(core, stored_part_, words.data()); a != Access::ok) return a;
  for (const ControlPart& part : poll_parts_)
    if (const Access a = read_part(core, part, words.data()); a != Access::ok) return a;
  const device::Format& f = attachment_.layout->format;
  std::copy_n(words.begin() + f.host_end, device::kMaxRiscs, snap.host_end.begin());
  if (stored) std::copy_n(words.begin() + f.device_end, device::kMaxRiscs, snap.stored.begin());
  snap.run_counter = words[f.run_counter];
  // Neither an index nor a count of runs gets there: the tile does not answer.
  const bool silent = snap.run_counter == ~0u || std::count(snap.host_end.begin(), snap.host_end.end(), ~0u);
  return silent ? card_.doubt(core.core.at) : Access::ok;
}

// The front of an empty log, where one doubts, and then the vector.
Access Drain::look_at(CoreState& core, Look& look) {
  look.begun_ns = attachment_.clock();
  const bool late = look.begun_ns - core.look_ns > timing::kPollDeadlineNs;
  look.in_doubt =
      region_size_.known() && core.rewound_ns == 0 &&
      (late || core.reset_generation != reset_generation_ || (core.quiet_looks + 1) % kWitnessEvery == 0);
  Access a = look.in_doubt ? look_at_front(core, look.front) : Access::ok;
  if (a == Access::ok) a = read_snapshot(core, look.snapshot);
  if (a != Access::ok) return a;
  core.looked_late = late;
  if (late)
    for (LaneState& lane : core.lanes) lane.l1_unchecked = true;
  core.ask_all = core.ask_all || late;
  if (late && core.core.kind == markers::CoreKind::tensix) ++missed_poll_deadlines_;
  core.previous_look_ns = std::exchange(core.look_ns, look.begun_ns);
  return Access::ok;
}

// Nothing new: has something come and gone since the look before?
Access Drain::check_quiet(CoreState& core, const Look& look) {
  bool decided = true;
  if (core.last_run_unchecked && region_size_.known() && attachment_.mode == device::Mode::normal)
    if (const Access a = check_last_run(core, decided); a != Access::ok) return a;
  if (core.looked_late && !core.lanes[0].delivered)
    if (const Access a = check_never_seen(core, decided); a != Access::ok) return a;
  if (decided) caught_up(core, look.begun_ns);
  return Access::ok;
}

bool Drain::rewound(const CoreState& core, const Snapshot& snap) const {
  if (snap.run_counter < core.seen_runs) return true;
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r)
    if (snap.host_end[r] < core.seen_end[r]) return true;
  if (mode_of(core) != device::Mode::accumulate) return false;
  // Accumulating firmware that has pushed nothing yet. A push moves the index before it clears DEVICE_END, and the index is read
  // after DEVICE_END.
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r)
    if (snap.stored[r] < core.seen_stored[r] && snap.host_end[r] == 0 && snap.run_counter == 0) return true;
  return false;
}

bool Drain::words_wait(const CoreState& core, const Snapshot& snap) const {
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r)
    if (snap.host_end[r] > core.lanes[r].cursor) return true;
  return false;
}

bool Drain::has_news(const CoreState& core, const Snapshot& snap) const {
  return snap.run_counter != core.run_counter || words_wait(core, snap);
}

// Replays are recorded on Tensix cores only.
device::Mode Drain::mode_of(const CoreState& core) const {
  const bool elsewhere =
      attachment_.mode == device::Mode::trace_only && core.core.kind != markers::CoreKind::tensix;
  return elsewhere ? device::Mode::normal : attachment_.mode;
}

// Until the mode is settled, what runs first may be accumulating firmware, whose buffers a host reset takes without a trace.
bool Drain::may_accumulate(const CoreState& core) const {
  if (mode_of(core) == device::Mode::accumulate) return true;
  return !mode_settled_ && attachment_.layout->format.dispatch_core != 0 &&
         core.core.kind == markers::CoreKind::tensix;
}

void Drain::caught_up(CoreState& core, uint64_t looked_ns) const {
  core.caught_up_ns = core.proven_ns = looked_ns;
  core.caught_up_generation = reset_generation_;
}

Publisher::Core Drain::chunk_core(const CoreState& core, uint32_t run_counter, uint64_t read_time_ns,
                                  uint32_t notes) const {
  return {core.core.at.x,       core.core.at.y, core.core.kind, mode_of(core), core.core.flat_id,
          core.account.epoch(), run_counter,    read_time_ns,   notes};
}

void Drain::note_indices(CoreState& core, const Snapshot& snap) const {
  core.seen_end = snap.host_end;
  core.seen_runs = snap.run_counter;
  core.recycling.referee.see(snap.run_counter);
  if (snap.read_time_ns < core.landing_since_ns + timing::kLandedNs) return;
  core.landed_end = core.landing_end;
  core.landing_end = snap.host_end;
  core.landing_since_ns = attachment_.clock();
}

// Pushes that the reset caught under way land, and the host finishes its writing, before the new epoch is
// looked at. A look in time does not help where the one before decided nothing: indices that went up alone
// may be those of another epoch.
void Drain::note_rewind(CoreState& core, bool long_ago) const {
  if (core.rewound_ns != 0) return;
  core.rewound_ns = attachment_.clock();
  core.rewound_after_ns = core.previous_look_ns;
  core.rewound_late =
      long_ago || core.looked_late || core.rewound_ns - core.proven_ns > timing::kPollDeadlineNs;
}

// After the payload: one line, that of RUN_COUNTER, or of the indices where no run was recorded yet.
Access Drain::still_unrewound(const CoreState& core, const Snapshot& snap, bool& unrewound) {
  std::array<uint32_t, 68> words{};
  const device::Format& f = attachment_.layout->format;
  const bool by_runs = snap.run_counter != 0 && poll_parts_.size() > 1;
  const ControlPart& part = by_runs ? poll_parts_.front() : poll_parts_.back();
  if (const Access a = read_part(core, part, words.data()); a != Access::ok) return a;
  unrewound = true;
  if (by_runs || poll_parts_.size() == 1) unrewound = words[f.run_counter] >= snap.run_counter;
  if (!by_runs)
    for (uint32_t r = 0; r < device::kMaxRiscs; ++r)
      unrewound = unrewound && words[f.host_end + r] >= snap.host_end[r];
  return Access::ok;
}

}  // namespace ttc::collect
