#include "tools/ttdelay/plan/environment.hpp"

namespace ttc::delay {
namespace {

// Seconds between two polls of the watcher's host thread: rarely, as each reads every core over PCIe.
constexpr const char* kWatcherInterval = "10";

std::vector<FeatureSet> all_feature_sets() {
  std::vector<FeatureSet> sets{{"all", {}}};
  FeatureSet set{"helpers out of line", {{"TT_METAL_WATCHER_NOINLINE", "1"}}};
  sets.push_back(set);
  std::string without;
  for (const char* part :
       {"ASSERT", "PAUSE", "RING_BUFFER", "STACK_USAGE", "WAYPOINT", "DISPATCH", "ETH_LINK_STATUS"}) {
    set.variables[std::string("TT_METAL_WATCHER_DISABLE_") + part] = "1";
    without += (without.empty() ? "" : ", ") + std::string(part);
    set.name = "helpers out of line, without " + without;
    sets.push_back(set);
  }
  return sets;
}

void replace(std::string& text, const std::string& what, const std::string& by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

}  // namespace

std::span<const FeatureSet> feature_sets() {
  static const std::vector<FeatureSet> sets = all_feature_sets();
  return sets;
}

std::string Build::name() const {
  return std::string(device_zones ? "device profiler, " : "no device profiler, ") +
         "watcher: " + feature_sets()[features].name;
}

bool is_ours(std::string_view variable) {
  return variable.starts_with("TT_METAL_WATCHER") ||
         (variable.starts_with("TT_METAL_") && variable.find("_DEBUG_DELAY_") != std::string_view::npos);
}

Variables variables_of(const Experiment& e, const PlannedRun& run, const Build& build) {
  Variables v = e.environment;
  if (run.arm == Arm::plain) return v;
  v["TT_METAL_WATCHER"] = kWatcherInterval;
  for (const auto& [name, value] : feature_sets()[build.features].variables) v[name] = value;
  if (run.arm == Arm::watcher_only) return v;
  const Unit unit = units_of(e)[run.unit];
  v["TT_METAL_WATCHER_DEBUG_DELAY"] = std::to_string(run.cycles);
  for (size_t t = 0; t < watcher::kTransactions; ++t) {
    if (t != static_cast<size_t>(unit.kind) && run.number != kTrial) continue;
    const std::string prefix = std::string("TT_METAL_") + watcher::kTransactionNames[t] + "_DEBUG_DELAY";
    v[prefix + "_CORES"] = unit.cores.text;
    v[prefix + "_CHIPS"] = std::to_string(e.chip);
    if (!unit.riscs.empty()) v[prefix + "_RISCVS"] = unit.riscs;
  }
  return v;
}

std::string cache_directory(const Experiment& e, const PlannedRun& run, const std::string& folder) {
  if (!e.cache_per_value) return "";
  return folder + "/cache/" +
         (run.arm == Arm::plain          ? std::string("plain")
          : run.arm == Arm::watcher_only ? std::string("watcher")
                                         : std::to_string(run.cycles));
}

std::string with_run(const std::string& word, const std::string& run_folder, unsigned number) {
  std::string text = word;
  replace(text, "{run}", run_folder);
  replace(text, "{number}", std::to_string(number));
  return text;
}

std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string shell_line(const Variables& variables, const std::vector<std::string>& words) {
  std::string line;
  if (!variables.empty()) line = "env";
  for (const auto& [name, value] : variables) line += " " + name + "=" + shell_word(value);
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + shell_word(word);
  return line;
}

}  // namespace ttc::delay
