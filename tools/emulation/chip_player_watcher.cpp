// The additions of tt-metal's watcher to firmware and kernels: checks and delays of NoC commands, the feedback word, waypoints.
#include "tools/emulation/chip_player.hpp"

namespace ttc::emulation {

ChipPlayer::Held ChipPlayer::held_by_watcher(const WorldCore& core) const {
  Held held{};
  const WatcherSetup* w = options_.watcher.get();
  const watcher::DelayRecord* record = w ? w->record_of(core.kind) : nullptr;
  if (!record || !w->built.sanitises) return held;
  const watcher::Masks masks = record->masks(world_.card(), core.at);
  for (size_t t = 0; t < held.size(); ++t)
    held[t] = chip::kWatcherCheckCycles + (masks[t] & 1) * w->built.delays_by();
  return held;
}

// The waypoints that an act passes in watched firmware: W waits for work, R runs a kernel, D is done with it (tt-metal brisc.cc,
// ncrisc.cc, trisc.cc).
void ChipPlayer::pass_waypoint(const Act& act) {
  const WorldCore& core = act.core->where();
  const watcher::Waypoints* waypoints = options_.watcher->waypoints_of(core.kind);
  if (!waypoints) return;
  const auto pass = [&](const char* name) { waypoints->pass(world_.card(), core.at, act.step.risc, name); };
  if (act.step.act == chip::Act::kernel_start) pass("R");
  if (act.step.act == chip::Act::kernel_end) pass("D");
  if (act.step.act == chip::Act::fw_end) pass(act.step.risc == 0 ? "GW" : "W");
}

// Firmware of all cores has begun and was given nothing to do yet.
void ChipPlayer::mark_idle() {
  if (!options_.watcher || !options_.watcher->marks_the_way()) return;
  for (const WorldCore& core : world_.prepared())
    if (const watcher::Waypoints* waypoints = options_.watcher->waypoints_of(core.kind))
      for (uint32_t r = 0; r < core.riscs; ++r)
        waypoints->pass(world_.card(), core.at, r, r == 0 ? "GW" : "W");
}

// Marks where the RISCs of a program that never ends wait.
void ChipPlayer::mark_standing(const chip::Timeline& timeline) {
  const WatcherSetup* w = options_.watcher.get();
  if (!w || !w->marks_the_way()) return;
  constexpr const char* kNames[] = {"", "CWFW", "CRBW", "NSW", "NTW"};
  for (const chip::Standing& s : timeline.standing) {
    if (s.at == chip::Standing::done) continue;  // it has passed its last one
    const WorldCore& core = cores_[s.core]->where();
    if (const watcher::Waypoints* waypoints = w->waypoints_of(core.kind))
      waypoints->pass(world_.card(), core.at, s.risc, kNames[s.at]);
  }
}

void ChipPlayer::give_feedback(const chip::Timeline& timeline) {
  for (const chip::Delayed& d : timeline.delayed) {
    const card::Coord at = cores_[d.core]->where().at;
    options_.watcher->record.add_feedback(world_.card(), at, 1u << d.command);
    delays_[at][d.command] += d.times;
  }
  for (const auto& core : ethernet_) {
    const Held held = held_by_watcher(core->where());
    for (uint32_t t = 0; t < held.size(); ++t) {
      if (held[t] <= chip::kWatcherCheckCycles) continue;
      options_.watcher->record_of(core->where().kind)->add_feedback(world_.card(), core->where().at, 1u << t);
      ++delays_[core->where().at][t];
    }
  }
}

}  // namespace ttc::emulation
