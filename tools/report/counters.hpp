// Tensix performance counters of a program, over its cores, as the columns of ops_perf_results have them.
//
//   <metric> Min/Median/Max (%)        over cores: 100 * count / reference cycles
//   Avg <metric> on full grid (%)      sum of counts / worker cores / kernel cycles * 100
//
// Source: tt-metal tools/tracy/process_ops_logs.py@00761ba.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "report/device_row.hpp"

namespace ttc::report {

class Counters : public Listener {
 public:
  void events(const LaneEvents&) override {}
  void meta(const Launch& launch, const Lane& lane, const Event& event, std::string_view text) override;
  // Fills `row.counters` with what was counted while `op` ran.
  void fill(const DeviceOp& op, uint32_t worker_cores, DeviceRow& row) const;
  bool empty() const { return by_launch_.empty(); }

 private:
  struct Sample {
    double share;  // of the reference cycles
    double count;
  };
  struct Less {
    bool operator()(const Launch& a, const Launch& b) const {
      return std::tie(a.chip, a.host_id, a.trace_id, a.trace_counter) <
             std::tie(b.chip, b.host_id, b.trace_id, b.trace_counter);
    }
  };
  std::map<Launch, std::map<std::string, std::vector<Sample>>, Less> by_launch_;
};

}  // namespace ttc::report
