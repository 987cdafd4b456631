#include "tools/viewers/chrome/chrome.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "collector/draw/text_escape.hpp"
#include "tools/viewers/chrome/chrome_texts.hpp"

namespace ttc::tools {
namespace {

constexpr size_t kLongestNumbers = 500;  // an event without texts

constexpr uint32_t kFirstRowTid = 1u << 24;  // tids of rows; those of lanes are below
constexpr uint32_t kFirstHostRowTid = 1u << 25;
constexpr const char* kKindNames[] = {"firmware", "kernel", "dispatch", "profiler", "user", "event"};

char* put_text(char* at, std::string_view text) {
  std::memcpy(at, text.data(), text.size());
  return at + text.size();
}
char* put_number(char* at, uint64_t value) {
  return std::to_chars(at, at + 20, value).ptr;
}
char* put_us(char* at, uint64_t ns) {
  at = put_number(at, ns / 1000);
  *at++ = '.';
  for (const unsigned digit : {100u, 10u, 1u}) *at++ = static_cast<char>('0' + ns % 1000 / digit % 10);
  return at;
}

uint32_t pid_of(const TimelineLane& lane) {
  return lane.chip + 1;
}
uint32_t tid_of(const TimelineLane& lane, bool aside) {
  return lane.number * 2 + 1 + aside;
}
uint32_t tid_of(const TimelineRow& row) {
  return kFirstRowTid + row.number;
}

// Members of an object, without its braces.
class Members {
 public:
  void number(const char* name, uint64_t value) {
    key(name);
    text_ += std::to_string(value);
  }
  void text(const char* name, std::string_view value) {
    key(name);
    text_ += '"' + draw::for_json(value) + '"';
  }
  void field(const EventField& f) { f.text.empty() ? number(f.name, f.number) : text(f.name, f.text); }
  std::string behind_others() && { return text_.empty() ? "" : "," + text_; }
  // The fields as the last member of an event; empty if there is none.
  std::string as_args() && { return text_.empty() ? "" : ",\"args\":{" + text_ + "}"; }

 private:
  void key(const char* name) {
    if (!text_.empty()) text_ += ',';
    text_ += '"';
    text_ += name;
    text_ += "\":";
  }
  std::string text_;
};

}  // namespace

Chrome::Chrome(Output& out, const FormatOptions& options)
    : arguments_(options.arguments),
      texts_(out, [this](const auto& frame, const auto& step, const StepExtra* extra, Output& to) {
        encode(frame, step, extra, to);
      }) {
  out.append("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
  out.close_with("\n]}\n");
}

void Chrome::metadata(const char* what, uint64_t pid, uint32_t tid, const std::string& arguments) {
  out().append(std::string(first_ ? "\n" : ",\n") + R"({"ph":"M","pid":)" + std::to_string(pid) +
               R"(,"tid":)" + std::to_string(tid) + R"(,"name":")" + what + R"(","args":{)" + arguments +
               "}}");
  first_ = false;
}

void Chrome::device(const Session& s) {
  metadata("process_name", s.chip + 1, 0,
           R"("name":")" + draw::for_json(s.title()) + " (" + draw::for_json(s.arch) + ", " +
               draw::for_json(s.device) + ")\"");
  metadata("process_sort_index", s.chip + 1, 0, R"("sort_index":)" + std::to_string(s.chip));
}

void Chrome::name_lane(const TimelineLane& is, const std::string& name, uint32_t tid, unsigned place) {
  constexpr unsigned kPlaces = 4 + RowPacker::kMostRows, kRiscs = 8;
  const uint64_t core = (is.core_y + 1u) << 8 | is.core_x;  // the chip's rows come before
  metadata("thread_name", pid_of(is), tid, R"("name":")" + is.core() + " " + draw::for_json(name) + "\"");
  metadata("thread_sort_index", pid_of(is), tid,
           R"("sort_index":)" + std::to_string((core * kRiscs + is.risc) * kPlaces + place));
}

void Chrome::lane(const TimelineLane& is) {
  name_lane(is, is.processor, tid_of(is, false), 0);
  while (lanes_.size() <= is.number) lanes_.emplace_back();
  lanes_[is.number].is = &is;
  begun_lanes_.add(is.chip, is.core_x, is.core_y, is.risc, lanes_[is.number]);
}

void Chrome::begin_aside(const TimelineLane& is) {
  if (lanes_[is.number].aside_begun.exchange(true, std::memory_order_release)) return;
  name_lane(is, is.processor + " (overlapping)", tid_of(is, true), 1);
}

std::unique_ptr<FrameTextMaker> Chrome::text_maker(const ZoneLabels& labels) {
  return texts_.on_threads() ? std::make_unique<FramesText>(*this, labels) : nullptr;
}
void Chrome::frame_text(FrameTextMaker& text, uint32_t number, const FrameEvents&, uint64_t flow) {
  static_cast<FramesText&>(text).put(number, flow);
}

void Chrome::row(const TimelineRow& row) {
  if (row.lane) {
    TimelineLane place = *row.lane;
    if (row.kind == SpanKind::addressed) place.risc = device::kMaxRiscs;  // behind its processors
    return name_lane(place, row.name, tid_of(row), 2 + row.rank);
  }
  metadata("thread_name", row.chip + 1, tid_of(row), R"("name":")" + row.name + "\"");
  metadata("thread_sort_index", row.chip + 1, tid_of(row), R"("sort_index":)" + std::to_string(row.rank));
}

