#include "tools/viewers/perfetto/perfetto.hpp"

#include <algorithm>

#include "tools/viewers/perfetto/perfetto_fields.hpp"
#include "tools/viewers/perfetto/perfetto_texts.hpp"

namespace ttc::tools {

using namespace perfetto;

namespace {

constexpr size_t kLongestHead = 32;    // the fields before a track event in its packet
constexpr size_t kLongestEvent = 128;  // a track event without texts

char* put_tag(char* at, unsigned field, unsigned wire) {
  return put_varint(at, uint64_t{field} << 3 | wire);
}
char* put_number(char* at, unsigned field, uint64_t value) {
  return put_varint(put_tag(at, field, 0), value);
}
char* put_text(char* at, unsigned field, std::string_view text) {
  at = put_varint(put_tag(at, field, 2), text.size());
  std::memcpy(at, text.data(), text.size());
  return at + text.size();
}

unsigned varint_bytes(uint64_t value) {
  unsigned bytes = 1;
  while (value >>= 7) ++bytes;
  return bytes;
}
char* put_annotation(char* at, Argument name, uint64_t value) {
  at = put_tag(at, track_event::debug_annotations, 2);
  *at++ = static_cast<char>(3 + varint_bytes(value));
  return put_number(put_number(at, annotation::name_iid, name), annotation::uint_value, value);
}
char* put_annotation(char* at, Argument name, std::string_view text) {
  at = put_tag(at, track_event::debug_annotations, 2);
  at = put_varint(at, 3 + varint_bytes(text.size()) + text.size());
  return put_text(put_number(at, annotation::name_iid, name), annotation::string_value, text);
}

// Closes a message whose length had one byte left for it, making room where it needs two.
char* close(char* length_at, char* end) {
  auto bytes = static_cast<size_t>(end - length_at - 1);
  const unsigned more = varint_bytes(bytes) - 1;
  if (more) std::memmove(length_at + 1 + more, length_at + 1, bytes);
  put_varint(length_at, bytes);
  return end + more;
}

ProtoMessage clock(unsigned id, uint64_t timestamp) {
  return ProtoMessage().number(1, id).number(2, timestamp);
}

char* put_fixed(char* at, unsigned field, uint64_t value) {
  at = put_tag(at, field, 1);
  std::memcpy(at, &value, sizeof value);
  return at + sizeof value;
}

}  // namespace

Perfetto::Perfetto(Output& out, const FormatOptions& options)
    : arguments_(options.arguments),
      texts_(out, [this](const auto& frame, const auto& step, const StepExtra* extra, Output& to) {
        const Sequence& s = step.aside ? frame.of->aside : frame.of->main;
        if (step.kind == ZoneStep::Kind::end)
          put_end(to, s, step.ns, step.flaw, arguments_ ? step.cycles : 0, step.bound_ns);
        else
          put_event(to, s, frame, step, extra);
      }) {}

void Perfetto::packet(const ProtoMessage& message) {
  out().append(ProtoMessage().message(1, message).bytes());
}

void Perfetto::begin_globals() {
  if (std::exchange(globals_begun_, true)) return;
  packet(ProtoMessage()
             .number(trace_packet::sequence_id, kGlobalSequence)
             .number(trace_packet::sequence_flags, kStateCleared)
             .number(trace_packet::first_packet_on_sequence, 1)
             .message(trace_packet::defaults, ProtoMessage().number(trace_packet::timestamp_clock_id, kRaw)));
}

void Perfetto::device(const Session& s) {
  begin_globals();
  Chip& chip = chips_[s.chip];
  if (chip.track) return;  // the same card again
  chip.track = next_track_++;
  const std::string name = s.title() + " (" + s.arch + ", " + s.device + ")";
  packet(
      ProtoMessage()
          .number(trace_packet::sequence_id, kGlobalSequence)
          .message(trace_packet::track_descriptor,
                   ProtoMessage()
                       .number(track_descriptor::uuid, chip.track)
                       .message(track_descriptor::process, ProtoMessage().number(1, s.chip + 1).text(6, name))
                       .number(track_descriptor::child_ordering, kExplicitOrder)
                       .text(track_descriptor::description, "board " + s.board + ", profiler layout " +
                                                                s.layout + ", AICLK " +
                                                                std::to_string(s.aiclk_mhz) + " MHz")));
}

uint64_t Perfetto::declare(uint64_t parent, const std::string& name, uint32_t rank, const std::string* unit) {
  ProtoMessage track;
  track.number(track_descriptor::uuid, next_track_)
      .number(track_descriptor::parent_uuid, parent)
      .text(track_descriptor::name, name)
      .number(track_descriptor::sibling_order_rank, rank)
      .number(track_descriptor::sibling_merge_behavior, kNoMerging);
  if (unit)
    track.message(track_descriptor::counter, ProtoMessage().text(6, *unit));
  else
    track.number(track_descriptor::child_ordering, kExplicitOrder);
  packet(ProtoMessage()
             .number(trace_packet::sequence_id, kGlobalSequence)
             .message(trace_packet::track_descriptor, track));
  return next_track_++;
}

void Perfetto::clock_known(uint32_t number, bool cycles, const collect::ClockHead& head) {
  chips_[number].cycles = cycles;
  chips_[number].clock = head;
}

void Perfetto::lane(const TimelineLane& is) {
  Chip& chip = chips_[is.chip];
  uint64_t& core = chip.cores[{is.core_x, is.core_y}];
  if (!core) core = declare(chip.track, is.core(), kCoreRank + is.core_y * 256u + is.core_x);
  while (lanes_.size() <= is.number) lanes_.emplace_back();
  lanes_[is.number].track = declare(core, is.processor, is.risc * kLaneRanks);
}

void Perfetto::row(const TimelineRow& row) {
  const Chip& chip = chips_[row.chip];
  rows_.resize(std::max<size_t>(rows_.size(), row.number + 1));
  rows_[row.number].track =
      row.lane ? declare(chip.cores.at({row.lane->core_x, row.lane->core_y}), row.name,
                         row.kind == SpanKind::addressed ? kAddressedRank + row.rank
                                                         : row.lane->risc * kLaneRanks + 2 + row.rank)
               : declare(chip.track, row.name, kProgramRank + row.rank);
}

void Perfetto::counter(const TimelineCounter& counter) {
  const Chip& chip = chips_[counter.chip];
  counters_.resize(std::max<size_t>(counters_.size(), counter.number + 1));
  counters_[counter.number] =
      counter.lane ? declare(chip.cores.at({counter.lane->core_x, counter.lane->core_y}), counter.name,
                             kCoreCounterRank + counter.number, &counter.unit)
                   : declare(chip.track, counter.name, kCounterRank + counter.number, &counter.unit);
}

// The defaults of every packet of the sequence: its clock and its track. Names of arguments are interned.
void Perfetto::begin_sequence(Sequence& s, const Chip& chip, uint64_t track, uint64_t base_ns) {
  s.id = next_sequence_++;
  s.base_ns = base_ns;
  char* const end = put_number(s.head, trace_packet::sequence_id, s.id);
  s.head_bytes = static_cast<size_t>(end - s.head);
  ProtoMessage interned;
  for (unsigned i = 1; i < kArguments; ++i)
    interned.message(3, ProtoMessage().number(1, i).text(2, kArgumentNames[i]));
  packet(ProtoMessage()
             .number(trace_packet::sequence_id, s.id)
             .number(trace_packet::sequence_flags, kStateCleared)
             .number(trace_packet::first_packet_on_sequence, 1)
             .message(trace_packet::defaults, ProtoMessage()
                                                  .message(11, ProtoMessage().number(11, track))
                                                  .number(trace_packet::timestamp_clock_id, kLaneClock))
             .message(trace_packet::interned_data, interned));
  put_clocks(s.id, chip, base_ns, true);
}

// A reader places nothing in time before the first of these.
void Perfetto::put_clocks(uint32_t sequence, const Chip& chip, uint64_t ns, bool lane_clock) {
  clocks_known_ = true;
  ProtoMessage snapshot;
  if (!chip.cycles) {
    snapshot.message(1, clock(kBoottime, ns + static_cast<uint64_t>(chip.clock.boottime_minus_raw_ns)));
    snapshot.message(1, clock(kRealtime, ns + static_cast<uint64_t>(chip.clock.realtime_minus_raw_ns)));
  }
  snapshot.message(1, clock(kRaw, ns));
  if (lane_clock) snapshot.message(1, clock(kLaneClock, 0));
  snapshot.number(2, kRaw);
  packet(ProtoMessage()
             .number(trace_packet::sequence_id, sequence)
             .message(trace_packet::clock_snapshot, snapshot));
}

void Perfetto::begin_lane(const TimelineLane& is, bool aside, uint64_t ns) {
  Lane& lane = lanes_[is.number];
  uint64_t track = lane.track;
  const Chip& chip = chips_[is.chip];
  if (aside)
    track = declare(chip.cores.at({is.core_x, is.core_y}), is.processor + " (overlapping)",
                    is.risc * kLaneRanks + 1);
  begin_sequence(aside ? lane.aside : lane.main, chip, track, ns);
  if (aside) return lane.aside_begun.store(true, std::memory_order_release);
  begun_lanes_.add(is.chip, is.core_x, is.core_y, is.risc, lane);
}

std::unique_ptr<FrameTextMaker> Perfetto::text_maker(const ZoneLabels& labels) {
  return texts_.on_threads() ? std::make_unique<FramesText>(*this, labels) : nullptr;
}
bool Perfetto::is_right(const FrameTextMaker& text, uint32_t number) const {
  return static_cast<const FramesText&>(text).is_right(number);
}
void Perfetto::frame_text(FrameTextMaker& text, uint32_t number, const FrameEvents& f, uint64_t flow) {
  static_cast<FramesText&>(text).put(number, f, flow);
}

// The packet of a name that is new to the sequence.
void Perfetto::put_name(Output& to, const Sequence& s, uint32_t number, const std::string& name,
                        const std::string& file, uint32_t line) {
  const uint64_t iid = number + 1;
  char* const start = to.room(kLongestHead + kLongestEvent + name.size() + file.size());
  *start = 0x0a;
  std::memcpy(start + 2, s.head, s.head_bytes);
  char* at = put_tag(start + 2 + s.head_bytes, trace_packet::interned_data, 2);
  char* const data = at++;
  const auto begin = [&](unsigned field) {
    at = put_tag(at, field, 2);
    char* const length_at = at++;
    at = put_number(at, 1, iid);
    return length_at;
  };
  char* const event_name = begin(2);
  at = close(event_name, put_text(at, 2, name));
  if (!file.empty()) {
    char* const location = begin(4);
    at = close(location, put_number(put_text(at, 2, file), 4, line));
  }
  at = close(start + 1, close(data, at));
  to.advance(static_cast<size_t>(at - start));
}

char* Perfetto::put_head(char* at, const Sequence& s, uint64_t ns) {
  if (ns >= s.base_ns) {
    at = put_number(at, trace_packet::timestamp, ns - s.base_ns);
  } else {
    at = put_number(at, trace_packet::timestamp, ns);
    at = put_number(at, trace_packet::timestamp_clock_id, kRaw);
  }
  std::memcpy(at, s.head, s.head_bytes);
  return at + s.head_bytes;
}

void Perfetto::put_end(Output& to, const Sequence& s, uint64_t ns, Flaw flaw, uint64_t cycles,
                       uint32_t bound_ns) {
  char* const start = to.room(kLongestHead + kLongestEvent);
  *start = 0x0a;
  char* at = put_head(start + 2, s, ns);
  at = put_tag(at, trace_packet::track_event, 2);
  char* const event = at++;
  at = put_number(at, track_event::type, track_event::slice_end);
  if (flaw != Flaw::none) at = put_annotation(at, Argument::flaw, to_string(flaw));
  if (cycles) at = put_annotation(at, Argument::cycles, cycles);
  if (bound_ns != kNoDurationBound) at = put_annotation(at, Argument::duration_bound, bound_ns);
  at = close(start + 1, close(event, at));
  to.advance(static_cast<size_t>(at - start));
}

// A begin or an instant. Any thread.
void Perfetto::put_event(Output& to, const Sequence& s, const Texts::Frame& frame, const Texts::Step& step,
                         const StepExtra* extra) const {
  const ZoneLabel& label = *step.label;
  ProtoMessage fields;
  if (extra) {
    for (const EventField& field : extra->fields)
      fields.message(track_event::debug_annotations, annotation_of(field));
    for (const uint64_t flow : extra->flows) fields.fixed(track_event::flow_ids, flow);
  }
  const size_t texts =
      label.name.size() + (extra ? extra->name.size() + extra->meta.size() + 16 + fields.bytes().size() : 0);
  char* const start = to.room(kLongestHead + kLongestEvent + 32 + texts);
  *start = 0x0a;
  char* at = put_head(start + 2, s, step.ns);
  at = put_number(at, trace_packet::sequence_flags, kNeedsState);
  at = put_tag(at, trace_packet::track_event, 2);
  char* const event = at++;
  const bool instant = step.kind == ZoneStep::Kind::mark;
  at = put_number(at, track_event::type, instant ? track_event::instant : track_event::slice_begin);
  if (extra && !extra->name.empty())
    at = put_text(at, track_event::name, extra->name);
  else if (instant && step.flaw != Flaw::none)
    at = put_text(at, track_event::name, label.name + " (" + to_string(step.flaw) + ")");
  else
    at = put_number(at, track_event::name_iid, label.number + 1);
  if (!label.file.empty()) at = put_number(at, track_event::source_location_iid, label.number + 1);
  if (arguments_) {
    at =
        put_annotation(at, Argument::host_id, extra ? extra->host_id.value_or(frame.host_id) : frame.host_id);
    if (label.hashed) at = put_annotation(at, Argument::zone_hash, label.hash);
    if (frame.replay) at = put_annotation(at, Argument::replay, frame.replay);
  }
  if (step.flow) at = put_fixed(at, track_event::flow_ids, frame.flow);
  if (extra) {
    std::memcpy(at, fields.bytes().data(), fields.bytes().size());
    at += fields.bytes().size();
    if (extra->value_count > 0) at = put_annotation(at, Argument::value, extra->values[0]);
    if (extra->value_count > 1) at = put_annotation(at, Argument::value_2, extra->values[1]);
    if (!extra->meta.empty()) at = put_annotation(at, Argument::semantics, extra->meta);
  }
  if (step.flaw != Flaw::none) at = put_annotation(at, Argument::flaw, to_string(step.flaw));
  at = close(start + 1, close(event, at));
  to.advance(static_cast<size_t>(at - start));
}

void Perfetto::frame(const TimelineLane& is, const TimelineFrame& f) {
  MarkerExtras extras(f);
  const bool may_have_extras = has_extras(f);
  Lane& lane = lanes_[is.number];
  texts_.begin({&lane, f.flow, f.events.host_id, f.events.trace_counter});
  for (const ZoneStep& step : f.steps) {
    const uint64_t ns = f.time_of(step);
    Sequence& s = step.aside ? lane.aside : lane.main;
    if (!s.id) begin_lane(is, step.aside, ns);
    const bool ends = step.kind == ZoneStep::Kind::end;
    const markers::Marker* const m = ends ? nullptr : &f.events.markers[step.marker];
    const ZoneLabel* const label = ends ? nullptr : &f.labels.of(*m);
    if (label) intern(s, label->number, label->name, label->file, label->line);
    Texts::Step& kept = texts_.add();
    kept.ns = ns;
    kept.kind = step.kind, kept.flaw = step.flaw, kept.aside = step.aside;
    if (ends) {
      kept.cycles = step.cycles;
      kept.bound_ns = f.bound_of(step.marker);
      continue;
    }
    kept.label = label;
    kept.flow = step.kind == ZoneStep::Kind::begin && step.marker == f.flow_marker;
    if (may_have_extras || has_payload(m->type))
      if (auto extra = extra_of(f.events, step, extras)) texts_.add_extra(kept, std::move(*extra));
  }
  texts_.end();
}

void Perfetto::put_global(uint64_t ns, const ProtoMessage& event) {
  if (!clocks_known_) put_clocks(kGlobalSequence, host_clock(), ns, false);
  packet(ProtoMessage()
             .number(trace_packet::timestamp, ns)
             .number(trace_packet::sequence_id, kGlobalSequence)
             .message(trace_packet::track_event, event));
}

void Perfetto::value(const TimelineCounter& counter, uint64_t ns, double value) {
  put_global(ns, ProtoMessage()
                     .number(track_event::type, track_event::counter)
                     .number(track_event::track_uuid, counters_[counter.number])
                     .real(track_event::counter_double, value));
}

void Perfetto::span(const TimelineRow& row, const TimelineSpan& span) {
  Row& own = rows_[row.number];
  Sequence& s = own.sequence;
  if (!s.id) begin_sequence(s, chips_[row.chip], own.track, span.begin_ns);
  ProtoMessage event;
  event.number(track_event::type, track_event::slice_begin).text(track_event::name, span.name);
  for (const EventField& field : span.fields)
    event.message(track_event::debug_annotations, annotation_of(field));
  for (const uint64_t flow : span.flows) event.fixed(track_event::flow_ids, flow);
  if (span.from) event.fixed(track_event::flow_ids, span.from);
  put_own(s, span.begin_ns, event);
  put_end(out(), s, span.end_ns, Flaw::none, 0, kNoDurationBound);
}

void Perfetto::note(uint32_t chip, uint64_t ns, const std::string& text) {
  put_global(ns, ProtoMessage()
                     .number(track_event::type, track_event::instant)
                     .number(track_event::track_uuid, chips_[chip].track)
                     .text(track_event::name, text));
}

// On the track of the sequence.
void Perfetto::put_own(const Sequence& s, uint64_t ns, const ProtoMessage& event) {
  ProtoMessage whole;
  whole.number(trace_packet::timestamp, ns >= s.base_ns ? ns - s.base_ns : ns);
  if (ns < s.base_ns) whole.number(trace_packet::timestamp_clock_id, kRaw);
  packet(whole.number(trace_packet::sequence_id, s.id)
             .number(trace_packet::sequence_flags, kNeedsState)
             .message(trace_packet::track_event, event));
}

}  // namespace ttc::tools
