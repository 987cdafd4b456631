// Markers of zones without a partner, found lane by lane. What is found on a lane depends on its own batches alone, so that any thread can look
// at some of the lanes.
//
// Partners are found by id and not by nesting, because a card's log, and device logs up to 2025, have both
// ends of a zone before what is nested in it. What shows a gap:
//   an end without a start, once the lane has begun a firmware zone (or, on a lane without any, a zone)
//   a start that is open when the next firmware zone begins, or that is older than the last firmware end
//   a firmware or kernel zone that ends under another program than it began
// A launch of which no row is left shows nothing.
#pragma once
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "tools/report/zones/lane_events.hpp"

namespace ttc::report {

// A marker whose partner is absent; the partner's time would lie between the two times.
struct Unpaired {
  uint32_t chip = 0;
  Lane lane;
  bool start = false;  // it is a start; else an end
  uint32_t zone = 0;
  uint64_t from = 0, to = 0;
};

class LanePairs {
 public:
  // `most`: ends without a start that are held of a lane which showed no firmware yet.
  explicit LanePairs(size_t most) : most_(most) {}

  // Appends what it finds.
  void events(const LaneEvents& batch, std::vector<Unpaired>& found);
  void end(std::vector<Unpaired>& found);  // after the last batch
  // Markers at either end of a lane's rows.
  uint64_t at_edges() const { return at_edges_; }

  // What markers of a lane come to that have all their partners among themselves.
  struct Closed {
    uint64_t firmware_end = 0, since = 0;
    uint16_t first_firmware = 0, last_firmware = 0;  // ids of its starts
    bool any = false, any_start = false, firmware = false, firmware_start = false;
    bool operator==(const Closed&) const = default;
  };
  class Alone;
  // In place of events(): false: it depends on what the lane has open, and nothing was taken.
  bool take(uint32_t chip, const Lane& lane, const Closed& closed);

 private:
  struct Open {
    uint16_t id;
    ZoneClass zone_class;
    uint32_t zone;
    uint64_t begin;
    Launch launch;
  };
  struct LaneState {
    uint32_t chip = 0;
    Lane lane;
    std::vector<Open> open;
    std::vector<Unpaired> suspects;  // ends without a start on a lane that showed no firmware yet
    uint64_t since = 0;              // a start that is missing is later: begin of the launch
    uint64_t firmware_end = 0;       // the last one
    bool firmware_start = false, firmware = false, any_start = false;
    // A device log gives both ERISCs of a core one name: two firmwares then share the lane, and only what has
    // no partner by its own id is reported.
    uint16_t firmware_id = 0;
    bool twins = false;
  };

  LaneState& state(uint32_t chip, const Lane& lane);
  void start(LaneState& s, const Launch& launch, const Event& e, std::vector<Unpaired>& found);
  void stop(LaneState& s, const Launch& launch, const Event& e, std::vector<Unpaired>& found);

  size_t most_;
  std::unordered_map<uint64_t, LaneState> lanes_;
  // Where lanes are, by the low bits of their keys, as far as they came: batches of a lane come by the million.
  struct Place {
    uint64_t key = 0;
    LaneState* lane = nullptr;
  };
  static constexpr size_t kPlaces = 4096;
  std::vector<Place> places_;
  uint64_t at_edges_ = 0;
};

// Pairs the markers of batches of one lane without those before them.
class LanePairs::Alone {
 public:
  void begin(const Lane& lane);
  void events(const LaneEvents& batch);
  // False: a marker's partner is not among them.
  bool end(Closed& closed);

 private:
  LanePairs pairs_{0};
  LaneState lane_;
  Closed closed_;
  std::vector<Unpaired> found_;
};

}  // namespace ttc::report
