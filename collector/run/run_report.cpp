#include "collector/run/run_report.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "collector/program/json_text.hpp"
#include "collector/program/printable.hpp"
#include "collector/run/helper_program.hpp"
#include "collector/run/tracy_file.hpp"

namespace ttc::collect {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWork = "/.work/";  // where ttreport writes first: no name for people
constexpr size_t kOpsShown = 12, kSlowestShown = 5;
constexpr double kUsPerMs = 1000;

class Steps {
 public:
  Steps(const RunRequest& request, ReportOutcome& outcome) : request_(request), outcome_(outcome) {}
  bool broken_off() const { return broken_off_; }
  // True when it gave what was asked for. `unknown_name`: gets the sentence about a name that is not there, and that is no
  // failure then.
  bool ttreport(const std::vector<std::string>& arguments, std::string* unknown_name = nullptr) {
    if (broken_off_) return false;
    HelperProgram helper("ttreport", arguments, HelperProgram::Output::kept, HelperProgram::Output::kept);
    const int code = helper.wait();
    if (helper.broken_off()) {
      broken_off_ = true;
      outcome_.exit_code = code;
      outcome_.sentences.emplace_back("a signal broke the report off; `ttreport` makes it from the capture");
      return false;
    }
    constexpr int kUnknownName = 2;
    if (code == kUnknownName && unknown_name) {
      for (const std::string& sentence : sentences_of(helper))
        unknown_name->append(unknown_name->empty() ? "" : "; ").append(sentence);
      return false;
    }
    if (code != 0 || request_.verbose)
      for (std::string& sentence : sentences_of(helper))
        if (sentence.find(kWork) == std::string::npos) outcome_.sentences.push_back(std::move(sentence));
    constexpr int kDamaged = 4;  // the output holds what could be read
    if (code != 0 && outcome_.exit_code == 0) outcome_.exit_code = code;
    return code == 0 || code == kDamaged;
  }

 private:
  const RunRequest& request_;
  ReportOutcome& outcome_;
  bool broken_off_ = false;
};

// What is in `from`, but for files that `unless` has by the same name: a device log can have gigabytes.
void move_into(const fs::path& from, const fs::path& to, const fs::path& unless,
               std::vector<std::string>& files) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(from, error)) {
    if (fs::exists(unless / entry.path().filename(), error)) continue;
    const fs::path there = to / entry.path().filename();
    fs::rename(entry.path(), there, error);
    if (!error && entry.is_regular_file(error)) files.push_back(there.string());
  }
}

struct OpSum {
  double us = 0;
  size_t count = 0;
};

std::string row_text(const char* format, double us, double percent, const std::string& name) {
  char figures[80];
  std::snprintf(figures, sizeof figures, format, us, percent);
  return figures + program::printable(name) + "\n";
}

void list_by_op(std::vector<std::pair<std::string, OpSum>> sums, double total, std::string& text) {
  std::sort(sums.begin(), sums.end(), [](const auto& a, const auto& b) { return a.second.us > b.second.us; });
  text += "  device time   share  count  op\n";
  for (size_t i = 0; i < std::min(sums.size(), kOpsShown); ++i) {
    const OpSum& s = sums[i].second;
    char count[32];
    std::snprintf(count, sizeof count, "%5zu  ", s.count);
    text += row_text("  %8.3f ms  %5.1f %%  ", s.us / kUsPerMs, total > 0 ? 100 * s.us / total : 0,
                     count + sums[i].first);
  }
  if (sums.size() > kOpsShown) text += "  and " + std::to_string(sums.size() - kOpsShown) + " more\n";
}

}  // namespace

std::vector<std::string> sentences_of(const HelperProgram& helper) {
  std::vector<std::string> sentences;
  std::istringstream lines(helper.err());
  for (std::string line; std::getline(lines, line);) {
    constexpr std::string_view kName = "ttreport: ";
    if (line.starts_with(kName)) line.erase(0, kName.size());
    if (!line.empty()) sentences.push_back(line);
  }
  return sentences;
}

ReportPlace report_place(const std::string& root, const std::string& name, int64_t now) {
  const std::time_t seconds = now;
  std::tm parts{};
  localtime_r(&seconds, &parts);
  char stamp[32];
  std::strftime(stamp, sizeof stamp, "%Y_%m_%d_%H_%M_%S", &parts);
  ReportPlace place{root, root + "/reports", stamp};
  if (!name.empty()) place.folder += "/" + name;
  place.folder += "/" + place.stamp;
  return place;
}

ClaimedPlace::ClaimedPlace(const std::string& root, const std::string& name, int64_t now) {
  for (int64_t at = now;; ++at) {
    place_ = report_place(root, name, at);
    std::error_code error;
    std::vector<fs::path> missing;
    for (fs::path part = fs::path(place_.folder).parent_path(); !part.empty() && !fs::exists(part, error);
         part = part.parent_path())
      missing.push_back(part);
    for (auto part = missing.rbegin(); part != missing.rend(); ++part)
      if (fs::create_directory(*part, error)) made_.push_back(part->string());
    const bool ours = fs::create_directory(place_.folder, error);
    if (ours) made_.push_back(place_.folder);
    if (ours || error) return;
  }
}

ClaimedPlace::~ClaimedPlace() {
  std::error_code not_empty;
  for (auto folder = made_.rbegin(); folder != made_.rend(); ++folder)
    if (!fs::remove(*folder, not_empty)) return;
}

