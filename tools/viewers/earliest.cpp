#include "tools/viewers/earliest.hpp"

#include <algorithm>
#include <set>

#include "collector/program/program.hpp"
#include "collector/program/units.hpp"
#include "tools/pipeline/log_frames.hpp"
#include "tools/pipeline/source.hpp"
#include "tools/viewers/timeline.hpp"

namespace ttc::tools {
namespace {

using Interval = std::pair<uint64_t, uint64_t>;

class WindowSearch : public TimelineWriter {
 public:
  WindowSearch(bool counters, const TimeWindow& window) : counters_(counters), window_(window) {}
  void device(const Session& s) override {
    found.host_time = found.host_time && s.clock_model;
    if (s.clock_model) modelled_.insert(s.chip);
  }
  void clock_known(uint32_t chip, bool cycles, const collect::ClockHead&) override {
    found.settled = found.settled && !(cycles && modelled_.contains(chip));
  }
  void lane(const TimelineLane&) override {}
  void row(const TimelineRow&) override {}
  void counter(const TimelineCounter&) override {}
  void frame(const TimelineLane& lane, const TimelineFrame& f) override {
    take(f.ns.front());
    if (window_.of == TimeWindow::Of::replay && f.events.trace_counter) replay(f);
    if (window_.of == TimeWindow::Of::zone) zones(lane, f);
  }
  void span(const TimelineRow& row, const TimelineSpan& s) override {
    if (row.kind != SpanKind::program || window_.of != TimeWindow::Of::program) return;
    const uint64_t host_id = s.fields.front().number;
    least = std::min(least, host_id);
    most = std::max(most, host_id);
    if (window_.number == 0 || window_.number == host_id) match({s.begin_ns, s.end_ns});
  }
  void value(const TimelineCounter&, uint64_t ns, double) override {
    if (counters_) take(ns);
  }
  void note(uint32_t, uint64_t ns, const std::string&) override {
    if (counters_) take(ns);
  }
  void host_begin(const HostThread& thread, const HostZoneBegin& zone) override {
    if (counters_) take(zone.ns);
    if (window_.of == TimeWindow::Of::zone)
      open_[kHostThreads + thread.number].push_back({zone.ns, zone.shown_name() == window_.name});
  }
  void host_end(const HostThread& thread, uint64_t ns, std::string_view) override {
    const auto open = open_.find(kHostThreads + thread.number);
    if (open == open_.end() || open->second.empty()) return;
    if (open->second.back().wanted) match({open->second.back().begin_ns, ns});
    open->second.pop_back();
  }
  void host_span(const HostRow&, const HostSpan& span) override {
    if (counters_) take(span.begin_ns);
  }
  void host_message(const HostThread&, uint64_t ns, std::string_view) override {
    if (counters_) take(ns);
  }
  void host_value(const HostPlot&, uint64_t ns, double) override {
    if (counters_) take(ns);
  }
  void end() override {}

  Earliest found;
  std::vector<Interval> first;  // matches by begin, as many as were requested
  uint64_t matches = 0;
  uint64_t least = ~uint64_t{0}, most = 0;  // host ids or replays there are

 private:
  struct Open {
    uint64_t begin_ns;
    bool wanted;
  };
  void take(uint64_t ns) { found.ns = std::min(found.ns.value_or(ns), ns); }
  void match(Interval is) {
    ++matches;
    first.insert(std::upper_bound(first.begin(), first.end(), is), is);
    if (first.size() > window_.nth) first.pop_back();
  }
  void replay(const TimelineFrame& f) {
    least = std::min<uint64_t>(least, f.events.trace_counter);
    most = std::max<uint64_t>(most, f.events.trace_counter);
    if (f.events.trace_counter != window_.number) return;
    if (first.empty()) first.push_back({f.ns.front(), f.ns.back()});
    first[0] = {std::min(first[0].first, f.ns.front()), std::max(first[0].second, f.ns.back())};
    matches = 1;
  }
  void zones(const TimelineLane& lane, const TimelineFrame& f) {
    MarkerExtras extras(f);
    for (const ZoneStep& step : f.steps) {
      auto& open = open_[lane.number * uint64_t{2} + step.aside];
      if (step.kind == ZoneStep::Kind::begin) {
        const HostSemantics* more = extras.semantics(step.marker);
        const bool renamed = more && !more->name.empty();
        const std::string& name = renamed ? more->name : f.labels.of(f.events.markers[step.marker]).name;
        open.push_back({f.time_of(step), name == window_.name});
      } else if (step.kind == ZoneStep::Kind::end && !open.empty()) {
        if (open.back().wanted) match({open.back().begin_ns, f.time_of(step)});
        open.pop_back();
      }
    }
  }

  static constexpr uint64_t kHostThreads = uint64_t{1} << 40;  // keys of open_; those of lanes are below