const Chrome::Label& Chrome::label_of(const ZoneLabel& l) {
  if (labels_.size() <= l.number) labels_.resize(l.number + 1);
  Label& label = labels_[l.number];
  if (!label.name.empty()) return label;
  const std::string source = l.file.empty() ? "" : draw::for_json(l.file) + ":" + std::to_string(l.line);
  label.bare = std::string(R"(,"cat":")") + kKindNames[static_cast<size_t>(l.kind)] + "\"";
  if (!source.empty()) label.bare += R"(,"loc":")" + source + "\"";
  label.escaped = draw::for_json(l.name);
  label.name = R"(,"name":")" + label.escaped + "\"" + label.bare;
  char hash[40];
  std::snprintf(hash, sizeof hash, R"(,"zone hash":"0x%04x")", unsigned{l.hash});
  if (l.hashed) label.zone = hash;
  if (!source.empty()) label.zone += R"(,"source":")" + source + "\"";
  if (l.number < kSharedLabels) known_labels_[l.number].store(&label, std::memory_order_release);
  return label;
}

// Room for those words, the rest of put_same() and what comes before it.
Chrome::Words Chrome::words_of(const Texts::Step& step, const StepExtra* extra) const {
  Words words;
  const bool instant = step.kind == ZoneStep::Kind::mark;
  if (extra && !extra->name.empty())
    words.name = R"(,"name":")" + draw::for_json(extra->name) + "\"";
  else if (instant && step.flaw != Flaw::none)
    words.name = R"(,"name":")" + step.label->escaped + " (" + to_string(step.flaw) + ")\"";
  if (!arguments_ || (!extra && step.flaw == Flaw::none)) return words;
  Members all;
  if (extra) {
    for (const EventField& field : extra->fields) all.field(field);
    if (extra->value_count > 0) all.number("value", extra->values[0]);
    if (extra->value_count > 1) all.number("value 2", extra->values[1]);
    if (!extra->meta.empty()) all.text("meta data", extra->meta);
  }
  if (step.flaw != Flaw::none) all.text("flaw", to_string(step.flaw));
  words.arguments = std::move(all).behind_others();
  return words;
}

// Name and arguments, which the E of a zone repeats.
char* Chrome::put_same(char* at, const Texts::Frame& frame, const Texts::Step& step, const StepExtra* extra,
                       const Words& words) const {
  const Label& label = *step.label;
  at = words.name.empty() ? put_text(at, label.name) : put_text(put_text(at, words.name), label.bare);
  if (!arguments_) return at;
  at = put_number(put_text(at, R"(,"args":{"host id":)"),
                  extra ? extra->host_id.value_or(frame.host_id) : frame.host_id);
  at = put_text(at, label.zone);
  if (frame.replay) at = put_number(put_text(at, R"(,"trace replay":)"), frame.replay);
  if (step.whole) {
    at = put_number(put_text(at, R"(,"cycles":)"), step.cycles);
    if (step.bound_ns != kNoDurationBound)
      at = put_number(put_text(at, R"(,"duration bound ns":)"), step.bound_ns);
  }
  at = put_text(at, words.arguments);
  *at++ = '}';
  return at;
}

