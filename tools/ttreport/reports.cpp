#include "ttreport/report.hpp"

namespace ttc::tools {
namespace {

constexpr ReportEntry kReports[] = {
    {"ops", "every op with its time, its share of the card's peaks, what bounds it, and advice",
     make_ops_report},
    {"files", "the files that tt-metal's tools leave, for the programs that read them", make_files_report},
};

}  // namespace

std::span<const ReportEntry> reports() {
  return kReports;
}

}  // namespace ttc::tools
