// The timeline of the page as data of page.js: programs, zones, losses and clock bounds, in nanoseconds from each chip's
// first zone.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tools/report/ops/run.hpp"
#include "tools/report/zones/clock_bounds.hpp"
#include "tools/report/zones/zone_keeper.hpp"

namespace ttc::tools {

// `op_index`: row of an op in the table of ops, -1: none; `op_name`: of a row, what the host side called it, or empty.
void put_timeline(const report::ZoneKeeper& keeper, const report::Run& run, const report::ClockBounds& clocks,
                  const std::function<int64_t(const report::DeviceOp&)>& op_index,
                  const std::function<std::string(int64_t)>& op_name, nlohmann::ordered_json& data);

}  // namespace ttc::tools
