#include "tools/ttdelay/plan/plan_json.hpp"

#include <nlohmann/json.hpp>

#include "tools/ttdelay/plan/schedule.hpp"

namespace ttc::delay {
namespace {

constexpr const char* kKinds[] = {"read", "write", "atomic"};

watcher::Transaction kind_of(const std::string& name) {
  for (size_t k = 0; k < std::size(kKinds); ++k)
    if (name == kKinds[k]) return static_cast<watcher::Transaction>(k);
  throw PlanError("kind '" + name + "' is none of read, write, atomic");
}

}  // namespace

nlohmann::ordered_json to_json(const Experiment& e) {
  nlohmann::ordered_json kinds = nlohmann::json::array(), cores = nlohmann::json::array();
  for (const auto kind : e.vary.kinds) kinds.push_back(kKinds[static_cast<size_t>(kind)]);
  for (const CoreSet& set : e.vary.cores) cores.push_back(set.text);
  return {{"name", e.name},
          {"command", e.command},
          {"environment", e.environment},
          {"device", e.device},
          {"chip", e.chip},
          {"seed", e.seed},
          {"vary",
           {{"kinds", kinds},
            {"cores", cores},
            {"riscs", e.vary.riscs},
            {"cycles", e.vary.cycles},
            {"repetitions", e.vary.repetitions},
            {"watcher_only", e.vary.watcher_only},
            {"plain", e.vary.plain}}},
          {"observe",
           {{"signposts", e.observe.signposts},
            {"skip_steps", e.observe.skip_steps},
            {"host_files", e.observe.host_files},
            {"numbers", e.observe.numbers},
            {"checksum", e.observe.checksum},
            {"files", e.observe.files},
            {"device_zones", e.observe.device_zones}}},
          {"run",
           {{"limit_ns", e.limits.run_ns},
            {"silent_ns", e.limits.silent_ns},
            {"reset_cmd", e.reset_command},
            {"cache_per_value", e.cache_per_value},
            {"collect", e.collect_options}}}};
}

Experiment experiment_of(const nlohmann::json& j) {
  try {
    Experiment e;
    j.at("name").get_to(e.name);
    j.at("command").get_to(e.command);
    j.at("environment").get_to(e.environment);
    j.at("device").get_to(e.device);
    j.at("chip").get_to(e.chip);
    j.at("seed").get_to(e.seed);
    const auto& vary = j.at("vary");
    for (const std::string kind : vary.at("kinds")) e.vary.kinds.push_back(kind_of(kind));
    for (const std::string cores : vary.at("cores"))
      for (CoreSet& set : read_cores(cores)) e.vary.cores.push_back(std::move(set));
    vary.at("riscs").get_to(e.vary.riscs);
    vary.at("cycles").get_to(e.vary.cycles);
    vary.at("repetitions").get_to(e.vary.repetitions);
    vary.at("watcher_only").get_to(e.vary.watcher_only);
    vary.at("plain").get_to(e.vary.plain);
    const auto& observe = j.at("observe");
    observe.at("signposts").get_to(e.observe.signposts);
    observe.at("skip_steps").get_to(e.observe.skip_steps);
    observe.at("host_files").get_to(e.observe.host_files);
    observe.at("numbers").get_to(e.observe.numbers);
    observe.at("checksum").get_to(e.observe.checksum);
    observe.at("files").get_to(e.observe.files);
    observe.at("device_zones").get_to(e.observe.device_zones);
    const auto& run = j.at("run");
    run.at("limit_ns").get_to(e.limits.run_ns);
    run.at("silent_ns").get_to(e.limits.silent_ns);
    run.at("reset_cmd").get_to(e.reset_command);
    run.at("cache_per_value").get_to(e.cache_per_value);
    run.at("collect").get_to(e.collect_options);
    return e;
  } catch (const nlohmann::json::exception& error) {
    throw PlanError(error.what());
  }
}

}  // namespace ttc::delay
