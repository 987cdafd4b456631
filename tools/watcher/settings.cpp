#include "tools/watcher/settings.hpp"

#include <unistd.h>

#include <cctype>
#include <charconv>
#include <optional>
#include <string_view>

namespace ttc::watcher {
namespace {

constexpr const char* kFeatures[] = {"NOC_SANITIZE", "ASSERT",   "PAUSE",    "RING_BUFFER",
                                     "STACK_USAGE",  "WAYPOINT", "DISPATCH", "ETH_LINK_STATUS"};
constexpr uint32_t kMostCores = 1024;  // of a range: more than any grid has

const std::string* value_of(const Environment& environment, const std::string& name) {
  const auto it = environment.find(name);
  return it == environment.end() ? nullptr : &it->second;
}

[[noreturn]] void invalid(const std::string& what) {
  throw StartError("TT_THROW: Invalid " + what);
}

// A number at the beginning of `text`, which then begins behind it: what scanf's conversions take.
std::optional<uint32_t> take_number(std::string_view& text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}
bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}
// "x,y"; what follows is not examined.
std::optional<LogicalCore> core_at(std::string_view text) {
  const auto x = take_number(text);
  if (!x || !take(text, ',')) return std::nullopt;
  const auto y = take_number(text);
  if (!y) return std::nullopt;
  return LogicalCore{*x, *y};
}

std::vector<LogicalCore> range(std::string_view text, const std::string& name) {
  const size_t minus = text.find('-');
  std::string_view first = text.substr(1), last = text.substr(minus + 1);
  const auto from = core_at(first);
  if (!from || !take(last, '(')) invalid(name);
  const auto to = core_at(last);
  if (!to) invalid(name);
  std::vector<LogicalCore> cores;  // none of a range that is the wrong way round
  for (uint32_t x = from->x; x <= to->x && cores.size() < kMostCores; ++x)
    for (uint32_t y = from->y; y <= to->y && cores.size() < kMostCores; ++y) cores.push_back({x, y});
  return cores;
}

std::vector<LogicalCore> list(std::string_view text, const std::string& name) {
  std::vector<LogicalCore> cores;
  for (;;) {
    if (!take(text, '(')) invalid(name);
    const auto core = core_at(text);
    if (!core) invalid(name);
    cores.push_back(*core);
    // On behind the comma after this one's own.
    const size_t own = text.find(',');
    const size_t next = text.find(',', own + 1);
    if (next == std::string_view::npos) return cores;
    text.remove_prefix(next + 1);
  }
}

// True: a class of cores was named.
bool read_cores(const Environment& environment, const std::string& name, std::vector<LogicalCore>& cores) {
  const std::string* text = value_of(environment, name);
  if (!text) return false;
  if (*text == "all" || *text == "worker" || *text == "dispatch") return true;
  if (text->empty()) invalid(name);
  if (std::isdigit(static_cast<unsigned char>(text->front()))) {
    const auto core = core_at(*text);
    if (!core) invalid(name);
    cores = {*core};
  } else if (text->front() == '(') {
    cores = text->find('-') != std::string::npos ? range(*text, name) : list(*text, name);
  } else {
    invalid(name);
  }
  return false;
}

void read_chips(const std::string& text, DelayFeature& feature) {
  feature.all_chips = false;
  for (std::string_view rest = text;;) {
    if (rest == "all") {
      feature.all_chips = true;
      return;
    }
    const auto chip = take_number(rest);
    if (!chip) invalid(std::string(rest));
    feature.chips.push_back(static_cast<int>(*chip));
    const size_t comma = rest.find(',');
    if (comma == std::string_view::npos) return;
    rest.remove_prefix(comma + 1);
  }
}

void read_riscs(const std::string& text, DelayFeature& feature) {
  const auto names = [&](const char* part) { return text.find(part) != std::string::npos; };
  feature.riscs = 0;
  feature.ethernet_riscs = 0;
  constexpr const char* kTensix[] = {"BR", "NC", "TR0", "TR1", "TR2"};
  for (uint32_t r = 0; r < std::size(kTensix); ++r)
    if (names(kTensix[r])) feature.riscs |= 1u << r;
  if (names("TR*")) feature.riscs |= 0x1c;
  if (names("ER0")) feature.ethernet_riscs |= 1;
  if (names("ER1")) feature.ethernet_riscs |= 2;
  if (names("ER*")) feature.ethernet_riscs |= 3;
  if (feature.riscs == 0 && feature.ethernet_riscs == 0)
    throw StartError("TT_THROW: Invalid RISC selection: \"" + text + "\"");
}

DelayFeature read_feature(const Environment& environment, const std::string& prefix) {
  DelayFeature f;
  const bool workers = read_cores(environment, prefix + "_CORES", f.workers);
  const bool ethernet = read_cores(environment, prefix + "_ETH_CORES", f.ethernet);
  f.of_a_class = workers || ethernet;
  if (const std::string* chips = value_of(environment, prefix + "_CHIPS")) read_chips(*chips, f);
  if (const std::string* riscs = value_of(environment, prefix + "_RISCVS")) read_riscs(*riscs, f);
  f.enabled = f.of_a_class || !f.workers.empty() || !f.ethernet.empty();
  return f;
}

void read_watcher(const Environment& environment, Settings& s) {
  const std::string* text = value_of(environment, "TT_METAL_WATCHER");
  if (!text) return;
  std::string_view rest = *text;
  const auto number = take_number(rest);
  if (!number)
    throw StartError(
        "terminate called after throwing an instance of 'std::invalid_argument'\n  what():  stoi");
  s.watcher = true;
  s.interval_ms = text->find("ms") != std::string::npos ? *number : uint64_t{1000} * *number;
}

}  // namespace

Settings read_settings(const Environment& environment, bool asserts) {
  Settings s;
  read_watcher(environment, s);
  s.noinline_helpers = value_of(environment, "TT_METAL_WATCHER_NOINLINE") != nullptr;
  for (const char* feature : kFeatures)
    if (value_of(environment, std::string("TT_METAL_WATCHER_DISABLE_") + feature)) s.disabled.insert(feature);
  if (const std::string* delay = value_of(environment, "TT_METAL_WATCHER_DEBUG_DELAY")) {
    std::string_view rest = *delay;
    s.delay_named = true;
    s.delay_cycles = take_number(rest).value_or(0);
    if (asserts && !s.watcher)
      throw StartError("TT_ASSERT: TT_METAL_WATCHER_DEBUG_DELAY requires TT_METAL_WATCHER");
    if (asserts && !s.sanitises())
      throw StartError(
          "TT_ASSERT: TT_METAL_WATCHER_DEBUG_DELAY requires TT_METAL_WATCHER_DISABLE_NOC_SANITIZE=0");
  }
  for (size_t t = 0; t < kTransactions; ++t)
    s.delays[t] = read_feature(environment, std::string("TT_METAL_") + kTransactionNames[t] + "_DEBUG_DELAY");
  return s;
}

Environment own_environment() {
  Environment all;
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (text.starts_with("TT_METAL_") && equals != std::string_view::npos)
      all.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return all;
}

}  // namespace ttc::watcher
