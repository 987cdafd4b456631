#include "collector/drain/lane_recovery.hpp"

#include <algorithm>
#include <utility>

#include "collector/core/canaries.hpp"
#include "collector/core/epoch_entry.hpp"
#include "collector/core/firmware_mode.hpp"
#include "collector/core/quiet_check.hpp"

namespace ttc::collect {
namespace {

using card::Access;

}  // namespace

// Takes what the lane's log still holds behind the cursor, or, where the new epoch has come further, behind that.
Access LaneRecovery::recover(uint32_t risc, const ControlSample& snap, Recovered& recovered) {
  AcrossReset& evidence = recovered.evidence;
  LaneState& lane = core.lanes[risc];
  const uint32_t new_end = snap.host_end[risc];
  const uint32_t seen = core.seen.host_end[risc];
  const bool accumulates = kind().accumulates;
  evidence.nothing_announced =
      seen <= lane.cursor && new_end <= lane.cursor && !lane.digest.known && !accumulates;
  // If there is no time to compare, older bytes cannot be distinguished from lost ones. Accumulating firmware stores
  // nothing in the middle of a frame, so what is later than the begin of collecting is its.
  const bool timeless = !lane.digest.known && !InMode(*this)->stored_in_l1(risc);
  if (timeless && accumulates) evidence.nothing_announced = seen == 0 && new_end == 0;
  if (!dev.region_size.known() || evidence.nothing_announced || timeless) return Access::ok;
  const bool had_digest = std::exchange(lane.digest.known, 1) != 0;
  if (!had_digest) lane.digest.last_time = dev.attachment.begun_cycles;
  Chain chain;
  if (!had_digest) {  // only a frame that L1 shows as well is surely not of before
    const auto buffer = reader.first_marker(core.tile, risc);
    if (!buffer) return buffer.error();
    chain.begins_with = lane.l1.canary != 0 ? lane.l1.canary : markers::first_custom_time(*buffer);
  }
  chain.at = std::max(lane.cursor, lane.recovery.chain_end);
  bool passed_newer = false;
  const bool not_reached = new_end <= chain.at;
  const auto intact =
      not_reached && lane.recovery.chain_end == 0 ? Canaries(*this).stands_at_cursor(risc) : not_reached;
  if (!intact) return intact.error();
  const bool stands = *intact;
  if (stands) {
    chain.has_canary = lane.recovery.chain_end == 0 && !lane.canary.none();
    if (chain.has_canary) chain.announced = seen;
  } else {
    const auto survivor = find_survivor(risc, new_end);
    if (!survivor) return survivor.error();
    passed_newer = survivor->passed_newer;
    if (!survivor->at) {
      if (!had_digest) lane.digest = {};
      return Access::ok;
    }
    chain.at = *survivor->at;
    chain.behind_gap = recovered.behind_gap = true;
  }
  if (const Access a = publish_chain(risc, chain); a != Access::ok) return a;
  if (!had_digest && !chain.begins) {
    lane.digest = {};
    evidence.nothing_announced = seen == 0 && new_end == 0 && !chain.incomplete;
  }
  evidence.cursor_stands =
      stands || (chain.begins && !passed_newer);  // no word was written behind surviving frames
  recovered.sat_out_launch = chain.sat_out_launch;
  evidence.older_behind = chain.older_behind;
  evidence.read_through = !chain.incomplete && (!stands || seen <= std::max(chain.at, chain.sat_out_until));
  return Access::ok;
}

bool LaneRecovery::never_showed_any(uint32_t risc, const ControlSample& snap) const {
  const LaneState& lane = core.lanes[risc];
  return lane.cursor == 0 && core.seen.host_end[risc] == 0 && snap.host_end[risc] == 0 && !lane.delivered &&
         !kind().accumulates;
}

// Used for such a lane. What came and was reset since the last poll is at the front of its log; what an earlier session left
// there is recognised by its time. A frame may also be the new epoch's first one: then it has overwritten what was there
// before.
card::Expected<bool> LaneRecovery::nothing_at_front(uint32_t risc) {
  if (!dev.region_size.known() || !kind().counts_launches) return true;
  const auto waits = QuietCheck(*this).frame_waits_at_front(risc, QuietCheck::FrontKinds::all);
  if (!waits) return waits;
  return !*waits;
}

// Finds, behind the new end of the log, the first frame that is later than what was delivered.
card::Expected<LaneRecovery::Survivor> LaneRecovery::find_survivor(uint32_t risc, uint32_t from) {
  const LaneState& lane = core.lanes[risc];
  Survivor survivor;
  const uint32_t words = std::min(kPieceWords, dev.log_words() - std::min(from, dev.log_words())) & ~1u;
  if (words < device::kFirstCustomWord) return survivor;
  std::vector<uint64_t> raw(words / 2);
  if (const Access a = reader.log(core.tile, risc, from, raw); a != Access::ok) return card::failed(a);
  const std::span<const uint32_t> seen(reinterpret_cast<const uint32_t*>(raw.data()), words);
  const markers::Ceiling latest = ceiling();
  for (uint32_t pos = 0; pos + device::kFirstCustomWord <= words; pos += 2) {
    markers::FrameDigest digest = lane.digest;
    const bool sat_out = lane.lane.sat_out(seen.data() + pos);  // its times are of an earlier run
    const size_t length = sat_out ? 0 : markers::recovered_frame(seen, pos, lane.lane, latest, digest);
    if (length == 0) continue;
    if (surely_old(risc, from + pos + static_cast<uint32_t>(length), digest)) {
      survivor.at = from + pos;
      return survivor;
    }
    survivor.passed_newer = true;
  }
  return survivor;
}

// The end of a launch moves the index before the data, so what is behind the index is not the new epoch's.
// Quick push does it the other way round: of lanes that use it, only what had been announced before the
// rewind is old.
bool LaneRecovery::surely_old(uint32_t risc, uint32_t end, const markers::FrameDigest& digest) const {
  if (!core.lanes[risc].pushes_early) return true;
  const uint64_t announced = cycles_at(core.rewind.after_ns);
  return end <= core.seen.host_end[risc] && markers::clock_difference(digest.last_time, announced) < 0;
}

}  // namespace ttc::collect
