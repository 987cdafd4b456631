#include "tools/ttreport/report.hpp"

namespace ttc::tools {
namespace {

constexpr ReportEntry kReports[] = {
    {"loss", "what was lost: intervals of each lane, with cause and precision", make_loss_report},
    {"summary", "a run in a few lines: device time by op and process, the slowest ops", make_summary_report},
    {"ops", "every op with its time, its share of the card's peaks, what bounds it, and advice",
     make_ops_report},
    {"kernels", "kernels and zones by time, by core or by line of source", make_kernels_report},
    {"heatmap", "the chip's grid: time, waits, imbalance or late starts of every core", make_heatmap_report},
    {"steps", "steady-state windows between signposts: device against wall clock", make_steps_report},
    {"timeline", "a window of time as a picture: a row a RISC, zones nested", make_timeline_report},
    {"stragglers",
     "captures of several ranks: which card held each step up, in which op, and how sure that is",
     make_stragglers_report},
    {"diff", "two runs op by op: what got slower, with spread and significance", make_diff_report},
    {"html", "everything as one page that needs no network", make_html_report},
    {"host", "the host's zones and messages of a capture, as the files that tt-metal's scripts read",
     make_host_report},
    {"threads", "when threads of the host ran and waited, of `ttcollect run --context-switches`",
     make_threads_report},
    {"files", "the files that tt-metal's tools leave, for the programs that read them", make_files_report},
    {"sql", "query a database of `ttexport --format sqlite` in SQL", make_sql_report},
};

}  // namespace

std::span<const ReportEntry> reports() {
  return kReports;
}

}  // namespace ttc::tools
