// Numbers of Perfetto's messages, and those that this writer gives to arguments and to places of tracks.
#pragma once
#include <cstdint>

#include "tools/viewers/host/event_field.hpp"
#include "tools/viewers/host/rows.hpp"
#include "tools/viewers/perfetto/protobuf.hpp"

namespace ttc::tools::perfetto {

// Field numbers of perfetto:protos/perfetto/trace/*.proto@ec5d16b1.
namespace trace_packet {
enum : unsigned {
  clock_snapshot = 6,
  timestamp = 8,
  sequence_id = 10,
  track_event = 11,
  interned_data = 12,
  sequence_flags = 13,
  timestamp_clock_id = 58,
  defaults = 59,
  track_descriptor = 60,
  first_packet_on_sequence = 87,
};
}
namespace track_descriptor {
enum : unsigned {
  uuid = 1,
  name = 2,
  process = 3,
  thread = 4,
  parent_uuid = 5,
  counter = 8,
  child_ordering = 11,
  sibling_order_rank = 12,
  description = 14,
  sibling_merge_behavior = 15,
};
}
namespace track_event {
enum : unsigned {
  debug_annotations = 4,
  type = 9,
  name_iid = 10,
  track_uuid = 11,
  name = 23,
  source_location_iid = 34,
  counter_double = 44,
  flow_ids = 47,
};
enum Type : unsigned { slice_begin = 1, slice_end = 2, instant = 3, counter = 4 };
}  // namespace track_event
namespace annotation {
enum : unsigned { name_iid = 1, uint_value = 3, string_value = 6, name = 10 };
}
inline ProtoMessage annotation_of(const EventField& f) {
  ProtoMessage a;
  a.text(annotation::name, f.name);
  if (f.text.empty())
    a.number(annotation::uint_value, f.number);
  else
    a.text(annotation::string_value, f.text);
  return a;
}
inline constexpr unsigned kStateCleared = 1, kNeedsState = 2;
inline constexpr unsigned kExplicitOrder = 3, kNoMerging = 2;
inline constexpr unsigned kRealtime = 1, kRaw = 5, kBoottime = 6, kLaneClock = 64;
inline constexpr unsigned kGlobalSequence = 1;

// Arguments, by the iid their names have in every sequence. Others come from EventTexts and spans, with their names.
enum Argument : unsigned {
  host_id = 1,
  zone_hash,
  value,
  value_2,
  replay,
  flaw,
  semantics,
  cycles,
  text,
  duration_bound,
  kArguments
};
inline constexpr const char* kArgumentNames[] = {
    "",     "host id",   "zone hash", "value", "value 2",          "trace replay",
    "flaw", "meta data", "cycles",    "text",  "duration bound ns"};
static_assert(sizeof kArgumentNames / sizeof *kArgumentNames == kArguments);

// Ranks of tracks: of a chip its counters, programs and cores; of a core a RISC's lane, what overlaps there, its
// losses, then the next RISC; behind them what others addressed, and counters.
inline constexpr uint32_t kCounterRank = 0, kProgramRank = 1 << 8, kCoreRank = 1 << 9;
inline constexpr uint32_t kLaneRanks = 2 + RowPacker::kMostRows, kAddressedRank = 1 << 9,
                          kCoreCounterRank = 1 << 10;

}  // namespace ttc::tools::perfetto
