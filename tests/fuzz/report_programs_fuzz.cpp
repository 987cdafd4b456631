// Any bytes as a device log, or as tt-metal's C++ report of one: refused in a sentence, or programs whose
// times make sense, however small the room for open ones.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tools/report/draw/core_heat.hpp"
#include "tools/report/ops/run.hpp"
#include "tools/report/programs/core_gaps.hpp"
#include "tools/report/zones/zone_keeper.hpp"

using namespace ttc::report;

namespace {
const std::string kFile =
    std::filesystem::temp_directory_path() / ("report_programs_fuzz-" + std::to_string(getpid()));
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::ofstream(kFile, std::ios::binary) << text;
  try {
    std::istringstream in(text);
    read_cpp_report(in, "fuzz");
  } catch (const InputError&) {
  }
  for (const size_t budget : {size_t{1}, OpBuilder::kDefaultBudget}) {
    ZoneStats stats;
    ZoneKeeper keeper(10);
    HeatMap heat;
    CoreGaps gaps;
    stats.on_span = [&](const ZoneSpan& span) {
      if (span.end < span.begin) std::abort();
      keeper.add(span);
    };
    RunOptions options;
    options.from = {kFile};
    options.no_host = true;
    options.budget = budget;
    RunListeners listeners;
    listeners.zones = {&stats, &heat};
    listeners.programs = {[&](const auto& op, auto cores) {
      if (op.cores > cores.size() || op.core_min > op.core_max) std::abort();
      heat.program(op, cores);
      gaps.program(op, cores);
    }};
    if (!is_device_log(kFile)) break;
    try {
      const auto run = read_run(options, listeners);
      keeper.end();
      if (run.kind != InputKind::device) break;  // its first line names columns of ops as well
      if (run.rows.size() != run.ops.size() || run.table.rows.size() != run.rows.size()) std::abort();
      table_of(run);
    } catch (const InputError&) {
      break;
    }
  }
  unlink(kFile.c_str());
  return 0;
}
