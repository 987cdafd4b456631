#include "tools/viewers/svg_timeline.hpp"

#include <algorithm>
#include <cstdio>

#include "collector/draw/axis.hpp"
#include "collector/draw/colours.hpp"

namespace ttc::tools {
namespace {

constexpr double kLeft = 180, kWidth = 1000, kRight = 40, kTop = 64, kStep = 11, kGap = 5, kCoreGap = 9;
constexpr size_t kLettersOfName = 32;
constexpr uint32_t kRanksOfLane = 2 + RowPacker::kMostRows, kRanksOfThread = 1 + RowPacker::kMostRows,
                   kBehindThreads = 1u << 30;
constexpr double kNarrowest = 0.4;  // of what is drawn, so that it is visible

std::string duration(uint64_t ns) {
  return draw::duration_label(static_cast<double>(ns), 4);
}

std::string colour(uint32_t rgb) {
  char text[8];
  std::snprintf(text, sizeof text, "#%06x", rgb & 0xffffff);
  return text;
}

// The part that fits `letters` characters; a cut name ends in a dot, and not within a UTF-8 character.
std::string fitting(const std::string& name, size_t letters) {
  if (name.size() <= letters) return name;
  size_t shown = letters - 1;
  while (shown > 0 && (name[shown] & 0xc0) == 0x80) --shown;
  return name.substr(0, shown) + ".";
}

}  // namespace

SvgTimeline::SvgTimeline(Output& out, const FormatOptions& o)
    : out_(out),
      begin_ns_(o.earliest_ns + static_cast<uint64_t>(o.window_begin_ns)),
      end_ns_(begin_ns_ + o.window_length_ns),
      origin_ns_(o.earliest_ns) {}

void SvgTimeline::device(const Session& s) {
  ++chips_;
  title_ += (title_.empty() ? "" : ", ") + s.title() + " (" + s.device + ", " + s.arch + ")";
  titles_[s.chip] = s.title();
}

void SvgTimeline::clock_known(uint32_t, bool cycles, const collect::ClockHead&) {
  if (cycles) title_ += ", device cycles as time";
}

void SvgTimeline::lane(const TimelineLane& is) {
  lanes_.resize(std::max<size_t>(lanes_.size(), is.number + 1));
  Lane& lane = lanes_[is.number];
  lane.place = {is.chip, is.core_y << 8 | is.core_x, is.risc * kRanksOfLane};
  lane.name = is.core() + " " + is.processor;
}

void SvgTimeline::row(const TimelineRow& row) {
  rows_.resize(std::max<size_t>(rows_.size(), row.number + 1));
  Lane& own = rows_[row.number];
  own.place = {row.chip, -1, row.rank};
  own.name = row.name;
  if (!row.lane) return;
  const uint32_t risc = row.kind == SpanKind::addressed ? device::kMaxRiscs : row.lane->risc;
  own.place = {row.chip, row.lane->core_y << 8 | row.lane->core_x, risc * kRanksOfLane + 1 + row.rank};
  own.name = row.lane->core() + " " + row.name;
}

void SvgTimeline::span(const TimelineRow& row, const TimelineSpan& span) {
  if (!in_window(span.begin_ns, span.end_ns)) return;
  // Counted by themselves: losses come when the picture may be full of zones.
  if (++spans_ > kMostZones) {
    ++left_out_;
    return;
  }
  Lane& own = rows_[row.number];
  std::string tip = span.name + ", " + duration(span.end_ns - span.begin_ns);
  for (const EventField& f : span.fields)
    tip += std::string(", ") + f.name + " " + (f.text.empty() ? std::to_string(f.number) : f.text);
  own.drawn.push_back({span.begin_ns, span.end_ns, 0, span.rgb, span.name, std::move(tip), false});
  own.depth = 1;
}

bool SvgTimeline::room() {
  if (++zones_ <= kMostZones) return true;
  ++left_out_;
  return false;
}

void SvgTimeline::draw(Lane& lane, const OpenZone& zone, uint64_t end_ns, size_t depth, Flaw flaw,
                       uint32_t bound_ns) {
  if (!in_window(zone.begin_ns, end_ns) || !room()) return;
  std::string tip = zone.label.name + ", " + duration(end_ns - zone.begin_ns);
  if (bound_ns != kNoDurationBound)
    tip += ", " + std::to_string(end_ns - zone.begin_ns) + " \u00b1 " + std::to_string(bound_ns) + " ns";
  tip += ", host id " + std::to_string(zone.host_id);
  if (flaw != Flaw::none) tip += std::string(", ") + to_string(flaw);
  lane.drawn.push_back({zone.begin_ns, end_ns, static_cast<uint32_t>(depth),
                        flaw == Flaw::none ? zone.label.rgb : draw::kLossColour, zone.label.name,
                        std::move(tip), false});
  lane.depth = std::max(lane.depth, static_cast<uint32_t>(depth) + 1);
}

void SvgTimeline::draw_mark(Lane& lane, uint64_t ns, const std::string& name, uint32_t rgb,
                            const std::string& tip) {
  if (!room()) return;
  lane.drawn.push_back({ns, ns, 0, rgb, name, tip, true});
  lane.depth = std::max(lane.depth, 1u);
}

void SvgTimeline::frame(const TimelineLane& is, const TimelineFrame& f) {
  Lane& lane = lanes_[is.number];
  if (f.ns.back() < begin_ns_) before_ns_ = std::max(before_ns_.value_or(0), f.ns.back());
  if (f.ns.front() > end_ns_) after_ns_ = std::min(after_ns_.value_or(~uint64_t{0}), f.ns.front());
  MarkerExtras extras(f);
  for (const ZoneStep& step : f.steps) {
    const uint64_t ns = f.time_of(step);
    auto& open = lane.open[step.aside];
    if (step.kind == ZoneStep::Kind::end) {
      if (open.empty()) continue;  // a late launch's; it has no open zones
      draw(lane, open.back(), ns, open.size() - 1 + step.aside, step.flaw, f.bound_of(step.marker));
      open.pop_back();
      continue;
    }
    const ZoneLabel& label = f.labels.of(f.events.markers[step.marker]);
    if (step.kind == ZoneStep::Kind::begin) {
      open.push_back({ns, label, f.events.host_id});
      continue;
    }
    if (!in_window(ns, ns)) continue;
    const EventText* const text = extras.text(step.marker);
    const std::string& name = text ? text->name : label.name;
    std::string tip = name + ", host id " + std::to_string(f.events.host_id);
    if (text)
      for (const EventField& field : text->fields)
        tip += std::string(", ") + field.name + " " +
               (field.text.empty() ? std::to_string(field.number) : field.text);
    if (step.flaw != Flaw::none) tip += std::string(", ") + to_string(step.flaw);
    draw_mark(lane, ns, name, step.flaw == Flaw::none ? label.rgb : draw::kLossColour, tip);
  }
}

// --- the workload's host side

void SvgTimeline::host_process(const HostProcess& process) {
  processes_.resize(std::max<size_t>(processes_.size(), process.number + 1));
  processes_[process.number] = process.name;
}

void SvgTimeline::host_thread(const HostThread& thread) {
  host_lanes_.resize(std::max<size_t>(host_lanes_.size(), thread.number + 1));
  Lane& lane = host_lanes_[thread.number];
  lane.place = {-1, thread.process, thread.number * kRanksOfThread};
  lane.name = processes_[thread.process] + " " + thread.name;
}

void SvgTimeline::host_row(const HostRow& row) {
  host_rows_.resize(std::max<size_t>(host_rows_.size(), row.number + 1));
  Lane& lane = host_rows_[row.number];
  lane.place = {
      -1, row.process,
      row.thread ? row.thread->number * kRanksOfThread + 1 + row.rank : kBehindThreads + row.number};
  lane.name = processes_[row.process] + " " + row.name;
}

void SvgTimeline::host_begin(const HostThread& thread, const HostZoneBegin& zone) {
  host_lanes_[thread.number].open_host.push_back(
      {zone.ns, std::string(zone.shown_name()), std::string(title_of(zone.text))});
}

void SvgTimeline::draw_host(Lane& lane, const OpenHostZone& zone, uint64_t end_ns, const char* flaw) {
  if (!in_window(zone.begin_ns, end_ns) || !room()) return;
  std::string tip = zone.name + ", " + duration(end_ns - zone.begin_ns);
  if (!zone.text.empty()) tip += ", " + zone.text;
  if (*flaw) tip += std::string(", ") + flaw;
  const auto depth = static_cast<uint32_t>(lane.open_host.size() - 1);
  lane.drawn.push_back({zone.begin_ns, end_ns, depth, draw::kHostColour, zone.name, std::move(tip), false});
  lane.depth = std::max(lane.depth, depth + 1);
}

void SvgTimeline::host_end(const HostThread& thread, uint64_t ns, std::string_view text) {
  Lane& lane = host_lanes_[thread.number];
  if (lane.open_host.empty()) return;
  if (!text.empty()) lane.open_host.back().text.append(" ").append(title_of(text));
  draw_host(lane, lane.open_host.back(), ns, "");
  lane.open_host.pop_back();
}

void SvgTimeline::host_message(const HostThread& thread, uint64_t ns, std::string_view text) {
  if (!in_window(ns, ns)) return;
  const std::string title(title_of(text));
  draw_mark(host_lanes_[thread.number], ns, title, draw::kEventColour, title);
}

void SvgTimeline::host_span(const HostRow& row, const HostSpan& span) {
  if (!in_window(span.begin_ns, span.end_ns) || !room()) return;
  Lane& lane = host_rows_[row.number];
  std::string tip = span.name + ", " + duration(span.end_ns - span.begin_ns);
  append_fields(tip, span.fields);
  lane.drawn.push_back(
      {span.begin_ns, span.end_ns, 0, colour_of(row.kind), span.name, std::move(tip), false});
  lane.depth = 1;
}

// --- the picture

void SvgTimeline::note(uint32_t chip, uint64_t ns, const std::string& text) {
  if (in_window(ns, ns) && notes_.size() < kMostZones)
    notes_.emplace_back(ns, (chips_ > 1 ? "chip " + std::to_string(chip) + ": " : "") + text);
}

// One line where several lie within its width: a host reset is of all cores.
void SvgTimeline::draw_notes(draw::Svg& svg, double bottom) const {
  constexpr double kHit = 3;  // what the pointer finds, in pixels
  constexpr size_t kMostTexts = 8;
  auto notes = notes_;
  std::sort(notes.begin(), notes.end());
  for (size_t i = 0; i < notes.size();) {
    const double x = x_of(notes[i].first);
    std::string tip;
    size_t texts = 0;
    for (; i < notes.size() && x_of(notes[i].first) < x + kHit; ++i)
      if (++texts <= kMostTexts) tip += (tip.empty() ? "" : "\n") + notes[i].second;
    if (texts > kMostTexts) tip += "\nand " + std::to_string(texts - kMostTexts) + " more";
    svg.line({x, kTop - 8}, {x, bottom}, {{"stroke", draw::kDimInk}, {"stroke-dasharray", "3 2"}});
    svg.rect({x - kHit / 2, kTop - 8, kHit, bottom - kTop + 8}, {{"fill-opacity", 0.0}}, tip);
  }
}

double SvgTimeline::x_of(uint64_t ns) const {
  const uint64_t clipped = std::clamp(ns, begin_ns_, end_ns_);
  return kLeft + kWidth * static_cast<double>(clipped - begin_ns_) / static_cast<double>(end_ns_ - begin_ns_);
}

void SvgTimeline::draw_axis(draw::Svg& svg, double bottom) const {
  const auto length = static_cast<double>(end_ns_ - begin_ns_);
  const draw::Axis time(0, length, kLeft, kLeft + kWidth);
  for (const draw::Tick& tick : draw::duration_ticks(0, length, 12)) {
    const double x = time.at(tick.value);
    svg.line({x, kTop - 8}, {x, bottom}, {{"stroke", draw::kGrid}});
    svg.text({x, kTop - 12}, "+" + tick.label, {{"text-anchor", "middle"}, {"fill", draw::kDimInk}});
  }
}

void SvgTimeline::draw_lane(draw::Svg& svg, const Lane& lane, double y) const {
  const bool of_chip = chips_ > 1 && lane.place.chip >= 0;
  const std::string where =
      (of_chip ? titles_.at(static_cast<uint32_t>(lane.place.chip)) + " " : "") + lane.name;
  svg.text({kLeft - 6, y + 8}, fitting(where, kLettersOfName), {{"text-anchor", "end"}});
  for (const Drawn& d : lane.drawn) {
    const double x = x_of(d.begin_ns), width = std::max(x_of(d.end_ns) - x, kNarrowest);
    const double top = y + (d.mark ? 0 : d.depth * kStep), height = d.mark ? kStep * lane.depth : kStep - 1;
    draw::Attributes look = {{"fill", colour(d.rgb)}};
    if (d.mark) look.emplace_back("opacity", 0.7);
    svg.rect({x, top, width, height}, look, d.tip);
    const auto letters = static_cast<size_t>(std::max(0.0, width - 4) / 5.6);
    if (d.mark || letters < 3) continue;
    svg.text({x + 2, top + 8}, fitting(d.name, letters), {{"font-size", 9}, {"pointer-events", "none"}});
  }
}

std::vector<const SvgTimeline::Lane*> SvgTimeline::shown_lanes() {
  std::vector<const Lane*> shown;
  for (const auto* lanes : {&host_lanes_, &host_rows_, &rows_, &lanes_})
    for (const Lane& lane : *lanes)
      if (!lane.drawn.empty()) shown.push_back(&lane);
  std::sort(shown.begin(), shown.end(), [](const Lane* a, const Lane* b) { return a->place < b->place; });
  const auto chips =
      std::find_if(shown.begin(), shown.end(), [](const Lane* lane) { return lane->place.chip >= 0; });
  const auto host = static_cast<size_t>(chips - shown.begin());
  if (host > kMostHostLanes) {
    left_out_host_ = host - kMostHostLanes;
    shown.erase(shown.begin() + static_cast<ptrdiff_t>(kMostHostLanes), chips);
  }
  return shown;
}

// The message for an empty window.
std::string SvgTimeline::where_markers_are() const {
  if (!before_ns_ && !after_ns_) return "no marker is in this window, and there is none outside of it";
  std::string text = "no marker is in this window; ";
  if (before_ns_)
    text += "the last marker before it is at " + duration(*before_ns_ - std::min(*before_ns_, origin_ns_));
  if (after_ns_)
    text += std::string(before_ns_ ? ", the first behind it at " : "the first marker behind it is at ") +
            duration(*after_ns_ - std::min(*after_ns_, origin_ns_));
  return text + " after the first marker";
}

void SvgTimeline::end() {
  for (Lane& lane : lanes_)  // what is still open reaches to the edge
    for (const size_t aside : {0u, 1u})
      for (size_t depth = 0; depth < lane.open[aside].size(); ++depth)
        draw(lane, lane.open[aside][depth], end_ns_, depth + aside, Flaw::no_end, kNoDurationBound);
  for (Lane& lane : host_lanes_)
    for (; !lane.open_host.empty(); lane.open_host.pop_back())
      draw_host(lane, lane.open_host.back(), end_ns_, to_string(Flaw::no_end));
  std::vector<const Lane*> shown = shown_lanes();
  const size_t more = shown.size() > kMostLanes ? shown.size() - kMostLanes : 0;
  shown.resize(shown.size() - more);
  std::vector<double> tops;
  double y = kTop;
  for (size_t i = 0; i < shown.size(); ++i) {
    const bool new_core = i > 0 && (shown[i]->place.core != shown[i - 1]->place.core ||
                                    shown[i]->place.chip != shown[i - 1]->place.chip);
    if (new_core) y += kCoreGap;
    tops.push_back(y);
    y += kStep * shown[i]->depth + kGap;
  }
  const double height = y + 28;
  draw::Svg svg(kLeft + kWidth + kRight, height,
                {{"font-family", "Helvetica,Arial,sans-serif"}, {"font-size", 10}, {"fill", draw::kInk}});
  svg.text({12, 20},
           title_ + ": " + duration(end_ns_ - begin_ns_) + " from " +
               duration(begin_ns_ < origin_ns_ ? origin_ns_ - begin_ns_ : begin_ns_ - origin_ns_) +
               (begin_ns_ < origin_ns_ ? " before the first marker" : " after the first marker"),
           {{"font-size", 13}});
  draw_axis(svg, y);
  draw_notes(svg, y);
  for (size_t i = 0; i < shown.size(); ++i) draw_lane(svg, *shown[i], tops[i]);
  if (shown.empty()) empty_ = where_markers_are();
  std::string foot = empty_;
  if (more) foot += std::to_string(more) + " more lanes have zones here (--core, --risc, --chip choose). ";
  if (left_out_host_) foot += std::to_string(left_out_host_) + " more rows of the host side are not drawn. ";
  if (left_out_) foot += std::to_string(left_out_) + " zones are not drawn; a shorter --window shows them.";
  svg.text({12, height - 10}, foot, {{"fill", draw::kDimInk}});
  out_.append(std::move(svg).finish());
}

}  // namespace ttc::tools
