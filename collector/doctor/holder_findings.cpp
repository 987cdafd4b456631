// Who has a card and who waits for one. Facts about UMD's lock and the driver's descriptors: driver-side behaviour as in
// driver_iface/README.md; UMD device/chip/local_chip.cpp (CHIP_IN_USE from start to close) and tt-metal's window tables
// (llrt/tlb_config.cpp: two processes on one chip need more windows than there are). Not verified on silicon.
#include <algorithm>

#include "collector/doctor/findings.hpp"

namespace ttc::collect::doctor {
namespace {

using Processes = std::vector<const ProcessState*>;

// Observers are left out: they hinder no process.
Processes holders_of(const MachineState& machine, const CardState& card) {
  Processes holders;
  for (const card::Opener& o : card.function.openers)
    if (const ProcessState* p = o.observer ? nullptr : machine.process(o.pid)) holders.push_back(p);
  return holders;
}

bool waits_for(const ProcessState& process, unsigned ordinal) {
  const auto& waits = process.waits_for_chip;
  return std::find(waits.begin(), waits.end(), ordinal) != waits.end();
}

bool descends_from(const MachineState& machine, const ProcessState& process, int ancestor) {
  const ProcessState* p = &process;
  for (int steps = 0; p && steps < 32; ++steps) {
    if (p->parent == ancestor) return true;
    p = machine.process(p->parent);
  }
  return false;
}

std::string listed(const Processes& processes) {
  std::string text;
  for (const ProcessState* p : processes)
    text += (text.empty() ? "" : ", ") + who(*p) + ", running for " + duration_in_words(p->age_s);
  return text;
}

std::string kill_command(const Processes& processes) {
  std::string pids;
  for (const ProcessState* p : processes) pids += " " + std::to_string(p->pid);
  return "kill -TERM" + pids;
}

struct Stale {
  const char* what = nullptr;  // null: it is not
  const char* why = "";
  Weight weight = Weight::stops;
};
// A process that was given up on purpose (nohup, a session of its own) is not.
Stale stale(const ProcessState& p) {
  if (p.state == 'T' || p.state == 't') return {"is stopped", "it holds the card and does not run (state T)"};
  if (p.state == 'D')
    return {"waits in the kernel",
            "it takes no signals (state D), a look later still: behind the driver, or a disk",
            Weight::advice};
  if (p.state == 'Z') return {"has ended", "a thread of it is still in the kernel (state Z)"};
  if (p.parent == 1 && p.session != p.pid && !p.session_leader_lives && !p.ignores_hangup)
    return {"was left behind",
            "its parent and the session that started it are gone, and it was not started to outlive them (no "
            "nohup, no session of its own)"};
  return {};
}

std::string reset_advice(const CardState& card) {
  return "`tt-smi -r " + std::to_string(card.function.ordinal.value_or(0)) +
         "` only if it had to be ended by -KILL or the card does not answer afterwards, and when no other "
         "process "
         "uses the board" +
         (card.function.arch == "blackhole" ? "; a Blackhole whose NoC hangs may need a power cycle instead"
                                            : "");
}

void find_stale(const MachineState& machine, const CardState& card, Findings& found) {
  for (const ProcessState* p : holders_of(machine, card)) {
    const Stale is = stale(*p);
    if (!is.what) continue;
    const bool stopped = p->state == 'T' || p->state == 't';
    Finding f{"stale-holder", is.weight};
    f.what = who(*p) + " holds " + card.function.node + " and " + is.what;
    f.evidence = "/proc/" + std::to_string(p->pid) + ": open on " + card.function.node + " for at most " +
                 duration_in_words(p->age_s) + ", state " + p->state + ", parent " +
                 std::to_string(p->parent) + "; " + p->command;
    f.cause = is.why;
    f.fix = std::string(stopped ? "kill -CONT " + std::to_string(p->pid) + " to let it go on; or "
                                : "if it is not needed: ") +
            kill_command({p}) + ", and when it is still there after 10 s kill -KILL " +
            std::to_string(p->pid) + "; then " + reset_advice(card);
    f.card = card.function.node;
    f.pid = p->pid;
    found.push_back(std::move(f));
  }
}

void find_two_workloads(const MachineState& machine, const CardState& card, Findings& found) {
  Processes workloads;
  for (const ProcessState* p : holders_of(machine, card)) {
    if (!is_workload(machine, *p) || waits_for(*p, *card.function.ordinal)) continue;  // waiting: chip-in-use
    // A fork has the descriptors of its parent. The driver's own list is without forks.
    const bool fork = !card.driver_lists_openers &&
                      std::any_of(workloads.begin(), workloads.end(),
                                  [&](auto* other) { return descends_from(machine, *p, other->pid); });
    if (!fork) workloads.push_back(p);
  }
  if (workloads.size() < 2) return;
  Finding f{"two-workloads", Weight::stops};
  f.what = std::to_string(workloads.size()) + " tt-metal processes have " + card.function.node + " open";
  f.evidence = listed(workloads);
  f.cause =
      "one process needs a window for each tile, and two need more than the card has; the later one fails "
      "with error -12, or both use the same cores";
  f.fix = "end one of them (" + kill_command({workloads.back()}) +
          "), or give each its own chip with TT_METAL_VISIBLE_DEVICES";
  f.card = card.function.node;
  f.pid = workloads.back()->pid;
  found.push_back(std::move(f));
}

void find_lock(const MachineState& machine, const CardState& card, Findings& found) {
  if (!card.lock.taken) return;
  const unsigned n = *card.function.ordinal;
  const std::string name = "CHIP_IN_USE_" + std::to_string(n) + "_PCIe";
  const std::string file = "/dev/shm/TT_UMD_LOCK." + name;
  const ProcessState* owner = machine.process(card.lock.owner_pid);
  Processes waiting;
  for (const ProcessState& p : machine.processes)
    if (waits_for(p, n)) waiting.push_back(&p);
  if (waiting.empty() && !card.lock.waited_for) return;
  Finding f{"chip-in-use", Weight::stops};
  f.card = card.function.node;
  f.pid = waiting.empty() ? 0 : waiting.front()->pid;
  f.what = (waiting.empty() ? std::string("a process that is not visible") : listed(waiting)) +
           ", waits for " + name;
  f.evidence = file + ": the mutex is taken" + (card.lock.waited_for ? " and waited for" : "") +
               ", owner pid " + std::to_string(card.lock.owner_pid) +
               (waiting.empty() ? "" : "; a thread of the waiting process is in futex(2) on it");
  if (card.lock.owner_lives && owner) {
    f.cause = who(*owner) + ", running for " + duration_in_words(owner->age_s) +
              ", has started the chip; UMD lets one process at a time have it";
    f.fix = "wait until it ends, or end it: " + kill_command({owner}) +
            "; it is released when that process has ended";
  } else {
    f.cause =
        "its owner is not visible from here: another PID namespace (a container), or a process that is no "
        "more";
    f.fix = "look for pid " + std::to_string(card.lock.owner_pid) +
            " on the host (ps -p, docker ps); when no process of the machine uses the card: sudo rm " + file;
  }
  found.push_back(std::move(f));
}

void find_exclusive(const MachineState& machine, const CardState& card, Findings& found) {
  for (const ProcessState* p : holders_of(machine, card)) {
    if (std::find(p->holds_exclusive.begin(), p->holds_exclusive.end(), card.function.node) ==
        p->holds_exclusive.end())
      continue;
    Finding f{"exclusive-holder", Weight::stops};
    f.what = who(*p) + " has " + card.function.node + " for itself alone";
    f.evidence = "/proc/" + std::to_string(p->pid) + "/fdinfo: O_EXCL on the node";
    f.cause = "driver 2.10 and later let no other process open a node that is open with O_EXCL";
    f.fix = "wait until it has closed the node, or " + kill_command({p});
    f.card = card.function.node;
    f.pid = p->pid;
    found.push_back(std::move(f));
  }
}

}  // namespace

void find_in_holders(const MachineState& machine, Findings& found) {
  for (const CardState& card : machine.cards) {
    if (!card.function.ordinal) continue;
    find_lock(machine, card, found);
    find_stale(machine, card, found);
    find_two_workloads(machine, card, found);
    find_exclusive(machine, card, found);
  }
  // An emulated card continues while its process is stopped: no core pushes markers.
  for (const EmulatedCardState& e : machine.emulated) {
    const ProcessState* p = machine.process(e.holder_pid);
    if (!p || (p->state != 'T' && p->state != 't')) continue;
    Finding f{"stale-holder", Weight::stops};
    f.what = who(*p) + " is emu:" + e.name + " and is stopped";
    f.evidence = "/proc/" + std::to_string(p->pid) + ": listens as @ttemu." + e.name + ", state " + p->state;
    f.cause = "it is stopped (state T): the card answers no process";
    f.fix = "kill -CONT " + std::to_string(p->pid) + " to let it go on; or " + kill_command({p});
    f.card = "emu:" + e.name;
    f.pid = p->pid;
    found.push_back(std::move(f));
  }
}

}  // namespace ttc::collect::doctor
