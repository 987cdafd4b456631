#include "tools/viewers/zone_labels.hpp"

#include <cstdio>

#include "tools/pipeline/host_semantics.hpp"

namespace ttc::tools {
namespace {

constexpr uint32_t kProfilerColour = 0xcd4f39, kDispatchColour = 0x9370db, kUserColour = 0x66a061,
                   kEventColour = 0xd4af37;

ZoneKind kind_of(const markers::Marker& m, std::string_view name) {
  if (m.flags & markers::kQuickPush || name.starts_with("PROFILER")) return ZoneKind::profiler;
  if (m.type > markers::MarkerType::zone_total) return ZoneKind::event;
  if (name.find("DISPATCH") != std::string_view::npos) return ZoneKind::dispatch;
  if (name.ends_with("-FW")) return ZoneKind::firmware;
  if (name.ends_with("-KERNEL")) return ZoneKind::kernel;
  return ZoneKind::user;
}

constexpr uint32_t darker(uint32_t rgb) {
  const auto three_quarters = [](uint32_t c) { return c - c / 4; };
  return three_quarters(rgb >> 16) << 16 | three_quarters(rgb >> 8 & 255) << 8 | three_quarters(rgb & 255);
}

uint32_t colour_by_kind(ZoneKind kind, std::string_view processor) {
  switch (kind) {
    case ZoneKind::firmware:
      return colour_of(processor);
    case ZoneKind::kernel:
      return darker(colour_of(processor));
    case ZoneKind::dispatch:
      return kDispatchColour;
    case ZoneKind::profiler:
      return kProfilerColour;
    case ZoneKind::event:
      return kEventColour;
    case ZoneKind::user:
      break;
  }
  return kUserColour;
}

}  // namespace

uint32_t colour_of(std::string_view processor) {
  if (processor == "BRISC") return 0xee9a00;
  if (processor == "NCRISC") return 0x43cd80;
  if (processor == "TRISC_0") return 0x6ca6cd;
  if (processor == "TRISC_1") return 0x00e5ee;
  if (processor == "TRISC_2") return 0x98f5ff;
  return 0xb0a0c0;
}

ZoneLabels::Lane& ZoneLabels::lane(const FrameEvents& f) {
  const std::string_view processor = markers::risc_name(f.core_kind, f.risc, f.mode);
  Lane& lane = lanes_[{&f.names, processor}];
  if (!lane.labels_) {
    lane.labels_ = this;
    lane.names_ = &f.names;
    lane.processor_ = processor;
  }
  return lane;
}

void ZoneLabels::names_changed() {
  for (auto& [key, lane] : lanes_)
    for (auto& known : lane.known_) known.clear();
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
  known_[table].resize(0x10000);
  known_[table][m.id] = &interned;
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
