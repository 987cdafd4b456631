// Tracy's wire protocol from the server's side: every item of every dialect, its number and its size. Data only.
//
// The numbers of a dialect's items are their places among those that it has, so that sizes alone describe it.
// Sources: TracyProtocol.hpp and TracyQueue.hpp of wolfpld/tracy v0.10 37aff70d to v0.14.0 099df3de, and of
// tenstorrent/tracy 68c5cbd6, 6b024a5f; those of 79 and 83 (14aacbf5, 9c3ca7e5) are derived and untested.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace ttc::tracy_server {

enum class Item : uint8_t {
  zone_text,
  zone_name,
  message,
  message_color,
  message_callstack,
  message_color_callstack,
  message_app_info,
  zone_begin_alloc_src_loc,
  zone_begin_alloc_src_loc_callstack,
  callstack_serial,
  callstack,
  callstack_alloc,
  callstack_sample,
  callstack_sample32,
  callstack_sample16,
  callstack_sample_context_switch,
  callstack_sample_context_switch32,
  callstack_sample_context_switch16,
  frame_image,
  zone_begin,
  zone_begin32,
  zone_begin16,
  zone_begin_callstack,
  zone_begin_callstack32,
  zone_begin_callstack16,
  zone_end,
  zone_end32,
  zone_end16,
  lock_wait,
  lock_obtain,
  lock_release,
  lock_shared_wait,
  lock_shared_obtain,
  lock_shared_release,
  lock_name,
  mem_alloc,
  mem_alloc_named,
  mem_free,
  mem_free_named,
  mem_alloc_callstack,
  mem_alloc_callstack_named,
  mem_free_callstack,
  mem_free_callstack_named,
  mem_discard,
  mem_discard_callstack,
  gpu_zone_begin,
  gpu_zone_begin_callstack,
  gpu_zone_begin_alloc_src_loc,
  gpu_zone_begin_alloc_src_loc_callstack,
  gpu_zone_end,
  gpu_zone_begin_serial,
  gpu_zone_begin_callstack_serial,
  gpu_zone_begin_alloc_src_loc_serial,
  gpu_zone_begin_alloc_src_loc_callstack_serial,
  gpu_zone_end_serial,
  plot_data_int,
  plot_data_float,
  plot_data_double,
  context_switch,
  thread_wakeup,
  gpu_time,
  gpu_context_name,
  gpu_annotation_name,
  gpu_marker_meta,
  gpu_marker,
  callstack_frame_size,
  symbol_information,
  external_name_metadata,
  symbol_code_metadata,
  source_code_metadata,
  fiber_enter,
  fiber_leave,
  section_enter,
  section_leave,
  section_setup,
  terminate,
  keep_alive,
  thread_context,
  gpu_calibration,
  gpu_time_sync,
  gpu_zone,
  crash,
  crash_report,
  zone_validation,
  zone_color,
  zone_value,
  frame_mark_msg,
  frame_mark_msg_start,
  frame_mark_msg_end,
  frame_vsync,
  source_location,
  lock_announce,
  lock_terminate,
  lock_mark,
  message_literal,
  message_literal_color,
  message_literal_callstack,
  message_literal_color_callstack,
  gpu_new_context,
  callstack_frame,
  sys_time_report,
  sys_power_report,
  tid_to_pid,
  hw_sample_cpu_cycle,
  hw_sample_instruction_retired,
  hw_sample_cache_reference,
  hw_sample_cache_miss,
  hw_sample_branch_retired,
  hw_sample_branch_miss,
  plot_config,
  param_setup,
  ack_server_query_noop,
  ack_source_code_not_available,
  ack_symbol_code_not_available,
  cpu_topology,
  single_string_data,
  second_string_data,
  single_string_data8,
  second_string_data8,
  mem_name_payload,
  thread_group_hint,
  gpu_zone_annotation,
  string_data,
  thread_name,
  plot_name,
  source_location_payload,
  callstack_payload,
  callstack_alloc_payload,
  frame_name,
  frame_image_data,
  external_name,
  external_thread_name,
  symbol_code,
  source_code,
  fiber_name,
  count
};
inline constexpr size_t kItems = static_cast<size_t>(Item::count);

// The part behind the fixed part of an item: none, or a length of so many bytes and that many bytes of text.
// `long_string`: the length counts from 256 (from protocol 80 on, SingleStringData and SecondStringData).
struct Tail {
  uint8_t length_bytes = 0;
  bool from_256 = false;
};

struct Dialect {
  std::string_view name;
  uint32_t protocol = 0;
  size_t welcome_bytes = 0;
  bool fork = false;                 // Tenstorrent's: 16-bit contexts of GPU items
  bool short_zones = false;          // forms of 16 and 32 bits, and an offset in the wide ones
  bool message_metadata = false;     // a byte behind messages, and in the low bits of literals' addresses
  uint8_t device_type = 0;           // the fork's number of its device contexts
  std::array<uint8_t, 256> sizes{};  // by number, with the number's byte; 0: there is none
  std::array<Item, 256> items{};
  Tail tail(Item item) const;
};

// The dialects in order of protocol and likelihood. A number that two dialects share gives the fork's first.
std::span<const Dialect> dialects();
// The numbers to offer to a client that is not known, the likeliest first.
std::span<const uint32_t> protocols();
const Dialect* dialect_of(uint32_t protocol, bool fork);
bool is_shared(uint32_t protocol);

}  // namespace ttc::tracy_server
