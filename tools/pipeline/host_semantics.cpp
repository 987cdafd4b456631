#include "tools/pipeline/host_semantics.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "firmware_markers/dispatch_command.hpp"

namespace ttc::tools {
namespace {

using markers::Marker;
using markers::MarkerType;

// Properties of an id that follow from its names.
enum Trait : uint16_t {
  kDispatch = 1,
  kCommand = 2,
  kRuntimeId = 4,
  kPacked = 8,
  kPackedLarge = 16,
  kFirmware = 32,
  kKernel = 64,
  kCollision = 128,
  kCounter = 256,
  kWide = 512,      // of the marker's type, not of its id
  kUnknown = 1024,  // the names were not examined yet
};
// What changes the state of a lane.
constexpr uint16_t kOfDispatch = kDispatch | kCommand | kRuntimeId | kPacked | kPackedLarge;
// What a frame must hold to be worth a walk.
constexpr uint16_t kWorthAWalk = kOfDispatch | kCounter | kWide;

constexpr struct {
  std::string_view part;
  Trait trait;
} kNameParts[] = {{"DISPATCH", kDispatch},
                  {"process_cmd", kCommand},
                  {"runtime_host_id_dispatch", kRuntimeId},
                  {"packed_data_dispatch", kPacked},
                  {"packed_large_data_dispatch", kPackedLarge},
                  {"-FW", kFirmware},
                  {"-KERNEL", kKernel}};

uint16_t traits_of(std::string_view name) {
  uint16_t traits = 0;
  for (const auto& [part, trait] : kNameParts)
    if (name.find(part) != std::string_view::npos) traits |= trait;
  return traits;
}

// JSON by hand: rows come by the million, and keys and values are ours or of the tables. Every call leaves a
// whole object; keys are added in order.
void begin_value(std::string& json, std::string_view key) {
  if (json.empty())
    json = '{';
  else
    json.back() = ',';
  json += '"';
  json += key;
  json += "\":";
}
void add(std::string& json, std::string_view key, uint64_t number) {
  begin_value(json, key);
  char digits[20];
  json.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
  json += '}';
}
void add(std::string& json, std::string_view key, std::string_view text) {
  begin_value(json, key);
  json += '"';
  for (const char c : text)
    if (static_cast<unsigned char>(c) >= 0x20) {
      if (c == '"' || c == '\\') json += '\\';
      json += c;
    }
  json += "\"}";
}

void describe(const markers::PerfCounter& counter, std::string& meta) {
  if (counter.name.empty())
    add(meta, "counter type", counter.type);
  else
    add(meta, "counter type", counter.name);
  add(meta, "ref cnt", counter.reference_cycles);
  add(meta, "value", counter.count);
}

// The second word has the same layout in every build that writes one; `posted` too.
bool describe_noc_debug(uint64_t first, uint64_t second, markers::MetalDate date, std::string& meta) {
  const markers::NocEventTable* table = markers::noc_event_table(date);
  if (!table) return false;
  const markers::NocEvent event = markers::unpack_noc_event(first, *table);
  if (event.kind != markers::NocEventKind::local) return false;
  const markers::NocDebug debug = markers::unpack_noc_debug(second);
  add(meta, "dst_addr", debug.dst_addr);
  add(meta, "noc_status_counter", debug.status_counter);
  add(meta, "posted", event.posted);
  add(meta, "src_addr", debug.src_addr);
  return true;
}

// tt-metal distinguishes these by id; what other kernels put into 16 bytes is their own affair, and the second
// half, for which its log has no place, stays readable as data_2.
void describe_wide(const Marker& m, uint64_t first, uint64_t second, markers::MetalDate date,
                   std::string& meta) {
  if (m.id == markers::kPerfCounterId)
    return describe(markers::unpack_wide_perf_counter(first, second), meta);
  const bool noc = m.id == markers::kNocTraceId || m.id == markers::kNocDebugId;
  if (!noc || !describe_noc_debug(first, second, date, meta)) add(meta, "data_2", second);
}

uint64_t lane_of(const FrameEvents& f) {
  return uint64_t{f.chip} << 32 | uint64_t{f.core_x} << 24 | uint64_t{f.core_y} << 16 | f.risc;
}

// Kernels on dispatch cores run on the two data movement processors.
bool may_dispatch(const FrameEvents& f) {
  return f.core_kind == markers::CoreKind::tensix && f.risc < 2 && f.mode != device::Mode::trace_only;
}

}  // namespace

HostSemanticsStage::HostSemanticsStage(const markers::ZoneNames& names,
                                       std::optional<markers::MetalDate> date)
    : names_(names), date_(date), traits_(1 << 16, kUnknown) {}

void HostSemanticsStage::names_changed() {
  for (const uint16_t id : looked_up_) traits_[id] = kUnknown;
  looked_up_.clear();
  marks_.clear();
}

void HostSemanticsStage::look_up(uint16_t id) {
  uint16_t known = 0;
  for (const markers::ZoneSource& source : names_.sources(id)) known |= traits_of(source.name);
  if (names_.ambiguous(id)) known |= kCollision;
  if (id == markers::kPerfCounterId) known |= kCounter;
  traits_[id] = known;
  looked_up_.push_back(id);
}

// One pass without branches over all markers; nearly every frame ends here.
uint16_t HostSemanticsStage::traits_in(std::span<const Marker> all) const {
  uint16_t seen = 0;
  for (const Marker& m : all)
    seen |= static_cast<uint16_t>(traits_[m.id] | (m.type == MarkerType::ts_data_16b ? kWide : 0));
  return seen;
}

bool HostSemanticsStage::means_nothing(std::span<const uint16_t> ids, bool wide, device::Mode mode) {
  if (wide || mode == device::Mode::trace_only) return false;
  uint16_t seen = 0;
  for (const uint16_t id : ids) {
    if (traits_[id] & kUnknown) look_up(id);
    seen |= traits_[id];
  }
  return !(seen & (kWorthAWalk | kCollision));
}

// With all that was unknown looked up.
uint16_t HostSemanticsStage::known_traits_in(std::span<const Marker> all) {
  const uint16_t seen = traits_in(all);
  if (!(seen & kUnknown)) return seen;
  for (const Marker& m : all)
    if (traits_[m.id] & kUnknown) look_up(m.id);
  return traits_in(all);
}

Apart HostSemanticsStage::apart(std::span<const Marker> markers) {
  const uint16_t seen = known_traits_in(markers);
  if (seen & kOfDispatch) return Apart::no;
  return seen & kWorthAWalk ? Apart::unless_dispatch : Apart::yes;
}

// Names of several strings are noted where they are met in order, for notices().
Apart HostSemanticsStage::apart(const FrameEvents& frame) {
  const uint16_t seen = known_traits_in(frame.markers);
  if (seen & (kOfDispatch | kCollision) || frame.mode == device::Mode::trace_only) return Apart::no;
  return seen & kWorthAWalk ? Apart::unless_dispatch : Apart::yes;
}

bool HostSemanticsStage::dispatches(const FrameEvents& frame) const {
  const auto lane = lanes_.find(lane_of(frame));
  return lane != lanes_.end() && lane->second.dispatches;
}

std::span<const HostSemantics> HostSemanticsStage::of(const FrameEvents& frame, unsigned generation) {
  used_ = 0;
  const uint16_t seen = known_traits_in(frame.markers);
  if (seen & kWorthAWalk || frame.mode == device::Mode::trace_only)
    walk(frame, date_ ? *date_ : markers::usual_metal_date(generation), seen & kOfDispatch);
  else if (seen & kCollision)
    mark_collisions(frame);
  return {rows_.data(), used_};
}

HostSemantics& HostSemanticsStage::row(uint32_t marker) {
  if (used_ > 0 && rows_[used_ - 1].marker == marker) return rows_[used_ - 1];
  if (used_ == rows_.size()) rows_.emplace_back();
  HostSemantics& fresh = rows_[used_++];
  fresh.marker = marker;
  fresh.host_id.reset();
  fresh.name.clear();
  fresh.meta.clear();
  return fresh;
}

void HostSemanticsStage::walk(const FrameEvents& frame, markers::MetalDate date, bool of_dispatch) {
  const std::string_view processor = markers::risc_name(frame.core_kind, frame.risc, frame.mode);
  DispatchLane nothing;
  DispatchLane& lane = may_dispatch(frame) ? lanes_[lane_of(frame)] : nothing;
  lane.dispatches |= of_dispatch;
  open_.clear();
  if (lane.cut) open_.push_back(*std::exchange(lane.cut, std::nullopt));

  for (uint32_t i = 0; i < frame.markers.size(); ++i) {
    const Marker& m = frame.markers[i];
    if (m.type == MarkerType::zone_start || m.type == MarkerType::zone_end)
      zone(frame, i, processor, lane);
    else if (is_data(m.type))
      data(frame, i, lane, date);
    mark_collision(m, i, processor);
  }

  if (open_.empty() || !open_.back().dispatch) return;
  lane.cut = std::move(open_.back());
  lane.cut->row.reset();
}

void HostSemanticsStage::zone(const FrameEvents& frame, uint32_t index, std::string_view processor,
                              DispatchLane& lane) {
  const Marker& m = frame.markers[index];
  uint16_t named = traits_[m.id];
  if (named & kCollision) named = traits_of(names_.choose(m.id, processor).source->name);
  if (frame.mode == device::Mode::trace_only) {
    if (named & kFirmware) row(index).name = "TRACE-FW";
    if (named & kKernel) row(index).name = "TRACE-KERNEL";
    return;
  }
  if (!may_dispatch(frame) || m.flags & markers::kDuplicate) return;  // the first copy opened the zone
  lane.subtype.clear();                                               // a command may do without
  if (m.type == MarkerType::zone_end) return close(m.id, index);

  const bool dispatch = named & kDispatch;
  // These zones do not nest in themselves: one that is still open lost its END.
  if (dispatch) std::erase_if(open_, [&](const OpenZone& zone) { return zone.dispatch && zone.id == m.id; });
  OpenZone opened{m.id, dispatch ? names_.choose(m.id, processor).source->name : std::string(), std::nullopt,
                  dispatch};
  if (dispatch) {
    row(index);
    opened.row = used_ - 1;  // rows stay in the order of markers, so START's is taken now
  }
  open_.push_back(std::move(opened));
}

void HostSemanticsStage::close(uint16_t id, uint32_t index) {
  while (!open_.empty() && open_.back().id != id) {
    const bool deeper =
        std::any_of(open_.begin(), open_.end(), [&](const OpenZone& zone) { return zone.id == id; });
    if (!deeper) return;  // its START was in an earlier frame
    open_.pop_back();
  }
  if (open_.empty()) return;
  const OpenZone& zone = open_.back();
  if (zone.row && !rows_[*zone.row].name.empty()) {
    const std::string name = rows_[*zone.row].name;  // row() may move rows_
    row(index).name = name;
  }
  open_.pop_back();
}

void HostSemanticsStage::data(const FrameEvents& frame, uint32_t index, DispatchLane& lane,
                              markers::MetalDate date) {
  const Marker& m = frame.markers[index];
  const uint64_t first = frame.payload(m);
  if (!open_.empty() && open_.back().dispatch) amend(frame, m, lane, date, row(index).meta);
  if (m.type == MarkerType::ts_data_16b)
    describe_wide(m, first, frame.payload(m, 1), date, row(index).meta);
  else if (m.id == markers::kPerfCounterId)
    describe(markers::unpack_perf_counter(first, date), row(index).meta);
}

// Any data inside the zone amends it once more, even data without a command.
void HostSemanticsStage::amend(const FrameEvents& frame, const Marker& m, DispatchLane& lane,
                               markers::MetalDate date, std::string& meta) {
  const uint64_t value = frame.payload(m);
  const uint16_t says = traits_[m.id];
  if (says & kCommand) {
    lane.command = markers::dispatch_command_name(value, date);
    add(meta, "dispatch_command_type", lane.command);
  } else if (says & kRuntimeId) {
    lane.runtime_id = static_cast<uint32_t>(value);
    add(meta, "workers_runtime_id", lane.runtime_id);
  } else if (says & (kPacked | kPackedLarge)) {
    lane.subtype =
        says & kPacked ? markers::packed_write_name(value) : markers::packed_large_write_name(value);
    add(meta, "dispatch_command_subtype", lane.subtype);
  }
  OpenZone& zone = open_.back();
  if (!zone.row) return;
  HostSemantics& start = rows_[*zone.row];
  if (start.name.empty()) start.name = zone.name;
  start.host_id = lane.runtime_id;
  if (frame.risc != 0)
    start.name += ':' + lane.command;
  else
    start.name +=
        ':' + std::to_string(lane.runtime_id) + ':' + (lane.subtype.empty() ? lane.command : lane.subtype);
}

void HostSemanticsStage::mark_collisions(const FrameEvents& frame) {
  const std::string_view processor = markers::risc_name(frame.core_kind, frame.risc, frame.mode);
  for (uint32_t i = 0; i < frame.markers.size(); ++i) mark_collision(frame.markers[i], i, processor);
}

void HostSemanticsStage::mark_collision(const Marker& m, uint32_t index, std::string_view processor) {
  if (!(traits_[m.id] & kCollision) || !named_by_id(m)) return;
  const std::string& mark = mark_of(m.id, processor);
  if (mark.empty()) return;
  HostSemantics& marked = row(index);
  if (marked.meta.empty()) marked.meta = mark;
}

const std::string& HostSemanticsStage::mark_of(uint16_t id, std::string_view processor) {
  const auto [it, fresh] = marks_.try_emplace({id, processor});
  if (!fresh) return it->second;
  collisions_.insert(id);
  const auto choice = names_.choose(id, processor);
  if (!choice.undecided) return it->second;
  std::string others;
  for (const markers::ZoneSource& other : names_.sources(id))
    if (other.name != choice.source->name) others += (others.empty() ? "" : "|") + other.name;
  if (!others.empty()) add(it->second, "zone_name_or", others);
  return it->second;
}

std::vector<std::string> HostSemanticsStage::notices() const {
  if (collisions_.empty()) return {};
  std::string text = std::to_string(collisions_.size()) +
                     " marker ids belong to more than one zone; a row has the name of its processor, "
                     "else that of the first note read; meta data has the others as zone_name_or: ";
  constexpr size_t kMost = 5;
  size_t reported = 0;
  for (const uint16_t id : collisions_) {
    if (reported++ == kMost) {
      text += ", ...";
      break;
    }
    text += (reported == 1 ? "" : ", ") + std::to_string(id);
    std::string_view separator = " is ";
    for (const markers::ZoneSource& source : names_.sources(id)) {
      text += separator;
      text += source.name + " at " + source.file + ":" + std::to_string(source.line);
      separator = " or ";
    }
  }
  return {text};
}

}  // namespace ttc::tools
