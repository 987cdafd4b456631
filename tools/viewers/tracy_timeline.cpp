#include "tools/viewers/tracy_timeline.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "collector/draw/colours.hpp"
#include "tools/viewers/tracy_ids.hpp"

namespace ttc::tools {

using namespace tracy_ids;

namespace {

constexpr size_t kMostLanes = (tracy::kMostThreads - kFirstLane) / 2;
constexpr uint64_t kMayGoBackNs = 2'000'000'000;  // servers take 2^31 ns for a wrap of the counter
constexpr size_t kFlaws = 4;

// Lanes are in this order; a chip's rows before its cores, a lane's behind it.
int32_t rank_of(const TimelineLane& lane) {
  return static_cast<int32_t>((lane.chip & 0x7ff) << 20 | (lane.core_y + 1u) << 12 |
                              uint32_t{lane.core_x} << 4 | uint32_t{lane.risc} << 1);
}

// The fork's lanes (tenstorrent/tracy TracyTTDeviceData.hpp): it names them by the lowest three bits. What
// does not fit into its bit fields goes above them: a second Ethernet processor, and zones beside a lane.
uint32_t fork_lane(const TimelineLane& lane, bool aside) {
  constexpr uint32_t kErisc = 5, kAggregate = 6, kSecond = 1u << 25, kAside = 1u << 24;
  const uint32_t risc = lane.kind != markers::CoreKind::tensix ? kErisc
                        : lane.processor == "TENSIX_RISC_AGG"  ? kAggregate
                                                               : lane.risc;
  return (risc + (uint32_t{lane.core_x} << 3) + (uint32_t{lane.core_y} << 7) + (lane.chip << 11 & 0x7ffff)) |
         (risc == kErisc && lane.risc ? kSecond : 0) | (aside ? kAside : 0);
}

// The index of a value among the different ones: logical coordinates.
template <class Of>
size_t rank_among(const Session& session, uint8_t value, Of of) {
  std::set<uint8_t> smaller;
  for (const auto& core : session.compute_cores)
    if (of(core) < value) smaller.insert(of(core));
  return smaller.size();
}

}  // namespace

TracyTimeline::TracyTimeline(const tracy::Dialect& dialect, tracy::BlockSink& sink, uint64_t init_begin_ns,
                             bool device_contexts)
    : dialect_(dialect),
      contexts_wanted_(dialect.fork || device_contexts),
      client_(dialect, sink, *this),
      stream_(client_.stream()),
      init_begin_ns_(init_begin_ns),
      latest_ns_(init_begin_ns) {
  threads_[kOwnThread] = "ttcollect";
}

void TracyTimeline::device(const Session& s) {
  client_.answer();
  chips_[s.chip] = s;
  own_message(latest_ns_,
              s.title() + ": " + s.device + ", " + s.arch + ", " + s.board + ", AICLK " +
                  std::to_string(s.aiclk_mhz) + " MHz, profiler layout " + s.layout,
              kNoteColour);
  if (!dialect_.has(tracy::Item::gpu_marker)) return;
  std::set<uint8_t> columns, rows;
  for (const auto& [x, y] : s.compute_cores) {
    columns.insert(x);
    rows.insert(y);
  }
  stream_.app_info(latest_ns_, "tt_device_grid chip=" + std::to_string(s.chip) + " size=" +
                                   std::to_string(columns.size()) + "x" + std::to_string(rows.size()));
}

void TracyTimeline::clock_known(uint32_t chip, bool cycles, const collect::ClockHead&) {
  if (cycles)
    own_message(latest_ns_, title_of(chip) + ": no clock model; its times are device cycles", kNoteColour);
}

void TracyTimeline::lane(const TimelineLane& is) {
  lanes_.resize(std::max<size_t>(lanes_.size(), is.number + 1));
  Lane& lane = lanes_[is.number];
  lane.name = title_of(is.chip) + " " + is.core() + " " + is.processor;
  lane.number = is.number;
  lane.chip = is.chip;
  lane.core_x = is.core_x;
  lane.core_y = is.core_y;
  lane.rank = rank_of(is);
  lane.left_out = is.number >= kMostLanes;
  left_out_lanes_ += lane.left_out;
  if (lane.left_out) return;
  lane.main.id = dialect_.fork ? fork_lane(is, false) : kFirstLane + 2 * is.number;
  lane.aside.id = dialect_.fork ? fork_lane(is, true) : lane.main.id + 1;
  threads_[lane.main.id] = lane.name;
  threads_[lane.aside.id] = lane.name + " (overlapping)";
}

std::string TracyTimeline::context_name(const Lane& lane) const {
  const auto chip = chips_.find(lane.chip);
  size_t x = 0, y = 0;
  if (chip != chips_.end()) {
    x = rank_among(chip->second, lane.core_x, [](const auto& core) { return core.first; });
    y = rank_among(chip->second, lane.core_y, [](const auto& core) { return core.second; });
  }
  return "Device: " + std::to_string(lane.chip) + ", Logical (" + std::to_string(x) + "," +
         std::to_string(y) + ") Physical (" + std::to_string(lane.core_x) + "," +
         std::to_string(lane.core_y) + ")";
}

void TracyTimeline::place_in_context(Lane& lane, Row& row, uint64_t ns) {
  const auto open_context = [&] {
    stream_.gpu_context(static_cast<uint16_t>(contexts_.size()), ns, context_name(lane));
    contexts_.push_back({ns});
    return static_cast<uint16_t>(contexts_.size() - 1);
  };
  const bool full = contexts_.size() >= dialect_.most_contexts;
  if (!row.known) {
    const std::tuple core{lane.chip, lane.core_x, lane.core_y};
    const auto known = core_contexts_.find(core);
    if (known == core_contexts_.end() && full) {
      lane.left_out = true;
      ++left_out_lanes_;
      return;
    }
    row.context = known != core_contexts_.end() ? known->second : core_contexts_[core] = open_context();
  }
  if (ns + kMayGoBackNs >= contexts_[row.context].last_ns) return;
  if (full) {
    lane.left_out = true;
    ++left_out_lanes_;
    return;
  }
  row.context = open_context();
}

// Before its first zone.
void TracyTimeline::announce(Lane& lane, Row& row, bool aside, uint64_t ns) {
  if (contexts_wanted_) {
    place_in_context(lane, row, ns);
    if (lane.left_out) return;
  }
  if (row.known) return;
  row.known = true;
  stream_.thread(row.id);
  stream_.name_thread();
  stream_.thread_hint(row.id, lane.rank + aside);
}

// A key for each label and flaw. Where servers take no more, all further names share one.
uint64_t TracyTimeline::location_of(const ZoneLabel& label, Flaw flaw, bool& overflown) {
  const size_t index = label.number * kFlaws + static_cast<size_t>(flaw);
  if (location_keys_.size() <= index) location_keys_.resize(index + 64);
  uint32_t& key = location_keys_[index];
  overflown = false;
  if (key) {
    overflown = key == tracy::kMostSourceLocations;
    return key;
  }
  std::string name = label.name;
  if (flaw != Flaw::none) name += std::string(" (") + to_string(flaw) + ")";
  char hash[24] = "";
  if (label.hashed) std::snprintf(hash, sizeof hash, "zone 0x%04x", unsigned{label.hash});
  key = static_cast<uint32_t>(
      add_location({std::move(name), hash, label.file.empty() ? "?" : label.file, label.line,
                    tracy::colour(flaw == Flaw::none ? label.rgb : draw::kLossColour)}));
  overflown = key == tracy::kMostSourceLocations;
  return key;
}

void TracyTimeline::begin(Row& row, uint64_t ns, const ZoneLabel& label, Flaw flaw, std::string_view more) {
  bool overflown = false;
  const uint64_t location = location_of(label, flaw, overflown);
  ++row.depth;
  row.last_ns = ns;
  if (contexts_wanted_) {
    stream_.gpu_begin(row.context, row.id, ns, location);
    contexts_[row.context].last_ns = std::max(contexts_[row.context].last_ns, ns);
    return;
  }
  stream_.zone_begin(ns, location);
  stream_.zone_text(more);
  if (overflown) stream_.zone_text(label.name);
}

void TracyTimeline::end_zone(Row& row, uint64_t ns, Flaw flaw) {
  if (row.depth == 0) return;  // its begin lay outside of what can be shown
  --row.depth;
  row.last_ns = ns;
  if (contexts_wanted_) {
    stream_.gpu_end(row.context, row.id, ns);
    contexts_[row.context].last_ns = std::max(contexts_[row.context].last_ns, ns);
    return;
  }
  if (flaw != Flaw::none) stream_.zone_text(to_string(flaw));
  stream_.zone_end(ns);
}

void TracyTimeline::event(Row& row, const TimelineFrame& f, const ZoneStep& step, MarkerExtras& extras) {
  const markers::Marker& m = f.events.markers[step.marker];
  const ZoneLabel& label = f.labels.of(m);
  if (const EventText* text = extras.text(step.marker)) {
    text_ = text->name;
    append_fields(text_, text->fields);
  } else {
    text_ = label.name;
    if (m.type != markers::MarkerType::ts_event) {
      text_ += m.type == markers::MarkerType::zone_total ? ", total " : ", value ";
      append_number(text_, f.events.payload(m));
    }
    if (m.type == markers::MarkerType::ts_data_16b) {
      text_ += ' ';
      append_number(text_, f.events.payload(m, 1));
    }
  }
  text_ += ", ";
  text_.append(frame_text_, 0, frame_text_bytes_);
  stream_.thread(row.id);
  stream_.message(f.time_of(step), text_, tracy::colour(label.rgb));
}

std::string_view TracyTimeline::text_of(const TimelineFrame& f, const ZoneStep& step,
                                        const HostSemantics* more) {
  std::string& text = more ? text_ : frame_text_;
  if (more) {
    text_ = "host id ";
    append_number(text_, more->host_id.value_or(f.events.host_id));
    if (f.events.trace_counter) text_ += ", trace replay " + std::to_string(f.events.trace_counter);
    for (const std::string* part : {&more->name, &more->meta})
      if (!part->empty()) text_ += ", " + *part;
  } else {
    frame_text_.resize(frame_text_bytes_);
  }
  if (step.kind == ZoneStep::Kind::begin && step.other != kNoMarker) {
    text += ", cycles ";
    append_number(text, f.events.markers[step.other].time_cycles - f.events.markers[step.marker].time_cycles);
  }
  return text;
}

void TracyTimeline::frame(const TimelineLane& is, const TimelineFrame& f) {
  client_.answer();
  Lane& lane = lanes_[is.number];
  if (lane.left_out) return;
  if (!can_show(f.ns.front()) || !can_show(f.ns.back())) {
    ++left_out_times_;
    return;
  }
  if (f.late && f.ns.front() < lane.aside.last_ns) {
    ++left_out_late_;
    return;
  }
  latest_ns_ = std::max(latest_ns_, f.ns.back());
  frame_text_ = "host id ";
  append_number(frame_text_, f.events.host_id);
  if (f.events.trace_counter) {
    frame_text_ += ", trace replay ";
    append_number(frame_text_, f.events.trace_counter);
  }
  frame_text_bytes_ = frame_text_.size();
  MarkerExtras extras(f);
  for (const ZoneStep& step : f.steps) {
    const uint64_t ns = f.time_of(step);
    const bool aside = step.aside || f.late;
    Row& row = aside ? lane.aside : lane.main;
    announce(lane, row, aside, ns);
    if (lane.left_out) return;
    if (!contexts_wanted_) stream_.thread(row.id);
    if (step.kind == ZoneStep::Kind::end) {
      end_zone(row, ns, step.flaw);
      continue;
    }
    if (step.kind == ZoneStep::Kind::mark && step.flaw == Flaw::none) {
      event(row, f, step, extras);
      continue;
    }
    const ZoneLabel& label = f.labels.of(f.events.markers[step.marker]);
    begin(row, ns, label, step.flaw,
          contexts_wanted_ ? std::string_view() : text_of(f, step, extras.semantics(step.marker)));
    if (step.kind == ZoneStep::Kind::mark) end_zone(row, ns, Flaw::none);
  }
}

// Plots are configured with their first value that can be shown.
void TracyTimeline::counter(const TimelineCounter&) {}

void TracyTimeline::value(const TimelineCounter& counter, uint64_t ns, double value) {
  if (!can_show(ns)) return;
  const uint64_t key = kFirstPlot + counter.number;
  std::string& name = plots_[key];
  stream_.thread(kOwnThread);
  if (name.empty()) {
    name = title_of(counter.chip) + " " + (counter.lane ? counter.lane->core() + " " : "") + counter.name;
    if (counter.name.find('/') == std::string::npos) name += " [" + counter.unit + "]";
    stream_.plot_config(key, true);
  }
  stream_.plot(ns, key, value);
}

void TracyTimeline::row(const TimelineRow& row) {
  threads_[kFirstRowThread + row.number] =
      title_of(row.chip) + " " + (row.lane ? row.lane->core() + " " : "") + row.name;
}

uint64_t TracyTimeline::location_of(const std::string& label, uint32_t rgb) {
  uint64_t& key = span_locations_[{label, rgb}];
  if (key) return key;
  return key = add_location({label, "", "?", 0, tracy::colour(rgb)});
}

// The last one is what further names share.
uint64_t TracyTimeline::add_location(tracy::SourceLocation location) {
  if (locations_.size() + 1 >= tracy::kMostSourceLocations) {
    if (locations_.size() + 1 == tracy::kMostSourceLocations)
      locations_.push_back({"(further names)", "", "", 0, tracy::colour(draw::kLossColour)});
    ++overflown_names_;
    return tracy::kMostSourceLocations;
  }
  locations_.push_back(std::move(location));
  return locations_.size();
}

void TracyTimeline::span(const TimelineRow& row, const TimelineSpan& span) {
  client_.answer();
  if (!can_show(span.begin_ns) || !can_show(span.end_ns)) {
    ++left_out_spans_;
    return;
  }
  const uint32_t id = kFirstRowThread + row.number;
  put_span(id, span.begin_ns, span.end_ns, location_of(span.label, span.rgb),
           span.name == span.label ? std::string_view() : span.name, span.fields);
  const int32_t rank = row.kind == SpanKind::addressed ? (rank_of(*row.lane) & ~15) + 15
                       : row.lane                      ? rank_of(*row.lane) + 1
                                  : static_cast<int32_t>((row.chip & 0x7ff) << 20 | row.rank);
  if (span_rows_.insert(row.number).second) stream_.thread_hint(id, rank);
}

void TracyTimeline::put_span(uint32_t thread, uint64_t begin_ns, uint64_t end_ns, uint64_t location,
                             std::string_view name, std::span<const EventField> fields) {
  text_.clear();
  append_fields(text_, fields);
  stream_.thread(thread);
  stream_.zone_begin(begin_ns, location);
  if (!name.empty()) stream_.zone_name(name);
  if (!text_.empty()) stream_.zone_text(text_);
  stream_.zone_end(end_ns);
}

void TracyTimeline::own_message(uint64_t ns, const std::string& text, uint32_t rgb) {
  stream_.thread(kOwnThread);
  stream_.message(std::max(ns, init_begin_ns_), text, tracy::colour(rgb));
}

void TracyTimeline::message(const std::string& text) {
  own_message(latest_ns_, text, draw::kLossColour);
}

void TracyTimeline::note(uint32_t chip, uint64_t ns, const std::string& text) {
  own_message(ns, title_of(chip) + ": " + text, kNoteColour);
}

// A server lets go only when no thread has an open zone.
void TracyTimeline::end() {
  client_.answer();
  for (Lane& lane : lanes_)
    for (Row* row : {&lane.main, &lane.aside})
      for (; row->depth && !contexts_wanted_;) {
        stream_.thread(row->id);
        end_zone(*row, row->last_ns, Flaw::no_end);
      }
  const auto count = [&](uint64_t n, const char* what) {
    if (n) message(std::to_string(n) + what);
  };
  count(left_out_lanes_, " lanes are left out: a Tracy trace holds no more");
  count(left_out_late_, " launches came too late for their lanes and are left out");
  count(left_out_times_, " launches lie outside of the times a Tracy trace can hold and are left out");
  count(left_out_spans_,
        " programs and losses lie outside of the times a Tracy trace can hold and are left out");
  count(left_out_host_,
        " events of the host side lie outside of the times a Tracy trace can hold and are left out");
  count(overflown_names_, " names share the source location '(further names)': a Tracy trace holds no more");
}

std::string TracyTimeline::text(uint64_t key) {
  if (const auto plot = plots_.find(key); plot != plots_.end()) return plot->second;
  const uint64_t location = key >> 2 & ~(uint64_t{3} << 60);
  const tracy::SourceLocation at = source_location(location);
  switch (static_cast<tracy::Part>(key & 3)) {
    case tracy::Part::name:
      return at.name;
    case tracy::Part::function:
      return at.function;
    case tracy::Part::file:
      return at.file;
  }
  return {};
}

std::string TracyTimeline::thread(uint32_t id) {
  const auto found = threads_.find(id);
  return found == threads_.end() ? "?" : found->second;
}

tracy::SourceLocation TracyTimeline::source_location(uint64_t key) {
  return key >= 1 && key <= locations_.size() ? locations_[key - 1]
                                              : tracy::SourceLocation{"?", "", "?", 0, {}};
}

}  // namespace ttc::tools
