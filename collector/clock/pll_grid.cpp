#include "collector/clock/pll_grid.hpp"

#include <algorithm>
#include <cmath>

namespace ttc::collect {
namespace {

double multiple_of(Range paces) {
  return std::round(2e9 / (paces.low + paces.high) / kPllStepHz);
}

}  // namespace

PllGrid::Rate PllGrid::rate_at(HostTime at) const {
  if (known_at_ == 0) return rate_;
  const double seconds = std::abs(static_cast<double>(static_cast<int64_t>(at - known_at_))) / 16e9;
  const double by = seconds * wander_per_s_;
  return {std::max(rate_.low - by, 1 - kCrystalTolerance), std::min(rate_.high + by, 1 + kCrystalTolerance)};
}

void PllGrid::learn(HostTime at, Range paces) {
  const double multiple = multiple_of(paces);
  const Rate before = rate_at(at);
  const Rate now{std::max(before.low, 1e9 / (paces.high * multiple * kPllStepHz)),
                 std::min(before.high, 1e9 / (paces.low * multiple * kPllStepHz))};
  if (now.low > now.high) {
    refute();
    return;
  }
  if (multiple != multiple_ && multiple_ != 0) ++agreed_;
  rate_ = now;
  known_at_ = at;
  multiple_ = multiple;
}

std::optional<Range> PllGrid::on_grid(HostTime at, Range paces) const {
  if (!relied_on()) return std::nullopt;
  const double hz = multiple_of(paces) * kPllStepHz;
  const Rate rate = rate_at(at);
  const Range on{std::max(paces.low, 1e9 / (hz * rate.high)), std::min(paces.high, 1e9 / (hz * rate.low))};
  if (on.low > on.high) return std::nullopt;
  return on;
}

void PllGrid::refute() {
  forget();
  ++refuted_;
}

void PllGrid::forget() {
  rate_ = {1 - kCrystalTolerance, 1 + kCrystalTolerance};
  known_at_ = 0;
  multiple_ = 0;
  agreed_ = 0;
}

}  // namespace ttc::collect
