#include "report/counters.hpp"

#include <algorithm>
#include <cstdlib>

#include "firmware_markers/perf_counter.hpp"

namespace ttc::report {
namespace {

struct Metric {
  const char* counter;
  const char* name;
  const char* full_grid;
};
constexpr Metric kMetrics[] = {
    {"SFPU_COUNTER", "SFPU Util", "Avg SFPU util on full grid (%)"},
    {"FPU_COUNTER", "FPU Util", "Avg FPU util on full grid (%)"},
    {"MATH_COUNTER", "MATH Util", "Avg Math util on full grid (%)"},
};

// Value of a member in compact JSON whose commas may be semicolons.
std::string_view member(std::string_view meta, std::string_view key) {
  const size_t at = meta.find("\"" + std::string(key) + "\"");
  if (at == std::string_view::npos) return {};
  meta.remove_prefix(at + key.size() + 2);
  while (!meta.empty() && (meta.front() == ':' || meta.front() == ' ')) meta.remove_prefix(1);
  if (meta.starts_with('"')) {
    meta.remove_prefix(1);
    return meta.substr(0, meta.find('"'));
  }
  return meta.substr(0, meta.find_first_of(",;}"));
}

}  // namespace

void Counters::meta(const Launch& launch, const Lane&, const Event& event, std::string_view text) {
  if (event.id != markers::kPerfCounterId) return;
  const std::string type(member(text, "counter type"));
  const double reference = std::atof(std::string(member(text, "ref cnt")).c_str());
  const double value = std::atof(std::string(member(text, "value")).c_str());
  if (type.empty() || reference <= 0) return;
  by_launch_[launch][type].push_back({value / reference, value});
}

void Counters::fill(const DeviceOp& op, uint32_t worker_cores, DeviceRow& row) const {
  const auto it = by_launch_.find(op.launch);
  if (it == by_launch_.end()) return;
  for (const Metric& metric : kMetrics) {
    const auto samples = it->second.find(metric.counter);
    if (samples == it->second.end()) continue;
    std::vector<double> shares;
    double sum = 0;
    for (const Sample& s : samples->second) {
      shares.push_back(100 * s.share);
      sum += s.count;
    }
    std::sort(shares.begin(), shares.end());
    const size_t n = shares.size();
    const std::string name = metric.name;
    row.counters[name + " Min (%)"] = shares.front();
    row.counters[name + " Median (%)"] = n % 2 ? shares[n / 2] : (shares[n / 2 - 1] + shares[n / 2]) / 2;
    row.counters[name + " Max (%)"] = shares.back();
    if (worker_cores && op.kernel.cycles())
      row.counters[metric.full_grid] = sum / worker_cores / static_cast<double>(op.kernel.cycles()) * 100;
  }
}

}  // namespace ttc::report
