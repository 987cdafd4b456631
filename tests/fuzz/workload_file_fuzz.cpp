// Any bytes as a chip's workload: refused in one sentence with file and line, or programs of which each ends.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "tools/chip/schedule.hpp"

using namespace ttc::chip;

namespace {

// Small enough to run.
bool is_small(const ChipOp& op) {
  return op.blocks <= 16 && op.out_blocks <= 16 && op.tiles <= 16 && op.imbalance <= 4;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    ChipWorkload workload = read_workload(text, "any");
    if (workload.ops.empty()) std::abort();
    Shape shape;
    for (uint8_t x = 1; x < 5; ++x) shape.cores.push_back({x, 1});
    shape.columns = 2;
    for (const ChipOp& op : workload.ops) {
      if (!is_small(op)) continue;
      const ChipProgram program = program_of(op, shape, workload.jitter, 1);
      const Timeline timeline = run(shape, program, 1000, 1);
      if (timeline.last == kNoCause || timeline.end() <= 1000) std::abort();
      uint64_t at = 1000;
      for (const PathPart& part : critical_path(timeline)) {
        if (part.begin != at) std::abort();
        at = part.end;
      }
      if (at != timeline.end()) std::abort();
    }
  } catch (const WorkloadError& e) {
    if (std::string(e.what()).rfind("any:", 0) != 0) std::abort();
  }
  return 0;
}
