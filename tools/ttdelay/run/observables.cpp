#include "tools/ttdelay/run/observables.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>

#include "collector/program/json_text.hpp"
#include "tools/ttdelay/plan/environment.hpp"
#include "tools/ttdelay/run/processes.hpp"

namespace ttc::delay {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kSignpost = "TT_SIGNPOST: ";
constexpr const char* kDetail = "device: ";

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

bool is_step(std::string_view name) {
  return name.starts_with("step_") && name.size() > 5 &&
         name.find_first_not_of("0123456789", 5) == std::string_view::npos;
}

template <class Take>
void each_match(std::string_view text, const std::string& expression, const Take& take) {
  const std::regex wanted(expression);
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string line(text.substr(0, end));
    std::smatch found;
    if (std::regex_search(line, found, wanted)) take(found[1].str());
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  }
}

// FNV-1a: a name for content.
std::string digest_of(const std::vector<std::string>& contents) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const std::string& content : contents) {
    for (const char c : content) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    hash = (hash ^ content.size()) * 0x100000001b3;
  }
  std::string name(16, '0');
  for (size_t i = name.size(); i-- > 0; hash >>= 4) name[i] = "0123456789abcdef"[hash & 15];
  return name;
}

std::string capture_in(const std::string& folder) {
  std::error_code none;
  for (fs::recursive_directory_iterator i(folder + "/reports", none), end; !none && i != end;
       i.increment(none))
    if (i->path().filename() == "run.ttc") return i->path();
  return "";
}

// The host's messages: those that the workload or Tracy left, else those in the capture (marks, Tracy clients).
std::string messages_of(const Observe& what, const std::string& folder, unsigned number) {
  std::vector<std::string> places{folder + "/.logs"};
  if (!what.host_files.empty()) places.insert(places.begin(), with_run(what.host_files, folder, number));
  for (const std::string& place : places)
    if (fs::exists(place + "/tracy_ops_data.csv")) return content_of(place + "/tracy_ops_data.csv");
  const std::string capture = capture_in(folder);
  if (capture.empty()) return "";
  run_program_of_ours("ttreport", {"host", capture, "-o", folder + "/host"});
  return content_of(folder + "/host/tracy_ops_data.csv");
}

void add_device(const std::string& folder, Observed& seen) {
  const std::string capture = capture_in(folder);
  if (capture.empty()) return;
  const nlohmann::json ops = program::json_value(content_of(fs::path(capture).parent_path() / "ops.json"));
  if (!ops.is_object() || ops["totals"].value("device_ops", 0) == 0) return;
  seen.zones = true;
  seen.values[std::string(kDetail) + "kernels"] = ops["totals"].value("device_us", 0.0);
  seen.values[std::string(kDetail) + "gaps"] = ops["totals"].value("gap_us", 0.0);
  for (const char* by : {"core", "zone"}) {
    const Printed printed =
        run_program_of_ours("ttreport", {"kernels", capture, "--by", by, "--top", "0", "--json", "-"});
    const nlohmann::json kernels = program::json_value(printed.out);
    if (!kernels.is_object()) continue;
    for (const auto& k : kernels["kernels"]) {
      if (k.value("group", "") != "program") continue;
      const bool core = std::string_view(by) == "core";
      const std::string name = k.value("name", "") + (core ? "" : " " + k.value("processor", ""));
      seen.values[kDetail + name] = core ? k.value("total_us", 0.0) : k.value("mean_us", 0.0);
    }
  }
}

}  // namespace

bool is_detail(std::string_view name) {
  return name.starts_with(kDetail);
}

std::map<std::string, std::vector<double>> signpost_us(std::string_view messages) {
  std::map<std::string, std::vector<double>> durations;
  std::map<std::string, uint64_t> begun;
  std::vector<double> periods;  // from step to step
  std::optional<uint64_t> step_begun;
  for (size_t at = messages.find(kSignpost); at != std::string_view::npos;
       at = messages.find(kSignpost, at)) {
    at += kSignpost.size();
    const size_t end = messages.find_first_of("`\n", at), stamp = messages.find("`;", at);
    if (end == std::string_view::npos || stamp == std::string_view::npos) break;
    std::string name(messages.substr(at, end - at));
    uint64_t ns = 0;
    const auto [rest, error] =
        std::from_chars(messages.data() + stamp + 2, messages.data() + messages.size(), ns);
    if (error != std::errc{}) continue;
    for (const auto& [ending, is_end] :
         {std::pair<std::string_view, bool>{"_start", false}, {"_end", true}}) {
      if (!name.ends_with(ending)) continue;
      name.resize(name.size() - ending.size());
      if (!is_end && is_step(name)) {
        if (step_begun && ns >= *step_begun) periods.push_back(static_cast<double>(ns - *step_begun) / 1e3);
        step_begun = ns;
      }
      if (!is_end)
        begun[name] = ns;
      else if (const auto start = begun.extract(name); start && ns >= start.mapped())
        durations[is_step(name) ? "step" : "signpost " + name].push_back(
            static_cast<double>(ns - start.mapped()) / 1e3);
      break;
    }
  }
  if (!periods.empty()) durations["step"] = std::move(periods);
  return durations;
}

std::vector<double> numbers_in(std::string_view text, const std::string& expression) {
  std::vector<double> all;
  each_match(text, expression, [&](const std::string& found) {
    double value = 0;
    const auto [end, error] = std::from_chars(found.data(), found.data() + found.size(), value);
    if (error == std::errc{}) all.push_back(value);
  });
  return all;
}

std::optional<std::string> last_match(std::string_view text, const std::string& expression) {
  std::optional<std::string> last;
  each_match(text, expression, [&](const std::string& found) { last = found; });
  return last;
}

Observed observe(const Observe& what, const std::string& folder, unsigned number, bool device_zones,
                 double seconds) {
  Observed seen;
  if (what.signposts) {
    for (auto& [name, durations] : signpost_us(messages_of(what, folder, number))) {
      if (name == "step" && durations.size() > what.skip_steps)
        durations.erase(durations.begin(), durations.begin() + what.skip_steps);
      seen.values[name] = median(durations);
    }
  }
  const std::string printed = content_of(folder + "/stdout");
  for (const auto& [name, expression] : what.numbers)
    if (const auto all = numbers_in(printed, expression); !all.empty()) seen.values[name] = median(all);
  if (seen.values.empty()) seen.values["run"] = seconds * 1e6;
  if (!what.checksum.empty()) seen.output = last_match(printed, what.checksum);
  if (!what.files.empty()) {
    std::vector<std::string> contents{seen.output.value_or("")};
    for (const std::string& file : what.files) {
      const std::string path = with_run(file, folder, number);
      contents.push_back(fs::exists(path) ? content_of(path) : std::string("no such file"));
    }
    seen.output = digest_of(contents);
  }
  if (device_zones) add_device(folder, seen);
  return seen;
}

}  // namespace ttc::delay
