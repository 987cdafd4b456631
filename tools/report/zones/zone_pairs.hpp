// Checks that every start of a zone has its end. A partner may be absent at either end of a lane's rows, where
// the recording began or ended, and within a reported loss of the lane. Anywhere else rows are gone.
#pragma once
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "tools/report/zones/lane_pairs.hpp"

namespace ttc::report {

// Markers of the lane with from < time < to may be missing; a reported loss.
struct LostInterval {
  uint32_t chip = 0;
  Lane lane;
  uint64_t from = 0, to = ~0ull;
};

class ZonePairs : public Listener {
 public:
  static constexpr size_t kMost = 1 << 16;
  // `most` unpaired markers are held until their losses are known; what is beyond is counted as damage.
  explicit ZonePairs(size_t most = kMost) : most_(most), lanes_(most) {}

  void events(const LaneEvents& batch) override;
  // As LanePairs has it.
  bool take(uint32_t chip, const Lane& lane, const LanePairs::Closed& closed) {
    return lanes_.take(chip, lane, closed);
  }
  // A loss that is known by now. All of them must have come before damage() is called.
  void lost(const LostInterval& interval);
  void end();  // after the last batch

  uint64_t at_edges() const { return lanes_.at_edges(); }  // at either end of a lane's rows
  uint64_t beside_losses() const { return beside_losses_; }
  uint64_t damage() const { return inside_.size() + beyond_; }
  const Unpaired* first() const { return inside_.empty() ? nullptr : inside_.data(); }

 private:
  void found(const Unpaired& unpaired);
  void join_losses();
  void explain();

  const size_t most_;
  LanePairs lanes_;
  std::vector<Unpaired> found_;
  std::unordered_map<uint64_t, std::vector<std::pair<uint64_t, uint64_t>>> losses_;  // by lane: from, to
  std::vector<Unpaired> inside_;
  size_t explained_ = 0;  // of them, by the losses so far: none of those explains them
  uint64_t beside_losses_ = 0, beyond_ = 0;
};

}  // namespace ttc::report
