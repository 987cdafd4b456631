#include "tools/emulation/unseen.hpp"

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

}  // namespace ttc::emulation
