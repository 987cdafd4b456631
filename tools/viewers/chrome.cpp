#include "tools/viewers/chrome.hpp"

#include <charconv>
#include <cstdio>

#include "collector/draw/text_escape.hpp"

namespace ttc::tools {
namespace {

constexpr size_t kLongestNumbers = 400;  // an event without texts

constexpr const char* kCounterNames[] = {"programs/s", "AICLK [MHz]", "lost intervals", "clock bound [ns]"};
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

}  // namespace

Chrome::Chrome(Output& out, const FormatOptions& options) : out_(out), arguments_(options.arguments) {
  out_.append("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
  out_.close_with("\n]}\n");
}

void Chrome::metadata(const char* what, uint32_t pid, uint32_t tid, const std::string& arguments) {
  out_.append(std::string(first_ ? "\n" : ",\n") + R"({"ph":"M","pid":)" + std::to_string(pid) +
              R"(,"tid":)" + std::to_string(tid) + R"(,"name":")" + what + R"(","args":{)" + arguments +
              "}}");
  first_ = false;
}

void Chrome::device(const Session& s) {
  metadata("process_name", s.chip + 1, 0,
           R"("name":"chip )" + std::to_string(s.chip) + " (" + draw::for_json(s.arch) + ", " +
               draw::for_json(s.device) + ")\"");
  metadata("process_sort_index", s.chip + 1, 0, R"("sort_index":)" + std::to_string(s.chip));
}

void Chrome::lane(const TimelineLane& is) {
  const auto core = std::to_string(is.core_x) + "," + std::to_string(is.core_y);
  metadata("thread_name", pid_of(is), tid_of(is, false),
           R"("name":"core )" + core + " " + is.processor + "\"");
  metadata("thread_sort_index", pid_of(is), tid_of(is, false),
           R"("sort_index":)" + std::to_string(is.core_y << 16 | is.core_x << 8 | is.risc << 1));
}

void Chrome::begin_aside(const TimelineLane& is) {
  if (aside_known_.size() <= is.number) aside_known_.resize(is.number + 1);
  if (aside_known_[is.number]) return;
  aside_known_[is.number] = true;
  const auto core = std::to_string(is.core_x) + "," + std::to_string(is.core_y);
  metadata("thread_name", pid_of(is), tid_of(is, true),
           R"("name":"core )" + core + " " + is.processor + " (overlapping)\"");
  metadata("thread_sort_index", pid_of(is), tid_of(is, true),
           R"("sort_index":)" + std::to_string(is.core_y << 16 | is.core_x << 8 | is.risc << 1 | 1));
}

const Chrome::Label& Chrome::label_of(const ZoneLabel& l) {
  if (labels_.size() <= l.number) labels_.resize(l.number + 1);
  Label& label = labels_[l.number];
  if (!label.name.empty()) return label;
  const std::string source = l.file.empty() ? "" : draw::for_json(l.file) + ":" + std::to_string(l.line);
  label.bare = std::string(R"(,"cat":")") + kKindNames[static_cast<size_t>(l.kind)] + "\"";
  if (!source.empty()) label.bare += R"(,"loc":")" + source + "\"";
  label.name = R"(,"name":")" + draw::for_json(l.name) + "\"" + label.bare;
  char hash[40];
  std::snprintf(hash, sizeof hash, R"(,"zone hash":"0x%04x")", unsigned{l.hash});
  if (l.hashed) label.zone = hash;
  if (!source.empty()) label.zone += R"(,"source":")" + source + "\"";
  return label;
}

