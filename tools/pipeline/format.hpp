// The end of the pipeline: one output format is one implementation of Format and one row of the table in
// formats.cpp. Events arrive frame by frame, decoded, named, filtered and in the order that the format requires.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "firmware_markers/decoder.hpp"
#include "firmware_markers/metal_date.hpp"
#include "firmware_markers/zone_names.hpp"
#include "shm/chunk.hpp"
#include "tools/output/output.hpp"
#include "tools/pipeline/frame_zones.hpp"
#include "tools/pipeline/host_times.hpp"

namespace ttc::tools {

// "chip 3", or "node1_rank_1 chip 0" of a job of several ranks.
inline std::string chip_title(uint32_t chip, const std::string& rank, uint32_t chip_of_rank) {
  return rank.empty() ? "chip " + std::to_string(chip) : rank + " chip " + std::to_string(chip_of_rank);
}

struct Session {
  uint64_t id = 0;
  std::string device;
  uint32_t chip = 0;  // in this output
  std::string rank;   // of a job, <host>_rank_<N>; empty: the source is not of several ranks
  uint32_t chip_of_rank = 0;
  std::string arch;
  std::string board;
  uint32_t aiclk_mhz = 0;
  uint32_t max_compute_cores = 0;
  std::string layout;
  // The environment of the run, by name; empty if the source does not record it.
  std::vector<std::pair<std::string, std::string>> environment;
  bool clock_model = true;  // false: its collector made none
  bool logged = false;      // from the workload's own device log, not from a collector
  std::vector<std::pair<uint8_t, uint8_t>> compute_cores;  // NOC0 physical, all that are collected from
  std::string title() const { return chip_title(chip, rank, chip_of_rank); }
};

// The meaning of a marker beyond its id, as in tt-metal's own log. Most markers have none.
struct HostSemantics {
  uint32_t marker = 0;              // index into FrameEvents::markers
  std::optional<uint32_t> host_id;  // instead of the frame's
  std::string name;                 // instead of the zone's; empty: the zone's
  std::string meta;                 // compact JSON object with sorted keys, or empty
  // The zone of a device log's row whose id is not the hash of its name; it replaces the names' table.
  const markers::ZoneSource* source = nullptr;
};

class FrameWork;

struct FrameEvents {
  uint32_t chip;
  uint8_t core_x, core_y;  // NOC0 physical
  markers::CoreKind core_kind;
  device::Mode mode;
  uint8_t risc;
  uint32_t host_id;  // as the card had it
  uint16_t
      trace_counter;  // replays of any trace so far; 0: the launch is no replay, or the card does not report it
  std::span<const markers::Marker> markers;       // nothing stale, nothing repeated
  const markers::Batch& batch;                    // of what came from words; payload() reads it
  const markers::ZoneNames& names;                // of the session; stays where it is as long as the pipeline
  std::span<const HostSemantics> semantics = {};  // by marker
  std::span<const MarkerHostTime> host_times = {};  // by marker; empty unless they were requested
  int64_t host_clock_minus_raw_ns = 0;              // of the host clock that was requested
  uint32_t epoch = 0;                               // host resets of the core detected so far
  uint16_t main_zone = 0;                           // id in the frame's first slot: the FW zone's, mostly
  std::optional<uint32_t> trace_id = {};            // of a device log; a card does not record it
  std::span<const uint64_t> payloads = {};          // of markers, where they are not read from `batch`
  uint64_t seen_ns = 0;   // CLOCK_MONOTONIC_RAW: the words had been read by then; 0: not known
  bool from_log = false;  // rows of a device log, which has one word of 16-byte data
  std::optional<markers::MetalDate> metal_date = {};  // of the workload, as given or usual for its layout
  // Of the tile, where host times were requested; as old as the pipeline. Null: none, or it is not known how far the tile's counter is
  // from the one that it describes.
  const collect::ClockMap* tile_clock = nullptr;
  // Found by the thread that decoded the frame. None: zones() searches for them.
  std::optional<FrameZones> found_zones = {};
  // Likewise: what that thread made of the frame for the format, `work_frame` being the frame's number there. Null: nothing.
  FrameWork* work = nullptr;
  uint32_t work_frame = 0;
  FrameZones zones() const { return found_zones ? *found_zones : FrameZones::of(markers, main_zone); }

