// The cards and the environment of the page: what a person reads first, as data of page.js.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tools/report/ops/op_report.hpp"
#include "tools/report/ops/run.hpp"
#include "tools/ttreport/html_timeline.hpp"

namespace ttc::tools {

nlohmann::ordered_json summary_cards(const report::Run& run, const report::OpReport& report,
                                     const ClockBounds& clocks);
nlohmann::ordered_json environment_rows(const report::Run& run, const report::OpReport& report,
                                        const std::vector<std::string>& inputs);

}  // namespace ttc::tools
