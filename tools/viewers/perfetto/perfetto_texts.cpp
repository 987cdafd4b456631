#include "tools/viewers/perfetto/perfetto_texts.hpp"

#include <algorithm>

namespace ttc::tools {

void Perfetto::FramesText::begin(unsigned thread) {
  ThreadMemory& memory = writer_.texts_.memory();
  memory.give(thread_, text_.take_rows(memory.take(thread)));
  thread_ = thread;
  taken_ = false;
  names_taken_ = 0;
  made_.clear(), names_.clear(), own_names_.clear();
}

void Perfetto::FramesText::put_name(const Sequence& s, const ZoneLabel& label, Made& made) {
  if (s.names->has(label.number)) return;
  if (!own_names_.insert(uint64_t{s.id} << 32 | label.number)) {
    made.leans = true;
    return;
  }
  Perfetto::put_name(text_, s, label.number, label.name, label.file, label.line);
  names_.push_back({s.names.get(), label.number});
}

bool Perfetto::FramesText::make(const FrameEvents& f, std::span<const ZoneStep> steps,
                                std::span<const uint64_t> ns, std::span<const uint32_t> bounds,
                                uint32_t flow_marker) {
  const Lane* const lane = lanes_.lane_of(f);
  if (!lane || EventTexts::any(f.markers) || !labels_.find(f, steps)) return false;
  const std::span<const ZoneLabel* const> labels = labels_.found();
  const bool aside = std::any_of(steps.begin(), steps.end(), [](const ZoneStep& s) { return s.aside; });
  if (aside && !lane->aside_begun.load(std::memory_order_acquire)) return false;
  // Put again where a flow leads to it.
  if (std::any_of(f.semantics.begin(), f.semantics.end(),
                  [&](const auto& s) { return s.marker == flow_marker; }))
    return false;
  const auto bytes = [&] { return static_cast<uint32_t>(text_.bytes_in_memory()); };
  Made& made = made_.emplace_back(Made{lane, bytes(), 0, 0, false, 0, 0, {}});
  const Texts::Frame frame{lane, 0, f.host_id, f.trace_counter};
  MarkerExtras extras(f, {});
  for (size_t i = 0; i < steps.size(); ++i) {
    const ZoneStep& step = steps[i];
    const Sequence& s = step.aside ? lane->aside : lane->main;
    if (!labels[i]) {
      put_end(text_, s, ns[step.marker], step.flaw, writer_.arguments_ ? step.cycles : 0,
              step.marker < bounds.size() ? bounds[step.marker] : kNoDurationBound);
      continue;
    }
    put_name(s, *labels[i], made);
    Texts::Step event;
    event.ns = ns[step.marker];
    event.label = labels[i];
    event.kind = step.kind, event.flaw = step.flaw, event.aside = step.aside;
    const uint32_t from = bytes();
    if (!f.semantics.empty() || has_payload(f.markers[step.marker].type)) {
      const std::optional<StepExtra> extra = extra_of(f, step, extras);
      writer_.put_event(text_, s, frame, event, extra ? &*extra : nullptr);
    } else {
      writer_.put_event(text_, s, frame, event, nullptr);
    }
    if (step.kind == ZoneStep::Kind::begin && step.marker == flow_marker)
      made.event_from = from, made.event_to = bytes(), made.event = event;
  }
  made.to = bytes();
  made.names_end = static_cast<uint32_t>(names_.size());
  return true;
}

bool Perfetto::FramesText::is_right(uint32_t number) const {
  const Made& made = made_[number];
  const size_t names_from = number ? made_[number - 1].names_end : 0;
  if (made.leans && names_taken_ != names_from) return false;
  for (size_t i = names_from; i < made.names_end; ++i)
    if (names_[i].of->has(names_[i].number)) return false;
  return true;
}

void Perfetto::FramesText::put(uint32_t number, const FrameEvents& f, uint64_t flow) {
  const Made& made = made_[number];
  const size_t names_from = number ? made_[number - 1].names_end : 0;
  for (size_t i = names_from; i < made.names_end; ++i) names_[i].of->add(names_[i].number);
  names_taken_ += made.names_end - names_from;
  if (!std::exchange(taken_, true)) writer_.texts_.ready(text_, thread_);
  if (flow == 0 || made.event_from == made.event_to) {
    writer_.texts_.add_ready(made.from, made.to);
  } else {
    Texts::Step event = made.event;
    event.flow = true;
    writer_.texts_.add_ready(made.from, made.event_from);
    writer_.put_event(writer_.out(), event.aside ? made.lane->aside : made.lane->main,
                      {made.lane, flow, f.host_id, f.trace_counter}, event, nullptr);
    writer_.texts_.add_ready(made.event_to, made.to);
  }
  writer_.texts_.end();
}

}  // namespace ttc::tools