  // The first or, of 16-byte data, the second word.
  uint64_t payload(const markers::Marker& m, uint32_t word = 0) const {
    return payloads.empty() ? batch.payload(m.payload + word) : payloads[m.payload + word];
  }
};

// The order of the markers of one frame.
enum class Order : uint8_t {
  time,
  log,  // as the words lie in the log: FW start and end, KERNEL start and end, then the rest
};

struct FormatOptions {
  unsigned columns = 15;                         // device-csv
  std::optional<markers::MetalDate> metal_date;  // of the workload's tt-metal; none: as the layout suggests
  std::optional<Order> order;                    // device-csv; none: the order its era had
  bool host_times = false;                       // device-csv: four columns more
  int64_t window_begin_ns = 0;                   // svg: after the earliest marker; negative: before it
  uint64_t window_length_ns = 100'000;
  uint64_t earliest_ns = 0;  // svg: of the source
  bool arguments = true;     // perfetto, chrome: host id, zone hash and replay of zones
};

// What a format makes of a frame alone, without the frames before it. Of frames of consecutive chunks, on one thread after another. The format
// outlives it.
class FrameWork {
 public:
  virtual ~FrameWork() = default;
  // Nothing of earlier frames is needed any more, and clock models may have changed. `thread`: Workers::Job::done_by().
  virtual void begin(unsigned thread) = 0;
  // The next one: its chip, core and launch, its markers with their times and their clock, its main zone, and when it was seen are those that the
  // format will get. Its semantics are there where they follow from the frame alone. True: the format can take it without its markers
  // (Format::frame_alone()).
  virtual bool frame(const FrameEvents& frame) = 0;
  // What is made of frames takes far less memory than their words: more of them may be under way.
  virtual bool is_small() const { return false; }
};

class Format {
 public:
  virtual ~Format() = default;
  // For each of several threads. Null: nothing can be made of a frame alone, or it is not worth it.
  virtual std::unique_ptr<FrameWork> frame_work() const { return nullptr; }
  virtual Order order() const { return Order::time; }
  virtual void begin(const Session& session) = 0;  // once for each device, before its first frame
  virtual void frame(const FrameEvents& frame) = 0;
  // The frame by what `frame.work` made of it: markers, host times, payloads and semantics are not there. False: that does not do, nothing was
  // taken, and frame() follows.
  virtual bool frame_alone(const FrameEvents&) { return false; }
  virtual void loss(const shm::LossRecord& record) = 0;
  virtual void names_changed() = 0;                                 // of any session
  virtual void clock(uint32_t, const collect::ClockMap&) {}         // a chip's clock model has grown
  virtual void telemetry(uint32_t, const shm::TelemetryRecord&) {}  // a chip's telemetry
  virtual void host(std::span<const uint64_t>) {}  // a chunk of the workload's host side, which is of no chip
  // True if the output of a lane's frames depends on no other lane's frames, and of the other calls only begin() writes.
  virtual bool lanes_are_apart() const { return false; }
  virtual void end() = 0;
  // The text of a file beside the output, where the output's own readers have no place for losses. Empty: there is a
  // place.
  virtual std::string losses_beside(std::span<const shm::LossRecord>) const { return {}; }
  // Limits of the output compared with its source, as sentences.
  virtual std::vector<std::string> remarks() const { return {}; }
};

struct FormatEntry {
  const char* name;
  const char* what;  // for --help: what reads it, and limits
  std::unique_ptr<Format> (*make)(Output& out, const FormatOptions& options);  // null: it serves connections
  bool timeline = false;    // a viewer's: it always needs host times
  bool one_window = false;  // it needs the earliest time of its source
};
std::span<const FormatEntry> formats();

}  // namespace ttc::tools
