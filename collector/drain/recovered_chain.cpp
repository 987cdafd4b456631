// Frames that a host reset left behind in a log: one follows the other in place and time, and no word of the new epoch has overwritten
// them yet.
#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <utility>

#include "collector/core/epoch_entry.hpp"
#include "collector/core/firmware_mode.hpp"
#include "collector/drain/lane_recovery.hpp"

namespace ttc::collect {
namespace {

using card::Access;

}  // namespace

// Logs are overwritten from the front. What stood at `at` and in front of it when the words behind were read,
// and still does, proves them: no later epoch has come that far. `words`: those that are compared.
card::Expected<bool> LaneRecovery::still_stands(uint32_t risc, uint32_t at, std::span<const uint32_t> front,
                                                std::span<const uint32_t> words) const {
  const auto before = static_cast<uint32_t>(front.size()) & ~1u;
  const auto behind = static_cast<uint32_t>(words.size());
  boost::container::small_vector<uint64_t, Canary::kWords> raw((before + behind) / 2);
  if (const Access a = reader.log(core.tile, risc, at - before, {raw.data(), raw.size()}); a != Access::ok)
    return card::failed(a);
  const auto* now = reinterpret_cast<const uint32_t*>(raw.data());
  if (CoreReader::silent({now, before + behind})) return card::failed(reader.doubt_bank(core.tile));
  const auto expected = front.last(before);
  return std::equal(expected.begin(), expected.end(), now) &&
         std::equal(now + before, now + before + behind, words.begin());
}

// Whether `words` begin with words that no frame was written over, or with an earlier frame.
bool LaneRecovery::is_older(const LaneState& lane, std::span<const uint32_t> words) {
  if (words.size() < device::kFirstCustomWord) return false;
  const auto head = words.first(device::kFirstCustomWord);
  if (std::all_of(head.begin(), head.end(), [](uint32_t w) { return w == 0; })) return true;
  return markers::frame_starts(words, 0, lane.lane) &&
         !markers::detail::head_is_fresh(words, 0, lane.lane, lane.digest);
}

// If no frame with a time follows at word `pos`: passes one of a launch that the RISC sat out. True: another frame may follow
// behind it, since an index is the end of a frame.
bool LaneRecovery::passes_sat_out(const LaneState& lane, std::span<const uint32_t> seen, uint32_t announced,
                                  uint32_t& pos, Chain& chain) {
  const auto known = pos < announced ? seen.first(announced) : seen;
  const auto end = static_cast<uint32_t>(markers::sat_out_frame_end(known, pos, lane.lane));
  if (end != 0) {
    chain.sat_out_until = chain.at + end;
    chain.sat_out_launch = seen[pos + device::kIdHost];
    pos = end;
    if (end == announced) return true;
  }
  chain.older_behind = is_older(lane, seen.subspan(pos));
  return false;
}

// `taken`: the first frame that is taken, with markers up to `until`. `at_front` of the log.
void LaneRecovery::begin_chain(uint32_t risc, std::span<const uint32_t> taken, uint64_t until, bool at_front,
                               Chain& chain) {
  const LaneState& lane = core.lanes[risc];
  chain.begins = EpochEntry(*this).gap_end(lane, taken, lane.digest.last_time);
  chain.l1_restarted = !InMode(*this)->frame_joins(risc, taken, until);
  // No frame of this epoch was taken before: what is at the front may be of one that followed it.
  chain.out_of_sight = at_front && EpochEntry(*this).out_of_sight_before(
                                       EpochEntry(*this).earlier_until(taken, *chain.begins));
}

// The frames that `seen`, read at `chain.at`, begins with: their words, up to the last with a time of its
// own. Only that proves what precedes it.
uint32_t LaneRecovery::walk_chain(uint32_t risc, std::span<const uint32_t> seen, Chain& chain) {
  LaneState& lane = core.lanes[risc];
  markers::FrameDigest walked = lane.digest;
  const markers::Ceiling latest = ceiling();
  const auto words = static_cast<uint32_t>(seen.size());
  // An index is the end of a frame. What none has shown ends where it can no longer be of the same one.
  const uint32_t announced = std::min(chain.announced - std::min(chain.at, chain.announced), words);
  uint32_t length = 0, last_begins = 0, passed = 0;
  bool last_is_roomy = true;  // there was room for the whole frame, whatever its length
  for (uint32_t pos = 0;;) {
    const bool roomy = chain.at + pos + device::kBufferWords + 4 <= dev.log_words();
    if (!chain.full_since && !roomy) chain.full_since = walked.last_time;
    const auto known = seen.first(pos < announced ? announced : words);
    const auto frame = static_cast<uint32_t>(markers::recovered_frame(known, pos, lane.lane, latest, walked));
    if (frame == 0 && passes_sat_out(lane, seen, announced, pos, chain)) {
      ++passed;
      continue;
    }
    if (frame == 0) break;
    if (!surely_old(risc, chain.at + pos + frame, walked)) {
      chain.incomplete = true;
      break;
    }
    const bool may_go_on_behind =
        pos + frame + device::kBufferWords > words && chain.at + words < dev.log_words();
    if (may_go_on_behind && pos != 0) {  // the next piece starts with it, or a larger one holds it
      chain.piece_too_short = length == 0;
      break;
    }
    if (chain.begins_with && !chain.begins &&
        markers::first_custom_time(seen.subspan(pos, frame)) != *chain.begins_with) {
      chain.incomplete = true;
      break;
    }
    const bool sat_out = lane.lane.sat_out(seen.data() + pos);
    pos += frame;
    ++passed;
    if (sat_out) {
      chain.sat_out_until = chain.at + pos;
      chain.sat_out_launch = seen[pos - frame + device::kIdHost];
      continue;
    }
    dev.counters.frames += std::exchange(passed, 0);
    if (risc == 0) ++core.runs.total, ++core.recycling.referee.came;
    const auto taken = seen.subspan(pos - frame, frame);
    if (!chain.begins)
      begin_chain(risc, taken, walked.last_time, chain.at + pos == frame, chain);
    else
      lane.l1.pushed_until(walked.last_time);
    last_begins = pos - frame;
    last_is_roomy = roomy;
    length = pos;
    lane.digest = walked;
  }
  // If the log had no room for a frame, the guaranteed words of it are taken; sums behind them may be older.
  if (!last_is_roomy && length > announced)
    length = last_begins +
             static_cast<uint32_t>(markers::without_sums(seen.subspan(last_begins, length - last_begins)));
  return length;
}

void LaneRecovery::publish_frames(uint32_t risc, uint64_t* slot, uint32_t at, uint32_t words,
                                  const markers::FrameDigest& before, uint64_t read_time_ns) {
  announce_names();
  const Publisher::Span span{static_cast<uint8_t>(risc), core.lanes[risc].lap.base + at, words,
                             Publisher::kHeadBytes, before};
  publisher.publish_words(slot, Publisher::kHeadBytes + 4ull * words,
                          chunk_core(core.runs.counter, read_time_ns, shm::kRecovered), {&span, 1});
  dev.counters.recovered_words += words;
}

// Publishes frames from word `chain.at` on as long as one follows the other in place and time, and the new
// epoch has not reached them.
Access LaneRecovery::publish_chain(uint32_t risc, Chain& chain) {
  LaneState& lane = core.lanes[risc];
  uint32_t& at = chain.at;
  uint32_t piece = kPieceWords;
  const auto most = static_cast<uint32_t>((publisher.max_chunk_bytes() - Publisher::kHeadBytes) / 4);
  std::array<uint32_t, Canary::kWords> front{};
  uint32_t front_words = chain.has_canary ? lane.canary.words() : 0;
  const auto canary = lane.canary.last(front_words);
  std::copy(canary.begin(), canary.end(), front.begin());
  while (at + device::kFirstCustomWord <= dev.log_words()) {
    const uint32_t words = std::min({piece, most, dev.log_words() - at}) & ~1u;
    const uint64_t bytes = Publisher::kHeadBytes + 4ull * words;
    uint64_t* slot = publisher.claim(bytes);
    if (const Access a = reader.log(core.tile, risc, at, {slot + Publisher::kHeadBytes / 8, words / 2});
        a != Access::ok)
      return a;
    const auto now = sample();
    if (!now) return now.error();
    const std::span<const uint32_t> seen(reinterpret_cast<const uint32_t*>(slot) + Publisher::kHeadBytes / 4,
                                         words);
    BehindReset evidence{.index_not_there = now->host_end[risc] <= at};
    if (evidence.index_not_there) {
      // The canary shows that no push of a new epoch came there. Without it one may have, and have been landing when it was read, if
      // that epoch has ended since: it has landed by now.
      const auto compared = chain.has_canary ? seen.first(std::min<size_t>(words, Canary::kWords)) : seen;
      const auto stands = still_stands(risc, at, {front.data(), front_words}, compared);
      if (!stands) return stands.error();
      evidence.words_stand = *stands;
    }
    if (!words_are_old(evidence)) {
      chain.incomplete = true;
      return Access::ok;
    }
    const markers::FrameDigest before = lane.digest;
    chain.piece_too_short = false;
    const uint32_t length = walk_chain(risc, seen, chain);
    if (chain.piece_too_short && piece < most) {  // frames of launches that the RISC sat out fill it
      piece *= 2;
      continue;
    }
    chain.incomplete = chain.incomplete || chain.piece_too_short;
    if (length == 0) return Access::ok;
    evidence.at_cursor = !std::exchange(chain.behind_gap, false);
    evidence.in_sight = !std::exchange(chain.out_of_sight, false);
    evidence.l1_continues = !std::exchange(chain.l1_restarted, false);
    core.account.deliver(risc, prove_behind_reset(evidence), *chain.begins, lane.digest.last_time);
    publish_frames(risc, slot, at, length, before, now->read_time_ns);
    // The word that showed which runs were dropped was cleared by the reset.
    core.account.room(risc, prove_room({.fits_any = !chain.full_since}), chain.full_since.value_or(0), 0);
    front_words = std::min(length, Canary::kWords);
    std::copy_n(seen.begin() + (length - front_words), front_words, front.begin());
    at += length;
    lane.recovery.chain_end = at;
  }
  return Access::ok;
}

}  // namespace ttc::collect
