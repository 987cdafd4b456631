#include "collector/run/report/live_summary.hpp"

#include <sys/resource.h>

#include "collector/run/report/run_report.hpp"

namespace ttc::collect {
namespace {

constexpr int kLowest = 19;  // nice

}  // namespace

std::vector<std::string> LiveSummary::words(bool follow) const {
  std::vector<std::string> words{"summary", capture_};
  if (follow) words.emplace_back("--follow");
  if (!request_.start_signpost.empty())
    words.insert(words.end(), {"--start-signpost", request_.start_signpost});
  if (!request_.end_signpost.empty()) words.insert(words.end(), {"--end-signpost", request_.end_signpost});
  if (request_.window_of_range) words.emplace_back("--else-all");
  return words;
}

void LiveSummary::start() {
  helper_ = std::make_unique<HelperProgram>("ttreport", words(true), HelperProgram::Output::kept,
                                            HelperProgram::Output::kept);
  if (helper_->pid() > 0) setpriority(PRIO_PROCESS, static_cast<id_t>(helper_->pid()), kLowest);
}

void LiveSummary::reap() {
  if (helper_) helper_->running();
}

LiveSummary::Lines LiveSummary::lines_of(HelperProgram& helper) {
  Lines lines;
  lines.exit_code = helper.wait();
  lines.broken_off = helper.broken_off();
  lines.text = helper.out();
  lines.sentences = sentences_of(helper);
  return lines;
}

LiveSummary::Lines LiveSummary::finish(bool followed) {
  if (helper_ && followed) {
    Lines lines = lines_of(*helper_);
    if (lines.exit_code == 0 || lines.broken_off) return lines;
  }
  helper_.reset();
  HelperProgram helper("ttreport", words(false), HelperProgram::Output::kept, HelperProgram::Output::kept);
  return lines_of(helper);
}

}  // namespace ttc::collect
