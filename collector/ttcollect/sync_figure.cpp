// The result of `ttcollect sync` as one SVG: a row a card, in it frequency over time, bound over time,
// brackets.
#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>

#include "collector/ttcollect/sync_run.hpp"

namespace ttc::collect {
namespace {

constexpr double kWidth = 1080, kRow = 330, kTop = 74, kPlot = 200;
constexpr const char* kInk = "#1f2933";
constexpr const char* kGrey = "#8795a1";
constexpr const char* kLine = "#1864ab";
constexpr const char* kHard = "#e8590c";

[[gnu::format(printf, 2, 3)]] void put(std::string& to, const char* format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  to += text;
  to += '\n';
}

std::string short_ns(double ns) {
  char text[32];
  const char* unit = ns < 999.5 ? "ns" : ns < 999.5e3 ? "us" : ns < 999.5e6 ? "ms" : "s";
  const double value = ns < 999.5 ? ns : ns < 999.5e3 ? ns / 1e3 : ns < 999.5e6 ? ns / 1e6 : ns / 1e9;
  std::snprintf(text, sizeof text, "%.3g %s", value, unit);
  return text;
}

void words(std::string& to, double x, double y, const char* anchor, const char* colour, double size,
           const std::string& text) {
  put(to, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"%s\" font-size=\"%.0f\">%s</text>", x, y,
      anchor, colour, size, text.c_str());
}

// A plot's place and its axes.
struct Plot {
  double x, y, width, height;
  double x_low, x_high, y_low, y_high;

