// The timeline of the page as data of page.js: zones, losses and clock bounds, in nanoseconds from each chip's first zone.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "tools/report/ops/run.hpp"
#include "tools/report/zones/zone_keeper.hpp"

namespace ttc::tools {

// The bounds that each chip's clock model claims, over time.
class ClockBounds : public report::Listener {
 public:
  struct Stretch {
    uint64_t from_cycles, to_cycles;
    double bound_ns;
  };
  void events(const report::LaneEvents&) override {}
  void clock(uint32_t chip, const collect::ClockMap& map) override;

  const std::map<uint32_t, std::vector<Stretch>>& chips() const { return chips_; }
  // Least bound that holds for so large a share of the time, 0 to 1.
  static double bound_of_share(const std::vector<Stretch>& stretches, double share);
  // At most `most` stretches; neighbours are joined under the greater bound.
  static std::vector<Stretch> joined(const std::vector<Stretch>& stretches, size_t most);

 private:
  std::map<uint32_t, std::vector<Stretch>> chips_;
  std::map<uint32_t, size_t> seen_;  // segments
};

// `op_index`: row of an op in the table of ops, -1: none.
void put_timeline(const report::ZoneKeeper& keeper, const report::Run& run, const ClockBounds& clocks,
                  const std::function<int64_t(const report::DeviceOp&)>& op_index,
                  nlohmann::ordered_json& data);

}  // namespace ttc::tools
