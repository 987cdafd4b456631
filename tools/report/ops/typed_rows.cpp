#include "tools/report/ops/typed_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

namespace ttc::report {

// Ops whose cycles at the card's nominal rate are another time than the host's clock measured.
class TypedRows::OffNominal {
 public:
  void add(const OpRow& op) {
    if (!op.kernel) return;
    unmeasured_ += !op.kernel_measured;
    if (!op.kernel_measured || !op.kernel_measured_bound) return;
    ++ops_;
    const double off = std::abs(*op.kernel - *op.kernel_measured);
    if (off <= kShare * *op.kernel_measured || off <= *op.kernel_measured_bound + 1) return;
    ++off_;
    most_us_ = std::max(most_us_, off / 1000);
  }
  // Empty: none is.
  std::string sentence(TimeOf time) const {
    if (time == TimeOf::host)
      return unmeasured_ ? std::to_string(unmeasured_) +
                               " ops keep the time of their cycles at the card's nominal rate, because no "
                               "clock model "
                               "covers them"
                         : std::string();
    if (off_ == 0) return "";
    char text[240];
    std::snprintf(text, sizeof text,
                  "the card's clock moved: %zu of %zu ops took another time than their cycles at its nominal "
                  "rate, by up "
                  "to %.3g \u03bcs, which their bounds cover; --time host shows times by the host's clock",
                  off_, ops_, most_us_);
    return text;
  }

 private:
  static constexpr double kShare = 0.005;  // no crystal is off by as much
  size_t ops_ = 0, off_ = 0, unmeasured_ = 0;
  double most_us_ = 0;
};

namespace {

// What the cells have no columns for.
void add_measured(OpRow& op, const DeviceRow& d) {
  if (d.kernel_measured) {
    op.kernel_measured = d.kernel_measured->ns;
    op.kernel_measured_bound = d.kernel_measured->bound_ns;
    op.kernel_cycles = d.kernel_end.value_or(0) - d.kernel_start.value_or(0);
    op.seen_ns = d.seen_ns;
    op.hard_bound = d.kernel_measured->hard;
  }
  if (d.gap_measured) {
    op.gap_measured = d.gap_measured->ns;
    op.gap_measured_bound = d.gap_measured->bound_ns;
  }
  if (d.first_to_last_measured) {
    op.first_to_last_measured = d.first_to_last_measured->ns;
    op.first_to_last_measured_bound = d.first_to_last_measured->bound_ns;
  }
  if (d.dispatch_measured) {
    op.dispatch_measured = d.dispatch_measured->ns;
    op.dispatch_measured_bound = d.dispatch_measured->bound_ns;
  }
  op.slowest_x = d.slowest_x;
  op.slowest_y = d.slowest_y;
  // Data for which the device-only form of the table has no columns.
  if (!op.cores && d.cores) op.cores = *d.cores;
  if (!op.available_cores && d.available_cores) op.available_cores = *d.available_cores;
  if (op.arch.empty()) op.arch = d.arch;
}

}  // namespace

TypedRows::TypedRows(const std::vector<std::string>& header, std::shared_ptr<const DurationClock> clock,
                     TimeOf time)
    : reader_(table_, header), off_nominal_(std::make_unique<OffNominal>()) {
  table_.clock = std::move(clock);
  table_.time = time;
}

TypedRows::~TypedRows() = default;

void TypedRows::add(const std::vector<std::string>& cells, const std::optional<DeviceRow>& device) {
  OpRow op = reader_.row(cells, table_.rows.size() + 2);
  if (device) add_measured(op, *device);
  off_nominal_->add(op);
  table_.rows.push_back(op);
}

OpTable TypedRows::end() {
  reader_.end();
  if (std::string sentence = off_nominal_->sentence(table_.time); !sentence.empty())
    table_.remarks.push_back(std::move(sentence));
  return std::move(table_);
}

}  // namespace ttc::report
