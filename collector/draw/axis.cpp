#include "collector/draw/axis.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace ttc::draw {
namespace {

constexpr double kSlack = 1e-9;  // of a step: what rounding moves a tick

struct Unit {
  double ns;
  const char* name;
};
constexpr std::array<Unit, 4> kUnits = {{{1, "ns"}, {1e3, "us"}, {1e6, "ms"}, {1e9, "s"}}};

template <class... A>
std::string printed(const char* format, A... values) {
  char text[512];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

double rounded(double value, int digits) {
  if (value == 0) return 0;
  const double unit = std::pow(10, std::floor(std::log10(std::abs(value))) + 1 - digits);
  return std::round(value / unit) * unit;
}

std::vector<Tick> ticks_in(double low, double high, int most, double unit, const std::string& unit_name) {
  std::vector<Tick> ticks;
  if (!(high > low) || !std::isfinite(high - low) || most < 1) return ticks;
  const double wanted = (high - low) / most;
  double step = std::pow(10, std::floor(std::log10(wanted)));
  for (const double factor : {2.0, 2.5, 2.0})
    if (step < wanted * (1 - kSlack)) step *= factor;
  const int decimals = std::max(0, static_cast<int>(std::ceil(-std::log10(step / unit) - kSlack)));
  for (double i = std::ceil(low / step - kSlack); i * step <= high + kSlack * step; ++i)
    ticks.push_back({i * step, printed("%.*f", decimals, i * step / unit + 0.0) + unit_name});
  return ticks;
}

}  // namespace

std::string duration_label(double ns, int digits) {
  size_t unit = 0;
  while (unit + 1 < kUnits.size() && rounded(std::abs(ns) / kUnits[unit].ns, digits) >= 1000) ++unit;
  const double value = ns / kUnits[unit].ns;
  const bool whole = rounded(std::abs(value), digits) >= 1000;  // of seconds
  return (whole ? printed("%.0f", value) : printed("%.*g", digits, value)) + " " + kUnits[unit].name;
}

std::vector<Tick> number_ticks(double low, double high, int most) {
  return ticks_in(low, high, most, 1, "");
}

std::vector<Tick> duration_ticks(double low_ns, double high_ns, int most) {
  const double largest = std::max(std::abs(low_ns), std::abs(high_ns));
  size_t unit = 0;
  while (unit + 1 < kUnits.size() && largest >= kUnits[unit + 1].ns) ++unit;
  return ticks_in(low_ns, high_ns, most, kUnits[unit].ns, std::string(" ") + kUnits[unit].name);
}

std::vector<double> log_steps(double low, double high, int most) {
  std::vector<double> all, decades;
  if (!(low > 0) || !(high >= low) || !std::isfinite(high)) return all;
  for (int decade = static_cast<int>(std::floor(std::log10(low))); decade <= std::log10(high) + kSlack;
       ++decade)
    for (const double digit : {1.0, 2.0, 5.0}) {
      const double value = digit * std::pow(10, decade);
      if (value < low * (1 - kSlack) || value > high * (1 + kSlack)) continue;
      all.push_back(value);
      if (digit == 1) decades.push_back(value);
    }
  return all.size() <= static_cast<size_t>(most) ? all : decades;
}

std::vector<Tick> log_number_ticks(double low, double high, int most) {
  std::vector<Tick> ticks;
  for (const double value : log_steps(low, high, most)) ticks.push_back({value, printed("%.6g", value)});
  return ticks;
}

std::vector<Tick> log_duration_ticks(double low_ns, double high_ns, int most) {
  std::vector<Tick> ticks;
  for (const double value : log_steps(low_ns, high_ns, most)) ticks.push_back({value, duration_label(value)});
  return ticks;
}

Axis::Axis(double low, double high, double from, double to, Scale scale)
    : low_(low), high_(high), from_(from), to_(to), scale_(scale) {}

double Axis::at(double value) const {
  const auto place = [this](double v) { return scale_ == Scale::linear ? v : std::log10(v); };
  if (!(high_ > low_)) return from_;
  return from_ + (to_ - from_) * (place(value) - place(low_)) / (place(high_) - place(low_));
}

void Plot::draw(Svg& to, const std::vector<Tick>& below, const std::vector<Tick>& left) const {
  for (const Tick& tick : left) {
    to.line({area.x, y.at(tick.value)}, {area.right(), y.at(tick.value)}, {{"stroke", kGrid}});
    to.text({area.x - 6, y.at(tick.value) + 4}, tick.label,
            {{"text-anchor", "end"}, {"fill", kDimInk}, {"font-size", 11}});
  }
  const auto half_of = [](const Tick& tick) { return 3.2 * static_cast<double>(tick.label.size()) + 2; };
  double free_from = -1e9;
  for (const Tick& tick : below) {
    const double at = x.at(tick.value), half = half_of(tick);
    to.line({at, area.bottom()}, {at, area.bottom() + 4}, {{"stroke", kFrame}});
    const double free_to = x.at(below.back().value) - half_of(below.back());
    if (at - half < free_from || (&tick != &below.back() && at + half > free_to)) continue;
    to.text({at, area.bottom() + 17}, tick.label,
            {{"text-anchor", "middle"}, {"fill", kDimInk}, {"font-size", 11}});
    free_from = at + half;
  }
  to.rect(area, {{"fill", "none"}, {"stroke", kFrame}});
}

}  // namespace ttc::draw
