#include "pipeline/device_csv.hpp"
#include "pipeline/format.hpp"
#include "pipeline/sync_info.hpp"
#include "pipeline/telemetry_csv.hpp"

namespace ttc::tools {
namespace {

template <class F>
std::unique_ptr<Format> make(Output& out, const FormatOptions& options) {
  return std::make_unique<F>(out, options);
}

constexpr FormatEntry kFormats[] = {
    {"device-csv",
     "profile_log_device.csv as tt-metal writes it; process_device_log, ttnn-visualizer and scripts read it",
     make<DeviceCsv>},
    {"sync-info", "sync_device_info.csv, the clock model in the form of tt-metal's own host-device sync",
     make<SyncInfo>},
    {"telemetry-csv",
     "AICLK over host time; power and temperature stay empty for cards that do not tell them",
     make<TelemetryCsv>},
};

}  // namespace

std::span<const FormatEntry> formats() {
  return kFormats;
}

}  // namespace ttc::tools
