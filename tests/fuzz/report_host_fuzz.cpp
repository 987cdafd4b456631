// Any bytes as the two files of the host, one behind the other: refused, or ops that join with device rows.
// Nothing that was read may be lost from the table.
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

#include "tools/report/input/device_input.hpp"
#include "tools/report/metal_files/ops_results.hpp"

using namespace ttc::report;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const size_t cut = text.find('\x1e');
  HostLog log;
  try {
    std::istringstream messages(text.substr(0, cut));
    read_ops_data(messages, "data", log);
    if (cut != std::string::npos) {
      std::istringstream times(text.substr(cut + 1));
      read_ops_times(times, "times", log);
    }
  } catch (const InputError&) {
    return 0;
  }
  std::vector<DeviceRow> device(2);
  device[0].call_count = 1027;
  device[1].call_count = 2051;
  for (DeviceRow& d : device) d.device = 3;
  JoinSummary summary;
  const Cells cells = join_results(device, log, {true, false, {}}, summary);
  if (!log.ops.empty() && cells.rows.size() + summary.captured < log.ops.size() + log.signposts.size())
    std::abort();
  for (const auto& row : cells.rows)
    if (row.size() != cells.header.size()) std::abort();
  return 0;
}
