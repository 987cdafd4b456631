#include "tools/viewers/zones/zone_labels.hpp"

#include <cstdio>

#include "collector/draw/colours.hpp"
#include "tools/pipeline/host_semantics.hpp"

namespace ttc::tools {
namespace {

ZoneKind kind_of(const markers::Marker& m, std::string_view name) {
  if (m.flags & markers::kQuickPush || name.starts_with("PROFILER")) return ZoneKind::profiler;
  if (m.type > markers::MarkerType::zone_total) return ZoneKind::event;
  return kind_of_zone(name);
}

}  // namespace

ZoneKind kind_of_zone(std::string_view name) {
  if (name.starts_with("PROFILER")) return ZoneKind::profiler;
  if (name.find("DISPATCH") != std::string_view::npos) return ZoneKind::dispatch;
  if (name.ends_with("-FW")) return ZoneKind::firmware;
  if (name.ends_with("-KERNEL")) return ZoneKind::kernel;
  return ZoneKind::user;
}

uint32_t colour_by_kind(ZoneKind kind, std::string_view processor) {
  switch (kind) {
    case ZoneKind::firmware:
      return draw::colour_of_processor(processor);
    case ZoneKind::kernel:
      return draw::darker(draw::colour_of_processor(processor));
    case ZoneKind::dispatch:
      return draw::kDispatchColour;
    case ZoneKind::profiler:
      return draw::kProfilerColour;
    case ZoneKind::event:
      return draw::kEventColour;
    case ZoneKind::user:
      break;
  }
  return draw::kUserColour;
}

ZoneLabels::Lane& ZoneLabels::lane(const FrameEvents& f) {
  const Of of{&f.names, f.core_kind, f.risc, f.mode};
  if (!last_lane_ || !(of == last_of_)) {
    last_of_ = of;
    last_lane_ = &add_lane(f);
  }
  return *last_lane_;
}

const ZoneLabels::Lane* ZoneLabels::find_lane(const FrameEvents& f) const {
  const std::lock_guard lock(lanes_mutex_);
  const auto lane = lanes_.find({&f.names, markers::risc_name(f.core_kind, f.risc, f.mode)});
  return lane == lanes_.end() ? nullptr : &lane->second;
}

ZoneLabels::Lane& ZoneLabels::add_lane(const FrameEvents& f) {
  const std::string_view processor = markers::risc_name(f.core_kind, f.risc, f.mode);
  const std::lock_guard lock(lanes_mutex_);
  Lane& lane = lanes_[{&f.names, processor}];
  if (!lane.labels_) {
    lane.labels_ = this;
    lane.names_ = &f.names;
    lane.processor_ = processor;
  }
  return lane;
}

void ZoneLabels::names_changed() {
  for (auto& [key, lane] : lanes_) {
    for (auto& known : lane.known_) known.clear();
    lane.recent_ = {};
  }
}

void ZoneLabels::Lane::Known::add(uint16_t id, const ZoneLabel& label) {
  if (!own_) {
    own_ = std::make_unique<Place[]>(0x10000);
    places_.store(own_.get(), std::memory_order_release);
  }
  own_[id].store(&label, std::memory_order_release);
  ids_.push_back(id);
}

void ZoneLabels::Lane::Known::clear() {
  for (const uint16_t id : ids_) own_[id].store(nullptr, std::memory_order_relaxed);
  ids_.clear();
}

const ZoneLabel& ZoneLabels::Lane::look_up(const markers::Marker& m, Table table) {
  ZoneLabel label;
  label.hash = m.id;
  label.hashed = named_by_id(m);
  const markers::ZoneSource* source = label.hashed ? names_->choose(m.id, processor_).source : nullptr;
  if (source) {
    label.name = source->name;
    label.file = source->file;
    label.line = source->line;
  } else if (table == quick_pushes) {
    label.name = "PROFILER-NOC-QUICK-PUSH";
  } else {
    char text[24];
    std::snprintf(text, sizeof text, table == zones ? "zone 0x%04x" : "event %u", unsigned{m.id});
    label.name = text;
  }
  label.kind = kind_of(m, label.name);
  label.rgb = colour_by_kind(label.kind, processor_);
  const ZoneLabel& interned = labels_->intern(std::move(label));
  known_[table].add(m.id, interned);
  return interned;
}

const ZoneLabel& ZoneLabels::intern(ZoneLabel label) {
  const auto [it, fresh] =
      numbers_.try_emplace({label.name, label.file, label.line, label.hash, label.kind, label.rgb},
                           static_cast<uint32_t>(labels_.size()));
  if (!fresh) return labels_[it->second];
  label.number = it->second;
  labels_.push_back(std::move(label));
  return labels_.back();
}

}  // namespace ttc::tools