void Chrome::put(const TimelineLane& is, const TimelineFrame& f, const ZoneStep& step,
                 const HostSemantics* more) {
  const markers::Marker& m = f.events.markers[step.marker];
  const Label& label = label_of(f.labels.of(m));
  const bool instant = step.kind == ZoneStep::Kind::mark;
  std::string own_name;
  if (more && !more->name.empty())
    own_name = R"(,"name":")" + draw::for_json(more->name) + "\"";
  else if (instant && step.flaw != Flaw::none)
    own_name = R"(,"name":")" + draw::for_json(f.labels.of(m).name) + " (" + to_string(step.flaw) + ")\"";
  const std::string meta =
      more && !more->meta.empty() ? R"(,"meta data":")" + draw::for_json(more->meta) + "\"" : "";
  char* const start =
      out_.room(kLongestNumbers + label.name.size() + label.zone.size() + own_name.size() + meta.size());
  char* at = put_text(start, R"(,
{"ph":")");
  *at++ = instant ? 'i' : step.other == kNoMarker ? 'B' : 'X';
  at = put_number(put_text(at, R"(","pid":)"), pid_of(is));
  at = put_number(put_text(at, R"(,"tid":)"), tid_of(is, step.aside));
  at = put_us(put_text(at, R"(,"ts":)"), f.time_of(step));
  if (instant)
    at = put_text(at, R"(,"s":"t")");
  else if (step.other != kNoMarker)
    at = put_us(put_text(at, R"(,"dur":)"), f.ns[step.other] - f.ns[step.marker]);
  if (own_name.empty())
    at = put_text(at, label.name);
  else
    at = put_text(put_text(at, own_name), label.bare);
  at = put_text(at, R"(,"args":{"host id":)");
  at = put_number(at, more ? more->host_id.value_or(f.events.host_id) : f.events.host_id);
  if (arguments_) {
    at = put_text(at, label.zone);
    if (f.events.trace_counter) at = put_number(put_text(at, R"(,"trace replay":)"), f.events.trace_counter);
  }
  if (m.type == markers::MarkerType::zone_total || m.type == markers::MarkerType::ts_data ||
      m.type == markers::MarkerType::ts_data_16b)
    at = put_number(put_text(at, R"(,"value":)"), f.events.payload(m));
  if (m.type == markers::MarkerType::ts_data_16b)
    at = put_number(put_text(at, R"(,"value 2":)"), f.events.payload(m, 1));
  if (step.flaw != Flaw::none) {
    at = put_text(put_text(at, R"(,"flaw":")"), to_string(step.flaw));
    *at++ = '"';
  }
  at = put_text(put_text(at, meta), "}}");
  out_.advance(static_cast<size_t>(at - start));
}

void Chrome::frame(const TimelineLane& is, const TimelineFrame& f) {
  auto semantics = f.events.semantics.begin();
  for (const ZoneStep& step : f.steps) {
    if (step.aside) begin_aside(is);
    if (step.kind == ZoneStep::Kind::end) {
      if (step.other != kNoMarker) continue;  // an X has it
      char* const start = out_.room(kLongestNumbers);
      char* at = put_number(put_text(start, ",\n{\"ph\":\"E\",\"pid\":"), pid_of(is));
      at = put_number(put_text(at, R"(,"tid":)"), tid_of(is, step.aside));
      at = put_us(put_text(at, R"(,"ts":)"), f.time_of(step));
      if (step.flaw != Flaw::none)
        at = put_text(put_text(put_text(at, R"(,"args":{"flaw":")"), to_string(step.flaw)), "\"}");
      *at++ = '}';
      out_.advance(static_cast<size_t>(at - start));
      continue;
    }
    while (semantics != f.events.semantics.end() && semantics->marker < step.marker) ++semantics;
    const bool has = semantics != f.events.semantics.end() && semantics->marker == step.marker;
    put(is, f, step, has ? &*semantics : nullptr);
  }
}

void Chrome::counter(uint32_t chip, TimelineCounter which, uint64_t ns, double value) {
  char* const start = out_.room(kLongestNumbers);
  char* at = put_number(put_text(start, ",\n{\"ph\":\"C\",\"pid\":"), chip + 1);
  at = put_us(put_text(at, R"(,"ts":)"), ns);
  at = put_text(put_text(at, R"(,"name":")"), kCounterNames[static_cast<size_t>(which)]);
  at += std::snprintf(at, 64, R"(","args":{"value":%.10g}})", value);
  out_.advance(static_cast<size_t>(at - start));
}

void Chrome::loss(const TimelineLane& is, const TimelineLoss& loss) {
  const shm::LossRecord& r = loss.record;
  char* const start = out_.room(2 * kLongestNumbers);
  char* at = put_number(put_text(start, ",\n{\"ph\":\"i\",\"s\":\"t\",\"pid\":"), pid_of(is));
  at = put_number(put_text(at, R"(,"tid":)"), tid_of(is, false));
  at = put_us(put_text(at, R"(,"ts":)"), loss.from_ns);
  at = put_text(put_text(at, R"(,"name":"markers lost","cat":"loss","args":{"cause":")"), to_string(r.cause));
  at = put_text(put_text(at, R"(","precision":")"), to_string(r.precision));
  at = put_number(put_text(at, R"(","until, ns later":)"), loss.to_ns - loss.from_ns);
  at = put_number(put_text(at, R"(,"words":)"), r.words);
  at = put_number(put_text(at, R"(,"launches at most":)"), r.launches);
  at = put_text(at, "}}");
  out_.advance(static_cast<size_t>(at - start));
}

void Chrome::note(uint32_t chip, uint64_t ns, const std::string& text) {
  char* const start = out_.room(kLongestNumbers);
  char* at = put_number(put_text(start, ",\n{\"ph\":\"i\",\"s\":\"p\",\"pid\":"), chip + 1);
  at = put_us(put_text(at, R"(,"tid":0,"ts":)"), ns);
  out_.advance(static_cast<size_t>(at - start));
  out_.append(R"(,"name":")" + draw::for_json(text) + R"(","cat":"note"})");
}

}  // namespace ttc::tools
