// ttreport host: tracy_ops_data.csv and tracy_ops_times.csv out of a capture that `ttcollect run` made.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <set>

#include "collector/program/output_guard.hpp"
#include "tools/output/output.hpp"
#include "tools/report/host/tracy_files.hpp"
#include "tools/ttreport/report.hpp"

namespace ttc::tools {
namespace {

namespace fs = std::filesystem;

class HostReport : public Report {
 public:
  void options(CLI::App& command) override {
    command.add_option("--from,input", from_, "FILE.ttc")->required();
    command.add_option("-o,--output-folder", folder_, "directory of the two files")->required();
    command.add_option("--child-functions", children_, "A,B: further zones whose parent's text is written")
        ->delimiter(',');
  }

  int run() override {
    report::TracyFiles files({children_.begin(), children_.end()});
    files.read(from_);
    if (!files.any())
      return say(
          ReportExit::kNoSource,
          from_ + " has no host side; `ttcollect run` records one where the workload is linked with Tracy");
    std::error_code error;
    fs::create_directories(folder_, error);
    if (error) throw OutputError("directory " + folder_ + " cannot be made: " + error.message());
    const auto to = [&](auto write) {
      return [&files, write](const report::TracyFiles::Put& put) { (files.*write)(put); };
    };
    put("tracy_ops_data.csv", to(&report::TracyFiles::write_data));
    put("tracy_ops_times.csv", to(&report::TracyFiles::write_times));
    for (const std::string& remark : files.remarks()) say(ReportExit::kOk, remark);
    say(ReportExit::kOk, std::to_string(files.messages()) + " messages and " + std::to_string(files.zones()) +
                             " zones of " + std::to_string(files.processes()) + " processes are in " +
                             folder_);
    return ReportExit::kOk;
  }

 private:
  void put(const char* name, const std::function<void(const report::TracyFiles::Put&)>& write) {
    const std::string path = (fs::path(folder_) / name).string();
    const std::string inputs[] = {from_};
    program::refuse_output_over_input(path, inputs);
    Output out(path, false);
    write([&](std::string_view part) { out.append(part); });
    out.commit();
  }

  std::string from_, folder_;
  std::vector<std::string> children_;
};

}  // namespace

std::unique_ptr<Report> make_host_report() {
  return std::make_unique<HostReport>();
}

}  // namespace ttc::tools
