// per_core_op_to_op_times*.csv: for every pair of programs that followed each other on a core, the cycles
// from the end of the last kernel to the start of the next data movement kernel, less 1500, one column a
// core. Ethernet cores are left out. The head has [ns] although the values are cycles, as in tt-metal's
// (tools/tracy/process_ops_logs.py@00761ba).
#pragma once
#include <tuple>
#include <vector>

#include "tools/output/output.hpp"
#include "tools/report/programs/op_builder.hpp"
#include "tools/report/text/record_sort.hpp"

namespace ttc::report {

class CoreGaps {
 public:
  void program(const DeviceOp& op, std::span<const CoreTime> cores);
  void write(tools::Output& out);

 private:
  struct Step {
    uint32_t chip;
    uint8_t x, y;
    uint32_t host_id;
    uint64_t begin, end;  // first data movement start, last kernel end
  };
  struct Order {
    bool operator()(const Step& a, const Step& b) const {
      return std::tie(a.chip, a.x, a.y, a.begin, a.end, a.host_id) <
             std::tie(b.chip, b.x, b.y, b.begin, b.end, b.host_id);
    }
  };
  class Series;
  void write_chip(uint32_t chip, std::vector<Series>& cores, size_t columns, tools::Output& out) const;

  RecordSort<Step, Order> steps_;  // a spill's: memory does not grow with programs
};

}  // namespace ttc::report
