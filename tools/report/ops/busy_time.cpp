#include "tools/report/ops/busy_time.hpp"

#include <algorithm>
#include <cmath>
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
    known.placed = false;
    return;
  }
  const double ns_per_cycle = *op.firmware / (*op.firmware_end - *op.firmware_start);
  if (known.origin < 0) known.origin = *op.firmware_end;
  const double end = (*op.firmware_end - known.origin) * ns_per_cycle;
  const auto to = static_cast<uint64_t>(*op.firmware_end);
  const auto rounded = static_cast<uint64_t>(std::llround(*op.kernel / ns_per_cycle));
  const uint64_t took = std::min(to, op.kernel_cycles ? op.kernel_cycles : rounded);
  spans_.add({device, to - took, to, end - *op.kernel, end, op.seen_ns});
}

// The spans of one device in order of time: their union as the table's durations have it, and as the clock measures it, stretch
// by stretch without a hole.
class BusyTime::Union {
 public:
  Union(const DurationClock* clock, TimeOf time, const Span& first, Busy& busy)
      : clock_(clock), time_(time), device_(first.device), busy_(busy), first_(first), stretch_(first) {
    until_ = last_ = first.begin;
  }

  void add(const Span& span) {
    busy_ns_ += std::max(0.0, span.end - std::max(span.begin, until_));
    until_ = std::max(until_, span.end);
    last_ = std::max(last_, span.end);
    known_ = known_ && span.seen_ns != 0;
    if (span.from > stretch_.to) {
      close();
      stretch_ = span;
    }
    stretch_.to = std::max(stretch_.to, span.to);
    stretch_.seen_ns = std::max(stretch_.seen_ns, span.seen_ns);
  }

  // `placed`: every op of the device has been added.
  void end(bool placed) {
    close();
    const auto whole = known_ ? measured(first_.from, stretch_.to) : std::nullopt;
    const bool host = time_ == TimeOf::host && known_;
    const double busy_ns = host ? measured_ns_ : busy_ns_;
    const Measured measured_span = whole.value_or(Measured());
    const double span_ns = host && whole ? measured_span.ns : last_ - first_.begin;
    busy_.busy_us += busy_ns / 1000;
    busy_.span_us = span_ns / 1000;
    if (!placed || !known_) return;
    busy_.busy_bound_us = Measured{measured_ns_, bounds_ns_}.bound_of(busy_ns) / 1000;
    if (whole) busy_.span_bound_us = measured_span.bound_of(span_ns) / 1000;
  }

 private:
  std::optional<Measured> measured(uint64_t from, uint64_t to) const {
    return clock_ ? clock_->across(device_, from, to, stretch_.seen_ns) : std::nullopt;
  }
  void close() {
    const auto stretch = known_ ? measured(stretch_.from, stretch_.to) : std::nullopt;
    known_ = stretch.has_value();
    if (!stretch) return;
    measured_ns_ += stretch->ns;
    bounds_ns_ += stretch->bound_ns;
  }

  const DurationClock* clock_;
  TimeOf time_;
  uint32_t device_;
  Busy& busy_;
  Span first_, stretch_;
  double until_ = 0, last_ = 0, busy_ns_ = 0;
  bool known_ = true;
  double measured_ns_ = 0, bounds_ns_ = 0;
};

std::map<uint32_t, Busy> BusyTime::by_device() {
  std::map<uint32_t, Busy> all;
  for (const auto& [device, known] : known_) all[device] = known.busy;
  std::optional<uint32_t> device;
  std::optional<Union> open;
  spans_.drain([&](const Span& span) {
    if (device != span.device) {
      if (open) open->end(known_[*device].placed);
      device = span.device;
      open.emplace(clock_, time_, span, all[span.device]);
    }
    open->add(span);
  });
  if (open) open->end(known_[*device].placed);
  known_.clear();
  return all;
}

Busy busy_time(const std::vector<const OpRow*>& ops, const DurationClock* clock, TimeOf time) {
  BusyTime times(clock, time);
  for (const OpRow* op : ops) times.add(*op);
  const std::map<uint32_t, Busy> all = times.by_device();
  return all.empty() ? Busy() : all.begin()->second;
}

}  // namespace ttc::report
