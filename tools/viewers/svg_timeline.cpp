#include "tools/viewers/svg_timeline.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdarg>
#include <cstdio>

#include "tools/pipeline/text_escape.hpp"

namespace ttc::tools {
namespace {

constexpr double kLeft = 120, kWidth = 1000, kRight = 40, kTop = 64, kStep = 11, kGap = 5, kCoreGap = 9;
constexpr double kNarrowest = 0.4;  // of what is drawn, so that it can be seen

[[gnu::format(printf, 2, 3)]] void put(Output& out, const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  out.append(std::string_view(text, std::min<size_t>(static_cast<size_t>(length), sizeof text - 1)));
}

std::string duration(uint64_t ns) {
  char text[32];
  const auto value = static_cast<double>(ns);
  if (ns < 1000)
    std::snprintf(text, sizeof text, "%.0f ns", value);
  else if (ns < 1'000'000)
    std::snprintf(text, sizeof text, "%.4g us", value / 1e3);
  else if (ns < 1'000'000'000)
    std::snprintf(text, sizeof text, "%.4g ms", value / 1e6);
  else
    std::snprintf(text, sizeof text, "%.4g s", value / 1e9);
  return text;
}

std::optional<uint64_t> parse_time(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0) return std::nullopt;
  const std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  const double scale = unit == "ns"                 ? 1
                       : unit == "us"               ? 1e3
                       : unit == "ms"               ? 1e6
                       : unit == "s"                ? 1e9
                       : unit.empty() && value == 0 ? 1
                                                    : 0;
  if (scale == 0 || value * scale > 1e15) return std::nullopt;
  return static_cast<uint64_t>(value * scale);
}

// 1, 2 or 5 times a power of ten, about ten of them in the window.
double tick_of(double length) {
  const double power = std::pow(10, std::floor(std::log10(length / 10)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (length / (power * factor) <= 12) return power * factor;
  return power * 10;
}

}  // namespace

std::optional<TimeWindow> parse_window(const std::string& text) {
  const size_t comma = text.find(',');
  if (comma == std::string::npos) return std::nullopt;
  const auto begin = parse_time(std::string_view(text).substr(0, comma));
  const auto length = parse_time(std::string_view(text).substr(comma + 1));
  if (!begin || !length || *length == 0) return std::nullopt;
  return TimeWindow{*begin, *length};
}

SvgTimeline::SvgTimeline(Output& out, const FormatOptions& o)
    : out_(out),
      begin_ns_(o.earliest_ns + o.window_begin_ns),
      end_ns_(begin_ns_ + o.window_length_ns),
      origin_ns_(o.earliest_ns) {}

void SvgTimeline::device(const Session& s) {
  title_ +=
      (title_.empty() ? "chip " : ", chip ") + std::to_string(s.chip) + " (" + s.device + ", " + s.arch + ")";
}

void SvgTimeline::clock_known(uint32_t, bool cycles, const collect::ClockHead&) {
  if (cycles) title_ += ", device cycles as time";
}

void SvgTimeline::lane(const TimelineLane& is) {
  lanes_.resize(std::max<size_t>(lanes_.size(), is.number + 1));
  lanes_[is.number].is = is;
}

void SvgTimeline::draw(Lane& lane, const OpenZone& zone, uint64_t end_ns, size_t depth, Flaw flaw) {
  if (!in_window(zone.begin_ns, end_ns)) return;
  if (++zones_ > kMostZones) {
    ++left_out_;
    return;
  }
  std::string tip =
      zone.label.name + ", " + duration(end_ns - zone.begin_ns) + ", host id " + std::to_string(zone.host_id);
  if (flaw != Flaw::none) tip += std::string(", ") + to_string(flaw);
  lane.drawn.push_back({zone.begin_ns, end_ns, static_cast<uint32_t>(depth),
                        flaw == Flaw::none ? zone.label.rgb : kFlawColour, zone.label.name, std::move(tip),
                        false});
  lane.depth = std::max(lane.depth, static_cast<uint32_t>(depth) + 1);
}

void SvgTimeline::draw_mark(Lane& lane, uint64_t ns, const ZoneLabel& label, Flaw flaw, uint32_t host_id) {
  if (!in_window(ns, ns)) return;
  if (++zones_ > kMostZones) {
    ++left_out_;
    return;
  }
  std::string tip = label.name + ", host id " + std::to_string(host_id);
  if (flaw != Flaw::none) tip += std::string(", ") + to_string(flaw);
  lane.drawn.push_back(
      {ns, ns, 0, flaw == Flaw::none ? label.rgb : kFlawColour, label.name, std::move(tip), true});
  lane.depth = std::max(lane.depth, 1u);
}

void SvgTimeline::frame(const TimelineLane& is, const TimelineFrame& f) {
  Lane& lane = lanes_[is.number];
  for (const ZoneStep& step : f.steps) {
    const uint64_t ns = f.time_of(step);
    auto& open = lane.open[step.aside];
    if (step.kind == ZoneStep::Kind::end) {
      if (open.empty()) continue;  // a late launch's; it has no open zones
      draw(lane, open.back(), ns, open.size() - 1 + step.aside, step.flaw);
      open.pop_back();
      continue;
    }
    const ZoneLabel& label = f.labels.of(f.events.markers[step.marker]);
    if (step.kind == ZoneStep::Kind::begin)
      open.push_back({ns, label, f.events.host_id});
    else
      draw_mark(lane, ns, label, step.flaw, f.events.host_id);
  }
}

void SvgTimeline::loss(const TimelineLane& is, const TimelineLoss& loss) {
  if (!in_window(loss.from_ns, loss.to_ns) || loss.from_ns == 0) return;
  Lane& lane = lanes_[is.number];
  lane.drawn.push_back({loss.from_ns, loss.to_ns, 0, kFlawColour, "markers lost",
                        std::string("markers lost: ") + to_string(loss.record.cause), true});
  lane.depth = std::max(lane.depth, 1u);
}

double SvgTimeline::x_of(uint64_t ns) const {
  const uint64_t clipped = std::clamp(ns, begin_ns_, end_ns_);
  return kLeft + kWidth * static_cast<double>(clipped - begin_ns_) / static_cast<double>(end_ns_ - begin_ns_);
}

void SvgTimeline::put_axis(double bottom) {
  const auto length = static_cast<double>(end_ns_ - begin_ns_);
  const double tick = tick_of(length);
  for (double at = 0; at <= length; at += tick) {
    const double x = kLeft + kWidth * at / length;
    put(out_, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.0f\" y2=\"%.1f\" stroke=\"#e4e7eb\"/>\n", x, x, kTop - 8,
        bottom);
    put(out_, "<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\" fill=\"#7b8794\">+%s</text>\n", x,
        kTop - 12, duration(static_cast<uint64_t>(std::llround(at))).c_str());
  }
}

void SvgTimeline::put_lane(const Lane& lane, double y) {
  put(out_, "<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%u:%u,%u %s</text>\n", kLeft - 6, y + 8,
      lane.is.chip, unsigned{lane.is.core_x}, unsigned{lane.is.core_y}, lane.is.processor.c_str());
  for (const Drawn& d : lane.drawn) {
    const double x = x_of(d.begin_ns), width = std::max(x_of(d.end_ns) - x, kNarrowest);
    const double height = d.mark ? kStep * lane.depth : kStep - 1;
    put(out_, "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" fill=\"#%06x\"%s><title>", x,
        y + (d.mark ? 0 : d.depth * kStep), width, height, d.rgb, d.mark ? " opacity=\"0.7\"" : "");
    out_.append(for_markup(d.tip));
    out_.append("</title></rect>\n");
    const size_t letters = static_cast<size_t>(std::max(0.0, width - 4) / 5.6);
    if (d.mark || letters < 3) continue;
    const bool whole = d.name.size() <= letters;
    put(out_, "<text x=\"%.2f\" y=\"%.1f\" font-size=\"9\" pointer-events=\"none\">", x + 2,
        y + d.depth * kStep + 8);
    size_t shown = letters - 1;
    while (!whole && shown > 0 && (d.name[shown] & 0xc0) == 0x80) --shown;  // not within a character
    out_.append(for_markup(whole ? d.name : d.name.substr(0, shown) + "."));
    out_.append("</text>\n");
  }
}

void SvgTimeline::end() {
  for (Lane& lane : lanes_)  // what is still open reaches to the edge
    for (const size_t aside : {0u, 1u})
      for (size_t depth = 0; depth < lane.open[aside].size(); ++depth)
        draw(lane, lane.open[aside][depth], end_ns_, depth + aside, Flaw::no_end);
  std::vector<const Lane*> shown;
  for (const Lane& lane : lanes_)
    if (!lane.drawn.empty()) shown.push_back(&lane);
  std::sort(shown.begin(), shown.end(), [](const Lane* a, const Lane* b) {
    const auto key = [](const TimelineLane& l) { return std::tuple{l.chip, l.core_y, l.core_x, l.risc}; };
    return key(a->is) < key(b->is);
  });
  const size_t more = shown.size() > kMostLanes ? shown.size() - kMostLanes : 0;
  shown.resize(shown.size() - more);
  std::vector<double> tops;
  double y = kTop;
  for (size_t i = 0; i < shown.size(); ++i) {
    const bool new_core = i > 0 && (shown[i]->is.core_x != shown[i - 1]->is.core_x ||
                                    shown[i]->is.core_y != shown[i - 1]->is.core_y);
    if (new_core) y += kCoreGap;
    tops.push_back(y);
    y += kStep * shown[i]->depth + kGap;
  }
  const double height = y + 28;
  put(out_,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" "
      "font-family=\"Helvetica,Arial,sans-serif\" font-size=\"10\" fill=\"#1f2933\">\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n<text x=\"12\" y=\"20\" font-size=\"13\">",
      kLeft + kWidth + kRight, height, kLeft + kWidth + kRight, height);
  out_.append(for_markup(title_));
  put(out_, ": %s from %s after the first marker</text>\n", duration(end_ns_ - begin_ns_).c_str(),
      duration(begin_ns_ - origin_ns_).c_str());
  put_axis(y);
  for (size_t i = 0; i < shown.size(); ++i) put_lane(*shown[i], tops[i]);
  std::string foot = shown.empty() ? "Nothing lies in this window." : "";
  if (more) foot += std::to_string(more) + " more lanes have zones here (--core, --risc, --chip choose). ";
  if (left_out_) foot += std::to_string(left_out_) + " zones are not drawn; a shorter --window shows them.";
  put(out_, "<text x=\"12\" y=\"%.1f\" fill=\"#7b8794\">%s</text>\n</svg>\n", height - 10, foot.c_str());
}

}  // namespace ttc::tools
