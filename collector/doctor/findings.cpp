#include "collector/doctor/findings.hpp"

#include <algorithm>

namespace ttc::collect::doctor {
namespace {

bool concerns(const MachineState& machine, const ProcessState& process, const std::string& card) {
  if (std::find(process.holds.begin(), process.holds.end(), card) != process.holds.end()) return true;
  for (const unsigned n : process.waits_for_chip)
    if (card == "/dev/tenstorrent/" + std::to_string(n)) return true;
  for (const CardState& c : machine.cards)  // findings of a card name its node where it has one
    if (c.function.bdf == card) return c.function.umd_owner_pid == process.pid;
  return false;
}

bool kept(const MachineState& machine, const Finding& f) {
  if (machine.only_pid == 0 || f.pid == machine.only_pid) return true;
  const ProcessState* asked = machine.process(machine.only_pid);
  if (f.card.empty()) return f.pid == 0;
  return asked && (concerns(machine, *asked, f.card) || asked->holds.empty());
}

}  // namespace

const char* to_string(Weight weight) {
  switch (weight) {
    case Weight::stops:
      return "stops";
    case Weight::spoils:
      return "spoils";
    case Weight::advice:
      return "advice";
  }
  return "";
}

bool stands_in_the_way(const Findings& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& f) { return f.weight != Weight::advice; });
}

Finding about(const ProcessState& process, const char* id, Weight weight) {
  Finding f{id, weight};
  f.pid = process.pid;
  if (!process.holds.empty()) f.card = process.holds.front();
  return f;
}

Findings findings_of(const MachineState& machine) {
  Findings found;
  find_in_holders(machine, found);
  find_in_cards(machine, found);
  find_in_versions(machine, found);
  find_in_workloads(machine, found);
  find_in_variables(machine, found);
  find_in_ports(machine, found);
  find_in_host(machine, found);
  std::erase_if(found, [&](const Finding& f) { return !kept(machine, f); });
  std::stable_sort(found.begin(), found.end(),
                   [](const Finding& a, const Finding& b) { return a.weight < b.weight; });
  return found;
}

}  // namespace ttc::collect::doctor
