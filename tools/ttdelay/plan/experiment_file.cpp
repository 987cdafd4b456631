#include <algorithm>
#include <regex>
#include <set>

#include "collector/program/units.hpp"
#include "tools/toml/toml_fields.hpp"
#include "tools/ttdelay/plan/experiment.hpp"

namespace ttc::delay {
namespace {

constexpr uint32_t kMostCycles = 1'000'000'000;
constexpr unsigned kMostRuns = 10'000;  // of one arm

class ExperimentReader : public tools::TomlFields {
 public:
  using TomlFields::TomlFields;

  Experiment experiment(const toml::table& root) {
    Experiment e;
    fields(root, {{"name", [&](const toml::node& n) { e.name = text(n, "name"); }},
                  {"command", [&](const toml::node& n) { e.command = texts(n, "command"); }},
                  {"environment", [&](const toml::node& n) { e.environment = pairs(n, "environment"); }},
                  {"device", [&](const toml::node& n) { e.device = text(n, "device"); }},
                  {"chip", [&](const toml::node& n) { e.chip = whole(n, "chip", 0, 255); }},
                  {"seed", [&](const toml::node& n) { e.seed = whole(n, "seed", 1, UINT32_MAX); }},
                  {"vary", [&](const toml::node& n) { vary(table(n, "vary"), e.vary); }},
                  {"observe", [&](const toml::node& n) { observe(table(n, "observe"), e.observe); }},
                  {"run", [&](const toml::node& n) { run(table(n, "run"), e); }}});
    const auto own = [](const auto& variable) {
      return variable.first.find("DEBUG_DELAY") != std::string::npos ||
             variable.first.starts_with("TT_METAL_WATCHER");
    };
    const auto taken = std::find_if(e.environment.begin(), e.environment.end(), own);
    if (taken != e.environment.end())
      fail(*root.get("environment"),
           taken->first + " is set by ttdelay in each run, and must not be in environment");
    return e;
  }

 private:
  std::string text(const toml::node& n, const std::string& field) const {
    std::string value = TomlFields::text(n, field);
    if (value.find('\0') != std::string::npos) fail(n, field + " holds a zero byte");
    return value;
  }
  std::vector<std::string> texts(const toml::node& n, const std::string& field) const {
    const toml::array* array = n.as_array();
    if (!array || array->empty()) fail(n, field + " must be a list of texts, as in [\"a\", \"b\"]");
    std::vector<std::string> all;
    for (const toml::node& one : *array) all.push_back(text(one, "an entry of " + field));
    return all;
  }
  std::map<std::string, std::string> pairs(const toml::node& n, const char* field) const {
    std::map<std::string, std::string> all;
    for (const auto& [key, node] : table(n, field))
      all[std::string(key.str())] = text(node, std::string(key.str()));
    return all;
  }
  uint32_t whole(const toml::node& n, const std::string& field, int64_t least, int64_t most) const {
    return TomlFields::whole<uint32_t>(n, field, least, most);
  }
  uint64_t duration(const toml::node& n, const char* field) const {
    const program::ParsedUnits parsed = program::parse_duration(text(n, field));
    if (!parsed.value || *parsed.value == 0)
      fail(n, std::string(field) + " must be a duration above 0, as in \"90s\"" +
                  (parsed.error.empty() ? "" : ": " + parsed.error));
    return *parsed.value;
  }
  std::string expression(const toml::node& n, const std::string& field) const {
    std::string value = text(n, field);
    try {
      if (std::regex(value).mark_count() != 1)
        fail(n, field + " must have one group in brackets: what is read");
    } catch (const std::regex_error& e) {
      fail(n, field + " is no regular expression (ECMAScript): " + e.what());
    }
    return value;
  }

