// A chunk of device words on its way through the pipeline: decoded, filtered, in the order that the format requires, with host times. All
// of that follows from the chunk and from names and clocks that stay as they are meanwhile, so that any thread can do it, for several
// chunks at once. What depends on the chunks before it is the pipeline's, chunk after chunk.
//
//   any thread    view() and run(), chunk after chunk (decoded_batch.hpp)
//   pipeline      each_frame(). Where firmware keeps words in L1, what an earlier chunk of the lane had is left out first
//
// Without threads decode() stands for run(), and each_frame() makes a frame when it is its turn: what a frame holds stays in the first cache.
// Memory is used again from chunk to chunk.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "firmware_markers/decoder.hpp"
#include "shm/chunk.hpp"
#include "tools/pipeline/filter.hpp"
#include "tools/pipeline/format.hpp"
#include "tools/pipeline/host_semantics.hpp"
#include "tools/pipeline/host_times.hpp"

namespace ttc::tools {

class DecodedChunk {
 public:
  // All but `order` and `keep_duplicates` are referred to until the frames were taken.
  struct Rules {
    uint32_t chip = 0;  // in the output
    const Filter* filter = nullptr;
    const markers::ZoneNames* names = nullptr;  // of the chunk's workload
    const HostTimes* times = nullptr;           // null: host times were not requested
    Order order = Order::time;
    bool keep_duplicates = false;
  };
  // Nothing stale, nothing repeated, nothing that the filter excludes; never empty.
  struct Frame {
    markers::Frame decoded;
    std::span<const markers::Marker> markers;
    std::span<const MarkerHostTime> times;  // by marker; empty if they were not requested
    uint16_t main_zone = 0;                 // id in the first slot; 0: the frame has none
    std::optional<FrameZones> zones = {};   // none: they were not searched for
    uint32_t work_frame = 0;                // its number in the work, where there was some
    // Whether the format can take it without its markers, and as long as its lane runs no dispatch kernel or in any case.
    Apart alone = Apart::no;
  };
  // The ids of what run() picked, each once.
  struct Ids {
    std::vector<uint16_t> all, named;  // named: those that are the hash of a name
    bool wide = false;                 // any marker has 16 bytes of data
    void clear() { all.clear(), named.clear(), wide = false; }
  };

  // What some Ids have, by id.
  class Seen {
   public:
    static constexpr uint8_t kAny = 1, kNamed = 2;
    void begin(const Ids& of) {
      for (const uint16_t id : set_) by_id_[id] = 0;
      set_.clear();
      for (const uint16_t id : of.all) add(id, kAny);
      for (const uint16_t id : of.named) add(id, kNamed);
    }
    uint8_t operator[](uint16_t id) const { return by_id_[id]; }
    void add(uint16_t id, uint8_t as) {
      by_id_[id] |= as;
      set_.push_back(id);
    }

   private:
    std::vector<uint8_t> by_id_ = std::vector<uint8_t>(0x10000);
    std::vector<uint16_t> set_;  // what is not 0: few, and cleared for every batch
  };

  // Refers to the words until the frames were taken.
  void view(std::span<const uint64_t> chunk, const Rules& rules);
  void decode();
  // What a format has made of frames: those of this chunk come behind the `frames` that it had before. `semantics`: of the names, on this
  // thread. Where `to` is null nothing is made.
  struct Work {
    FrameWork* to = nullptr;
    HostSemanticsStage* semantics = nullptr;
    uint32_t frames = 0;
  };
  // decode(), and picks all frames. Adds their ids to `ids`, which `seen` is about.
  void run(Ids& ids, Seen& seen, Work& work);

  // Behind run(). False: there was none, or what is picked is not known before each_frame().
  bool picked_all() const { return picked_all_; }
  // The format can take all that was picked without markers.
  bool all_alone() const { return picked_all_ && all_alone_; }

