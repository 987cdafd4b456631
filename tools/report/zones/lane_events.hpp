// The one form in which zones reach a report, whatever they were read from: the markers of one processor
// under one launch, as a batch. A batch may be a part of a launch.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "tools/device_log/device_log_reader.hpp"
#include "tools/report/zones/lane_piece.hpp"
#include "ttcollect/clock_map.hpp"

namespace ttc::report {

using tools::LogRisc;
inline constexpr size_t kRiscs = 7;  // LogRisc, aggregate last
inline constexpr const char* kRiscNames[kRiscs] = {"BRISC",   "NCRISC", "TRISC_0",        "TRISC_1",
                                                   "TRISC_2", "ERISC",  "TENSIX_RISC_AGG"};

// The place where a marker comes from, and what it belongs to. Absent trace ids are -1.
struct Launch {
  uint32_t chip = 0;
  uint32_t host_id = 0;
  int64_t trace_id = -1;
  int64_t trace_counter = -1;
  bool operator==(const Launch&) const = default;
  bool operator<(const Launch& o) const {
    return std::tie(chip, host_id, trace_id, trace_counter) <
           std::tie(o.chip, o.host_id, o.trace_id, o.trace_counter);
  }
};

struct Lane {
  uint8_t x = 0, y = 0;  // NOC0 physical
  LogRisc risc = LogRisc::brisc;
  uint8_t twin = 0;  // 1: the second processor of that name; Ethernet cores of Blackhole have two ERISCs
  bool operator==(const Lane&) const = default;
};

inline uint64_t lane_key(uint32_t chip, const Lane& lane) {
  return uint64_t{chip} << 32 | uint64_t{lane.x} << 24 | uint64_t{lane.y} << 16 | uint64_t{lane.twin} << 8 |
         static_cast<uint64_t>(lane.risc);
}
// A name for people: unlike in kRiscNames no two processors of a core have one name.
inline std::string processor_name(const Lane& lane) {
  return kRiscNames[static_cast<size_t>(lane.risc)] + std::string(lane.twin ? " 1" : "");
}

struct LaneEvents {
  Launch launch;
  Lane lane;
  std::span<const Event> events;
  uint64_t seen_ns = 0;                    // as FrameEvents has it
  std::span<const LanePiece> pieces = {};  // of all markers, in order; none under host id 0
  uint32_t left_out = 0;                   // markers that are not among `events`, as no listener wants them
  bool dispatches = false;                 // markers of dispatch zones are among them
};

// A zone's name with its source; index 0 is the nameless one.
struct Zone {
  std::string name, file;
  uint32_t line = 0;
  ZoneClass zone_class = ZoneClass::none;
};

struct Device {
  uint32_t chip = 0;
  std::string name;  // as the collector calls it; empty from a log
  std::string arch;
  uint32_t clock_mhz = 0;
  uint32_t worker_cores = 0;  // 0: not known
  std::string rank;           // of a job of several, <host>_rank_<N>
  uint32_t chip_of_rank = 0;
};

class Listener {
 public:
  virtual ~Listener() = default;
  virtual void device(const Device&) {}
  virtual void events(const LaneEvents& batch) = 0;
  // False: pieces and the markers of dispatch zones do.
  virtual bool wants_all_events() const { return true; }
  // A marker with meta data (compact JSON, commas as they are), beside its place in a batch.
  virtual void meta(const Launch&, const Lane&, const Event&, std::string_view) {}
  // The clock model of a chip, as far as it is known; only captures and live sources have one.
  virtual void clock(uint32_t, const collect::ClockMap&) {}
};

}  // namespace ttc::report