  bool counters_;
  const TimeWindow& window_;
  std::set<uint32_t> modelled_;  // chips whose collector makes a clock model
  std::unordered_map<uint64_t, std::vector<Open>> open_;
};

// The writer stays the timeline's.
std::unique_ptr<Timeline> run_search(std::unique_ptr<WindowSearch> writer,
                                     const std::vector<std::string>& from, unsigned wait_ms,
                                     const Filter& filter, std::optional<markers::MetalDate> date,
                                     uint64_t most_markers) {
  auto timeline = std::make_unique<Timeline>(std::move(writer));
  const NamedSources sources = sorted_sources(from);
  Pipeline pipeline(filter, false, date, HostClock::raw);
  if (!sources.others.empty()) {
    const auto source = open_source(sources.others, false, wait_ms);
    std::vector<uint64_t> chunk;
    while (pipeline.markers() < most_markers && source->next(chunk) == Source::Next::chunk)
      pipeline.push(chunk, *timeline);
    pipeline.finish(*timeline);
  }
  LogFrames(filter).play_beside(pipeline, true, sources.logs, *timeline);
  timeline->end();
  return timeline;
}

// NAME, NAME#3.
bool take_nth(std::string& name, uint64_t& nth) {
  const size_t hash = name.rfind('#');
  if (hash == std::string::npos) return !name.empty();
  const std::string digits = name.substr(hash + 1);
  if (digits.empty() || digits.size() > 6 || digits.find_first_not_of("0123456789") != std::string::npos)
    return !name.empty();  // it is part of the name
  nth = std::stoul(digits);
  name.resize(hash);
  return nth > 0 && !name.empty();
}

bool take_number(const std::string& digits, uint64_t& number) {
  if (digits.empty() || digits.size() > 10 || digits.find_first_not_of("0123456789") != std::string::npos)
    return false;
  number = std::stoull(digits);
  return number > 0;
}

std::string not_there(const TimeWindow& w, const WindowSearch& search) {
  const std::string range = search.least > search.most ? ""
                                                       : "; there are " + std::to_string(search.least) +
                                                             " to " + std::to_string(search.most);
  switch (w.of) {
    case TimeWindow::Of::program:
      return search.matches ? "--window: program " + std::to_string(w.number) + " ran " +
                                  std::to_string(search.matches) + " times, not " + std::to_string(w.nth)
                            : "--window: no program has the host id " + std::to_string(w.number) +
                                  (range.empty() ? "; this source has no program with an id" : range);
    case TimeWindow::Of::zone:
      return (search.matches ? "--window: there are " + std::to_string(search.matches) + " zones " + w.name +
                                   ", and no number " + std::to_string(w.nth)
                             : "--window: no zone has the name " + w.name) +
             "; `ttreport kernels` shows what zones there are";
    default:
      return "--window: a step is a replay of a trace, and " +
             (range.empty() ? std::string("this source has none")
                            : "replay " + std::to_string(w.number) + " is not in it" + range);
  }
}

}  // namespace

std::optional<TimeWindow> parse_window(const std::string& text) {
  TimeWindow w;
  const size_t colon = text.find(':');
  if (text.empty()) {
    w.of = TimeWindow::Of::program;
    return w;
  }
  std::string rest = colon == std::string::npos ? "" : text.substr(colon + 1);
  if (text.starts_with("op:")) {
    w.of = TimeWindow::Of::program;
    return take_nth(rest, w.nth) && take_number(rest, w.number) ? std::optional(w) : std::nullopt;
  }
  if (text.starts_with("step:")) {
    w.of = TimeWindow::Of::replay;
    return take_number(rest, w.number) ? std::optional(w) : std::nullopt;
  }
  if (text.starts_with("zone:")) {
    w.of = TimeWindow::Of::zone;
    const bool whole = take_nth(rest, w.nth);
    w.name = rest;
    return whole ? std::optional(w) : std::nullopt;
  }
  const size_t comma = text.find(',');
  if (comma == std::string::npos) return std::nullopt;
  const auto begin = program::parse_duration(std::string_view(text).substr(0, comma)).value;
  const auto length = program::parse_duration(std::string_view(text).substr(comma + 1)).value;
  if (!begin || !length || *length == 0) return std::nullopt;
  w.begin_ns = *begin;
  w.length_ns = *length;
  return w;
}

Earliest earliest_in(const std::vector<std::string>& from, unsigned wait_ms, const Filter& filter,
                     std::optional<markers::MetalDate> date, uint64_t most_markers, bool counters) {
  const TimeWindow none;
  auto writer = std::make_unique<WindowSearch>(counters, none);
  const WindowSearch& search = *writer;
  const auto timeline = run_search(std::move(writer), from, wait_ms, filter, date, most_markers);
  return search.found;
}

void find_window(const TimeWindow& w, const std::vector<std::string>& from, unsigned wait_ms,
                 const Filter& filter, FormatOptions& options) {
  auto writer = std::make_unique<WindowSearch>(false, w);
  const WindowSearch& search = *writer;
  const auto timeline =
      run_search(std::move(writer), from, wait_ms, filter, options.metal_date, ~uint64_t{0});
  options.earliest_ns = search.found.ns.value_or(0);
  options.window_begin_ns = static_cast<int64_t>(w.begin_ns);
  options.window_length_ns = w.length_ns;
  const bool any_program = w.of == TimeWindow::Of::program && w.number == 0;
  if (w.of == TimeWindow::Of::time || (any_program && search.first.empty())) return;
  if (search.first.size() < w.nth) throw program::UsageError(not_there(w, search));
  const auto [begin_ns, end_ns] = search.first[w.nth - 1];
  const uint64_t margin_ns = (end_ns - begin_ns) / 20 + 1;
  // A zone of the host side may begin before the first marker.
  options.window_begin_ns = static_cast<int64_t>(begin_ns - std::min(begin_ns, margin_ns)) -
                            static_cast<int64_t>(options.earliest_ns);
  if (w.of != TimeWindow::Of::zone) options.window_begin_ns = std::max<int64_t>(options.window_begin_ns, 0);
  options.window_length_ns = static_cast<uint64_t>(
      static_cast<int64_t>(end_ns + margin_ns - options.earliest_ns) - options.window_begin_ns);
}

}  // namespace ttc::tools