  // Behind decode() or run(), once. `Until`: the latest time of the lane of a RISC so far, 0: none came
  // (uint64_t&(uint8_t risc)). `Sink`: void(const Frame&), valid during the call.
  template <class Until, class Sink>
  void each_frame(Until until, Sink sink) {
    if (may_repeat()) {
      uint32_t from = 0;
      for (const LaneEnd& lane : lanes_) {
        skip_repeats(batch_.markers().subspan(from, lane.markers_end - from), until(lane.risc));
        from = lane.markers_end;
      }
    }
    if (picked_all_) return each_picked(sink);
    for (const markers::Frame& decoded : batch_.frames()) {
      ordered_.clear();
      if (!pick(decoded)) continue;
      date();
      sink(frame_of(decoded, 0, static_cast<uint32_t>(ordered_.size()), main_zone_of(decoded)));
    }
  }

  // Behind run() that picked all.
  template <class Sink>
  void each_picked(Sink sink) const {
    uint32_t from = 0;
    for (const Picked& one : picked_) {
      Frame frame = frame_of(batch_.frames()[one.frame], from, one.markers_end, one.main_zone);
      frame.zones = one.zones;
      frame.work_frame = one.work_frame;
      frame.alone = one.alone;
      sink(frame);
      from = one.markers_end;
    }
  }

  const shm::ChunkHeader& header() const { return shm::header_of(chunk_); }
  const markers::Batch& batch() const { return batch_; }
  // CLOCK_MONOTONIC_RAW: the words had been read by then; 0: not known.
  static uint64_t seen_ns(const shm::ChunkHeader& header) {
    return header.read_time_ns != 0 ? header.read_time_ns + kWordsReadWithinNs : 0;
  }
  // Trace-only firmware writes the count of replays in place of the host id, and no trace counter.
  static uint16_t trace_counter_of(device::Mode mode, uint16_t word) {
    return mode == device::Mode::trace_only ? uint16_t{0} : word;
  }
  bool has_words() const { return has_words_; }  // of a lane, whether or not the filter wants it
  const markers::Anomalies& anomalies() const { return anomalies_; }
  const std::string& complaint() const { return complaint_; }  // empty: all of it could be decoded
  // Behind each_frame(): markers whose host time was requested, and has no bound.
  size_t without_bound() const { return without_bound_; }

 private:
  struct LaneEnd {
    uint8_t risc;
    uint32_t markers_end;  // in the batch
  };
  struct Picked {
    uint32_t frame = 0;  // of the batch
    uint32_t markers_end = 0;
    uint16_t main_zone = 0;
    std::optional<FrameZones> zones = {};  // of those that the format gets with their markers
    uint32_t work_frame = 0;
    Apart alone = Apart::no;
  };

  void give_to(Work& work);
  void decode_span(const shm::SpanEntry& span, const markers::Layout& layout);
  // If the firmware keeps words in L1, a lane's L1 chunk may hold words that a later push repeats.
  bool may_repeat() const { return header().firmware_mode != 0; }
  static void skip_repeats(std::span<markers::Marker> lane, uint64_t& until);
  bool pick(const markers::Frame& frame);
  static void note_ids(std::span<const markers::Marker> markers, Ids& ids, Seen& seen);
  void sort_by_time(size_t from);
  void date();
  Frame frame_of(const markers::Frame& decoded, uint32_t from, uint32_t to, uint16_t main_zone) const;
  uint16_t main_zone_of(const markers::Frame& decoded) const;

  Rules rules_;
  std::span<const uint64_t> chunk_;
  markers::Batch batch_;
  std::vector<LaneEnd> lanes_;
  std::vector<Picked> picked_;
  std::vector<markers::Marker> ordered_;  // of the picked frames, one behind the other
  std::vector<uint64_t> marker_times_;
  HostTimes::Converted times_;
  markers::Anomalies anomalies_;
  std::string complaint_;
  size_t without_bound_ = 0;
  bool has_words_ = false, picked_all_ = false, all_alone_ = false;
};

}  // namespace ttc::tools
