#include "collector/doctor/doctor.hpp"

#include <algorithm>
#include <cstdio>
#include <set>
#include <sstream>

#include "collector/doctor/doctor_report.hpp"
#include "collector/doctor/findings.hpp"
#include "collector/program/printable.hpp"

namespace ttc::collect::doctor {
namespace {

// Opening a card, attaching to it, taking a segment and collecting have sentences of their own for these.
constexpr const char* kSaidElsewhere[] = {
    "no-card",    "no-driver",     "no-permission",       "driver-too-old",
    "resetting",  "profiler-off",  "built-without-tracy", "streaming-profiler",
    "debug-dump", "two-profilers", "profiler-and-dprint", "exclusive-holder",
    "shm-small",  "log-full"};

bool holds_one_of(const ProcessState& p, const std::set<std::string>& nodes) {
  return std::any_of(p.holds.begin(), p.holds.end(),
                     [&](const std::string& card) { return nodes.contains("all") || nodes.contains(card); });
}

bool of_interest(const MachineState& machine, const Finding& f, const std::set<std::string>& nodes) {
  if (f.weight == Weight::advice) return false;
  if (std::find(std::begin(kSaidElsewhere), std::end(kSaidElsewhere), f.id) != std::end(kSaidElsewhere))
    return false;
  if (nodes.contains("all") || nodes.contains(f.card)) return true;
  const ProcessState* p = machine.process(f.pid);
  return p ? holds_one_of(*p, nodes) : f.card.empty() && f.pid == 0;
}

}  // namespace

bool examine(const Look& look, bool as_json) {
  const MachineState machine = look_at_machine(look);
  const Findings findings = findings_of(machine);
  if (as_json) {
    std::printf("%s\n", to_json(machine, findings).c_str());
  } else {
    std::istringstream lines(to_text(machine, findings));  // names and variables of others among them
    for (std::string line; std::getline(lines, line);) std::printf("%s\n", program::printable(line).c_str());
  }
  return !stands_in_the_way(findings);
}

namespace {

std::vector<std::string> sentences_about(std::span<const std::string> devices) {
  Look look;
  look.read_chips = false;
  const MachineState machine = look_at_machine(look);
  std::set<std::string> nodes;
  for (const std::string& device : devices) nodes.insert(node_of(machine, device));
  std::vector<std::string> sentences;
  for (const Finding& f : findings_of(machine))
    if (of_interest(machine, f, nodes))
      sentences.push_back(f.what + "; " + f.fix + " (ttcollect doctor: " + f.id + ")");
  for (const ProcessState& p : machine.processes)
    if (is_workload(machine, p) && holds_one_of(p, nodes))
      for (const std::string& profiler : other_profilers_of(machine, p))
        sentences.push_back(who(p) + ": " + profiler);
  return sentences;
}

}  // namespace

std::vector<std::string> in_the_way_of(std::span<const std::string> devices) {
  try {
    return sentences_about(devices);
  } catch (const card::InventoryError&) {  // reported where a card on the bus is opened
    return {};
  } catch (const std::exception& e) {
    return {std::string("the machine was not examined: ") + e.what()};
  }
}

}  // namespace ttc::collect::doctor
