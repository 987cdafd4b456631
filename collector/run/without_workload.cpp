// What `ttcollect run` does without a workload: a mark for a run that is there, the report of logs.
#include <cstring>
#include <filesystem>

#include "collector/host_side/mark_listener.hpp"
#include "collector/program/program.hpp"
#include "collector/run/report/helper_program.hpp"
#include "collector/run/request/run_request.hpp"
#include "collector/run/run_typed.hpp"

namespace ttc::collect {
namespace {

constexpr program::Program kProgram{"ttcollect run", program::CollectExit::kOutput};

}  // namespace

int set_mark(char kind, const std::string& text, int run) {
  std::string name = run ? kMarksPrefix + std::to_string(run) : value_in(own_environment(), kMarksVariable);
  if (name.empty()) {
    const std::vector<std::string> there = mark_listeners();
    std::string pids;
    for (const std::string& one : there) pids += " " + one.substr(std::strlen(kMarksPrefix));
    if (there.size() != 1)
      return program::say(kProgram, program::CollectExit::kNoDevice,
                          there.empty()
                              ? "mark: there is no `ttcollect run` that could take it"
                              : "mark: several `ttcollect run` are there; --run names one of" + pids);
    name = there[0];
  }
  const std::string why = send_mark(name, kind, text);
  return why.empty() ? program::CollectExit::kOk
                     : program::say(kProgram, program::CollectExit::kNoDevice, "mark: " + why);
}

int report_logs(const RunRequest& request) {
  const Environment environment = own_environment();
  const std::string root = artifacts_root(request, environment, std::filesystem::current_path().string());
  const std::string log = root + "/.logs/profile_log_device.csv";
  std::error_code none;
  if (!std::filesystem::exists(log, none))
    return program::say(kProgram, program::CollectExit::kNoDevice,
                        "--process-logs-only: there is no " + log + "; -o names another root");
  std::vector<std::string> words{"files", log, "-o", root, "--host", root + "/.logs"};
  if (!request.name.empty()) words.insert(words.end(), {"-n", request.name});
  HelperProgram helper("ttreport", words, HelperProgram::Output::passed_on, HelperProgram::Output::passed_on);
  return helper.wait();
}

}  // namespace ttc::collect
