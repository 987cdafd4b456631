// The stacked summary as a picture: one bar of device time, a column for each device where they are kept
// apart, categories side by side in the bar, names on what is 2 % or more.
#pragma once
#include <string>
#include <vector>

#include "tools/report/ops/op_report.hpp"

namespace ttc::report {

void draw_stacked(const std::vector<StackedRow>& rows, GroupBy by, bool merge_devices, bool classic_colors,
                  const std::string& path);

}  // namespace ttc::report