// Any thread.
void Chrome::encode(const Texts::Frame& frame, const Texts::Step& step, const StepExtra* extra,
                    Output& to) const {
  const TimelineLane& is = *frame.of;
  const bool instant = step.kind == ZoneStep::Kind::mark;
  const Words words = words_of(step, extra);
  char* const start =
      to.room(kLongestNumbers + step.label->room() + words.name.size() + words.arguments.size());
  char* at = put_text(start, R"(,
{"ph":")");
  *at++ = instant ? 'i' : step.whole ? 'X' : 'B';
  at = put_number(put_text(at, R"(","pid":)"), pid_of(is));
  at = put_number(put_text(at, R"(,"tid":)"), tid_of(is, step.aside));
  at = put_us(put_text(at, R"(,"ts":)"), step.ns);
  if (instant)
    at = put_text(at, R"(,"s":"t")");
  else if (step.whole)
    at = put_us(put_text(at, R"(,"dur":)"), step.length_ns);
  at = put_same(at, frame, step, extra, words);
  *at++ = '}';
  to.advance(static_cast<size_t>(at - start));
  if (extra)
    for (const uint64_t flow : extra->flows) put_flow(to, 's', is, step.aside, step.ns, flow);
  if (step.flow) put_flow(to, 'f', is, step.aside, step.ns, frame.flow);
}

// A zone whose end comes in another frame: its E repeats what this B has.
void Chrome::begin_zone(const Texts::Frame& frame, const Texts::Step& step, const StepExtra* extra) {
  encode(frame, step, extra, out());
  const Words words = words_of(step, extra);
  std::string same(kLongestNumbers + step.label->room() + words.name.size() + words.arguments.size(), '\0');
  same.resize(static_cast<size_t>(put_same(same.data(), frame, step, extra, words) - same.data()));
  const uint32_t lane = frame.of->number;
  if (open_.size() <= lane) open_.resize(lane + 1);
  open_[lane].push_back(std::move(same));
}

// Ends a zone that was begun with a B. Such zones are never aside.
void Chrome::put_end(const TimelineLane& is, uint64_t ns, const ZoneStep& step) {
  std::string same;
  if (is.number < open_.size() && !open_[is.number].empty()) {
    same = std::move(open_[is.number].back());
    open_[is.number].pop_back();
  }
  if (arguments_ && step.flaw != Flaw::none) {
    const bool object = same.ends_with('}');
    if (object) same.pop_back();
    same += std::string(object ? "" : ",\"args\":{") + (object ? "," : "") + "\"flaw\":\"" +
            to_string(step.flaw) + "\"}";
  }
  char* const start = out().room(kLongestNumbers + same.size());
  char* at = put_number(put_text(start, ",\n{\"ph\":\"E\",\"pid\":"), pid_of(is));
  at = put_number(put_text(at, R"(,"tid":)"), tid_of(is, step.aside));
  at = put_us(put_text(at, R"(,"ts":)"), ns);
  at = put_text(put_text(at, same), "}");
  out().advance(static_cast<size_t>(at - start));
}

void Chrome::set_step(Texts::Step& to, const ZoneStep& step, const FrameEvents& f,
                      std::span<const uint64_t> ns, std::span<const uint32_t> bounds) {
  to.kind = step.kind, to.flaw = step.flaw, to.aside = step.aside;
  to.whole = step.kind == ZoneStep::Kind::begin && step.other != kNoMarker;
  if (!to.whole) return;
  to.length_ns = ns[step.other] - ns[step.marker];
  to.cycles = f.markers[step.other].time_cycles - f.markers[step.marker].time_cycles;
  if (step.other < bounds.size()) to.bound_ns = bounds[step.other];
}

void Chrome::frame(const TimelineLane& is, const TimelineFrame& f) {
  MarkerExtras extras(f);
  const bool may_have_extras = has_extras(f);
  const Texts::Frame frame{&is, f.flow, f.events.host_id, f.events.trace_counter};
  texts_.begin(frame);
  for (const ZoneStep& step : f.steps) {
    if (step.aside) begin_aside(is);
    const bool begins = step.kind == ZoneStep::Kind::begin, one_frame = step.other != kNoMarker;
    if (step.kind == ZoneStep::Kind::end) {
      if (!one_frame) put_end(is, f.time_of(step), step);  // else an X has it
      continue;
    }
    const markers::Marker& m = f.events.markers[step.marker];
    std::optional<StepExtra> extra;
    if (may_have_extras || has_payload(m.type)) extra = extra_of(f.events, step, extras);
    Texts::Step open;
    Texts::Step& kept = begins && !one_frame ? open : texts_.add();
    kept.ns = f.time_of(step);
    kept.label = &label_of(f.labels.of(m));
    set_step(kept, step, f.events, f.ns, f.bounds);
    kept.flow = begins && step.marker == f.flow_marker;
    if (&kept == &open)
      begin_zone(frame, open, extra ? &*extra : nullptr);
    else if (extra)
      texts_.add_extra(kept, std::move(*extra));
  }
  texts_.end();
}

void Chrome::put_flow(Output& to, char phase, uint64_t pid, uint32_t tid, uint64_t ns, uint64_t flow) {
  char* const start = to.room(kLongestNumbers);
  char* at = put_text(start, ",\n{\"ph\":\"");
  *at++ = phase;
  at = put_number(put_text(at, R"(","pid":)"), pid);
  at = put_number(put_text(at, R"(,"tid":)"), tid);
  at = put_us(put_text(at, R"(,"ts":)"), ns);
  at = put_number(put_text(at, R"(,"name":"program","cat":"flow","id":)"), flow);
  at = put_text(at, phase == 'f' ? R"(,"bp":"e"})" : "}");
  to.advance(static_cast<size_t>(at - start));
}

void Chrome::put_flow(Output& to, char phase, const TimelineLane& lane, bool aside, uint64_t ns,
                      uint64_t flow) {
  put_flow(to, phase, pid_of(lane), tid_of(lane, aside), ns, flow);
}

void Chrome::put_span(uint64_t pid, uint32_t tid, uint64_t begin_ns, uint64_t end_ns,
                      const std::string& rest) {
  char* const start = out().room(kLongestNumbers + rest.size());
  char* at = put_number(put_text(start, ",\n{\"ph\":\"X\",\"pid\":"), pid);
  at = put_number(put_text(at, R"(,"tid":)"), tid);
  at = put_us(put_text(at, R"(,"ts":)"), begin_ns);
  at = put_us(put_text(at, R"(,"dur":)"), end_ns - begin_ns);
  at = put_text(at, rest);
  out().advance(static_cast<size_t>(at - start));
}

constexpr const char* kCategories[] = {R"(program")", R"(profiler record")", R"(loss","cname":"terrible")",
                                       R"(noc")"};
// The names of colours are Catapult's; other readers choose by the event's name.
void Chrome::span(const TimelineRow& row, const TimelineSpan& span) {
  Members fields;
  if (arguments_)
    for (const EventField& field : span.fields) fields.field(field);
  const std::string rest = R"(,"name":")" + draw::for_json(span.name) + R"(","cat":")" +
                           kCategories[static_cast<size_t>(row.kind)] + std::move(fields).as_args() + "}";
  put_span(row.chip + 1, tid_of(row), span.begin_ns, span.end_ns, rest);
  for (const uint64_t flow : span.flows) put_flow(out(), 's', row.chip + 1, tid_of(row), span.begin_ns, flow);
  if (span.from) put_flow(out(), 'f', row.chip + 1, tid_of(row), span.begin_ns, span.from);
}

void Chrome::value(const TimelineCounter& counter, uint64_t ns, double value) {
  std::string name = counter.lane ? counter.lane->core() + " " : "";
  name += draw::for_json(counter.name);
  if (counter.name.find('/') == std::string::npos) name += " [" + counter.unit + "]";
  put_value(counter.chip + 1, ns, name, value);
}

// `name`: escaped.
void Chrome::put_value(uint64_t pid, uint64_t ns, const std::string& name, double value) {
  char* const start = out().room(kLongestNumbers + name.size());
  char* at = put_number(put_text(start, ",\n{\"ph\":\"C\",\"pid\":"), pid);
  at = put_us(put_text(at, R"(,"ts":)"), ns);
  at = put_text(put_text(at, R"(,"name":")"), name);
  at += std::snprintf(at, 64, R"(","args":{"value":%.10g}})", value);
  out().advance(static_cast<size_t>(at - start));
}

void Chrome::note(uint32_t chip, uint64_t ns, const std::string& text) {
  char* const start = out().room(kLongestNumbers);
  char* at = put_number(put_text(start, ",\n{\"ph\":\"i\",\"s\":\"p\",\"pid\":"), chip + 1);
  at = put_us(put_text(at, R"(,"tid":0,"ts":)"), ns);
  out().advance(static_cast<size_t>(at - start));
  out().append(R"(,"name":")" + draw::for_json(text) + R"(","cat":"note"})");
}

// --- the workload's host side

// Places: a thread's own, what it waited for, then what is of the process.
constexpr uint64_t kPlacesOfThread = 1 + RowPacker::kMostRows;

void Chrome::host_process(const HostProcess& process) {
  constexpr int kAboveChips = -1'000'000;
  process_pids_.resize(std::max<size_t>(process_pids_.size(), process.number + 1));
  const uint64_t pid = process_pids_[process.number] = pids_.of(process);
  metadata("process_name", pid, 0, R"("name":")" + draw::for_json(process.name) + "\"");
  metadata("process_sort_index", pid, 0,
           R"("sort_index":)" + std::to_string(kAboveChips + static_cast<int>(process.number)));
}

