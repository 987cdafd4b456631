// Pushes: when their words land, in which order, and whether they agree with the count of launches.
#include <algorithm>
#include <cstdio>

#include "collector/continuity/timing.hpp"
#include "collector/selftest/log_watch.hpp"
#include "ttcollect/host_time.hpp"

namespace ttc::collect::selftest {
namespace {

using card::Access;

constexpr uint64_t kWatchNs = 700'000;      // a push, without a break
constexpr uint64_t kGiveUpNs = 50'000'000;  // then the push is left out
constexpr uint32_t kMostWords = 4096;       // of a push that is watched
constexpr unsigned kFewestHalves = 3;       // markers of which one word is there
constexpr size_t kMostLandings = 1u << 20;
constexpr uint32_t kFewestLaunches = 8;
constexpr int64_t kLaunchTolerance = 2;  // under way while they are counted

struct TakeAll {
  uint64_t& last_start;
  uint64_t launches = 0;
  bool sat_out_ok(uint32_t /*host_id*/) const { return false; }
  bool take(const markers::VerifiedFrame& frame) {
    const uint64_t start = markers::start_time(frame.words);
    launches += start != last_start;
    last_start = start;
    return true;
  }
};

}  // namespace

// Do these words, which an index has announced, follow what was verified before?
bool LogWatch::verify(const std::vector<uint32_t>& words, bool keep) {
  const markers::Lane lane{&format_, 0, core().flat_id};
  markers::FrameDigest digest = digest_;
  uint64_t start = last_start_;
  TakeAll judge{start};
  const markers::Walk walk = markers::verify_frames(words, lane, {}, false, digest, judge);
  if (!walk.clean || walk.frames == 0) return false;
  if (keep) {
    digest_ = digest;
    last_start_ = start;
    launches_ += judge.launches;
    figures_.launches += judge.launches;
  }
  return true;
}

// Half of a marker: its low word, which is its time, is there and its high word is not.
bool LogWatch::is_half(const std::vector<uint32_t>& seen, const std::vector<uint32_t>& final) {
  unsigned halves = 0;
  for (size_t w = device::kFwStartWord; w + 1 < final.size() && w < device::kFirstCustomWord; w += 2)
    if (markers::is_marker(final[w]) && !markers::is_blank(final[w]))
      halves += (seen[w] == final[w]) != (seen[w + 1] == final[w + 1]) && seen[w + 1] == final[w + 1];
  return halves >= kFewestHalves;
}

Access LogWatch::watch_push(const Poll& now) {
  ++figures_.pushes;
  if (pending_) {  // the words before these have not come yet: both are one stretch
    if (now.index - pending_->from > kMostWords) {
      pending_.reset();
      primed_ = false;
      return Access::ok;
    }
    pending_->to = now.index;
    pending_->first.clear();
    pending_->joined = true;
    return read_push(*pending_, 0);
  }
  Push push{last_.index, now.index, last_.begun, now.ended, {}, {}, 0, 0, std::move(earlier_), false};
  if (push.from != ahead_at_) push.early.clear();
  earlier_.clear();
  ahead_.clear();
  if (push.to - push.from > kMostWords) {
    primed_ = false;
    return Access::ok;
  }
  pending_ = std::move(push);
  return read_push(*pending_, kWatchNs);
}

// Reads until the words verify, once at least and for so long at most; then other polls go on.
Access LogWatch::read_push(Push& push, uint64_t watch_ns) {
  const uint64_t begun = raw_now_ns();
  std::vector<uint32_t> words(push.to - push.from);
  do {
    const uint64_t before = raw_now_ns();
    if (const Access a = read_log(bank_, push.from, words); a != Access::ok) return a;
    const uint64_t after = raw_now_ns();
    ++push.reads;
    if (push.first.empty()) push.first = words;
    const bool whole = verify(words, false);
    if (whole) {
      push.last = words;
      Poll again;
      if (const Access a = poll(core(), again); a != Access::ok) return a;
      const bool same_epoch = again.index >= push.to && again.runs >= last_.runs;
      if (same_epoch) {
        verify(words, true);
        if (primed_ && !push.joined) judge_push(push, after);
        primed_ = true;
      }
      pending_.reset();
      return Access::ok;
    }
    push.last_differed = before;
    push.last = words;
    if (raw_now_ns() - push.announced > kGiveUpNs) {
      primed_ = false;
      digest_ = {};
      counted_from_.reset();
      pending_.reset();
      return Access::ok;
    }
  } while (raw_now_ns() - begun < watch_ns);
  return Access::ok;
}

// `push.last` are the words as they landed, by a read that ended at `landed_by`.
void LogWatch::judge_push(const Push& push, uint64_t landed_by) {
  char text[96];
  if (push.reads > 1 && is_half(push.first, push.last)) {
    tallies_.speaks_against(Id::marker_whole, "times stood beside the high words of other markers");
    return;
  }
  tallies_.agrees(Id::marker_whole);
  const uint64_t at_least = push.last_differed > push.announced ? push.last_differed - push.announced : 0;
  if (at_least > timing::kPollDeadlineNs) return;  // another epoch's words may have been under way there
  const uint64_t at_most = landed_by - push.not_before;
  if (at_least > timing::kLandedNs) {
    std::snprintf(text, sizeof text, "words came %.0f us or more after their index",
                  static_cast<double>(at_least) / 1e3);
    tallies_.speaks_against(Id::landing_time, text);
  } else if (at_most <= timing::kLandedNs) {
    tallies_.agrees(Id::landing_time);
    if (landings_.size() < kMostLandings) landings_.push_back(at_most);
  }
  if (!push.early.empty() && push.last.size() >= push.early.size() &&
      std::equal(push.early.begin(), push.early.end(), push.last.begin()))
    tallies_.speaks_against(Id::index_first, "the words were in DRAM while the index was still lower");
  else if (push.reads > 1)
    tallies_.agrees(Id::index_first);
}

void LogWatch::judge_launches(const Poll& now) {
  if (attachment_.mode != device::Mode::normal || now.index != last_.index || now.runs != last_.runs) return;
  if (!counted_from_) {
    counted_from_ = {now.runs, launches_};
    return;
  }
  const auto counted = static_cast<int64_t>(now.runs - counted_from_->first);
  const auto found = static_cast<int64_t>(launches_ - counted_from_->second);
  if (std::max(counted, found) < kFewestLaunches) return;
  char text[96];
  std::snprintf(text, sizeof text, "%lld counted, %lld found in the log", static_cast<long long>(counted),
                static_cast<long long>(found));
  if (std::abs(counted - found) > kLaunchTolerance)
    tallies_.speaks_against(Id::run_counter, text);
  else
    tallies_.agrees(Id::run_counter), tallies_.describe(Id::run_counter, text);
  counted_from_ = {now.runs, launches_};
}

}  // namespace ttc::collect::selftest