std::string ops_summary(const std::string& json) {
  const auto report = program::json_value(json);
  if (!report.is_object() || !report.contains("rows") || !report["rows"].is_array()) return {};
  std::map<std::string, OpSum> by_op;
  std::vector<std::pair<double, std::string>> single;
  double total = 0;
  for (const auto& row : report["rows"]) {
    if (!row.contains("device_us") || !row["device_us"].is_number()) continue;
    const double us = row["device_us"].get<double>();
    if (us <= 0) continue;  // of the host alone
    const std::string name = row.value("op_code", std::string());
    OpSum& sum = by_op[name];
    sum.us += us, ++sum.count, total += us;
    std::string where = name;
    if (row.contains("global_call_count") && row["global_call_count"].is_number())
      where += ", call " + std::to_string(row["global_call_count"].get<uint64_t>());
    if (row.contains("device") && row["device"].is_number())
      where += " on device " + std::to_string(row["device"].get<uint64_t>());
    single.emplace_back(us, std::move(where));
  }
  if (single.empty()) return {};
  const size_t shown = std::min(single.size(), kSlowestShown);
  std::partial_sort(single.begin(), single.begin() + static_cast<std::ptrdiff_t>(shown), single.end(),
                    [](const auto& a, const auto& b) { return a.first > b.first; });
  char head[120];
  std::snprintf(head, sizeof head, "%zu ops, %.3f ms of device time", single.size(), total / kUsPerMs);
  std::string text = head;
  const std::string verdict = report.value("verdict", std::string());
  text += (verdict.empty() ? "" : "; " + verdict) + "\n";
  list_by_op({by_op.begin(), by_op.end()}, total, text);
  text += "slowest:\n";
  for (size_t i = 0; i < shown; ++i)
    text += row_text("  %8.3f ms  %5.1f %%  ", single[i].first / kUsPerMs,
                     total > 0 ? 100 * single[i].first / total : 0, single[i].second);
  return text;
}

namespace {

// The files of tt-metal's tools.
void make_files(const RunRequest& request, const ReportPlace& place, const ReportInputs& inputs, Steps& steps,
                ReportOutcome& outcome) {
  // Beside the folder and not in the root: the workload's own .logs are there, and stay as they are.
  const fs::path folder(place.folder), work = folder / ".work";
  std::vector<std::string> files{"files", place.capture()};
  if (!inputs.metal_log.empty()) files.push_back(inputs.metal_log);
  const std::vector<std::string> rest{"-o", work.string(), "--date", place.stamp, "--every-column"};
  files.insert(files.end(), rest.begin(), rest.end());
  if (!request.name.empty()) files.insert(files.end(), {"-n", request.name});
  if (!inputs.host_logs.empty()) files.insert(files.end(), {"--host", inputs.host_logs});
  if (request.noc_traces) files.push_back("--noc-traces");
  std::error_code none;
  if (steps.ttreport(files)) {
    fs::path made = work / "reports";
    if (!request.name.empty()) made /= request.name;
    move_into(made / place.stamp, folder, work, outcome.files);
    fs::create_directories(folder / ".logs", none);
    move_into(work / ".logs", folder / ".logs", folder, outcome.files);
  }
  fs::remove_all(work, none);
}

std::string summary_of_file(const std::string& json) {
  std::ifstream in(json, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return ops_summary(text.str());
}

std::string make_ops(const RunRequest& request, const ReportPlace& place,
                     const std::vector<std::string>& input, Steps& steps, ReportOutcome& outcome) {
  const std::string json = place.folder + "/ops.json";
  std::vector<std::string> all{"ops", "--json", json, "--no-summary"};
  all.insert(all.end(), input.begin(), input.end());
  std::vector<std::string> window = all;
  if (!request.start_signpost.empty())
    window.insert(window.end(), {"--start-signpost", request.start_signpost});
  if (!request.end_signpost.empty()) window.insert(window.end(), {"--end-signpost", request.end_signpost});
  std::string unknown;
  if (!steps.ttreport(window, request.window_of_range ? &unknown : nullptr)) {
    if (unknown.empty()) return {};
    // The marks of a workload without Tracy are no rows among its ops. What was collected begins and ends with the range.
    outcome.sentences.push_back("the summary is of all ops that were collected: " + unknown);
    if (!steps.ttreport(all)) return {};
  }
  outcome.files.push_back(json);
  std::string summary = summary_of_file(json);
  if (!summary.empty() || !request.window_of_range || !unknown.empty()) return summary;
  if (!steps.ttreport(all)) return {};
  summary = summary_of_file(json);
  if (!summary.empty())
    outcome.sentences.emplace_back(
        "the summary is of all ops that were collected: none began within the range");
  return summary;
}

}  // namespace

ReportOutcome make_run_report(const RunRequest& request, const ReportPlace& place, const ReportInputs& inputs,
                              const std::function<void(const std::string&)>& show) {
  ReportOutcome outcome;
  Steps steps(request, outcome);
  std::vector<std::string> input{place.capture()};
  if (!inputs.host_logs.empty()) input.insert(input.end(), {"--host", inputs.host_logs});
  show(make_ops(request, place, input, steps, outcome));
  make_files(request, place, inputs, steps, outcome);
  const std::string page = place.folder + "/report.html";
  std::vector<std::string> html{"html", "-o", page};
  html.insert(html.end(), input.begin(), input.end());
  if (steps.ttreport(html)) outcome.files.push_back(page);
  if (!inputs.tracy_program.empty() && !steps.broken_off())
    outcome.sentences.push_back(make_tracy_file(inputs.tracy_program, place.capture(),
                                                place.folder + "/tracy_profile_log_host.tracy"));
  return outcome;
}

}  // namespace ttc::collect
