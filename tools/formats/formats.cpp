#include "tools/formats/device_csv.hpp"
#include "tools/formats/sync_info.hpp"
#include "tools/formats/telemetry_csv.hpp"
#include "tools/pipeline/format.hpp"
#include "tools/tables/ops_json.hpp"
#include "tools/viewers/chrome/chrome.hpp"
#include "tools/viewers/perfetto/perfetto.hpp"
#include "tools/viewers/svg_timeline.hpp"

namespace ttc::tools {
namespace {

template <class F>
std::unique_ptr<Format> make(Output& out, const FormatOptions& options) {
  return std::make_unique<F>(out, options);
}

template <class Writer>
std::unique_ptr<Format> make_timeline(Output& out, const FormatOptions& options) {
  return std::make_unique<Timeline>(std::make_unique<Writer>(out, options));
}

constexpr FormatEntry kFormats[] = {
    {"device-csv",
     "profile_log_device.csv as tt-metal writes it; process_device_log, ttnn-visualizer and scripts read it",
     make<DeviceCsv>},
    {"sync-info", "sync_device_info.csv, the clock model in the form of tt-metal's own host-device sync",
     make<SyncInfo>},
    {"telemetry-csv",
     "AICLK over host time; power and temperature stay empty for cards that do not report them",
     make<TelemetryCsv>},
    {"ops-json", "programs as newline JSON, an object a line: times, cores, the core that took longest",
     make<OpsJson>, true},
    {"sqlite",
     "a database: sessions, zones, programs, losses, clock, telemetry, host zones, and views for usual "
     "questions\n"
     "  (docs/sqlite.md); `ttreport sql` and everything that reads SQLite 3.25 and later",
     nullptr},
    {"perfetto",
     "native Perfetto trace; ui.perfetto.dev (up to some 2 GB in the browser) and trace_processor read it.\n"
     "  The whole timeline: chips, cores, RISCs, zones, data, losses, counters; at most 60 bytes a zone",
     make_timeline<Perfetto>, true},
    {"chrome",
     "Chrome trace JSON; chrome://tracing (some hundred MB), ui.perfetto.dev, speedscope and Tracy's\n"
     "  import-chrome read it. Two levels of lanes only; 150 to 250 bytes a zone",
     make_timeline<Chrome>, true},
    {"svg", "a picture of a window of time (--window), for any browser or document; 64 lanes, 20,000 zones",
     make_timeline<SvgTimeline>, true, true},
    {"tracy",
     "a Tracy client: --listen [ADDR:]PORT, then a Tracy GUI or capture program of 0.10 to 0.14, or of\n"
     "  Tenstorrent's fork, connects and gets all there is and what is added; one server at a time.\n"
     "  A trace of it holds 39 hours, 32,000 different names and 32,759 lanes; the fork's device zones no "
     "text",
     nullptr, true},
    {"prometheus",
     "metrics of live collectors over HTTP, for Prometheus: --listen [ADDR:]PORT, GET /metrics "
     "(docs/metrics.md)",
     nullptr, true},
};

}  // namespace

std::span<const FormatEntry> formats() {
  return kFormats;
}

}  // namespace ttc::tools
