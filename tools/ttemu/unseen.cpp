#include "ttemu/unseen.hpp"

namespace ttc::emulation {
namespace {

// A look may take two copies, and one that began before the words landed may be counted after it.
constexpr uint64_t kReadsOfALook = 4;

}  // namespace

bool Unseen::looked_since(card::Coord at, const Core& core) const {
  return card_.control_reads(at) >= core.looks + kReadsOfALook;
}

void Unseen::landed(card::Coord at, uint8_t flat_id, uint32_t strikes,
                    const std::vector<TruthRecord>& markers) {
  Core& core = cores_[flat_id];
  if (!wanted()) return;
  if (strikes != core.strikes) {
    for (const TruthRecord& marker : markers) log_->add(marker);
    return;
  }
  if (core.markers.empty()) core.looks = card_.control_reads(at);
  core.looked = core.looked || looked_since(at, core);
  if (!core.looked) core.markers.insert(core.markers.end(), markers.begin(), markers.end());
}

void Unseen::strike(card::Coord at, uint8_t flat_id) {
  Core& core = cores_[flat_id];
  if (wanted() && !core.looked && !looked_since(at, core))
    for (const TruthRecord& marker : core.markers) log_->add(marker);
  ++core.strikes;
  core.looked = false;
  core.markers.clear();
}

}  // namespace ttc::emulation
