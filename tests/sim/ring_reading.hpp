// What a reader of the ring gets in a run: chunks, decoded markers, losses; and the checks that are common to all runs.
#pragma once
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "collector/publish/publisher.hpp"
#include "shm/reader.hpp"
#include "tests/sim/sim_marker.hpp"
#include "tools/pipeline/pipeline.hpp"

namespace ttc::sim {

class RingReading : tools::Format {
 public:
  // One segment serves every run: making one costs more than running one.
  struct Shared {
    Shared()
        : name{"sim-" + std::to_string(getpid()) + "-" + std::to_string(reinterpret_cast<uintptr_t>(this))},
          segment(name.text, "sim", 1,
                  {.ring_bytes = 1u << 20, .standing_bytes = 4096, .mode = 0600, .group = ""}),
          reader(name.text, shm::StartAt::newest) {}
    ~Shared() { segment.end(); }
    struct Name {  // goes after the writer, whose segment cannot be removed
      std::string text;
      ~Name() { shm::remove_segment(text); }
    } name;
    shm::SegmentWriter segment;
    shm::Reader reader;
    std::vector<uint64_t> chunk;
  };

 protected:
  explicit RingReading(Shared& shared) : shared_(shared) {}

  virtual void saw_chunk(const shm::ChunkHeader&) {}  // shared_.chunk, decoded
  virtual void saw_marker(const SimMarker&) {}
  // Lanes of several cores count on, one core's behind another's.
  virtual uint32_t first_lane_of(card::Coord) const { return 0; }
  void loss(const shm::LossRecord&) override {}

  // Up to an end chunk that is published for this, so that the reader does not wait.
  void read_ring(collect::Publisher& publisher) {
    publisher.publish_end("");
    publisher.end_sweep();  // announces it
    for (;;) {
      if (shared_.reader.next(shared_.chunk, 0) != shm::Reader::Next::chunk) {
        fault_ = "the ring could not be read: " + shared_.reader.damage();
        return;
      }
      const shm::ChunkHeader& h = shm::header_of(shared_.chunk);
      if (h.kind == shm::ChunkKind::end) break;
      pipeline_.push(shared_.chunk, *this);
      saw_chunk(h);
    }
    if (fault_.empty()) fault_ = pipeline_.complaint();
  }

  // Empty: what is delivered was pushed, bit for bit, and is delivered once. Sorts both.
  std::string delivered_once(std::vector<SimMarker>& truth) {
    std::sort(truth.begin(), truth.end());
    std::sort(delivered_.begin(), delivered_.end());
    const auto twice = std::adjacent_find(delivered_.begin(), delivered_.end());
    if (twice != delivered_.end()) return "delivered twice: " + text(*twice);
    for (const SimMarker& d : delivered_)
      if (!std::binary_search(truth.begin(), truth.end(), d)) return "invented: " + text(d);
    return {};
  }
  // Returns what of a sorted list was not delivered.
  std::vector<SimMarker> missing_of(const std::vector<SimMarker>& truth) const {
    std::vector<SimMarker> missing;
    std::set_difference(truth.begin(), truth.end(), delivered_.begin(), delivered_.end(),
                        std::back_inserter(missing));
    return missing;
  }
  // Empty: it is delivered once, or lies in an interval. Sorts as delivered_once() does.
  std::string unaccounted_for(std::vector<SimMarker>& truth) {
    if (std::string wrong = delivered_once(truth); !wrong.empty()) return wrong;
    for (const SimMarker& m : missing_of(truth))
      if (!inside_interval(m)) return "missing without an interval: " + text(m);
    return {};
  }
  bool covers(const shm::LossRecord& r, const SimMarker& m) const {
    return r.risc + first_lane_of({r.core_x, r.core_y}) == m.risc && r.from_cycles < m.time &&
           (r.to_cycles == shm::kOpenEnd || m.time < r.to_cycles);
  }
  bool inside_interval(const SimMarker& m) const {
    return std::any_of(losses_.begin(), losses_.end(), [&](const auto& r) { return covers(r, m); });
  }

  Shared& shared_;
  tools::Pipeline pipeline_{{}, false};
  std::vector<SimMarker> delivered_;
  std::vector<shm::LossRecord> losses_;
  std::string fault_;  // not empty: reading itself failed

 private:
  void begin(const tools::Session&) override {}
  void frame(const tools::FrameEvents& f) override {
    for (const markers::Marker& m : f.markers) {
      SimMarker d{m.time_cycles,
                  f.risc + first_lane_of({f.core_x, f.core_y}),
                  static_cast<uint32_t>(m.type),
                  m.id,
                  f.host_id,
                  {0, 0}};
      if (m.type == markers::MarkerType::ts_data) d.data[0] = f.batch.payload(m.payload);
      delivered_.push_back(d);
      saw_marker(d);
    }
  }
  void names_changed() override {}
  void end() override {}
};

}  // namespace ttc::sim
