// Metrics of collectors over HTTP, for Prometheus: GET /metrics.
#pragma once
#include <csignal>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace ttc::tools {

struct MetricsError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// `where`: PORT (on loopback) or ADDR:PORT, [ADDR]:PORT for IPv6; port 0 takes any. `names`: of live segments, without live:. Serves until
// `stop` is set; `say` receives the address. Throws MetricsError if it cannot listen, SegmentError if a segment is missing.
void serve_metrics(const std::string& where, std::vector<std::string> names,
                   const volatile std::sig_atomic_t& stop,
                   const std::function<void(const std::string&)>& say);

}  // namespace ttc::tools
