#include "collector/doctor/doctor_report.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "collector/doctor/look/tracy_announcement.hpp"
#include "collector/doctor/look/variables.hpp"
#include "collector/program/json_text.hpp"

namespace ttc::collect::doctor {
namespace {

using json = nlohmann::ordered_json;

json or_null(const std::string& text) {
  return text.empty() ? json() : json(text);
}
json or_null(int number) {
  return number == 0 ? json() : json(number);
}

std::string counted(size_t n, const std::string& one, const std::string& several) {
  return std::to_string(n) + " " + (n == 1 ? one : several);
}

std::string paragraph(const Finding& f) {
  std::string text = std::string(to_string(f.weight)) +
                     std::string(8 - std::string(to_string(f.weight)).size(), ' ') + f.what;
  const auto add = [&](const char* label, const std::string& what) {
    if (!what.empty()) text += "\n        " + std::string(label) + what;
  };
  add("seen   ", f.evidence);
  add("cause  ", f.cause);
  add("do     ", f.fix);
  add("id     ", f.id);
  return text + "\n";
}

std::string port_line(const MachineState& machine, const Listener& l) {
  const ProcessState* p = machine.process(l.pid);
  std::string text = "port    " + std::to_string(l.port) + "  ";
  text += l.pid == 0 ? "a process of another user" : p ? who(*p) : "pid " + std::to_string(l.pid);
  if (p && p->tracy_library)
    text += ", a Tracy client" + (p->tracy_version.empty() ? "" : " of " + p->tracy_version);
  if (p && p->tracy_protocol)
    text +=
        ", protocol " + std::to_string(p->tracy_protocol) + " (" + tracy_of_protocol(p->tracy_protocol) + ")";
  if (l.connections) text += ", " + counted(l.connections, "connection", "connections");
  return text + "\n";
}

std::string process_line(const MachineState& machine, const ProcessState& p) {
  std::string text = "process " + who(p) + ", running for " + duration_in_words(p.age_s);
  for (const std::string& card : p.holds) text += ", holds " + card;
  if (p.looks_on) text += ", looking on";
  for (size_t i = 0; i < p.packages.size(); ++i)
    text.append(i == 0 ? ", with " : ", ")
        .append(p.packages[i].first)
        .append(" ")
        .append(p.packages[i].second);
  text += "\n";
  for (const std::string& profiler : other_profilers_of(machine, p))
    text.append("        ").append(profiler).append("\n");
  return text;
}

json to_json(const MachineState& machine, const ProcessState& p) {
  json packages = json::object();
  for (const auto& [name, version] : p.packages) packages[name] = version;
  return {{"pid", p.pid},
          {"name", or_null(p.name)},
          {"command", or_null(p.command)},
          {"age_s", p.age_s},
          {"state", std::string(1, p.state)},
          {"holds", p.holds},
          {"looking_on", p.looks_on},
          {"waits_for_chip_of", p.waits_for_chip},
          {"workload", is_workload(machine, p)},
          {"profiler_on", p.environment ? json(profiler_on(*p.environment)) : json()},
          {"tracy_client", p.may_be_read ? json(p.tracy_library) : json()},
          {"tracy_version", or_null(p.tracy_version)},
          {"tracy_protocol", or_null(static_cast<int>(p.tracy_protocol))},
          {"other_profilers", other_profilers_of(machine, p)},
          {"metal_library", or_null(p.metal_library)},
          {"packages", std::move(packages)}};
}

json seen(const MachineState& machine) {
  json cards = json::array(), emulated = json::array(), processes = json::array(), ports = json::array(),
       collectors = json::array();
  for (const CardState& c : machine.cards)
    cards.push_back({{"bdf", c.function.bdf},
                     {"node", or_null(c.function.node)},
                     {"arch", or_null(c.function.arch)},
                     {"driver_version", or_null(c.function.driver_version)},
                     {"firmware", or_null(c.function.firmware)},
                     {"iommu", or_null(c.iommu)},
                     {"umd_owner_pid", or_null(c.function.umd_owner_pid)}});
  for (const EmulatedCardState& e : machine.emulated)
    emulated.push_back({{"name", e.name}, {"pid", or_null(e.holder_pid)}});
  for (const ProcessState& p : machine.processes) processes.push_back(to_json(machine, p));
  for (const Listener& l : machine.listeners) {
    const ProcessState* p = machine.process(l.pid);
    ports.push_back({{"port", l.port},
                     {"pid", or_null(l.pid)},
                     {"name", or_null(l.name)},
                     {"tracy_client", p && p->may_be_read ? json(p->tracy_library) : json()},
                     {"tracy_version", p ? or_null(p->tracy_version) : json()},
                     {"tracy_protocol", p ? or_null(static_cast<int>(p->tracy_protocol)) : json()},
                     {"connections", l.connections}});
  }
  for (const CollectorState& c : machine.collectors)
    collectors.push_back({{"live", c.live_name}, {"device", c.device}, {"pid", c.pid}});
  return {{"cards", std::move(cards)},
          {"emulated", std::move(emulated)},
          {"processes", std::move(processes)},
          {"ports", std::move(ports)},
          {"collectors", std::move(collectors)}};
}

}  // namespace

std::string to_text(const MachineState& machine, const Findings& findings) {
  std::string text;
  for (const Finding& f : findings) text += paragraph(f);
  for (const ProcessState& p : machine.processes)
    if (!p.holds.empty()) text += process_line(machine, p);
  for (const Listener& l : machine.listeners) text += port_line(machine, l);
  for (const std::string& what : machine.hidden) text += "hidden  " + what + "\n";
  const auto advice = static_cast<size_t>(std::count_if(
      findings.begin(), findings.end(), [](const Finding& f) { return f.weight == Weight::advice; }));
  const size_t in_the_way = findings.size() - advice;
  text += in_the_way == 0 ? "nothing stands in the way"
                          : counted(in_the_way, "thing stands", "things stand") + " in the way";
  if (advice) text += ", " + counted(advice, "piece", "pieces") + " of advice";
  text += "; read: " + counted(machine.cards.size(), "card", "cards") + ", " +
          counted(machine.emulated.size(), "emulated one", "emulated ones") + ", " +
          counted(machine.processes.size(), "process", "processes") + "; no load of a card, " +
          counted(machine.chip_reads, "read", "reads") + " of chips by the driver at most\n";
  return text;
}

std::string to_json(const MachineState& machine, const Findings& findings) {
  json listed = json::array();
  for (const Finding& f : findings)
    listed.push_back({{"id", f.id},
                      {"weight", to_string(f.weight)},
                      {"what", f.what},
                      {"evidence", f.evidence},
                      {"cause", f.cause},
                      {"fix", f.fix},
                      {"card", or_null(f.card)},
                      {"pid", or_null(f.pid)}});
  const json all{{"in_the_way", stands_in_the_way(findings)},
                 {"findings", std::move(listed)},
                 {"seen", seen(machine)},
                 {"hidden", machine.hidden},
                 {"loads", 0},
                 {"chip_reads", machine.chip_reads}};
  return program::json_text(all);
}

}  // namespace ttc::collect::doctor
