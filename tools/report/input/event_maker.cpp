#include "tools/report/input/event_maker.hpp"

#include <utility>

namespace ttc::report {

using markers::MarkerType;

size_t EventMaker::KnownZones::place_of(uint16_t id) const {
  size_t at = id & (places_.size() - 1);
  while (places_[at].set && places_[at].id != id) at = (at + 1) & (places_.size() - 1);
  return at;
}

const EventMaker::Known* EventMaker::KnownZones::find(uint16_t id) const {
  const Known& there = places_[place_of(id)];
  return there.set ? &there : nullptr;
}

const EventMaker::Known& EventMaker::KnownZones::add(const Known& one) {
  if (++used_ * 2 > places_.size()) {
    std::vector<Known> before(places_.size() * 2);
    std::swap(before, places_);
    for (const Known& old : before)
      if (old.set) places_[place_of(old.id)] = old;
  }
  return places_[place_of(one.id)] = one;
}

const EventMaker::Known& EventMaker::known(const tools::FrameEvents& f, const markers::Marker& m,
                                           LogRisc risc) {
  if (current_ != &f.names) {
    current_ = &f.names;
    current_names_ = &by_names_[&f.names];
  }
  KnownZones& zones = (*current_names_)[static_cast<size_t>(risc)];
  if (const Known* there = zones.find(m.id)) return *there;
  const auto* source = f.names.choose(m.id, kRiscNames[static_cast<size_t>(risc)]).source;
  if (source)
    return zones.add(
        {index_.of(source->name, source->file, source->line), m.id, class_of(source->name), true});
  if (f.main_zone == m.id && (m.flags & markers::kGuaranteed)) {  // its name may still come
    static const Known unnamed_firmware{0, 0, ZoneClass::firmware, true};
    return unnamed_firmware;
  }
  return zones.add({0, m.id, ZoneClass::none, true});
}

Lane EventMaker::lane_of(const tools::FrameEvents& f) {
  const LogRisc risc = f.core_kind != markers::CoreKind::tensix ? LogRisc::erisc
                       : f.mode == device::Mode::trace_only     ? LogRisc::aggregate
                                                                : static_cast<LogRisc>(f.risc);
  return {f.core_x, f.core_y, risc, static_cast<uint8_t>(risc == LogRisc::erisc && f.risc > 0)};
}

void EventMaker::note_lane(const tools::FrameEvents& f) {
  const LogRisc risc = lane_of(f).risc;
  if (risc > LogRisc::trisc_2) odd_lanes_[{f.chip, f.core_x, f.core_y}] = risc;
}

void EventMaker::frame(const tools::FrameEvents& f, Listener& listener) {
  const Lane lane = lane_of(f);
  const Launch launch = launch_of(f);
  note_lane(f);
  // Written where they stay: a marker that is put together elsewhere and copied waits for its own stores.
  batch_.resize(f.markers.size());
  Event* next = batch_.data();
  auto semantics = f.semantics.begin();
  for (uint32_t i = 0; i < f.markers.size(); ++i) {
    const markers::Marker& m = f.markers[i];
    const tools::HostSemantics* more =
        semantics != f.semantics.end() && semantics->marker == i ? &*semantics++ : nullptr;
    const bool payload = m.type == MarkerType::zone_total || m.type == MarkerType::ts_data ||
                         m.type == MarkerType::ts_data_16b;
    Event& e = *next;
    e.time = m.time_cycles;
    e.data = payload ? f.payload(m) : 0;
    e.id = m.id;
    e.type = m.type;
    e.zone = 0;
    e.zone_class = ZoneClass::none;
    if (tools::named_by_id(m) && !(m.flags & markers::kQuickPush)) {
      const Known& k = known(f, m, lane.risc);
      e.zone = k.zone;
      e.zone_class = k.zone_class;
    }
    ++next;
    if (!more) continue;
    if (!more->name.empty() && e.zone_class != ZoneClass::firmware) e.zone_class = class_of(more->name);
    if (want_meta_ && !more->meta.empty()) listener.meta(launch, lane, e, more->meta);
    if (more->host_id) {
      Launch other = launch;
      other.host_id = *more->host_id;
      listener.events({other, lane, {&e, 1}, f.seen_ns});
      --next;
    }
  }
  const auto count = static_cast<size_t>(next - batch_.data());
  if (count) listener.events({launch, lane, {batch_.data(), count}, f.seen_ns});
}

Lane EventMaker::lane_of(const shm::LossRecord& r) const {
  const auto odd = odd_lanes_.find({r.device, r.core_x, r.core_y});
  if (odd == odd_lanes_.end()) return {r.core_x, r.core_y, static_cast<LogRisc>(r.risc)};
  return {r.core_x, r.core_y, odd->second, static_cast<uint8_t>(odd->second == LogRisc::erisc && r.risc > 0)};
}

void EventMaker::names_changed() {
  by_names_.clear();
  current_ = nullptr;
}

}  // namespace ttc::report
