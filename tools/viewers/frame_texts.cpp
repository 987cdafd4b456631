#include "tools/viewers/frame_texts.hpp"

namespace ttc::tools {

std::optional<StepExtra> extra_of(const TimelineFrame& f, const ZoneStep& step, MarkerExtras& extras) {
  const markers::Marker& m = f.events.markers[step.marker];
  const HostSemantics* const more = extras.semantics(step.marker);
  const EventText* const text = extras.text(step.marker);
  const bool payload = has_payload(m.type) && !text;
  if (!more && !text && !payload) return std::nullopt;
  StepExtra extra;
  if (more) {
    extra.host_id = more->host_id;
    extra.name = more->name;
    if (!text) extra.meta = more->meta;
  }
  if (text) {
    extra.described = true;
    extra.name = text->name;
    extra.fields = text->fields;
    extra.flows = text->flows;
  }
  if (!payload) return extra;
  const bool wide = m.type == markers::MarkerType::ts_data_16b;
  extra.value_count = wide ? 2 : 1;
  for (uint32_t i = 0; i < extra.value_count; ++i) extra.values[i] = f.events.payload(m, i);
  return extra;
}

}  // namespace ttc::tools
