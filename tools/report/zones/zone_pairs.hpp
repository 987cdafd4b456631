// Checks that every start of a zone has its end. A partner may be absent at either end of a lane's rows, where
// the recording began or ended, and within a reported loss of the lane. Anywhere else rows are gone.
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
#include <string>
#include <unordered_map>
#include <vector>

#include "tools/report/zones/lane_events.hpp"

namespace ttc::report {

// Markers of the lane with from < time < to may be missing; a reported loss.
struct LostInterval {
  uint32_t chip = 0;
  Lane lane;
  uint64_t from = 0, to = ~0ull;
};

// A marker whose partner is absent; the partner's time would lie between the two times.
struct Unpaired {
  uint32_t chip = 0;
  Lane lane;
  bool start = false;  // it is a start; else an end
  uint32_t zone = 0;
  uint64_t from = 0, to = 0;
};

class ZonePairs : public Listener {
 public:
  // `most` unpaired markers are held until their losses are known; what is beyond is counted as damage.
  explicit ZonePairs(size_t most = 1 << 16) : most_(most) {}

  void events(const LaneEvents& batch) override;
  // A loss that is known by now. All of them must have come before damage() is called.
  void lost(const LostInterval& interval);
  void end();  // after the last batch

  uint64_t at_edges() const { return at_edges_; }  // at either end of a lane's rows
  uint64_t beside_losses() const { return beside_losses_; }
  uint64_t damage() const { return inside_.size() + beyond_; }
  const Unpaired* first() const { return inside_.empty() ? nullptr : inside_.data(); }

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
  void start(LaneState& s, const Launch& launch, const Event& e);
  void stop(LaneState& s, const Launch& launch, const Event& e);
  void inside(const Unpaired& unpaired);
  void join_losses();
  void explain();

  size_t most_;
  std::unordered_map<uint64_t, LaneState> lanes_;
  uint64_t last_key_ = 0;  // most batches are of the lane of the one before
  LaneState* last_ = nullptr;
  std::unordered_map<uint64_t, std::vector<std::pair<uint64_t, uint64_t>>> losses_;  // by lane: from, to
  std::vector<Unpaired> inside_;
  uint64_t at_edges_ = 0, beside_losses_ = 0, beyond_ = 0;
};

}  // namespace ttc::report