  double at_x(double v) const { return x + (v - x_low) / (x_high - x_low) * width; }
  double at_y(double v) const { return y + height - (v - y_low) / (y_high - y_low) * height; }
  void frame(std::string& to, const std::string& title) const {
    put(to,
        "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"#f8f9fa\" stroke=\"#dee2e6\"/>", x,
        y, width, height);
    words(to, x, y - 8, "start", kInk, 13, title);
  }
  void tick_y(std::string& to, double value, const std::string& label) const {
    put(to, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#e9ecef\"/>", x, x + width,
        at_y(value), at_y(value));
    words(to, x - 6, at_y(value) + 4, "end", kGrey, 11, label);
  }
  void tick_x(std::string& to, double value, const std::string& label) const {
    words(to, at_x(value), y + height + 16, "middle", kGrey, 11, label);
  }
};

struct Bit {
  double from_s, to_s, mhz, bound_ns;
  bool conditional;
};

std::vector<Bit> bits_of(const SyncResult& r) {
  std::vector<Bit> bits;
  for (const ClockSegment& s : r.segments) {
    const auto seconds = [&](HostTime t) {
      return static_cast<double>(static_cast<int64_t>(t - r.segments.front().host_from)) / 16e9;
    };
    const double mhz = static_cast<double>(s.to_cycles - s.from_cycles) * 16e3 /
                       static_cast<double>(s.host_to - s.host_from);
    bits.push_back({seconds(s.host_from), seconds(s.host_to), mhz,
                    static_cast<double>(s.bound) / kHostTicksPerNs, s.kind == BoundKind::conditional});
  }
  return bits;
}

void time_axis(std::string& to, const Plot& p) {
  const double span = p.x_high - p.x_low;
  double step = std::pow(10, std::floor(std::log10(span / 4)));
  while (span / step > 8) step *= step * 5 > span ? 2 : 2.5;
  for (double t = 0; t <= p.x_high + 1e-9; t += step) {
    char label[24];
    std::snprintf(label, sizeof label, "%g s", t);
    p.tick_x(to, t, label);
  }
}

void frequency(std::string& to, Plot p, const std::vector<Bit>& bits) {
  p.y_low = 1e300, p.y_high = -1e300;
  for (const Bit& b : bits)  // short pieces, where a step was split, may be anything
    if (b.to_s - b.from_s > 0.01) p.y_low = std::min(p.y_low, b.mhz), p.y_high = std::max(p.y_high, b.mhz);
  if (p.y_low > p.y_high) return;
  const double middle = (p.y_low + p.y_high) / 2, least = middle * 2e-6;  // no closer than a ppm either way
  const double half = std::max((p.y_high - p.y_low) / 2 * 1.15, least);
  p.y_low = std::max(middle - half, 0.0), p.y_high = middle + half;
  p.frame(to, "Frequency, MHz");
  for (const double v : {p.y_low, (p.y_low + p.y_high) / 2, p.y_high}) {
    char label[32];
    std::snprintf(label, sizeof label, half > 1 ? "%.1f" : "%.5f", v);
    p.tick_y(to, v, label);
  }
  time_axis(to, p);
  for (const Bit& b : bits) {
    const double v = std::clamp(b.mhz, p.y_low, p.y_high);
    put(to, "<line x1=\"%.2f\" x2=\"%.2f\" y1=\"%.2f\" y2=\"%.2f\" stroke=\"%s\" stroke-width=\"2.5\"/>",
        p.at_x(b.from_s), std::max(p.at_x(b.to_s), p.at_x(b.from_s) + 1), p.at_y(v), p.at_y(v),
        b.conditional ? kLine : kHard);
  }
}

void bounds(std::string& to, Plot p, const std::vector<Bit>& bits) {
  double low = 1e300, high = -1e300;
  for (const Bit& b : bits) low = std::min(low, b.bound_ns), high = std::max(high, b.bound_ns);
  p.y_low = std::floor(std::log10(std::max(low, 1.0)));
  p.y_high = std::max(p.y_low + 1, std::ceil(std::log10(std::max(high, 1.0))));
  p.frame(to, "Error bound of marker times");
  for (double e = p.y_low; e <= p.y_high; ++e) p.tick_y(to, e, short_ns(std::pow(10, e)));
  time_axis(to, p);
  for (const Bit& b : bits) {
    const double v = std::log10(std::max(b.bound_ns, 1.0));
    put(to, "<rect x=\"%.2f\" width=\"%.2f\" y=\"%.2f\" height=\"%.2f\" fill=\"%s\" fill-opacity=\"0.75\"/>",
        p.at_x(b.from_s), std::max(p.at_x(b.to_s) - p.at_x(b.from_s), 0.8), p.at_y(v),
        p.y + p.height - p.at_y(v), b.conditional ? kLine : kHard);
  }
}

// Which share of the samples was no wider than that.
void brackets(std::string& to, Plot p, const SyncResult& r) {
  std::vector<uint64_t> widths = r.figures.widths;
  if (widths.empty()) return;
  std::sort(widths.begin(), widths.end());
  const auto log_of = [](uint64_t w) {
    return std::log10(std::max(static_cast<double>(w) / kHostTicksPerNs, 1.0));
  };
  p.x_low = std::floor(log_of(widths.front())),
  p.x_high = std::max(p.x_low + 1, std::ceil(log_of(widths.back())));
  p.y_low = 0, p.y_high = 1;
  p.frame(to, "Brackets: share no wider than");
  for (const double share : {0.0, 0.5, 0.9, 1.0})
    p.tick_y(to, share, std::to_string(static_cast<int>(share * 100)) + " %");
  for (double e = p.x_low; e <= p.x_high; ++e) p.tick_x(to, e, short_ns(std::pow(10, e)));
  std::string path = "M";
  const size_t step = std::max<size_t>(1, widths.size() / 200);
  for (size_t i = 0; i < widths.size();
       i = i + 1 == widths.size() ? i + 1 : std::min(i + step, widths.size() - 1)) {
    char text[64];
    const double share = static_cast<double>(i + 1) / static_cast<double>(widths.size());
    std::snprintf(text, sizeof text, "%s%.1f %.1f", i ? " L" : "", p.at_x(log_of(widths[i])), p.at_y(share));
    path += text;
  }
  put(to, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"2\" d=\"", kInk);
  to += path;
  put(to, "\"/>");
}

void card_row(std::string& to, const SyncResult& r, double y) {
  const SyncSummary s = summary_of(r);
  char title[256], facts[256];
  std::snprintf(title, sizeof title, "%s, %s", r.identity.spec.c_str(), r.identity.board.c_str());
  if (s.hz > 0)
    std::snprintf(facts, sizeof facts,
                  "%.6f MHz, %+.3f ppm; bound %s in the median, conditional for %.1f %% of the time; %llu "
                  "steps, violations: %llu",
                  s.hz / 1e6, s.drift_ppm, short_ns(s.conditional.p50).c_str(), 100 * s.conditional_share,
                  static_cast<unsigned long long>(r.figures.stats.steps),
                  static_cast<unsigned long long>(r.figures.stats.violations));
  else
    std::snprintf(facts, sizeof facts, "no steady frequency found; hard bounds only, %s in the median",
                  short_ns(s.hard.p50).c_str());
  words(to, 24, y + 18, "start", kInk, 16, title);
  words(to, 24, y + 38, "start", kInk, 13, facts);
  const std::vector<Bit> bits = bits_of(r);
  if (bits.empty()) return;
  const double end = std::max(bits.back().to_s, 0.001), top = y + kTop;
  frequency(to, {90, top, 300, kPlot, 0, end, 0, 0}, bits);
  bounds(to, {460, top, 330, kPlot, 0, end, 0, 0}, bits);
  brackets(to, {855, top, 200, kPlot, 0, 0, 0, 0}, r);
}

}  // namespace

std::string sync_svg(const std::vector<SyncResult>& results) {
  std::string svg;
  const double height = kRow * static_cast<double>(results.size()) + 34;
  put(svg,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
      "font-family=\"sans-serif\">",
      kWidth, height, kWidth, height);
  put(svg, "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>");
  for (size_t i = 0; i < results.size(); ++i) card_row(svg, results[i], 10 + kRow * static_cast<double>(i));
  const double y = height - 16;
  put(svg, "<rect x=\"90\" y=\"%.1f\" width=\"12\" height=\"12\" fill=\"%s\"/>", y - 10, kLine);
  words(svg, 108, y, "start", kInk, 12, "conditional: at most one change of frequency in a dwell");
  put(svg, "<rect x=\"460\" y=\"%.1f\" width=\"12\" height=\"12\" fill=\"%s\"/>", y - 10, kHard);
  words(svg, 478, y, "start", kInk, 12,
        "hard: only the largest frequency is assumed (the last two periods always)");
  svg += "</svg>\n";
  return svg;
}

}  // namespace ttc::collect
