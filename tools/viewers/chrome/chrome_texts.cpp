#include "tools/viewers/chrome/chrome_texts.hpp"

#include <algorithm>
#include <utility>

namespace ttc::tools {

void Chrome::FramesText::begin(unsigned thread) {
  ThreadMemory& memory = writer_.texts_.memory();
  memory.give(thread_, text_.take_rows(memory.take(thread)));
  thread_ = thread;
  taken_ = false;
  made_.clear();
}

bool Chrome::FramesText::make(const FrameEvents& f, std::span<const ZoneStep> steps,
                              std::span<const uint64_t> ns, std::span<const uint32_t> bounds,
                              uint32_t flow_marker) {
  const Lane* const lane = lanes_.lane_of(f);
  if (!lane || EventTexts::any(f.markers) || !labels_.find(f, steps)) return false;
  const std::span<const ZoneLabel* const> labels = labels_.found();
  const bool aside = std::any_of(steps.begin(), steps.end(), [](const ZoneStep& s) { return s.aside; });
  if (aside && !lane->aside_begun.load(std::memory_order_acquire)) return false;
  for (const ZoneLabel* label : labels)
    if (label && !writer_.known_label(*label)) return false;
  const auto bytes = [&] { return static_cast<uint32_t>(text_.bytes_in_memory()); };
  Made& made = made_.emplace_back(Made{lane, bytes(), 0, 0, 0, false});
  const Texts::Frame frame{lane->is, 0, f.host_id, f.trace_counter};
  MarkerExtras extras(f, {});
  for (size_t i = 0; i < steps.size(); ++i) {
    if (!labels[i]) continue;  // the zone's X has its end
    const ZoneStep& step = steps[i];
    Texts::Step event;
    event.ns = ns[step.marker];
    event.label = writer_.known_label(*labels[i]);
    set_step(event, step, f, ns, bounds);
    std::optional<StepExtra> extra;
    if (!f.semantics.empty() || has_payload(f.markers[step.marker].type)) extra = extra_of(f, step, extras);
    writer_.encode(frame, event, extra ? &*extra : nullptr, text_);
    if (step.kind == ZoneStep::Kind::begin && step.marker == flow_marker)
      made.flow_at = bytes(), made.flow_ns = event.ns, made.flow_aside = step.aside;
  }
  made.to = bytes();
  return true;
}

void Chrome::FramesText::put(uint32_t number, uint64_t flow) {
  const Made& made = made_[number];
  if (!std::exchange(taken_, true)) writer_.texts_.ready(text_, thread_);
  if (flow == 0 || made.flow_at == 0) {
    writer_.texts_.add_ready(made.from, made.to);
  } else {
    writer_.texts_.add_ready(made.from, made.flow_at);
    put_flow(writer_.out(), 'f', *made.lane->is, made.flow_aside, made.flow_ns, flow);
    writer_.texts_.add_ready(made.flow_at, made.to);
  }
  writer_.texts_.end();
}

}  // namespace ttc::tools
