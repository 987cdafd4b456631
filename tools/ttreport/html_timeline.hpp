// The timeline of the page as data of page.js: the workload's host side, programs, zones, losses and clock bounds, in
// nanoseconds from what comes first of all that the page shows. A chip without a clock model has its cycles at its nominal
// clock, from its first zone.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tools/report/input/common_time.hpp"
#include "tools/report/ops/run.hpp"
#include "tools/report/zones/clock_bounds.hpp"
#include "tools/report/zones/zone_keeper.hpp"
#include "tools/ttreport/host_bars.hpp"

namespace ttc::tools {

// The clock models of a capture's chips, as the page places their markers.
class PageClocks : public report::Listener {
 public:
  void events(const report::LaneEvents&) override {}
  void clock(uint32_t chip, const collect::ClockMap& map) override { time.clock(chip, map); }
  report::CommonTime time;
};

// `op_index`: row of an op in the table of ops, -1: none; `op_name`: of a row, what the host side called it, or empty.
void put_timeline(const report::ZoneKeeper& keeper, const report::Run& run, const report::ClockBounds& clocks,
                  const report::CommonTime& clock, const HostBars& host,
                  const std::function<int64_t(const report::DeviceOp&)>& op_index,
                  const std::function<std::string(int64_t)>& op_name, nlohmann::ordered_json& data);

}  // namespace ttc::tools
