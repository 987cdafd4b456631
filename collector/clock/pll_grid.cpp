#include "collector/clock/pll_grid.hpp"

#include <algorithm>
#include <cmath>

#include "collector/clock/geometry/clock_ticks.hpp"

namespace ttc::collect {
namespace {

constexpr size_t kRatesKept = 64;
constexpr HostTime kRatesApart = 100'000'000 * kHostTicksPerNs;

double multiple_of(Range paces) {
  return std::round(2e9 / (paces.low + paces.high) / kPllStepHz);
}

}  // namespace

// The rate by all that is known of other times, less exactly the farther away they are.
PllGrid::Rate PllGrid::rate_at(HostTime at) const {
  Rate r{1 - kCrystalTolerance, 1 + kCrystalTolerance};
  for (const Known& k : rates_) {
    const double by = std::abs(ns_of(at, k.at)) / 1e9 * wander_per_s_;
    r = {std::max(r.low, k.rate.low - by), std::min(r.high, k.rate.high + by)};
  }
  return r;
}

void PllGrid::take(HostTime at, Rate rate) {
  const bool anew = rates_.empty() || at > rates_.back().at + kRatesApart;
  if (anew)
    rates_.push_back({at, rate});
  else
    rates_.back() = {at, rate};
  if (rates_.size() > kRatesKept) rates_.pop_front();
}

void PllGrid::learn(HostTime at, Range paces) {
  const double multiple = multiple_of(paces);
  const Rate before = rate_at(at);
  const Rate now{std::max(before.low, 1e9 / (paces.high * multiple * kPllStepHz)),
                 std::min(before.high, 1e9 / (paces.low * multiple * kPllStepHz))};
  if (now.low > now.high) return refute();
  // Multiples are so far apart, as a share of the frequency; any would have done within these widths. The first one agrees
  // with something only if the crystal's counter is read.
  if (multiple != multiple_ && (known_ || multiple_ != 0)) {
    const double widths = paces.high / paces.low - 1 + before.high - before.low;
    chance_ *= std::min(1.0, widths * multiple);
  }
  take(at, now);
  multiple_ = multiple;
}

void PllGrid::know(HostTime at, Rate rate) {
  const Rate before = rate_at(at);
  const Rate now{std::max(before.low, rate.low), std::min(before.high, rate.high)};
  const bool agree = now.low <= now.high;
  if (!agree) refute();  // multiples and counter do not go together
  take(at, agree ? now : rate);
  known_ = true;
}

std::optional<Range> PllGrid::on_grid(HostTime at, Range paces) const {
  if (!relied_on()) return std::nullopt;
  const double hz = multiple_of(paces) * kPllStepHz;
  const Rate rate = rate_at(at);
  const Range on{1e9 / (hz * rate.high), 1e9 / (hz * rate.low)};
  if (std::max(on.low, paces.low) > std::min(on.high, paces.high)) return std::nullopt;
  return on;
}

void PllGrid::refute() {
  forget();
  ++refuted_;
}

void PllGrid::forget() {
  rates_.clear();
  multiple_ = 0;
  chance_ = 1;
  known_ = false;
}

}  // namespace ttc::collect
