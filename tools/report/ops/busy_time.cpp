#include "tools/report/ops/busy_time.hpp"

#include <algorithm>
#include <optional>

namespace ttc::report {

void BusyTime::add(const OpRow& op) {
  const uint32_t device = op.device.value_or(0);
  Known& known = known_[device];
  if (!op.kernel) return;
  known.busy.sum_us += *op.kernel / 1000;
  if (!op.firmware_end || !op.firmware_start || !op.firmware || *op.firmware <= 0 ||
      *op.firmware_end <= *op.firmware_start) {
    known.busy.busy_us += *op.kernel / 1000;  // its place is not known
    return;
  }
  const double ns_per_cycle = *op.firmware / (*op.firmware_end - *op.firmware_start);
  if (known.origin < 0) known.origin = *op.firmware_end;
  const double end = (*op.firmware_end - known.origin) * ns_per_cycle;
  spans_.add({device, end - *op.kernel, end});
}

std::map<uint32_t, Busy> BusyTime::by_device() {
  std::map<uint32_t, Busy> all;
  for (const auto& [device, known] : known_) all[device] = known.busy;
  known_.clear();
  std::optional<uint32_t> device;
  double until = 0, first = 0, last = 0;
  spans_.drain([&](const Span& span) {
    if (device != span.device) {
      device = span.device;
      first = until = last = span.begin;
    }
    Busy& busy = all[span.device];
    busy.busy_us += std::max(0.0, span.end - std::max(span.begin, until)) / 1000;
    until = std::max(until, span.end);
    last = std::max(last, span.end);
    busy.span_us = (last - first) / 1000;
  });
  return all;
}

Busy busy_time(const std::vector<const OpRow*>& ops) {
  BusyTime times;
  for (const OpRow* op : ops) times.add(*op);
  const std::map<uint32_t, Busy> all = times.by_device();
  return all.empty() ? Busy() : all.begin()->second;
}

}  // namespace ttc::report