void Chrome::host_thread(const HostThread& thread) {
  const uint64_t pid = process_pids_[thread.process];
  metadata("thread_name", pid, thread.tid, R"("name":")" + draw::for_json(thread.name) + "\"");
  metadata("thread_sort_index", pid, thread.tid,
           R"("sort_index":)" + std::to_string(thread.number * kPlacesOfThread));
}

// `rest`: further members, each with a comma in front.
void Chrome::put_host(char phase, const HostThread& thread, uint64_t ns, std::string_view rest) {
  char* const start = out().room(kLongestNumbers + rest.size());
  char* at = put_text(start, ",\n{\"ph\":\"");
  *at++ = phase;
  at = put_number(put_text(at, R"(","pid":)"), process_pids_[thread.process]);
  at = put_number(put_text(at, R"(,"tid":)"), thread.tid);
  at = put_us(put_text(at, R"(,"ts":)"), ns);
  at = put_text(put_text(at, rest), "}");
  out().advance(static_cast<size_t>(at - start));
}

void Chrome::host_begin(const HostThread& thread, const HostZoneBegin& zone) {
  const HostSource& source = zone.source;
  std::string same = R"(,"name":")" + draw::for_json(zone.shown_name()) + R"(","cat":"host")";
  if (!source.file.empty())
    same += R"(,"loc":")" + draw::for_json(source.file) + ":" + std::to_string(source.line) + "\"";
  Members all;
  if (arguments_ && !zone.text.empty()) all.text("text", zone.text);
  same += std::move(all).as_args();
  put_host('B', thread, zone.ns, same);
  if (zone.flow) put_flow(out(), 's', process_pids_[thread.process], thread.tid, zone.ns, zone.flow);
  if (host_open_.size() <= thread.number) host_open_.resize(thread.number + 1);
  host_open_[thread.number].push_back(std::move(same));
}

