// per_core_op_to_op_times*.csv: for every pair of programs that followed each other on a core, the cycles
// from the end of the last kernel to the start of the next data movement kernel, less 1500, one column a
// core. Ethernet cores are left out. The head says [ns] although the values are cycles: so does tt-metal's
// (tools/tracy/process_ops_logs.py@00761ba).
#pragma once
#include <map>
#include <tuple>
#include <vector>

#include "tools/pipeline/output.hpp"
#include "tools/report/programs/op_builder.hpp"

namespace ttc::report {

class CoreGaps {
 public:
  void program(const DeviceOp& op, std::span<const OpBuilder::CoreTime> cores);
  void write(tools::Output& out) const;

 private:
  struct Step {
    uint64_t begin, end;  // first data movement start, last kernel end
    uint32_t host_id;
  };
  using Core = std::tuple<uint32_t, uint8_t, uint8_t>;  // chip, x, y
  std::map<Core, std::vector<Step>> steps_;
};

}  // namespace ttc::report
