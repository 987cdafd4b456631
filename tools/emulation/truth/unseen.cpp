#include "tools/emulation/truth/unseen.hpp"

#include <utility>

namespace ttc::emulation {

void Unseen::landed(card::Coord at, uint8_t flat_id, uint32_t strikes,
                    const std::vector<TruthRecord>& markers) {
  if (!wanted()) return;
  Core& core = cores_[flat_id];
  if (strikes != core.strikes) {
    for (const TruthRecord& marker : markers) log_->add(marker);
    return;
  }
  const uint64_t polls = card_.control_reads(at);
  while (!core.fresh.empty() && polls >= core.fresh.front().polls + kReadsOfAPoll) core.fresh.pop_front();
  core.fresh.push_back({polls, markers});
}

void Unseen::strike(card::Coord at, uint8_t flat_id) {
  Core& core = cores_[flat_id];
  const uint64_t polls = card_.control_reads(at);
  for (const Landed& landed : core.fresh)
    if (polls < landed.polls + kReadsOfAPoll)
      for (const TruthRecord& marker : landed.markers) log_->add(marker);
  ++core.strikes;
  core.fresh.clear();
}

void Unseen::epoch_ends(uint8_t flat_id) {
  for (uint32_t l = flat_id * device::kMaxRiscs; l < (flat_id + 1u) * device::kMaxRiscs; ++l) {
    Lane& lane = lanes_[l];
    lane.mixed = false;
    if (!lane.epoch.empty()) lane.before = std::exchange(lane.epoch, {});
  }
}

void Unseen::pushed(uint32_t lane, const std::vector<TruthRecord>& markers) {
  if (!wanted()) return;
  std::vector<TruthRecord>& epoch = lanes_[lane].epoch;
  epoch.insert(epoch.end(), markers.begin(), markers.end());
  if (lanes_[lane].mixed) lane_is_mixed(lane);
}

void Unseen::lane_is_mixed(uint32_t lane) {
  if (!wanted()) return;
  lanes_[lane].mixed = true;
  for (auto* epoch : {&lanes_[lane].before, &lanes_[lane].epoch})
    for (const TruthRecord& marker : std::exchange(*epoch, {})) log_->add(marker);
}

}  // namespace ttc::emulation
