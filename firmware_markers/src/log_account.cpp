#include "firmware_markers/log_account.hpp"

#include <algorithm>

namespace ttc::markers {
namespace {

constexpr uint32_t kLongestFrame = device::kBufferWords + 4;

// Any frame fits in front of this word of a log, even one that overran its buffer.
uint32_t roomy_until(uint32_t capacity) {
  return capacity - std::min(capacity, 2 * device::kBufferWords);
}

class Collect {
 public:
  Collect(const KnownLaunches* launches, LogAccount& account) : launches_(launches), account_(account) {}

  // A frame without times of its own holds no markers: its id matters only where it could hide a hole.
  bool sat_out_ok(uint32_t host_id) const {
    return !launches_ || !launches_->complete || launches_->ids.contains(host_id);
  }
  bool take(const VerifiedFrame& frame) {
    if ((frame.words[0] != 0 || frame.words[1] != 0) && !is_launch(frame.words[device::kIdHost]))
      return false;
    account_.launches.insert(frame.words[device::kIdHost]);
    if (!account_.begins && !frame.sat_out) account_.begins = first_time(frame.words, known_until);
    return true;
  }

  // Used for a head that was overwritten: true if its id is one that a launch has.
  bool is_launch(uint32_t host_id) const { return !launches_ || launches_->ids.contains(host_id); }

  uint64_t known_until = 0;  // of the lane, in front of the log

 private:
  const KnownLaunches* launches_;
  LogAccount& account_;
};

class LogWalk {
 public:
  LogWalk(const LogWords& log, const Lane& lane, const KnownLaunches* launches, FrameDigest& digest,
          LogAccount& account)
      : log_(log), lane_(lane), digest_(digest), account_(account), collect_(launches, account) {
    collect_.known_until = digest.last_time;
  }

  void run() {
    const auto size = static_cast<uint32_t>(log_.words.size());
    const uint32_t roomy = std::min(size, roomy_until(log_.capacity));
    take_up_to(roomy, roomy < size);
    if (log_.dropped) account_.gaps.push_back({digest_.last_time, {}, 0});
    while (at_ < size) {
      take_up_to(size, false);
      if (at_ < size && !take_one()) skip();
    }
  }

 private:
  // Frames that verify, from where the walk is. False: none does.
  bool take_up_to(uint32_t end, bool cut) {
    if (at_ >= end) return false;
    const FrameDigest before = digest_;
    const Walk walk = verify_frames(log_.words.subspan(at_, end - at_), lane_, {}, cut, digest_, collect_);
    if (walk.whole_words == 0) return false;
    const auto words = static_cast<uint32_t>(walk.whole_words);
    account_.parts.push_back({at_, words, before});
    at_ += words;
    return true;
  }

  // One frame whose end is not where another begins: the first words of the next head were overwritten, so that only its
  // identity and the four slots behind them show it; or a hole follows, and the frame ends where its times do.
  bool take_one() {
    const auto size = static_cast<uint32_t>(log_.words.size());
    const uint32_t most = std::min(size - std::min(size, device::kFirstCustomWord), at_ + kLongestFrame);
    for (uint32_t end = at_ + device::kFirstCustomWord; end <= most; end += 2)
      if (detail::carries_identity(log_.words.data() + end, lane_) && take_up_to(end, false)) return true;
    const FrameDigest before = digest_;
    const auto words = log_.words.subspan(at_);
    const size_t length = recovered_frame(words, 0, lane_, {}, digest_);
    if (length == 0) return false;
    collect_.take({words.first(length), length, 0, false, false});
    account_.parts.push_back({at_, static_cast<uint32_t>(length), before});
    at_ += static_cast<uint32_t>(length);
    return true;
  }

  // Moves to the next frame that is later than what is known; the words before it are a gap.
  void skip() {
    const auto words = log_.words.subspan(at_);
    size_t next = 2;
    while (next < words.size() && !goes_on(words, next)) next += 2;
    next = std::min(next, words.size());
    std::optional<uint64_t> until;
    if (next < words.size()) until = first_time(words.subspan(next), digest_.last_time);
    const auto skipped = static_cast<uint32_t>(next);
    at_ += skipped;
    if (LogGap* last = account_.gaps.empty() ? nullptr : &account_.gaps.back();
        last && last->words != 0 && last->from == digest_.last_time)
      last->to = until, last->words += skipped;
    else
      account_.gaps.push_back({digest_.last_time, until, skipped});
  }
  bool goes_on(std::span<const uint32_t> words, size_t at) const {
    const bool damaged =
        frame_starts_damaged(words, at, lane_) && collect_.is_launch(words[at + device::kIdHost]);
    if (!damaged && !frame_starts(words, at, lane_)) return false;
    if (lane_.sat_out(words.data() + at)) return false;
    return !digest_.known || detail::head_is_fresh(words, at, lane_, digest_);
  }

  const LogWords& log_;
  const Lane& lane_;
  FrameDigest& digest_;
  LogAccount& account_;
  Collect collect_;
  uint32_t at_ = 0;
};

}  // namespace

LogAccount account_log(const LogWords& log, const Lane& lane, const KnownLaunches* launches,
                       FrameDigest& digest) {
  LogAccount account;
  LogWalk(log, lane, launches, digest, account).run();
  return account;
}

}  // namespace ttc::markers
