#include "tools/report/zones/marker_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "tools/report/text/time_bounds.hpp"

namespace ttc::report {
namespace {

using collect::BoundKind;
using collect::ClockMap;
using collect::ClockSegment;
using collect::HostTime;
using collect::kHostTicksPerNs;
using collect::kNoBound;

constexpr HostTime kTogether = 20'000'000 * kHostTicksPerNs;  // segments of one movement
constexpr double kMoved = 500e-6;  // a share of the frequency, well below a step of the PLL

double ns_of(uint64_t ticks) {
  return static_cast<double>(ticks) / kHostTicksPerNs;
}

double mhz_of(const ClockSegment& s) {
  return static_cast<double>(s.to_cycles - s.from_cycles) * 1000 / ns_of(s.host_to - s.host_from);
}

// The time between segment `i` and the one in front of it.
double jump_before_ns(std::span<const ClockSegment> all, size_t i) {
  const bool joined =
      i > 0 && i < all.size() && all[i].era == all[i - 1].era && all[i].host_from > all[i - 1].host_to;
  return joined ? ns_of(all[i].host_from - all[i - 1].host_to) : 0;
}

// What made the bound of segment `i` wide, as the segments beside it show.
std::string why_wide(std::span<const ClockSegment> all, size_t i) {
  const double jumps = jump_before_ns(all, i) + jump_before_ns(all, i + 1);
  if (jumps > 0) return "the counter stood, or was read late, for up to " + written_bound(jumps / 1000);
  size_t first = i, last = i;
  while (first > 0 && all[i].host_from - std::min(all[i].host_from, all[first - 1].host_to) < kTogether)
    --first;
  while (last + 1 < all.size() &&
         all[last + 1].host_from - std::min(all[last + 1].host_from, all[i].host_to) < kTogether)
    ++last;
  double least = mhz_of(all[i]), most = least;
  for (size_t k = first; k <= last; ++k)
    least = std::min(least, mhz_of(all[k])), most = std::max(most, mhz_of(all[k]));
  char text[96];
  if (most - least > kMoved * most)
    std::snprintf(text, sizeof text, "the frequency moved between %.1f and %.1f MHz", least, most);
  else
    std::snprintf(text, sizeof text, "the reads around it leave as much, at %.1f MHz", mhz_of(all[i]));
  return text;
}

}  // namespace

void MarkerBounds::events(const LaneEvents& batch) {
  const ClockMap* const map = clock_ ? clock_->map_of(batch.launch.chip) : nullptr;
  if (!map) return;
  if (clock_->apart(batch.launch.chip, {batch.lane.x, batch.lane.y})) {
    other_clock_ += batch.events.size();
    return;
  }
  const collect::ClockHead& head = map->head();
  const bool reference = head.reference_x == batch.lane.x && head.reference_y == batch.lane.y;
  const uint64_t spread = reference ? 0 : head.tile_spread;
  if (batch.seen_ns == 0 || spread == kNoBound) {
    none_ += batch.events.size();
    return;
  }
  cycles_.clear(), runs_.clear();
  for (const Event& e : batch.events) cycles_.push_back(e.time);
  times_.resize(cycles_.size());
  map->convert(cycles_, batch.seen_ns * kHostTicksPerNs, times_, runs_);
  size_t at = 0;
  for (const ClockMap::Run& run : runs_) {
    const uint64_t bound = run.quality.bound < kNoBound - spread ? run.quality.bound + spread : kNoBound;
    if (bound == kNoBound || run.quality.kind == BoundKind::none) {
      none_ += run.count;
    } else if (run.quality.kind == BoundKind::hard) {
      hard_ += run.count;
    } else {
      conditional_ += run.count;
      by_bound_[bound] += run.count;
      if (!widest_ || bound > widest_->bound)
        widest_ = Place{batch.launch.chip, bound, cycles_[at], spread, times_[at]};
    }
    at += run.count;
  }
}

std::optional<double> MarkerBounds::conditional_bound_ns(double share) const {
  const double needed = share * static_cast<double>(conditional_);
  double sum = 0;
  for (const auto& [bound, count] : by_bound_)
    if ((sum += static_cast<double>(count)) >= needed) return ns_of(bound);
  return std::nullopt;
}

std::optional<MarkerBounds::Widest> MarkerBounds::widest() const {
  if (!widest_) return std::nullopt;
  const auto all = clock_->map_of(widest_->chip)->segments();
  const auto later = std::upper_bound(all.begin(), all.end(), widest_->at,
                                      [](HostTime at, const ClockSegment& s) { return at < s.host_from; });
  const size_t i = later == all.begin() ? 0 : static_cast<size_t>(later - all.begin()) - 1;
  Widest w{widest_->chip,
           ns_of(widest_->bound),
           ns_of(widest_->at - std::min(widest_->at, all.front().host_from)) / 1e9,
           {}};
  w.why = 2 * widest_->spread > widest_->bound
              ? "counters of tiles are apart by up to " + written_bound(ns_of(widest_->spread) / 1000)
              : why_wide(all, i);
  return w;
}

std::string text_of(const MarkerBounds& b) {
  if (b.markers() == 0) return {};
  const auto percent = [&](uint64_t markers) {
    return 100 * static_cast<double>(markers) / static_cast<double>(b.markers());
  };
  char text[160];
  std::snprintf(text, sizeof text,
                "host times of markers: %.1f %% have a conditional bound, %.1f %% a hard one, %.1f %% none",
                percent(b.conditional()), percent(b.hard()), percent(b.none()));
  std::string all = text;
  if (b.other_clock()) {
    std::snprintf(text, sizeof text, ", %.1f %% are of other clocks", percent(b.other_clock()));
    all += text;
  }
  if (const auto widest = b.widest()) {
    all += "; of the conditional ones half are within " + written_bound(*b.conditional_bound_ns(0.5) / 1000) +
           ", 99 % within " + written_bound(*b.conditional_bound_ns(0.99) / 1000);
    std::snprintf(text, sizeof text, ", the widest at %.3f s on chip %u ", widest->at_s, widest->chip);
    all += text + written_bound(widest->bound_ns / 1000) + ": " + widest->why;
  }
  return all + "\n";
}

}  // namespace ttc::report
