#include "tools/tracy/dialect.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace ttc::tracy {
namespace {

constexpr uint8_t kVulkan = 2;

constexpr Dialect kDialects[] = {
    {64, false, "Tracy 0.10", 256, kVulkan, 0},
    {66, false, "Tracy 0.11.0", 256, kVulkan, 1},
    {66, true, "Tenstorrent's Tracy until August 2025", 65536, 6, 2},
    {69, false, "Tracy 0.11.1", 256, kVulkan, 3},
    {74, false, "Tracy 0.12", 256, kVulkan, 4},
    {76, false, "Tracy 0.13", 256, kVulkan, 5},
    {79, true, "Tenstorrent's Tracy on 0.13", 65536, 10, 6},
    {82, false, "Tracy 0.14", 256, kVulkan, 7},
    {83, true, "Tenstorrent's Tracy on 0.14", 65536, 11, 8},
};
constexpr size_t kColumns = std::size(kDialects);

struct Row {
  Item item;
  const char* name;
  uint8_t bytes;  // in the oldest dialect of stock Tracy that has it
  uint8_t id[kColumns];
};

// Columns: 64, 66 stock, 66 fork, 69, 74, 76, 79 fork, 82, 83 fork.
constexpr Row kRows[] = {
    {Item::zone_text, "ZoneText", 1, {0, 0, 0, 0, 0, 0, 0, 0, 0}},
    {Item::zone_name, "ZoneName", 1, {1, 1, 1, 1, 1, 1, 1, 1, 1}},
    {Item::message, "Message", 9, {2, 2, 2, 2, 2, 2, 2, 2, 2}},
    {Item::message_color, "MessageColor", 12, {3, 3, 3, 3, 3, 3, 3, 3, 3}},
    {Item::message_app_info, "MessageAppInfo", 9, {6, 6, 6, 6, 6, 6, 6, 6, 6}},
    {Item::zone_begin_alloc_src_loc, "ZoneBeginAllocSrcLoc", 9, {7, 7, 7, 7, 7, 7, 7, 7, 7}},
    {Item::zone_begin, "ZoneBegin", 17, {15, 15, 15, 15, 15, 15, 19, 19, 19}},
    {Item::zone_begin_32, "ZoneBegin32", 13, {kNo, kNo, kNo, kNo, kNo, kNo, 20, 20, 20}},
    {Item::zone_begin_16, "ZoneBegin16", 11, {kNo, kNo, kNo, kNo, kNo, kNo, 21, 21, 21}},
    {Item::zone_end, "ZoneEnd", 9, {17, 17, 17, 17, 17, 17, 25, 25, 25}},
    {Item::zone_end_32, "ZoneEnd32", 5, {kNo, kNo, kNo, kNo, kNo, kNo, 26, 26, 26}},
    {Item::zone_end_16, "ZoneEnd16", 3, {kNo, kNo, kNo, kNo, kNo, kNo, 27, 27, 27}},
    {Item::gpu_zone_begin_serial, "GpuZoneBeginSerial", 24, {38, 38, 38, 38, 40, 40, 50, 50, 50}},
    {Item::gpu_zone_begin_alloc_src_loc_serial,
     "GpuZoneBeginAllocSrcLocSerial",
     16,
     {40, 40, 40, 40, 42, 42, 52, 52, 52}},
    {Item::gpu_zone_end_serial, "GpuZoneEndSerial", 16, {42, 42, 42, 42, 44, 44, 54, 54, 54}},
    {Item::plot_data_int, "PlotDataInt", 25, {43, 43, 43, 43, 45, 45, 55, 55, 55}},
    {Item::plot_data_float, "PlotDataFloat", 21, {44, 44, 44, 44, 46, 46, 56, 56, 56}},
    {Item::plot_data_double, "PlotDataDouble", 25, {45, 45, 45, 45, 47, 47, 57, 57, 57}},
    {Item::gpu_time, "GpuTime", 12, {48, 48, 48, 48, 50, 50, 60, 60, 60}},
    {Item::gpu_context_name, "GpuContextName", 2, {49, 49, 49, 49, 51, 51, 61, 61, 61}},
    {Item::gpu_annotation_name, "GpuAnnotationName", 10, {kNo, kNo, kNo, kNo, kNo, 52, 62, 62, 62}},
    {Item::fiber_enter, "FiberEnter", 21, {55, 55, 55, 55, 57, 58, 70, 68, 70}},
    {Item::fiber_leave, "FiberLeave", 13, {56, 56, 56, 56, 58, 59, 71, 69, 71}},
    {Item::terminate, "Terminate", 1, {57, 57, 57, 57, 59, 60, 72, 73, 75}},
    {Item::keep_alive, "KeepAlive", 1, {58, 58, 58, 58, 60, 61, 73, 74, 76}},
    {Item::thread_context, "ThreadContext", 5, {59, 59, 59, 59, 61, 62, 74, 75, 77}},
    {Item::gpu_calibration, "GpuCalibration", 26, {60, 60, 60, 60, 62, 63, 75, 76, 78}},
    {Item::gpu_time_sync, "GpuTimeSync", 18, {kNo, 61, 61, 61, 63, 64, 76, 77, 79}},
    {Item::zone_validation, "ZoneValidation", 5, {63, 64, 64, 64, 66, 67, 80, 80, 83}},
    {Item::zone_color, "ZoneColor", 4, {64, 65, 65, 65, 67, 68, 81, 81, 84}},
    {Item::zone_value, "ZoneValue", 9, {65, 66, 66, 66, 68, 69, 82, 82, 85}},
    {Item::frame_mark, "FrameMark", 17, {66, 67, 67, 67, 69, 70, 83, 83, 86}},
    {Item::frame_mark_start, "FrameMarkMsgStart", 17, {67, 68, 68, 68, 70, 71, 84, 84, 87}},
    {Item::frame_mark_end, "FrameMarkMsgEnd", 17, {68, 69, 69, 69, 71, 72, 85, 85, 88}},
    {Item::source_location, "SourceLocation", 32, {70, 71, 71, 71, 73, 74, 87, 87, 90}},
    {Item::message_literal, "MessageLiteral", 17, {74, 75, 75, 75, 77, 78, 91, 91, 94}},
    {Item::message_literal_color, "MessageLiteralColor", 20, {75, 76, 76, 76, 78, 79, 92, 92, 95}},
    {Item::gpu_new_context, "GpuNewContext", 28, {78, 79, 79, 79, 81, 82, 95, 95, 98}},
    {Item::plot_config, "PlotConfig", 16, {89, 90, 90, 90, 92, 93, 106, 106, 109}},
    {Item::ack_server_query_noop, "AckServerQueryNoop", 1, {91, 92, 92, 92, 94, 95, 108, 108, 111}},
    {Item::ack_source_code_not_available,
     "AckSourceCodeNotAvailable",
     5,
     {92, 93, 93, 93, 95, 96, 109, 109, 112}},
    {Item::cpu_topology, "CpuTopology", 13, {94, 95, 95, 95, 97, 98, 111, 111, 114}},
    {Item::single_string, "SingleStringData", 1, {95, 96, 96, 96, 98, 99, 112, 112, 115}},
    {Item::second_string, "SecondStringData", 1, {96, 97, 97, 97, 99, 100, 113, 113, 116}},
    {Item::single_string_8, "SingleStringData8", 1, {kNo, kNo, kNo, kNo, kNo, kNo, kNo, 114, 117}},
    {Item::second_string_8, "SecondStringData8", 1, {kNo, kNo, kNo, kNo, kNo, kNo, kNo, 115, 118}},
    {Item::thread_group_hint, "ThreadGroupHint", 9, {kNo, kNo, kNo, 99, 101, 102, 115, 117, 120}},
    {Item::gpu_zone_annotation, "GpuZoneAnnotation", 24, {kNo, kNo, kNo, kNo, kNo, 103, 116, 118, 121}},
    {Item::string_data, "StringData", 9, {98, 99, 99, 100, 102, 104, 117, 119, 122}},
    {Item::thread_name, "ThreadName", 9, {99, 100, 100, 101, 103, 105, 118, 120, 123}},
    {Item::plot_name, "PlotName", 9, {100, 101, 101, 102, 104, 106, 119, 121, 124}},
    {Item::source_location_payload,
     "SourceLocationPayload",
     9,
     {101, 102, 102, 103, 105, 107, 120, 122, 125}},
    {Item::frame_name, "FrameName", 9, {104, 105, 105, 106, 108, 110, 123, 125, 128}},
    {Item::fiber_name, "FiberName", 9, {110, 111, 111, 112, 114, 116, 129, 131, 134}},
    {Item::gpu_zone, "GpuZone", 30, {kNo, kNo, kNo, kNo, kNo, kNo, 77, kNo, 80}},
    {Item::gpu_marker_meta, "GpuMarkerMeta", 2, {kNo, kNo, kNo, kNo, kNo, kNo, 63, kNo, 63}},
    {Item::gpu_marker, "GpuMarker", 23, {kNo, kNo, kNo, kNo, kNo, kNo, 64, kNo, 64}},
};
static_assert(std::size(kRows) == static_cast<size_t>(Item::kCount));

constexpr bool in_order() {
  for (size_t i = 0; i < std::size(kRows); ++i)
    if (kRows[i].item != static_cast<Item>(i)) return false;
  return true;
}
static_assert(in_order());

constexpr bool holds_context(Item item) {
  switch (item) {
    case Item::gpu_zone_begin_serial:
    case Item::gpu_zone_begin_alloc_src_loc_serial:
    case Item::gpu_zone_end_serial:
    case Item::gpu_time:
    case Item::gpu_context_name:
    case Item::gpu_calibration:
    case Item::gpu_time_sync:
    case Item::gpu_new_context:
    case Item::gpu_zone:
    case Item::gpu_marker:
    case Item::gpu_marker_meta:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::span<const Dialect> dialects() {
  return kDialects;
}

std::string_view name_of(Item item) {
  return kRows[static_cast<size_t>(item)].name;
}

uint8_t Dialect::id(Item item) const {
  return kRows[static_cast<size_t>(item)].id[column];
}

size_t Dialect::bytes(Item item) const {
  size_t bytes = kRows[static_cast<size_t>(item)].bytes;
  if (holds_context(item)) bytes += context_bytes() - 1;
  if ((item == Item::message || item == Item::message_color) && message_metadata()) ++bytes;
  if (item == Item::fiber_enter && hint_in_fibers()) bytes += 4;
  if (item == Item::cpu_topology && protocol >= 69) bytes += 4;
  return bytes;
}

const Dialect* dialect_for(uint32_t protocol, bool fork_66) {
  const auto found = std::find_if(std::begin(kDialects), std::end(kDialects), [&](const Dialect& d) {
    return d.protocol == protocol && (protocol != 66 || d.fork == fork_66);
  });
  return found == std::end(kDialects) ? nullptr : found;
}

}  // namespace ttc::tracy
