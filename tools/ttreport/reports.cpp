#include "ttreport/report.hpp"

namespace ttc::tools {
namespace {

constexpr ReportEntry kReports[] = {
    {"loss", "what was lost: intervals of each lane, with cause and precision", make_loss_report},
};

}  // namespace

std::span<const ReportEntry> reports() {
  return kReports;
}

}  // namespace ttc::tools
