#include "collector/doctor/look/machine_state.hpp"

#include <algorithm>
#include <cstdio>

namespace ttc::collect::doctor {

const ProcessState* MachineState::process(int pid) const {
  for (const ProcessState& p : processes)
    if (p.pid == pid) return &p;
  return nullptr;
}

std::string who(const ProcessState& process) {
  return "pid " + std::to_string(process.pid) + (process.name.empty() ? "" : " (" + process.name + ")");
}

std::string held(const ProcessState& p) {
  std::string cards;
  for (const std::string& card : p.holds) cards += (cards.empty() ? ", holds " : ", ") + card;
  return who(p) + ", running for " + duration_in_words(p.age_s) + cards;
}

// The first of the process's cards on which the real-time profiler cannot be: its records go to the host by DMA with addresses of 64 bits,
// which UMD has on Blackhole behind a translating IOMMU only.
const CardState* without_dma(const MachineState& machine, const ProcessState& p) {
  const auto at = std::find_if(machine.cards.begin(), machine.cards.end(), [&](const CardState& c) {
    return c.function.arch == "blackhole" && !c.iommu.starts_with("DMA") &&
           std::find(p.holds.begin(), p.holds.end(), c.function.node) != p.holds.end();
  });
  return at == machine.cards.end() ? nullptr : &*at;
}

std::vector<std::string> other_profilers_of(const MachineState& machine, const ProcessState& p) {
  if (p.metal_library.empty() || !p.environment) return {};
  if (value_in(*p.environment, "TT_METAL_STREAMING_PROFILER").starts_with('1'))
    return {
        "the streaming profiler is on (TT_METAL_STREAMING_PROFILER=1); it excludes the device profiler and "
        "the "
        "real-time profiler"};
  if (!p.has_real_time_profiler) return {};
  if (const CardState* card = without_dma(machine, p))
    return {"its tt-metal has the real-time profiler, which is off on " + card->function.node +
            ": on Blackhole it needs a translating IOMMU, and iommu_group/type of " + card->function.bdf +
            (card->iommu.empty() ? " is not there" : " is " + card->iommu)};
  return {
      "its tt-metal has the real-time profiler, which is on wherever it can be; it excludes the streaming "
      "profiler and nothing that ttcollect does (ttmon profilers shows it)"};
}

std::string duration_in_words(double seconds) {
  const auto whole = static_cast<uint64_t>(std::max(seconds, 0.0));
  const auto two = [](uint64_t a, const char* unit_a, uint64_t b, const char* unit_b) {
    return std::to_string(a) + " " + unit_a + (b ? " " + std::to_string(b) + " " + unit_b : "");
  };
  if (whole < 60) return std::to_string(whole) + " s";
  if (whole < 3600) return two(whole / 60, "min", whole % 60, "s");
  if (whole < 86400) return two(whole / 3600, "h", whole % 3600 / 60, "min");
  return two(whole / 86400, "d", whole % 86400 / 3600, "h");
}

bool is_workload(const MachineState& machine, const ProcessState& process) {
  if (!process.metal_library.empty() || !process.waits_for_chip.empty()) return true;
  for (const CardState& c : machine.cards)
    if (c.function.umd_owner_pid == process.pid) return true;
  return std::any_of(machine.emulated.begin(), machine.emulated.end(),
                     [&](const EmulatedCardState& e) { return e.holder_pid == process.pid; });
}

std::string node_of(const MachineState& machine, const std::string& device) {
  for (const CardState& c : machine.cards) {
    const card::PciFunction& f = c.function;
    if (!f.ordinal) continue;
    if (device == std::to_string(*f.ordinal) || device == "pci:" + f.bdf ||
        (!f.by_id.empty() && device.ends_with("/" + f.by_id)))
      return f.node;
  }
  return device;
}

}  // namespace ttc::collect::doctor