  void vary(const toml::table& t, Vary& v) const {
    fields(t, {{"kinds", [&](const toml::node& n) { kinds(n, v); }},
               {"cores", [&](const toml::node& n) { cores(n, v); }},
               {"riscs", [&](const toml::node& n) { riscs(n, v); }},
               {"cycles", [&](const toml::node& n) { cycles(n, v); }},
               {"repetitions",
                [&](const toml::node& n) { v.repetitions = whole(n, "repetitions", 1, kMostRuns); }},
               {"watcher_only",
                [&](const toml::node& n) { v.watcher_only = whole(n, "watcher_only", 1, kMostRuns); }},
               {"plain", [&](const toml::node& n) { v.plain = whole(n, "plain", 0, kMostRuns); }}});
  }
  void kinds(const toml::node& n, Vary& v) const {
    for (const std::string& one : texts(n, "kinds")) {
      if (one != "read" && one != "write" && one != "atomic")
        fail(n, "kind '" + one + "' is none of read, write, atomic");
      const auto kind = one == "read"    ? watcher::Transaction::read
                        : one == "write" ? watcher::Transaction::write
                                         : watcher::Transaction::atomic;
      if (std::find(v.kinds.begin(), v.kinds.end(), kind) != v.kinds.end())
        fail(n, "kind '" + one + "' is there twice");
      v.kinds.push_back(kind);
    }
  }
  void cores(const toml::node& n, Vary& v) const {
    std::set<std::string> seen;
    const std::vector<std::string> all = texts(n, "cores");
    for (size_t i = 0; i < all.size(); ++i) {
      const toml::node& where = *n.as_array()->get(i);
      try {
        for (CoreSet& set : read_cores(all[i])) {
          if (!seen.insert(set.text).second) fail(where, "cores '" + set.text + "' are there twice");
          v.cores.push_back(std::move(set));
        }
      } catch (const PlanError& e) {
        fail(where, e.what());
      }
    }
  }
  void riscs(const toml::node& n, Vary& v) const {
    static const std::set<std::string> known{"BR", "NC", "TR0", "TR1", "TR2", "TR*"};
    for (const std::string& one : texts(n, "riscs")) {
      if (!known.contains(one)) fail(n, "RISC '" + one + "' is none of BR, NC, TR0, TR1, TR2, TR*");
      v.riscs.push_back(one);
    }
  }
  void cycles(const toml::node& n, Vary& v) const {
    const toml::array* array = n.as_array();
    if (!array || array->empty()) fail(n, "cycles must be a list of whole numbers, as in [1000, 2000]");
    for (const toml::node& one : *array) v.cycles.push_back(whole(one, "an entry of cycles", 1, kMostCycles));
    std::sort(v.cycles.begin(), v.cycles.end());
    if (std::adjacent_find(v.cycles.begin(), v.cycles.end()) != v.cycles.end())
      fail(n, "cycles holds a number twice");
  }

  void observe(const toml::table& t, Observe& o) const {
    fields(t,
           {{"signposts", [&](const toml::node& n) { o.signposts = flag(n, "signposts"); }},
            {"skip_steps", [&](const toml::node& n) { o.skip_steps = whole(n, "skip_steps", 0, 1'000'000); }},
            {"host_files", [&](const toml::node& n) { o.host_files = text(n, "host_files"); }},
            {"checksum", [&](const toml::node& n) { o.checksum = expression(n, "checksum"); }},
            {"files", [&](const toml::node& n) { o.files = texts(n, "files"); }},
            {"device_zones", [&](const toml::node& n) { o.device_zones = flag(n, "device_zones"); }},
            {"numbers", [&](const toml::node& n) {
               for (const auto& [key, node] : table(n, "numbers"))
                 o.numbers[std::string(key.str())] = expression(node, std::string(key.str()));
             }}});
  }
  void run(const toml::table& t, Experiment& e) const {
    fields(t,
           {{"limit", [&](const toml::node& n) { e.limits.run_ns = duration(n, "limit"); }},
            {"silent", [&](const toml::node& n) { e.limits.silent_ns = duration(n, "silent"); }},
            {"reset_cmd", [&](const toml::node& n) { e.reset_command = text(n, "reset_cmd"); }},
            {"cache_per_value", [&](const toml::node& n) { e.cache_per_value = flag(n, "cache_per_value"); }},
            {"collect", [&](const toml::node& n) { e.collect_options = texts(n, "collect"); }}});
  }
};

}  // namespace

Experiment read_experiment(std::string_view text, const std::string& name) {
  ExperimentReader reader(name);
  try {
    return reader.experiment(reader.parsed(text));
  } catch (const tools::TomlError& e) {
    throw PlanError(e.what());
  }
}

void check_experiment(const Experiment& e, const std::string& name) {
  const auto lacks = [&](const char* what) { throw PlanError(name + ": there is no " + what); };
  if (e.command.empty()) lacks("command (what is run; `command = [\"python3\", \"model.py\"]`)");
  if (e.vary.kinds.empty()) lacks("kinds in [vary] (some of read, write, atomic)");
  if (e.vary.cores.empty()) lacks("cores in [vary] (such as \"0,0\" or \"each (0,0)-(7,7)\")");
  if (e.vary.cycles.empty()) lacks("cycles in [vary] (delays, such as [1000, 2000])");
  if (!e.observe.signposts && e.observe.numbers.empty() && e.observe.checksum.empty() &&
      e.observe.files.empty() && !e.observe.device_zones)
    lacks(
        "observable: [observe] switches off signposts and device_zones and names no numbers, checksum or "
        "files");
}

}  // namespace ttc::delay
