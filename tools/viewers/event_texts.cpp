#include "tools/viewers/event_texts.hpp"

#include <algorithm>

#include "firmware_markers/perf_counter.hpp"

namespace ttc::tools {
namespace {

using markers::MarkerType;
using markers::NocEvent;
using markers::NocEventKind;

constexpr markers::MetalDate kNewest{2026, 6};

bool packed(const markers::Marker& m) {
  return (m.type == MarkerType::ts_data || m.type == MarkerType::ts_data_16b) &&
         (m.id == markers::kPerfCounterId || m.id == markers::kNocTraceId || m.id == markers::kNocDebugId);
}

std::string at(int x, int y) {
  return std::to_string(x) + "," + std::to_string(y);
}

void describe_counter(const markers::PerfCounter& c, EventText& text) {
  text.counter = c.name.empty() ? "counter " + std::to_string(c.type) : std::string(c.name);
  text.name = text.counter;
  text.fields = {{"count", c.count}, {"reference cycles", c.reference_cycles}};
  if (c.reference_cycles) text.percent = 100.0 * c.count / c.reference_cycles;
}

void add_hops(const NocEvent& e, EventText& text) {
  if (e.kind == NocEventKind::routing_1d) text.fields.push_back({"routing field", e.routing_field});
  if (e.kind != NocEventKind::routing_2d) return;
  text.fields.push_back({"hops north or south", e.ns_hops});
  text.fields.push_back({"hops east", e.e_hops});
  text.fields.push_back({"hops west", e.w_hops});
  if (e.multicast) text.fields.push_back({"multicast", 1});
}

// Targets are as the core addressed them, which is not NOC0 physical on every chip.
void describe_noc(const NocEvent& e, const markers::NocEventTable& table, EventText& text) {
  const std::string_view type = table.name(e.type);
  text.name = type.empty() ? "NoC event " + std::to_string(e.type) : std::string(type);
  while (text.name.size() > 1 && text.name.back() == '_') text.name.pop_back();
  text.type = text.name;
  if (e.kind == NocEventKind::routing_1d || e.kind == NocEventKind::routing_2d) return add_hops(e, text);
  const bool fabric = e.kind != NocEventKind::local;
  if (e.dst_x >= 0 && e.dst_y >= 0) {
    const std::string target = at(e.dst_x, e.dst_y);
    const bool area = !fabric && e.end_x >= 0 && e.end_y >= 0;
    text.name +=
        (type.starts_with("READ") ? " from " : " to ") + target + (area ? " .. " + at(e.end_x, e.end_y) : "");
    text.fields.push_back({"target", 0, target});
    if (!fabric)
      text.target = {e.dst_x, e.dst_y, area ? e.end_x : e.dst_x, area ? e.end_y : e.dst_y, e.noc == 2};
    if (area) text.fields.push_back({"target's other corner", 0, at(e.end_x, e.end_y)});
  }
  if (e.bytes) text.fields.push_back({e.chunks ? "bytes of a chunk" : "bytes", e.bytes});
  if (e.chunks) text.fields.push_back({"chunks", e.chunks});
  if (e.noc) text.fields.push_back({"NoC", e.noc - 1u});
  if (!fabric && e.vc >= 0) text.fields.push_back({"virtual channel", static_cast<uint64_t>(e.vc)});
  if (e.posted) text.fields.push_back({"posted", 1});
}

}  // namespace

std::string core_name(unsigned x, unsigned y) {
  return "core " + at(static_cast<int>(x), static_cast<int>(y));
}

std::span<EventText> EventTexts::of(const FrameEvents& f) {
  texts_.clear();
  for (uint32_t i = 0; i < f.markers.size(); ++i)
    if (packed(f.markers[i])) describe(f, i, f.metal_date.value_or(kNewest));
  return texts_;
}

bool EventTexts::any(std::span<const markers::Marker> markers) {
  return std::any_of(markers.begin(), markers.end(), packed);
}

void EventTexts::describe(const FrameEvents& f, uint32_t index, markers::MetalDate date) {
  const markers::Marker& m = f.markers[index];
  const bool wide = m.type == MarkerType::ts_data_16b;
  if (f.from_log && (wide || m.id == markers::kPerfCounterId)) return;
  EventText text;
  text.marker = index;
  if (m.id == markers::kPerfCounterId) {
    describe_counter(wide ? markers::unpack_wide_perf_counter(f.payload(m), f.payload(m, 1))
                          : markers::unpack_perf_counter(f.payload(m), date),
                     text);
  } else {
    const markers::NocEventTable* table = markers::noc_event_table(date);
    if (!table) return;  // of that month nothing is known: the number stays
    const NocEvent event = markers::unpack_noc_event(f.payload(m), *table);
    describe_noc(event, *table, text);
    if (wide && event.kind == NocEventKind::local) {
      const markers::NocDebug debug = markers::unpack_noc_debug(f.payload(m, 1));
      text.fields.push_back({"target address", debug.dst_addr});
      text.fields.push_back({"source address", debug.src_addr});
      text.fields.push_back({"NoC counter", debug.status_counter});
    }
  }
  texts_.push_back(std::move(text));
}

}  // namespace ttc::tools
