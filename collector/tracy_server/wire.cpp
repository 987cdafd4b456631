#include "collector/tracy_server/wire.hpp"

#include <algorithm>

namespace ttc::tracy_server {
namespace {

constexpr size_t kDialects = 10;

struct Row {
  Item item;
  std::array<uint8_t, kDialects> sizes;  // 64, 66, 66 fork, 69, 74, 76, 76 fork, 79 fork, 82, 83 fork
};

// clang-format off
constexpr Row kRows[] = {
    {Item::zone_text, {{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}}},
    {Item::zone_name, {{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}}},
    {Item::message, {{9, 9, 9, 9, 9, 9, 9, 10, 10, 10}}},
    {Item::message_color, {{12, 12, 12, 12, 12, 12, 12, 13, 13, 13}}},
    {Item::message_callstack, {{9, 9, 9, 9, 9, 9, 9, 10, 10, 10}}},
    {Item::message_color_callstack, {{12, 12, 12, 12, 12, 12, 12, 13, 13, 13}}},
    {Item::message_app_info, {{9, 9, 9, 9, 9, 9, 9, 9, 9, 9}}},
    {Item::zone_begin_alloc_src_loc, {{9, 9, 9, 9, 9, 9, 9, 9, 9, 9}}},
    {Item::zone_begin_alloc_src_loc_callstack, {{9, 9, 9, 9, 9, 9, 9, 9, 9, 9}}},
    {Item::callstack_serial, {{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}}},
    {Item::callstack, {{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}}},
    {Item::callstack_alloc, {{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}}},
    {Item::callstack_sample, {{13, 13, 13, 13, 13, 13, 13, 13, 13, 13}}},
    {Item::callstack_sample32, {{0, 0, 0, 0, 0, 0, 0, 9, 9, 9}}},
    {Item::callstack_sample16, {{0, 0, 0, 0, 0, 0, 0, 7, 7, 7}}},
    {Item::callstack_sample_context_switch, {{13, 13, 13, 13, 13, 13, 13, 13, 13, 13}}},
    {Item::callstack_sample_context_switch32, {{0, 0, 0, 0, 0, 0, 0, 9, 9, 9}}},
    {Item::callstack_sample_context_switch16, {{0, 0, 0, 0, 0, 0, 0, 7, 7, 7}}},
    {Item::frame_image, {{10, 10, 10, 10, 10, 10, 10, 10, 10, 10}}},
    {Item::zone_begin, {{17, 17, 17, 17, 17, 17, 17, 17, 17, 17}}},
    {Item::zone_begin32, {{0, 0, 0, 0, 0, 0, 0, 13, 13, 13}}},
    {Item::zone_begin16, {{0, 0, 0, 0, 0, 0, 0, 11, 11, 11}}},
    {Item::zone_begin_callstack, {{17, 17, 17, 17, 17, 17, 17, 17, 17, 17}}},
    {Item::zone_begin_callstack32, {{0, 0, 0, 0, 0, 0, 0, 13, 13, 13}}},
    {Item::zone_begin_callstack16, {{0, 0, 0, 0, 0, 0, 0, 11, 11, 11}}},
    {Item::zone_end, {{9, 9, 9, 9, 9, 9, 9, 9, 9, 9}}},
    {Item::zone_end32, {{0, 0, 0, 0, 0, 0, 0, 5, 5, 5}}},
    {Item::zone_end16, {{0, 0, 0, 0, 0, 0, 0, 3, 3, 3}}},
    {Item::lock_wait, {{17, 17, 17, 17, 17, 17, 17, 17, 17, 17}}},
    {Item::lock_obtain, {{17, 17, 17, 17, 17, 17, 17, 17, 17, 17}}},
    {Item::lock_release, {{13, 13, 13, 13, 13, 13, 13, 13, 13, 13}}},
    {Item::lock_shared_wait, {{17, 17, 17, 17, 17, 17, 17, 17, 17, 17}}},
    {Item::lock_shared_obtain, {{17, 17, 17, 17, 17, 17, 17, 17, 17, 17}}},
    {Item::lock_shared_release, {{17, 17, 17, 17, 17, 17, 17, 17, 17, 17}}},
    {Item::lock_name, {{5, 5, 5, 5, 5, 5, 5, 5, 5, 5}}},
    {Item::mem_alloc, {{27, 27, 27, 27, 27, 27, 27, 27, 27, 27}}},
    {Item::mem_alloc_named, {{27, 27, 27, 27, 27, 27, 27, 27, 27, 27}}},
    {Item::mem_free, {{21, 21, 21, 21, 21, 21, 21, 21, 21, 21}}},
    {Item::mem_free_named, {{21, 21, 21, 21, 21, 21, 21, 21, 21, 21}}},
    {Item::mem_alloc_callstack, {{27, 27, 27, 27, 27, 27, 27, 27, 27, 27}}},
    {Item::mem_alloc_callstack_named, {{27, 27, 27, 27, 27, 27, 27, 27, 27, 27}}},
    {Item::mem_free_callstack, {{21, 21, 21, 21, 21, 21, 21, 21, 21, 21}}},
    {Item::mem_free_callstack_named, {{21, 21, 21, 21, 21, 21, 21, 21, 21, 21}}},
    {Item::mem_discard, {{0, 0, 0, 0, 21, 21, 21, 21, 21, 21}}},
    {Item::mem_discard_callstack, {{0, 0, 0, 0, 21, 21, 21, 21, 21, 21}}},
    {Item::gpu_zone_begin, {{24, 24, 25, 24, 24, 24, 25, 25, 24, 25}}},
    {Item::gpu_zone_begin_callstack, {{24, 24, 25, 24, 24, 24, 25, 25, 24, 25}}},
    {Item::gpu_zone_begin_alloc_src_loc, {{16, 16, 17, 16, 16, 16, 17, 17, 16, 17}}},
    {Item::gpu_zone_begin_alloc_src_loc_callstack, {{16, 16, 17, 16, 16, 16, 17, 17, 16, 17}}},
    {Item::gpu_zone_end, {{16, 16, 17, 16, 16, 16, 17, 17, 16, 17}}},
    {Item::gpu_zone_begin_serial, {{24, 24, 25, 24, 24, 24, 25, 25, 24, 25}}},
    {Item::gpu_zone_begin_callstack_serial, {{24, 24, 25, 24, 24, 24, 25, 25, 24, 25}}},
    {Item::gpu_zone_begin_alloc_src_loc_serial, {{16, 16, 17, 16, 16, 16, 17, 17, 16, 17}}},
    {Item::gpu_zone_begin_alloc_src_loc_callstack_serial, {{16, 16, 17, 16, 16, 16, 17, 17, 16, 17}}},
    {Item::gpu_zone_end_serial, {{16, 16, 17, 16, 16, 16, 17, 17, 16, 17}}},
    {Item::plot_data_int, {{25, 25, 25, 25, 25, 25, 25, 25, 25, 25}}},
    {Item::plot_data_float, {{21, 21, 21, 21, 21, 21, 21, 21, 21, 21}}},
    {Item::plot_data_double, {{25, 25, 25, 25, 25, 25, 25, 25, 25, 25}}},
    {Item::context_switch, {{20, 20, 20, 20, 23, 23, 23, 23, 23, 23}}},
    {Item::thread_wakeup, {{13, 13, 13, 13, 16, 16, 16, 16, 16, 16}}},
    {Item::gpu_time, {{12, 12, 13, 12, 12, 12, 13, 13, 12, 13}}},
    {Item::gpu_context_name, {{2, 2, 3, 2, 2, 2, 3, 3, 2, 3}}},
    {Item::gpu_annotation_name, {{0, 0, 0, 0, 0, 10, 10, 10, 10, 10}}},
    {Item::gpu_marker_meta, {{0, 0, 0, 0, 0, 0, 0, 3, 0, 3}}},
    {Item::gpu_marker, {{0, 0, 0, 0, 0, 0, 0, 24, 0, 24}}},
    {Item::callstack_frame_size, {{10, 10, 10, 10, 10, 10, 10, 10, 10, 10}}},
    {Item::symbol_information, {{13, 13, 13, 13, 13, 13, 13, 13, 13, 13}}},
    {Item::external_name_metadata, {{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}}},
    {Item::symbol_code_metadata, {{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}}},
    {Item::source_code_metadata, {{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}}},
    {Item::fiber_enter, {{21, 21, 21, 25, 25, 25, 25, 25, 25, 25}}},
    {Item::fiber_leave, {{13, 13, 13, 13, 13, 13, 13, 13, 13, 13}}},
    {Item::section_enter, {{0, 0, 0, 0, 0, 0, 0, 0, 15, 15}}},
    {Item::section_leave, {{0, 0, 0, 0, 0, 0, 0, 0, 13, 13}}},
    {Item::section_setup, {{0, 0, 0, 0, 0, 0, 0, 0, 3, 3}}},
    {Item::terminate, {{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}}},
    {Item::keep_alive, {{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}}},
    {Item::thread_context, {{5, 5, 5, 5, 5, 5, 5, 5, 5, 5}}},
    {Item::gpu_calibration, {{26, 26, 27, 26, 26, 26, 27, 27, 26, 27}}},
    {Item::gpu_time_sync, {{0, 18, 19, 18, 18, 18, 19, 19, 18, 19}}},
    {Item::gpu_zone, {{0, 0, 0, 0, 0, 0, 0, 31, 0, 31}}},
    {Item::crash, {{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}}},
    {Item::crash_report, {{17, 17, 17, 17, 17, 17, 17, 17, 17, 17}}},
    {Item::zone_validation, {{5, 5, 5, 5, 5, 5, 5, 5, 5, 5}}},
    {Item::zone_color, {{4, 4, 4, 4, 4, 4, 4, 4, 4, 4}}},
    {Item::zone_value, {{9, 9, 9, 9, 9, 9, 9, 9, 9, 9}}},
    {Item::frame_mark_msg, {{17, 17, 17, 17, 17, 17, 17, 17, 17, 17}}},
    {Item::frame_mark_msg_start, {{17, 17, 17, 17, 17, 17, 17, 17, 17, 17}}},
    {Item::frame_mark_msg_end, {{17, 17, 17, 17, 17, 17, 17, 17, 17, 17}}},
    {Item::frame_vsync, {{13, 13, 13, 13, 13, 13, 13, 13, 13, 13}}},
    {Item::source_location, {{32, 32, 32, 32, 32, 32, 32, 32, 32, 32}}},
    {Item::lock_announce, {{22, 22, 22, 22, 22, 22, 22, 22, 22, 22}}},
    {Item::lock_terminate, {{13, 13, 13, 13, 13, 13, 13, 13, 13, 13}}},
    {Item::lock_mark, {{17, 17, 17, 17, 17, 17, 17, 17, 17, 17}}},
    {Item::message_literal, {{17, 17, 17, 17, 17, 17, 17, 17, 17, 17}}},
    {Item::message_literal_color, {{20, 20, 20, 20, 20, 20, 20, 20, 20, 20}}},
    {Item::message_literal_callstack, {{17, 17, 17, 17, 17, 17, 17, 17, 17, 17}}},
    {Item::message_literal_color_callstack, {{20, 20, 20, 20, 20, 20, 20, 20, 20, 20}}},
    {Item::gpu_new_context, {{28, 28, 29, 28, 28, 28, 29, 29, 28, 29}}},
    {Item::callstack_frame, {{17, 17, 17, 17, 17, 17, 17, 17, 17, 17}}},
    {Item::sys_time_report, {{13, 13, 13, 13, 13, 13, 13, 13, 13, 13}}},
    {Item::sys_power_report, {{25, 25, 25, 25, 25, 25, 25, 25, 25, 25}}},
    {Item::tid_to_pid, {{17, 17, 17, 17, 17, 17, 17, 17, 17, 17}}},
    {Item::hw_sample_cpu_cycle, {{17, 17, 17, 17, 17, 17, 17, 17, 17, 17}}},
    {Item::hw_sample_instruction_retired, {{17, 17, 17, 17, 17, 17, 17, 17, 17, 17}}},
    {Item::hw_sample_cache_reference, {{17, 17, 17, 17, 17, 17, 17, 17, 17, 17}}},
    {Item::hw_sample_cache_miss, {{17, 17, 17, 17, 17, 17, 17, 17, 17, 17}}},
    {Item::hw_sample_branch_retired, {{17, 17, 17, 17, 17, 17, 17, 17, 17, 17}}},
    {Item::hw_sample_branch_miss, {{17, 17, 17, 17, 17, 17, 17, 17, 17, 17}}},
    {Item::plot_config, {{16, 16, 16, 16, 16, 16, 16, 16, 16, 16}}},
    {Item::param_setup, {{18, 18, 18, 18, 18, 18, 18, 18, 18, 18}}},
    {Item::ack_server_query_noop, {{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}}},
    {Item::ack_source_code_not_available, {{5, 5, 5, 5, 5, 5, 5, 5, 5, 5}}},
    {Item::ack_symbol_code_not_available, {{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}}},
    {Item::cpu_topology, {{13, 13, 13, 17, 17, 17, 17, 17, 17, 17}}},
    {Item::single_string_data, {{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}}},
    {Item::second_string_data, {{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}}},
    {Item::single_string_data8, {{0, 0, 0, 0, 0, 0, 0, 0, 1, 1}}},
    {Item::second_string_data8, {{0, 0, 0, 0, 0, 0, 0, 0, 1, 1}}},
    {Item::mem_name_payload, {{9, 9, 9, 9, 9, 9, 9, 9, 9, 9}}},
    {Item::thread_group_hint, {{0, 0, 0, 9, 9, 9, 9, 9, 9, 9}}},
    {Item::gpu_zone_annotation, {{0, 0, 0, 0, 0, 24, 24, 24, 24, 24}}},
    {Item::string_data, {{9, 9, 9, 9, 9, 9, 9, 9, 9, 9}}},
    {Item::thread_name, {{9, 9, 9, 9, 9, 9, 9, 9, 9, 9}}},
    {Item::plot_name, {{9, 9, 9, 9, 9, 9, 9, 9, 9, 9}}},
    {Item::source_location_payload, {{9, 9, 9, 9, 9, 9, 9, 9, 9, 9}}},
    {Item::callstack_payload, {{9, 9, 9, 9, 9, 9, 9, 9, 9, 9}}},
    {Item::callstack_alloc_payload, {{9, 9, 9, 9, 9, 9, 9, 9, 9, 9}}},
    {Item::frame_name, {{9, 9, 9, 9, 9, 9, 9, 9, 9, 9}}},
    {Item::frame_image_data, {{9, 9, 9, 9, 9, 9, 9, 9, 9, 9}}},
    {Item::external_name, {{9, 9, 9, 9, 9, 9, 9, 9, 9, 9}}},
    {Item::external_thread_name, {{9, 9, 9, 9, 9, 9, 9, 9, 9, 9}}},
    {Item::symbol_code, {{9, 9, 9, 9, 9, 9, 9, 9, 9, 9}}},
    {Item::source_code, {{9, 9, 9, 9, 9, 9, 9, 9, 9, 9}}},
    {Item::fiber_name, {{9, 9, 9, 9, 9, 9, 9, 9, 9, 9}}},
};
// clang-format on
static_assert(std::size(kRows) == kItems);

constexpr size_t kOldWelcome = 1178, kNewWelcome = 1170;

Dialect made(size_t column, std::string_view name, uint32_t protocol, bool fork, uint8_t device_type) {
  Dialect d;
  d.name = name;
  d.protocol = protocol;
  d.welcome_bytes = protocol < 75 ? kOldWelcome : kNewWelcome;
  d.fork = fork;
  d.short_zones = protocol >= 78;
  d.message_metadata = protocol >= 77;
  d.device_type = device_type;
  d.items.fill(Item::count);
  size_t number = 0;
  for (const Row& row : kRows) {
    if (row.sizes[column] == 0) continue;
    d.sizes[number] = row.sizes[column];
    d.items[number] = row.item;
    ++number;
  }
  return d;
}

// The order is that of likelihood in the field, with a number's two dialects beside each other.
const std::array<Dialect, kDialects>& table() {
  static const std::array<Dialect, kDialects> all{
      made(9, "83 (Tenstorrent)", 83, true, 11), made(7, "79 (Tenstorrent)", 79, true, 10),
      made(2, "66 (Tenstorrent)", 66, true, 6),  made(1, "66 (0.11.0)", 66, false, 0),
      made(8, "82 (0.14)", 82, false, 0),        made(6, "76 (Tenstorrent)", 76, true, 10),
      made(5, "76 (0.13)", 76, false, 0),        made(4, "74 (0.12)", 74, false, 0),
      made(3, "69 (0.11.1)", 69, false, 0),      made(0, "64 (0.10)", 64, false, 0)};
  return all;
}

}  // namespace

Tail Dialect::tail(Item item) const {
  switch (item) {
    case Item::frame_image_data:
    case Item::symbol_code:
    case Item::source_code:
      return {4};
    case Item::single_string_data8:
    case Item::second_string_data8:
      return {1};
    case Item::single_string_data:
    case Item::second_string_data:
      return {2, protocol >= 80};
    default:
      return {static_cast<uint8_t>(item >= Item::string_data ? 2 : 0)};
  }
}

std::span<const Dialect> dialects() {
  return table();
}

std::span<const uint32_t> protocols() {
  static constexpr uint32_t kOrder[] = {83, 79, 66, 82, 76, 74, 69, 64};
  return kOrder;
}

const Dialect* dialect_of(uint32_t protocol, bool fork) {
  const auto found = std::find_if(table().begin(), table().end(),
                                  [&](const Dialect& d) { return d.protocol == protocol && d.fork == fork; });
  return found == table().end() ? nullptr : &*found;
}

bool is_shared(uint32_t protocol) {
  return dialect_of(protocol, true) && dialect_of(protocol, false);
}

}  // namespace ttc::tracy_server
