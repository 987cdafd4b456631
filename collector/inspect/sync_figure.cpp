// The result of `ttcollect sync` as one SVG: a row a card, in it frequency over time, bound over time,
// brackets.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "collector/draw/axis.hpp"
#include "collector/inspect/sync_bounds.hpp"

namespace ttc::collect {
namespace {

using draw::Plot, draw::Scale, draw::Svg;

constexpr double kWidth = 1080, kRow = 330, kTop = 74, kPlot = 200;
constexpr std::string_view kLine = "#1864ab", kHard = "#e8590c";

void words(Svg& to, double x, double y, double size, std::string_view text) {
  to.text({x, y}, text, {{"font-size", size}});
}

void title(Svg& to, const draw::Area& area, std::string_view text) {
  words(to, area.x, area.y - 8, 13, text);
}

constexpr size_t kMostBits = 600;  // two to a pixel

// A segment, or several beside each other: from the lowest to the highest frequency, the widest bound.
struct Bit {
  double from_ns, to_ns, mhz, bound_ns;
  bool conditional;
  double least_mhz, most_mhz;
  std::string_view colour() const { return conditional ? kLine : kHard; }
};

std::vector<Bit> bits_of(const SyncResult& r) {
  std::vector<Bit> bits;
  for (const ClockSegment& s : r.segments) {
    const auto since_start = [&](HostTime t) {
      return static_cast<double>(static_cast<int64_t>(t - r.segments.front().host_from)) / kHostTicksPerNs;
    };
    const double mhz = static_cast<double>(s.to_cycles - s.from_cycles) * 16e3 /
                       static_cast<double>(s.host_to - s.host_from);
    bits.push_back({since_start(s.host_from), since_start(s.host_to), mhz,
                    static_cast<double>(s.bound) / kHostTicksPerNs, s.kind == BoundKind::conditional, mhz,
                    mhz});
  }
  return bits;
}

// While the clock moves there are thousands of bits: those of one column become one.
std::vector<Bit> columns_of(const std::vector<Bit>& bits) {
  if (bits.size() <= kMostBits) return bits;
  const double width = (bits.back().to_ns - bits.front().from_ns) / kMostBits;
  std::vector<Bit> columns;
  for (const Bit& b : bits) {
    if (columns.empty() || b.to_ns - columns.back().from_ns > width) {
      columns.push_back(b);
      continue;
    }
    Bit& c = columns.back();
    const double share = (b.to_ns - b.from_ns) / std::max(b.to_ns - c.from_ns, 1.0);
    c.mhz += share * (b.mhz - c.mhz);
    c.to_ns = b.to_ns;
    c.least_mhz = std::min(c.least_mhz, b.mhz);
    c.most_mhz = std::max(c.most_mhz, b.mhz);
    c.bound_ns = std::max(c.bound_ns, b.bound_ns);
    c.conditional = c.conditional && b.conditional;
  }
  return columns;
}

void frequency(Svg& to, const draw::Area& area, const draw::Range& time, const std::vector<Bit>& bits) {
  double low = 1e300, high = -1e300;
  for (const Bit& b : bits)  // a short piece, where a step was split, may have any frequency
    if (b.to_ns - b.from_ns > 5e5) low = std::min(low, b.mhz), high = std::max(high, b.mhz);
  if (low > high) return;
  const double middle = (low + high) / 2, least = middle * 2e-6;  // no closer than a ppm either way
  const double half = std::max((high - low) / 2 * 1.15, least);
  const Plot plot(area, time, {std::max(middle - half, 0.0), middle + half});
  title(to, area, "Frequency, MHz");
  plot.draw(to, draw::duration_ticks(time.low, time.high, 8),
            draw::number_ticks(plot.y.low(), plot.y.high(), 5));
  for (const Bit& b : bits) {
    const double y = plot.y.at(std::clamp(b.mhz, plot.y.low(), plot.y.high()));
    const double from = plot.x.at(b.from_ns), end = std::max(plot.x.at(b.to_ns), from + 1);
    to.line({from, y}, {end, y}, {{"stroke", b.colour()}, {"stroke-width", 2.5}});
    if (b.most_mhz > b.least_mhz)
      to.line({from, plot.y.at(std::clamp(b.least_mhz, plot.y.low(), plot.y.high()))},
              {from, plot.y.at(std::clamp(b.most_mhz, plot.y.low(), plot.y.high()))},
              {{"stroke", b.colour()}, {"stroke-width", 1}});
  }
}

// Axis from the power of ten below to the one above.
draw::Range decades(double low, double high) {
  const double from = std::floor(std::log10(std::max(low, 1.0)));
  const double to = std::max(from + 1, std::ceil(std::log10(std::max(high, 1.0))));
  return {std::pow(10, from), std::pow(10, to), Scale::logarithmic};
}

void bounds(Svg& to, const draw::Area& area, const draw::Range& time, const std::vector<Bit>& bits) {
  double low = 1e300, high = -1e300;
  for (const Bit& b : bits) low = std::min(low, b.bound_ns), high = std::max(high, b.bound_ns);
  const Plot plot(area, time, decades(low, high));
  title(to, area, "Error bound of marker times");
  plot.draw(to, draw::duration_ticks(time.low, time.high, 8),
            draw::log_duration_ticks(plot.y.low(), plot.y.high(), 8));
  for (const Bit& b : bits) {
    const double top = plot.y.at(std::max(b.bound_ns, 1.0)), from = plot.x.at(b.from_ns);
    const double width = std::max(plot.x.at(b.to_ns) - from, 0.8);
    to.rect({from, top, width, area.bottom() - top}, {{"fill", b.colour()}, {"fill-opacity", 0.75}});
  }
}

// The share of the samples that were no wider.
void brackets(Svg& to, const draw::Area& area, const SyncResult& r) {
  std::vector<uint64_t> widths = r.figures.widths;
  if (widths.empty()) return;
  std::sort(widths.begin(), widths.end());
  const auto ns_of = [](uint64_t w) { return std::max(static_cast<double>(w) / kHostTicksPerNs, 1.0); };
  const Plot plot(area, decades(ns_of(widths.front()), ns_of(widths.back())), {0, 1});
  title(to, area, "Brackets: share no wider than");
  plot.draw(to, draw::log_duration_ticks(plot.x.low(), plot.x.high(), 5),
            {{0, "0 %"}, {0.5, "50 %"}, {0.9, "90 %"}, {1, "100 %"}});
  std::vector<draw::Point> points;
  const size_t step = std::max<size_t>(1, widths.size() / 200);
  for (size_t i = 0; i < widths.size();
       i = i + 1 == widths.size() ? i + 1 : std::min(i + step, widths.size() - 1))
    points.push_back(
        plot.at(ns_of(widths[i]), static_cast<double>(i + 1) / static_cast<double>(widths.size())));
  to.lines(points, {{"stroke", draw::kInk}, {"stroke-width", 2}});
}

void card_row(Svg& to, const SyncResult& r, double y) {
  const SyncSummary s = summary_of(r);
  char facts[256];
  if (s.hz > 0)
    std::snprintf(facts, sizeof facts,
                  "%.6f MHz, %+.3f ppm; bound %s in the median, conditional for %.1f %% of the time; %llu "
                  "steps, violations: %llu",
                  s.hz / 1e6, s.drift_ppm, draw::duration_label(s.conditional.p50).c_str(),
                  100 * s.conditional_share, static_cast<unsigned long long>(r.figures.stats.steps),
                  static_cast<unsigned long long>(r.figures.stats.violations));
  else
    std::snprintf(facts, sizeof facts, "no steady frequency found; hard bounds only, %s in the median",
                  draw::duration_label(s.hard.p50).c_str());
  words(to, 24, y + 18, 16, r.identity.spec + ", " + r.identity.board);
  words(to, 24, y + 38, 13, facts);
  const std::vector<Bit> bits = columns_of(bits_of(r));
  if (bits.empty()) return;
  const draw::Range time = {0, std::max(bits.back().to_ns, 1e6)};
  const double top = y + kTop;
  frequency(to, {90, top, 300, kPlot}, time, bits);
  bounds(to, {460, top, 330, kPlot}, time, bits);
  brackets(to, {855, top, 200, kPlot}, r);
  std::string text = text_of(bound_shares_of(r));
  if (const std::vector<WideBound> wide = widest_bounds(r); !wide.empty())
    text += "; widest " + text_of(wide.front());
  words(to, 90, y + kRow - 18, 12, text);
}

}  // namespace

std::string sync_svg(const std::vector<SyncResult>& results) {
  const double height = kRow * static_cast<double>(results.size()) + 34;
  Svg svg(kWidth, height, {{"font-family", "sans-serif"}, {"fill", draw::kInk}});
  for (size_t i = 0; i < results.size(); ++i) card_row(svg, results[i], 10 + kRow * static_cast<double>(i));
  const double y = height - 16;
  svg.rect({90, y - 10, 12, 12}, {{"fill", kLine}});
  words(svg, 108, y, 12, "conditional: on how the frequency moves (CLOCK.md)");
  svg.rect({460, y - 10, 12, 12}, {{"fill", kHard}});
  words(svg, 478, y, 12, "hard: only the largest frequency is assumed");
  return std::move(svg).finish();
}

}  // namespace ttc::collect
