// The meaning stage: what tt-metal's host makes of markers beyond their names (its profiler.cpp@28a871b,
// processDeviceMarkerData and readTsData16BMarkerData), so that our rows read like its own.
//
//   dispatch cores    TS_DATA inside a zone whose name has DISPATCH: the command, its subtype or the
//                     program's runtime id. It gets that as meta data and amends the zone: each one appends
//                     :ID:COMMAND (BRISC) or :COMMAND (NCRISC) to the name of START, which takes over the
//                     runtime id as its run host id; END copies the name of START.
//   perf counters     id 9090: type, reference cycles and value as meta data
//   NoC debugging     16-byte events of ids 12345 and 23456: addresses, counter, posted
//   trace-only        zones named *-FW and *-KERNEL are TRACE-FW and TRACE-KERNEL
//   collisions        a name is marked if two strings claim its id and the processor does not distinguish them
//
// A plain NoC event has neither name nor meta data there, and has none here. A frame that holds none of this,
// which is nearly every one, costs a table look-up per marker.
//
// tt-metal examines a whole run at once, we at a frame. A dispatch zone lies in one frame by construction of
// the firmware; where one is cut all the same, its START is already written under the plain name, and END
// copies that.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "firmware_markers/noc_event.hpp"
#include "firmware_markers/perf_counter.hpp"
#include "tools/pipeline/format.hpp"

namespace ttc::tools {

constexpr bool is_data(markers::MarkerType type) {
  return type == markers::MarkerType::ts_data || type == markers::MarkerType::ts_data_16b;
}
// False where the id is the event itself or a fixed one, not the hash of a name.
inline bool named_by_id(const markers::Marker& m) {
  if (m.type == markers::MarkerType::ts_event) return false;
  return !is_data(m.type) ||
         (m.id != markers::kPerfCounterId && m.id != markers::kNocTraceId && m.id != markers::kNocDebugId);
}
// The id stands for a name of the workload's. The zone of a quick push is the firmware's own.
inline bool is_of_a_name(const markers::Marker& marker) {
  return !(marker.flags & markers::kQuickPush) && named_by_id(marker);
}

// Whether the frames of a chunk mean the same without the chunks before it: as long as its core runs no dispatch kernels, or in any case.
enum class Apart : uint8_t { no, unless_dispatch, yes };

class HostSemanticsStage {
 public:
  HostSemanticsStage(const markers::ZoneNames& names, std::optional<markers::MetalDate> date);

  // True: of() finds nothing in a frame that has markers of these ids only. `wide`: one of them has 16 bytes of data.
  bool means_nothing(std::span<const uint16_t> ids, bool wide, device::Mode mode);
  // Of the frames that these markers are of, on firmware that is not trace-only.
  Apart apart(std::span<const markers::Marker> markers);
  // Whether of() finds the same in a frame without the frames before it: as long as its lane ran no dispatch kernel, or in any case.
  Apart apart(const FrameEvents& frame);
  // False: the frame's lane ran none so far.
  bool dispatches(const FrameEvents& frame) const;
  // Valid until the next call. The layout's `generation` implies the date if none was given.
  std::span<const HostSemantics> of(const FrameEvents& frame, unsigned generation);
  void names_changed();

  // Takes over the collisions that another stage with the same names found, for notices().
  void absorb(const HostSemanticsStage& other) {
    collisions_.insert(other.collisions_.begin(), other.collisions_.end());
  }

  // Once per run, for people: which ids stood for more than one name, and what was done about it.
  std::vector<std::string> notices() const;

 private:
  struct OpenZone {
    uint16_t id;
    std::string name;           // as START's row has it
    std::optional<size_t> row;  // of START in rows_; none: it was written in an earlier frame
    bool dispatch;
  };
  struct DispatchLane {
    std::string command, subtype;
    uint32_t runtime_id = 0;
    bool dispatches = false;
    std::optional<OpenZone> cut;  // a dispatch zone that was open when the last frame ended
  };

  uint16_t traits_in(std::span<const markers::Marker> all) const;
  uint16_t known_traits_in(std::span<const markers::Marker> all);
  void look_up(uint16_t id);
  HostSemantics& row(uint32_t marker);
  void walk(const FrameEvents& frame, markers::MetalDate date, bool of_dispatch);
  void zone(const FrameEvents& frame, uint32_t index, std::string_view processor, DispatchLane& lane);
  void close(uint16_t id, uint32_t index);
  void data(const FrameEvents& frame, uint32_t index, DispatchLane& lane, markers::MetalDate date);
  void amend(const FrameEvents& frame, const markers::Marker& marker, DispatchLane& lane,
             markers::MetalDate date, std::string& meta);
  void mark_collisions(const FrameEvents& frame);
  void mark_collision(const markers::Marker& marker, uint32_t index, std::string_view processor);
  const std::string& mark_of(uint16_t id, std::string_view processor);

  const markers::ZoneNames& names_;
  std::optional<markers::MetalDate> date_;
  std::vector<uint16_t> traits_;                                        // by id, looked up at first use
  std::vector<uint16_t> looked_up_;                                     // ids whose traits are known
  std::map<std::pair<uint16_t, std::string_view>, std::string> marks_;  // by id, processor
  std::vector<HostSemantics> rows_;
  size_t used_ = 0;  // of rows_, whose strings are kept for their memory
  std::vector<OpenZone> open_;
  std::unordered_map<uint64_t, DispatchLane> lanes_;
  std::set<uint16_t> collisions_;
};

}  // namespace ttc::tools
