#include "collector/run/report/run_report.hpp"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <sstream>

#include "collector/run/report/helper_program.hpp"
#include "collector/run/report/tracy_file.hpp"

namespace ttc::collect {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWork = "/.work/";  // where ttreport writes first

class Steps {
 public:
  Steps(const RunRequest& request, ReportOutcome& outcome) : request_(request), outcome_(outcome) {}
  bool broken_off() const { return broken_off_; }
  // True when it returned what was requested. `unknown_name`: gets the sentence about a name that does not exist, which is then no
  // failure.
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

namespace {

void add_children(const RunRequest& request, std::vector<std::string>& words) {
  if (!request.child_functions.empty())
    words.insert(words.end(), {"--child-functions", request.child_functions});
}

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
  add_children(request, files);
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

void make_ops(const RunRequest& request, const ReportPlace& place, Steps& steps, ReportOutcome& outcome) {
  const std::string json = place.folder + "/ops.json";
  std::vector<std::string> all{"ops", place.capture(), "--json", json, "--no-summary"};
  add_children(request, all);
  std::vector<std::string> window = all;
  if (!request.start_signpost.empty())
    window.insert(window.end(), {"--start-signpost", request.start_signpost});
  if (!request.end_signpost.empty()) window.insert(window.end(), {"--end-signpost", request.end_signpost});
  std::string unknown;
  if (steps.ttreport(window, request.window_of_range ? &unknown : nullptr) ||
      (!unknown.empty() && steps.ttreport(all)))
    outcome.files.push_back(json);
}

}  // namespace

ReportOutcome make_run_report(const RunRequest& request, const ReportPlace& place,
                              const ReportInputs& inputs) {
  ReportOutcome outcome;
  Steps steps(request, outcome);
  make_ops(request, place, steps, outcome);
  make_files(request, place, inputs, steps, outcome);
  const std::string page = place.folder + "/report.html";
  std::vector<std::string> html{"html", place.capture(), "-o", page};
  if (steps.ttreport(html)) outcome.files.push_back(page);
  if (!inputs.tracy_program.empty() && !steps.broken_off())
    outcome.sentences.push_back(make_tracy_file(inputs.tracy_program, place.capture(),
                                                place.folder + "/tracy_profile_log_host.tracy"));
  return outcome;
}

}  // namespace ttc::collect
