// What a run leaves when its workload is over: the report folder, made by ttreport from the capture.
#pragma once
#include <string>
#include <vector>

#include "collector/run/request/run_request.hpp"

namespace ttc::collect {

class HelperProgram;

struct ReportPlace {
  std::string root;    // of the artifacts
  std::string folder;  // root/reports/[NAME/]TIME
  std::string stamp;   // TIME
  std::string capture() const { return folder + "/run.ttc"; }
};
// `now`: seconds since 1970, shown in local time as tt-metal's tools do.
ReportPlace report_place(const std::string& root, const std::string& name, int64_t now);

// The folder of a report, made at once, so that no other run has the same: of runs that begin in one second the later ones
// have the next seconds' names. Where it cannot be made, writing into it fails with the reason.
class ClaimedPlace {
 public:
  ClaimedPlace(const std::string& root, const std::string& name, int64_t now);
  ~ClaimedPlace();  // removes the directories that were made and are empty
  ClaimedPlace(const ClaimedPlace&) = delete;
  ClaimedPlace& operator=(const ClaimedPlace&) = delete;
  const ReportPlace& place() const { return place_; }

 private:
  ReportPlace place_;
  std::vector<std::string> made_;  // the outermost first
};

struct ReportOutcome {
  int exit_code = 0;               // of the first step that failed
  std::vector<std::string> files;  // that were written, absolute
  std::vector<std::string> sentences;
};
struct ReportInputs {
  std::string
      metal_log;  // the workload's own device log, whose other chips are included; empty: there is none
  std::string tracy_program;  // of Tracy, which makes the .tracy file; empty: there is none
};
ReportOutcome make_run_report(const RunRequest& request, const ReportPlace& place,
                              const ReportInputs& inputs);

// The lines of a child program's stderr, a sentence each, without its name in front.
std::vector<std::string> sentences_of(const HelperProgram& helper);

}  // namespace ttc::collect