void Chrome::host_end(const HostThread& thread, uint64_t ns, std::string_view text) {
  if (arguments_ && !text.empty()) host_message(thread, ns, text);
  std::vector<std::string>& open = host_open_.at(thread.number);
  put_host('E', thread, ns, open.back());
  open.pop_back();
}

void Chrome::host_message(const HostThread& thread, uint64_t ns, std::string_view text) {
  const std::string_view title = title_of(text);
  std::string rest = R"(,"s":"t","name":")" + draw::for_json(title) + R"(","cat":"message")";
  Members all;
  if (arguments_ && title.size() < text.size()) all.text("text", text);
  put_host('i', thread, ns, rest += std::move(all).as_args());
}

void Chrome::host_value(const HostPlot& plot, uint64_t ns, double value) {
  put_value(process_pids_[plot.process], ns, draw::for_json(plot.name), value);
}

void Chrome::host_row(const HostRow& row) {
  constexpr uint64_t kBehindThreads = uint64_t{1} << 30;
  const uint64_t pid = process_pids_[row.process];
  const uint32_t tid = kFirstHostRowTid + row.number;
  const uint64_t place =
      row.thread ? row.thread->number * kPlacesOfThread + 1 + row.rank : kBehindThreads + row.number;
  metadata("thread_name", pid, tid, R"("name":")" + draw::for_json(row.name) + "\"");
  metadata("thread_sort_index", pid, tid, R"("sort_index":)" + std::to_string(place));
}

void Chrome::host_span(const HostRow& row, const HostSpan& span) {
  Members fields;
  if (arguments_)
    for (const EventField& field : span.fields) fields.field(field);
  put_span(process_pids_[row.process], kFirstHostRowTid + row.number, span.begin_ns, span.end_ns,
           R"(,"name":")" + draw::for_json(span.name) + R"(","cat":")" + span.label + '"' +
               std::move(fields).as_args() + "}");
}

}  // namespace ttc::tools
