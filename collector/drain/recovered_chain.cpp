// Frames that a host reset left behind in a log: one follows the other in place and time, and nothing of the new epoch stands on
// them yet.
#include <algorithm>
#include <utility>

#include "collector/drain/drain.hpp"

namespace ttc::collect {
namespace {

using card::Access;

constexpr uint32_t kPieceWords = 2 * device::kBufferWords + 16;  // holds any frame and the start of the next

}  // namespace

// The end of a launch moves the index before the data, so what lies behind the index is not the new epoch's.
// Quick push does it the other way round: of lanes that use it, only what had been announced before the
// rewind is old.
bool Drain::surely_old(const CoreState& core, uint32_t risc, uint32_t end,
                       const markers::FrameDigest& digest) {
  if (!core.lanes[risc].pushes_early) return true;
  const uint64_t announced = device_time_.at(core.rewound_after_ns);
  return end <= core.seen_end[risc] && markers::clock_difference(digest.last_time, announced) < 0;
}

// Behind the new end of the log: the first frame that is later than what was delivered. `passed_newer`: one in front of it may be
// of the new epoch.
Access Drain::find_survivor(const CoreState& core, uint32_t risc, uint32_t from, std::optional<uint32_t>& at,
                            bool& passed_newer) {
  const LaneState& lane = core.lanes[risc];
  const uint32_t words = std::min(kPieceWords, log_capacity() - std::min(from, log_capacity())) & ~1u;
  if (words < device::kFirstCustomWord) return Access::ok;
  scratch_.resize(words / 2);
  const LogRead read{core.core.bank, log_address(core, risc, from), scratch_};
  if (const Access a = logs_.read({&read, 1}); a != Access::ok) return a;
  const std::span<const uint32_t> seen(reinterpret_cast<const uint32_t*>(scratch_.data()), words);
  const markers::Ceiling latest = ceiling();
  for (uint32_t pos = 0; pos + device::kFirstCustomWord <= words; pos += 2) {
    markers::FrameDigest digest = lane.digest;
    const bool sat_out = lane.lane.sat_out(seen.data() + pos);  // its times are of an earlier run
    const size_t length = sat_out ? 0 : markers::recovered_frame(seen, pos, lane.lane, latest, digest);
    if (length == 0) continue;
    if (surely_old(core, risc, from + pos + static_cast<uint32_t>(length), digest)) {
      at = from + pos;
      return Access::ok;
    }
    passed_newer = true;
  }
  return Access::ok;
}

// Logs are overwritten from the front. What stood at `at` and in front of it when the words behind were read,
// and still does, proves them: no later epoch has come that far.
Access Drain::still_stands(const CoreState& core, uint32_t risc, uint32_t at, std::span<const uint32_t> front,
                           std::span<const uint32_t> words, bool& stands) {
  std::array<uint64_t, kWitnessWords> raw;
  const auto before = static_cast<uint32_t>(front.size()) & ~1u;
  const auto behind = static_cast<uint32_t>(std::min<size_t>(words.size(), kWitnessWords));
  const LogRead read{
      core.core.bank, log_address(core, risc, at - before), {raw.data(), (before + behind) / 2}};
  if (const Access a = logs_.read({&read, 1}); a != Access::ok) return a;
  const auto* now = reinterpret_cast<const uint32_t*>(raw.data());
  if (silent({now, before + behind})) return doubt_bank(core);
  const auto expected = front.last(before);
  stands = std::equal(expected.begin(), expected.end(), now) &&
           std::equal(now + before, now + before + behind, words.begin());
  return Access::ok;
}

// Do words that no frame was written over stand at the front of `words`, or a frame of before?
bool Drain::is_older(const LaneState& lane, std::span<const uint32_t> words) {
  if (words.size() < device::kFirstCustomWord) return false;
  const auto head = words.first(device::kFirstCustomWord);
  if (std::all_of(head.begin(), head.end(), [](uint32_t w) { return w == 0; })) return true;
  return markers::frame_starts(words, 0, lane.lane) &&
         !markers::detail::head_is_fresh(words, 0, lane.lane, lane.digest);
}

// Where no frame with a time follows at word `pos`: goes over one of a launch that the RISC sat out. True: another frame may follow
// behind it, since an index is the end of a frame.
bool Drain::passes_sat_out(const LaneState& lane, std::span<const uint32_t> seen, uint32_t announced,
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

// The frames that `seen`, read at `chain.at`, begins with: their words, up to the last with a time of its
// own. Only that proves what lies before it.
uint32_t Drain::walk_chain(CoreState& core, uint32_t risc, std::span<const uint32_t> seen, Chain& chain) {
  LaneState& lane = core.lanes[risc];
  markers::FrameDigest walked = lane.digest;
  const markers::Ceiling latest = ceiling();
  const auto words = static_cast<uint32_t>(seen.size());
  // An index is the end of a frame. What none has shown ends where it can no longer be of the same one.
  const uint32_t announced = std::min(chain.announced - std::min(chain.at, chain.announced), words);
  uint32_t length = 0, last_begins = 0, passed = 0;
  bool last_is_roomy = true;  // there was room for the whole frame, whatever its length
  for (uint32_t pos = 0;;) {
    const bool roomy = chain.at + pos + device::kBufferWords + 4 <= log_capacity();
    if (!chain.full_since && !roomy) chain.full_since = walked.last_time;
    const auto known = seen.first(pos < announced ? announced : words);
    const auto frame = static_cast<uint32_t>(markers::recovered_frame(known, pos, lane.lane, latest, walked));
    if (frame == 0 && passes_sat_out(lane, seen, announced, pos, chain)) {
      ++passed;
      continue;
    }
    if (frame == 0) break;
    if (!surely_old(core, risc, chain.at + pos + frame, walked)) {
      chain.incomplete = true;
      break;
    }
    const bool may_go_on_behind =
        pos + frame + device::kBufferWords > words && chain.at + words < log_capacity();
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
    frames_ += std::exchange(passed, 0);
    if (risc == 0) ++core.runs_total, ++core.recycling.referee.came;
    const auto taken = seen.subspan(pos - frame, frame);
    if (!chain.begins) {
      chain.begins = gap_end(lane, taken, lane.digest.last_time);
      // Nothing of this epoch was taken before: what is at the front may be of one that followed it.
      const bool joins = frame_joins_l1(core, risc, taken, walked.last_time);
      const bool at_front = chain.at + pos == frame;
      chain.behind_gap = chain.behind_gap || !joins ||
                         (at_front && out_of_sight_before(core, earlier_until(core, taken, *chain.begins)));
    }
    last_begins = pos - frame;
    last_is_roomy = roomy;
    length = pos;
    lane.digest = walked;
  }
  // Of a frame that the log had no room for it takes the guaranteed words; sums behind them may be older.
  if (!last_is_roomy && length > announced)
    length = last_begins +
             static_cast<uint32_t>(markers::without_sums(seen.subspan(last_begins, length - last_begins)));
  return length;
}

// Publishes frames from word `chain.at` on as long as one follows the other in place and time, and the new
// epoch has not reached them.
Access Drain::publish_chain(CoreState& core, uint32_t risc, Chain& chain) {
  LaneState& lane = core.lanes[risc];
  uint32_t& at = chain.at;
  uint32_t piece = kPieceWords;
  const auto most = static_cast<uint32_t>((publisher_.max_chunk_bytes() - Publisher::kHeadBytes) / 4);
  std::array<uint32_t, kWitnessWords> front = lane.witness;
  uint32_t front_words = chain.has_witness ? lane.witness_words : 0;
  while (at + device::kFirstCustomWord <= log_capacity()) {
    const uint32_t words = std::min({piece, most, log_capacity() - at}) & ~1u;
    const uint64_t bytes = Publisher::kHeadBytes + 4ull * words;
    uint64_t* slot = publisher_.claim(bytes);
    const LogRead read{
        core.core.bank, log_address(core, risc, at), {slot + Publisher::kHeadBytes / 8, words / 2}};
    if (const Access a = logs_.read({&read, 1}); a != Access::ok) return a;
    Snapshot now;
    if (const Access a = read_snapshot(core, now); a != Access::ok) return a;
    const std::span<const uint32_t> seen(reinterpret_cast<const uint32_t*>(slot) + Publisher::kHeadBytes / 4,
                                         words);
    BehindReset evidence{.index_not_there = now.host_end[risc] <= at};
    if (evidence.index_not_there)
      if (const Access a =
              still_stands(core, risc, at, {front.data(), front_words}, seen, evidence.words_stand);
          a != Access::ok)
        return a;
    const auto proof = prove_behind_reset(evidence);
    if (!proof) {
      chain.incomplete = true;
      return Access::ok;
    }
    const markers::FrameDigest before = lane.digest;
    chain.piece_too_short = false;
    const uint32_t length = walk_chain(core, risc, seen, chain);
    if (chain.piece_too_short && piece < most) {  // frames of launches that the RISC sat out fill it
      piece *= 2;
      continue;
    }
    chain.incomplete = chain.incomplete || chain.piece_too_short;
    if (length == 0) return Access::ok;
    if (chain.behind_gap)
      core.account.extend_over_gap(risc, *chain.begins, lane.digest.last_time);
    else
      core.account.extend(risc, *proof, lane.digest.last_time);
    chain.behind_gap = false;
    if (options_.before_publish) options_.before_publish();
    const Publisher::Span span{static_cast<uint8_t>(risc), lane.base + at, length, Publisher::kHeadBytes,
                               before};
    publisher_.publish_words(slot, Publisher::kHeadBytes + 4ull * length,
                             chunk_core(core, core.run_counter, now.read_time_ns, shm::kRecovered),
                             {&span, 1});
    recovered_words_ += length;
    // Which runs were dropped stood in a word that the reset has cleared.
    if (chain.full_since) core.account.dropped_on_card(risc, *chain.full_since, 0);
    front_words = std::min(length, kWitnessWords);
    std::copy_n(seen.begin() + (length - front_words), front_words, front.begin());
    at += length;
    lane.chain_end = at;
  }
  return Access::ok;
}

}  // namespace ttc::collect
