// The dialects of Tracy's wire protocol, as data: which number a server of a release sends, which numbers its
// items have, and how long they are. Both sides of a connection are described; this folder implements
// the client's. Source: TracyProtocol.hpp, TracyQueue.hpp (wolfpld/tracy v0.10 37aff70d to v0.14.0 099df3de,
// tenstorrent/tracy 68c5cbd6 and, read but never run against, 14aacbf5 and 9c3ca7e5).
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace ttc::tracy {

enum class Item : uint8_t {
  zone_text,
  zone_name,
  message,
  message_color,
  message_app_info,
  zone_begin_alloc_src_loc,
  zone_begin,
  zone_begin_32,
  zone_begin_16,
  zone_end,
  zone_end_32,
  zone_end_16,
  gpu_zone_begin_serial,
  gpu_zone_begin_alloc_src_loc_serial,
  gpu_zone_end_serial,
  plot_data_int,
  plot_data_float,
  plot_data_double,
  gpu_time,
  gpu_context_name,
  gpu_annotation_name,
  fiber_enter,
  fiber_leave,
  terminate,
  keep_alive,
  thread_context,
  gpu_calibration,
  gpu_time_sync,
  zone_validation,
  zone_color,
  zone_value,
  frame_mark,
  frame_mark_start,
  frame_mark_end,
  source_location,
  message_literal,
  message_literal_color,
  gpu_new_context,
  plot_config,
  ack_server_query_noop,
  ack_source_code_not_available,
  cpu_topology,
  single_string,
  second_string,
  single_string_8,
  second_string_8,
  thread_group_hint,
  gpu_zone_annotation,
  string_data,
  thread_name,
  plot_name,
  source_location_payload,
  frame_name,
  fiber_name,
  gpu_zone,
  gpu_marker_meta,
  gpu_marker,
  kCount
};
inline constexpr uint8_t kNo = 255;  // the dialect has no such item

// A server's questions to a client; unchanged in all dialects.
enum class Query : uint8_t {
  terminate = 0,
  string = 1,
  thread_string = 2,
  source_location = 3,
  plot_name = 4,
  frame_name = 5,
  parameter = 6,
  fiber_name = 7,
  external_name = 8,
  disconnect = 9,
  callstack_frame = 10,
  symbol = 11,
  symbol_code = 12,
  source_code = 13,
  data_transfer = 14,
  data_transfer_part = 15,
  kCount
};
inline constexpr size_t kQueryBytes = 13;  // type, ptr (8), extra (4)

enum class Status : uint8_t { welcome = 1, mismatch = 2, not_available = 3 };

inline constexpr std::string_view kHandshake = "TracyPrf";  // then the protocol number, 4 bytes
inline constexpr size_t kHandshakeBytes = 12;
inline constexpr size_t kBlockBytes = 256 << 10;  // a block decodes to at most so much
inline constexpr size_t kProgramNameBytes = 64, kHostInfoBytes = 1024;
inline constexpr uint16_t kBroadcastPort = 8086;

// The limits of a trace, whatever the dialect (tracy server/TracyWorker.cpp).
inline constexpr size_t kMostSourceLocations = 32000;  // keyed ones; servers fail at 32,766
inline constexpr size_t kMostThreads = 65535;
inline constexpr int64_t kLongestTimeNs = int64_t{1} << 47;

struct Dialect {
  uint32_t protocol;
  bool fork;             // Tenstorrent's: device contexts of 16 bits, lanes that it names itself
  const char* servers;   // for people
  size_t most_contexts;  // of GPU zones
  uint8_t device_type;   // of a GPU context: the fork's own, stock Vulkan's otherwise
  uint8_t column;        // in the table of items

  bool has(Item item) const { return id(item) != kNo; }
  uint8_t id(Item item) const;
  // The size with the type byte, without texts that follow.
  size_t bytes(Item item) const;
  size_t context_bytes() const { return fork ? 2 : 1; }

  bool welcome_has_delay() const { return protocol < 75; }
  bool hint_in_fibers() const { return protocol >= 68; }
  bool message_metadata() const { return protocol >= 77; }
  bool short_zones() const { return protocol >= 78; }
  bool short_strings() const { return protocol >= 80; }
  size_t welcome_bytes() const { return welcome_has_delay() ? 1178 : 1170; }
};

std::span<const Dialect> dialects();
std::string_view name_of(Item item);

// The dialect of the number that a server sent. 66 is both stock 0.11.0's and the older fork's: `fork_66` selects
// one.
const Dialect* dialect_for(uint32_t protocol, bool fork_66);

}  // namespace ttc::tracy
