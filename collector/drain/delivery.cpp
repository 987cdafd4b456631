#include "collector/drain/delivery.hpp"

#include <algorithm>
#include <utility>

#include "collector/continuity/frame_judge.hpp"
#include "collector/core/canaries.hpp"
#include "collector/core/epoch_entry.hpp"
#include "collector/core/firmware_mode.hpp"
#include "collector/drain/core_recycling.hpp"

namespace ttc::collect {
namespace {

using card::Access;
using shm::LossCause;

// A visit takes so many of a lane at least: any frame, and the begin of the one behind it, by which its end is recognised.
constexpr uint64_t kLeastWords = device::kBufferWords + 64;
constexpr uint64_t kSatOutPatienceNs = 50'000'000;  // BRISC's frame of that launch was dropped, then

constexpr uint64_t round8(uint64_t bytes) {
  return (bytes + 7) & ~uint64_t{7};
}

std::span<const uint32_t> slot_words(const uint64_t* slot, uint32_t byte_offset, uint32_t words) {
  return {reinterpret_cast<const uint32_t*>(slot) + byte_offset / 4, words};
}

}  // namespace

// What takes longer than the poll deadline is void. Of a long backlog, or on a slow link, each visit therefore takes a part: some words of
// every lane, or, where even a buffer's words of each are too many, the lanes in turn.
Delivery::OfLanes<Delivery::Fetched> Delivery::plan(const ControlSample& snap, uint64_t& bytes) const {
  const uint64_t room = (publisher.max_chunk_bytes() - Publisher::kHeadBytes) / device::kMaxRiscs;
  const uint64_t lines_in_time =
      std::min(timing::kPollDeadlineNs / 2 / std::max<uint64_t>(dev.line_ns, 1), dev.visit_lines);
  const uint64_t in_time =
      std::max<uint64_t>(lines_in_time / device::kMaxRiscs * card::kLineBytes / 4, kLeastWords);
  const auto most =
      static_cast<uint32_t>(std::min<uint64_t>((room - 3 * card::kLineBytes) / 4, in_time)) & ~3u;
  OfLanes<Fetched> fetched;
  bytes = Publisher::kHeadBytes;
  const uint32_t first = std::exchange(core.lane_in_turn, 0);
  const auto take = [&](uint32_t r) {
    const auto f = plan_lane(r, snap, most, bytes);
    if (!f) return true;
    const uint64_t with_it = bytes + round8(4ull * (f->lead + f->words + f->ahead));
    if (!fetched.empty() && with_it > lines_in_time * card::kLineBytes) return false;
    fetched.push_back(*f);
    bytes = with_it;
    dev.took_a_part = dev.took_a_part || f->cut;
    return true;
  };
  const auto take_from = [&](uint32_t r) {
    while (r < device::kMaxRiscs && take(r)) ++r;
    if (r < device::kMaxRiscs) core.lane_in_turn = r, dev.took_a_part = true;
  };
  take_from(first);
  if (fetched.empty()) take_from(0);
  return fetched;
}

// Nothing: no word of the lane is announced that may be taken now.
std::optional<Delivery::Fetched> Delivery::plan_lane(uint32_t r, const ControlSample& snap, uint32_t most,
                                                     uint64_t begin) const {
  LaneState& lane = core.lanes[r];
  const bool only_landed = lane.caution.only_landed() && !lane.canary.none();
  const uint32_t end = only_landed ? std::min(snap.host_end[r], core.landing.landed()[r]) : snap.host_end[r];
  if (end <= lane.cursor || end > dev.log_words())
    return std::nullopt;  // an index beyond the log is no index
  // The words that share the first line come for nothing; BRISC fetches a line more where there are none.
  const auto in_line =
      static_cast<uint32_t>(reader.log_address(core.tile, r, lane.cursor) % card::kLineBytes / 4);
  uint32_t lead = std::min(in_line, lane.canary.words());
  if (r == 0 && lead < 4) lead = std::min(in_line + Canary::kWords, lane.canary.words());
  lead &= ~1u;
  uint32_t words = std::min(end - lane.cursor, most);
  // The last part of a log, where frames may have been dropped, is taken by itself: see LogRoomCheck.
  if (lane.cursor + 2 * device::kBufferWords <= dev.roomy_until())
    words = std::min(words, dev.roomy_until() - lane.cursor);
  const bool cut = words < end - lane.cursor;
  const auto in_last_line =
      static_cast<uint32_t>(reader.log_address(core.tile, r, end) % card::kLineBytes / 4);
  const bool in_line_ahead = in_last_line != 0 && in_last_line + kHeadWords <= card::kLineBytes / 4;
  const uint32_t ahead = cut || !in_line_ahead || end + kHeadWords > dev.log_words() ? 0 : kHeadWords;
  return Fetched{&lane, r, lead, words, ahead, cut, static_cast<uint32_t>(begin + 4ull * lead)};
}

// Nothing of this epoch has been delivered, so that no canary shows whose the words are: bytes of an earlier run could pass for
// new ones that have not landed.
bool Delivery::settled(LaneState& lane, std::span<const uint32_t> words, uint64_t read_since_ns) {
  if (lane.first_words.same(words)) return lane.first_words.landed(read_since_ns);
  // Another launch's frame where one stood: an epoch has ended in which nothing was taken. (Where nothing is
  // known it may have been one of an earlier session.)
  const uint64_t start = words.empty() ? 0 : markers::first_time(words, lane.digest.last_time);
  const bool later = start != 0 && markers::clock_difference(start, lane.first_words.start()) > 0;
  core.account.keep_all(prove_no_launch_between(
      {.first_seen = lane.first_words.none() || !lane.digest.known, .not_later = !later}));
  lane.first_words.see(words, start, reader.now_ns());
  return false;
}

void Delivery::accept(const Fetched& f, const uint64_t* slot, const ControlSample& snap, uint64_t now_ns,
                      const Proof& joined, OfLanes<Publisher::Span>& spans) {
  LaneState& lane = *f.lane;
  const auto words = slot_words(slot, f.data_offset, f.words);
  const uint32_t landed = core.landing.landed()[f.risc];
  // No more words come at the end of collecting: those that have landed and are no frame never will be one.
  const bool over = dev.last_chance && landed >= lane.cursor + f.words;
  const bool patience_over = over || lane.stuck.for_longer_than(kSatOutPatienceNs, now_ns);
  const bool ids_are_briscs = f.risc != 0 && kind().counts_launches;
  FrameJudge judge(core.hosts, patience_over, landed > lane.cursor ? landed - lane.cursor : 0,
                   lane.caution.old_host, ids_are_briscs);
  markers::FrameDigest digest = lane.digest;
  const markers::Walk walk = markers::verify_frames(words, lane.lane, ceiling(), f.cut, digest, judge);
  const auto whole = words.first(walk.whole_words);
  lane.caution.careful = lane.caution.careful || judge.unproven_seen || judge.ids_repeat;
  lane.caution.waits = walk.held;
  if (f.risc == 0) remember_hosts({judge.hosts.data(), judge.hosts.size()});
  const bool trusted = !lane.canary.none() || settled(lane, words.first(judge.first_end), snap.read_time_ns);
  if (whole.empty() && walk.held && !judge.foreign_id) return;
  if (whole.empty() || !trusted) {
    lane.stuck.note(now_ns);
    read_clock(kCeilingAgeNs);  // a clock that has jumped ahead shows it to the next visit
    core.notes |= shm::kRetried;
    ++dev.counters.retries;
    if (whole.empty() && (over || lane.stuck.for_good(now_ns))) give_up(f, words);
    return;
  }
  // The frames of accumulating firmware have no end of a launch, but are pushed at one.
  const bool in_mid_launch = judge.pushed_early && !kind().accumulates;
  lane.pushes_early = lane.pushes_early || in_mid_launch;
  lane.take_entered_until();  // more came
  if (judge.fresh_seen) {
    core.account.keep(f.risc, InMode(*this)->frame_joins(f.risc, judge.first_fresh, digest.last_time));
    if (lane.first_of_epoch())
      EpochEntry(*this).enter(f.risc, judge.first_fresh, digest.last_time);
    else
      core.account.deliver(f.risc, joined,
                           EpochEntry::gap_end(lane, judge.first_fresh, lane.digest.last_time),
                           digest.last_time);
  }
  spans.push_back({static_cast<uint8_t>(f.risc), lane.lap.base + lane.cursor,
                   static_cast<uint32_t>(whole.size()), f.data_offset, lane.digest, shm::SpanSource::dram_log,
                   lane.cursor + static_cast<uint32_t>(whole.size())});
  if (dev.options.recycling && lane.caution.careful && CoreRecycling::pushes_soon(whole))
    core.recycling.pushes_soon = true;
  lane.lap.frames += walk.frames;
  lane.advance(whole, digest);
  if (f.ahead && whole.size() == f.words)
    lane.caution.old_host = slot_words(slot, f.data_offset + 4 * f.words, f.ahead)[device::kIdHost];
  dev.counters.frames += walk.frames;
  dev.counters.markers += walk.markers;
  if (f.risc == 0) {
    core.runs.delivered += judge.finished_runs;
    core.runs.total += judge.finished_runs;
    core.recycling.referee.came += judge.finished_runs;
    dev.counters.programs = std::max(dev.counters.programs, core.runs.total);
  }
}

// The words have been there for long and still are no frame: they are damaged. Skips to the next frame that
// can be recognised and accounts for every word.
void Delivery::give_up(const Fetched& f, std::span<const uint32_t> words) {
  LaneState& lane = *f.lane;
  size_t next = 2;
  const auto goes_on = [&](size_t at) {
    if (!markers::frame_starts(words, at, lane.lane)) return false;
    // A frame that is older than what was delivered is one of those that must be skipped.
    return words[at + device::kFwStartWord] == device::kUnsetWord || !lane.digest.known ||
           markers::detail::head_is_fresh(words, at, lane.lane, lane.digest);
  };
  while (next < words.size() && !goes_on(next)) next += 2;
  next = std::min(next, words.size());
  uint64_t until = shm::kOpenEnd;
  if (next + device::kFirstCustomWord <= words.size() &&
      words[next + device::kFwStartWord] != device::kUnsetWord)
    until = markers::first_time(words.subspan(next, device::kFirstCustomWord), lane.digest.last_time);
  core.account.undelivered(f.risc, LossCause::unparsable, lane.digest.last_time, until, next);
  dev.counters.unparsable_words += next;
  dev.skipped_words = true;
  core.recycling.place_lost = true;
  lane.skip(static_cast<uint32_t>(next));
  // A lane that rested for half the clock's range seems to lie in the future: what follows is judged by
  // itself.
  if (markers::clock_difference(ceiling().time, lane.digest.last_time) < 0) lane.digest.known = 0;
}

// Do the words that were fetched belong to the epoch of `snap`? Logs are overwritten from the front: a canary that stands after
// they were fetched shows that they do.
card::Expected<bool> Delivery::same_epoch(const ControlSample& snap, std::span<const Fetched> fetched,
                                          const uint64_t* slot, bool interrupted) {
  bool has_canary = false;
  const auto counters = reader.not_rewound(core.tile, snap);
  if (!counters) return counters;
  bool intact = *counters;
  for (const Fetched& f : fetched) {
    const auto canary = slot_words(slot, f.data_offset - 4 * f.lead, f.lead);
    if (CoreReader::silent(canary)) return card::failed(reader.doubt_bank(core.tile));
    intact = intact && f.lane->canary.stands(canary);
    has_canary = has_canary || f.lead != 0;
  }
  const bool all = interrupted || core.polls.check_all;
  if (intact && (all || !has_canary)) return Canaries(*this).stand(all);
  return intact;
}

Access Delivery::deliver(const ControlSample& snap, uint64_t now_ns) {
  uint64_t bytes = 0;
  const OfLanes<Fetched> fetched = plan(snap, bytes);
  if (fetched.empty()) return Access::ok;
  uint64_t* slot = publisher.claim(bytes);
  std::array<LogRead, device::kMaxRiscs> reads;
  for (size_t i = 0; i < fetched.size(); ++i) {
    const Fetched& f = fetched[i];
    const uint32_t from = f.data_offset - 4 * f.lead;
    reads[i] = reader.log_read(core.tile, f.risc, f.lane->cursor - f.lead,
                               {slot + from / 8, round8(4ull * (f.lead + f.words + f.ahead)) / 8});
  }
  const uint64_t begun_ns = reader.now_ns();
  if (const Access a = reader.logs({reads.data(), fetched.size()}); a != Access::ok) return a;
  const uint64_t lines = bytes / card::kLineBytes + fetched.size(), took_ns = reader.now_ns() - begun_ns;
  const bool interrupted = took_ns > 2 * lines * dev.line_ns + timing::kLandedNs;
  dev.line_ns = (3 * dev.line_ns + std::min(took_ns / lines, 2 * dev.line_ns + timing::kLandedNs)) / 4;
  const auto stands = same_epoch(snap, {fetched.data(), fetched.size()}, slot, interrupted);
  if (!stands) return stands.error();
  if (!*stands) note_reset(false);
  // Delayed for so long that an epoch may have passed: polled again.
  const bool held_up = reader.now_ns() - snap.read_time_ns > timing::kPollDeadlineNs;
  if (held_up) ++dev.counters.missed_poll_deadlines;
  const auto joined =
      prove_same_epoch({.counters_not_back = *stands, .canaries_intact = *stands, .in_time = !held_up});
  if (!joined) return Access::ok;
  const bool proven =
      std::any_of(core.lanes.begin(), core.lanes.end(), [](const LaneState& l) { return !l.canary.none(); });
  OfLanes<Publisher::Span> spans;
  for (const Fetched& f : fetched) accept(f, slot, snap, now_ns, *joined, spans);
  if (proven) core.polls.proven_ns = snap.read_time_ns;
  if (spans.empty()) return Access::ok;
  announce_names();
  const Publisher::Span& last = spans.back();
  publisher.publish_words(slot, last.data_offset + round8(4ull * last.word_count),
                          chunk_core(snap.run_counter, snap.read_time_ns, core.notes),
                          {spans.data(), spans.size()});
  if (dev.options.seen)
    dev.options.seen(core.tile.at, core.lanes[last.risc].digest.last_time, reader.now_ns());
  core.notes = 0;
  return Access::ok;
}

}  // namespace ttc::collect
