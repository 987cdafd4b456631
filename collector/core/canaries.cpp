#include "collector/core/canaries.hpp"

namespace ttc::collect {
namespace {

using card::Access;

}  // namespace

// Cores are reset whole: one lane's canary shows it for all, and without any, the result is unknown. But a
// reset in the middle of a push can leave a lane's index as it was: where that may have happened, `all` are
// read.
card::Expected<bool> Canaries::stand(bool all) {
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r) {
    if (core.lanes[r].canary.words() == 0) continue;
    const auto intact = stands_at_cursor(r);
    if (!intact || !*intact || !all) return intact;
  }
  core.polls.check_all = false;
  return true;
}

// Are the words just before the cursor still the ones that were delivered?
card::Expected<bool> Canaries::stands_at_cursor(uint32_t risc) const {
  const LaneState& lane = core.lanes[risc];
  if (lane.canary.none()) return true;
  const uint32_t words = lane.canary.words();
  std::array<uint64_t, Canary::kWords / 2> raw;
  if (const Access a = reader.log(core.tile, risc, lane.cursor - words, {raw.data(), words / 2});
      a != Access::ok)
    return card::failed(a);
  const auto* now = reinterpret_cast<const uint32_t*>(raw.data());
  if (CoreReader::silent({now, words})) return card::failed(reader.doubt_bank(core.tile));
  return lane.canary.stands({now, words});
}

}  // namespace ttc::collect
