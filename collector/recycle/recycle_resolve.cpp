#include "collector/recycle/recycle_resolve.hpp"

#include <algorithm>
#include <optional>

namespace ttc::collect {
namespace {

using namespace markers;

// Frames one behind the other, and what must be known after each.
struct Chain {
  std::vector<NewFrame> frames;
  std::vector<FrameDigest> digests;  // after each frame
  FrameDigest begin;
  uint32_t from = 0;

  const FrameDigest& digest(size_t frames_in) const { return frames_in ? digests[frames_in - 1] : begin; }
  uint32_t end(size_t frames_in) const {
    return frames_in ? frames[frames_in - 1].at + frames[frames_in - 1].words : from;
  }
};

class Resolving {
 public:
  explicit Resolving(const LaneCase& c) : c_(c) {}

  std::vector<LaneOutcome> run() {
    if (!c_.cleared) {
      add_whole(Verdict::untouched);
      return std::move(found_);
    }
    const auto announced = exact_chain(c_.old_place, c_.pos, c_.index_before, c_.digest);
    if (!announced) return {};  // what was announced before the store is not all there
    seen_ = announced->frames.size();
    const Chain old = open_chain(*announced);
    if (pushed_early_behind(old)) return {};
    // If the new lap has come to the old place, the words there are the lap's, and its last frame may begin just where the
    // old place does. That some run came before the zero then shows in the count alone, so there the count must be used up.
    const size_t proven = std::max(seen_, frames_with_time(old));
    const bool in_lap = c_.index_after > c_.pos && old.end(old.frames.size()) <= c_.index_after;
    for (size_t j = in_lap ? seen_ : proven; j <= old.frames.size(); ++j) {
      all_counted_ = j < proven;
      if (c_.index_after == 0) add(j == seen_ ? Verdict::clean : Verdict::after, old, j, {}, 0);
      if (c_.index_after == 0) continue;
      if (const auto lap = exact_chain(c_.front, 0, c_.index_after, old.digest(j));
          lap && !lap->frames.empty())
        add(j == seen_ ? Verdict::front : Verdict::after_front, old, j, {&*lap}, c_.index_after);
    }
    all_counted_ = false;
    // In a torn lane the log continues behind the index, and the hole's old bytes may look like frames without a time.
    // If a lap has run over the old place, its own frames are there: then the front shows more than the torn frame.
    for (size_t j = proven; j <= old.frames.size() && c_.index_after > c_.index_before; ++j) add_torn(old, j);
    if (c_.index_after > c_.index_before && !new_at_front(0, c_.digest)) add_whole(Verdict::lost_write);
    return std::move(found_);
  }

  std::optional<LaneOutcome> found_again() {
    LaneOutcome o;
    o.verdict = Verdict::found_again;
    o.digest = c_.digest;
    o.old_end = std::max(c_.pos, c_.index_before);
    o.cursor = c_.index_after;
    if (c_.index_after == 0) return o;
    any_length_ = true;  // of a frame without a time, where nothing shows the one before it
    for (uint32_t from = 0; from < c_.index_after; from += 2) {
      const auto chain = exact_chain(c_.front, 0, c_.index_after, {}, from);
      if (!chain || chain->frames.empty()) continue;
      const uint64_t known = newest_before(from), last = chain->digests.back().last_time;
      if (last != 0 && clock_difference(last, known) > 0) return behind(known, *chain, std::move(o));
      o.digest = chain->digests.back();
      o.digest.last_time = c_.digest.last_time;
      // Nothing new: then what was taken last is the last there is.
      const bool at_the_end = last == 0 || last == c_.digest.last_time;
      return at_the_end && known == c_.digest.last_time ? std::optional(o) : std::nullopt;
    }
    return std::nullopt;
  }

 private:
  // The frame of a RISC that sat out pushes its old buffer again: as long as the frame before.
  bool length_fits(const uint32_t* head, size_t length, const FrameDigest& before) const {
    if (!c_.lane.sat_out(head)) return true;
    return before.known ? before.trailing_words == length : any_length_;
  }

  bool in_the_past(uint64_t time) const {
    return !c_.ceiling.known || clock_difference(time, c_.ceiling.time) <= 0;
  }
  // The latest time of a frame in front of word `end`, or of what was taken. In front of a chain that ends at the index stand older
  // frames, and the torn one, whose hole the chain may cross: the old bytes there may look like a frame without a time.
  uint64_t newest_before(uint32_t end) const {
    uint64_t newest = c_.digest.last_time;
    for (uint32_t at = 0; at < end; at += 2) {
      if (!frame_starts(c_.front, at, c_.lane) || c_.lane.sat_out(c_.front.data() + at)) continue;
      const uint32_t* start = c_.front.data() + at + device::kFwStartWord;
      const uint64_t time = marker_time(start[0], start[1]);
      if (clock_difference(time, newest) > 0 && in_the_past(time)) newest = time;
    }
    return newest;
  }

  uint64_t begin_of(const NewFrame& frame) const {
    return first_time(c_.front.subspan(frame.at, frame.words), frame.before.last_time);
  }
  // Frames from the first one on that begins later than `known`.
  std::optional<LaneOutcome> behind(uint64_t known, const Chain& all, LaneOutcome o) const {
    for (size_t i = 0; i < all.frames.size(); ++i) {
      if (all.frames[i].sat_out || clock_difference(begin_of(all.frames[i]), known) <= 0) continue;
      const auto fresh = exact_chain(c_.front, 0, c_.index_after, c_.digest, all.frames[i].at);
      if (!fresh) return std::nullopt;
      o.frames = fresh->frames;
      for (NewFrame& frame : o.frames) frame.in_new_lap = true;
      o.digest = fresh->digests.back();
      return o;
    }
    return std::nullopt;
  }

  bool append(Chain& chain, std::span<const uint32_t> words, size_t at, size_t length,
              uint32_t origin) const {
    FrameDigest next = chain.digest(chain.frames.size());
    VerifiedFrame frame;
    if (detail::verify_frame(words.first(at + length), at, c_.lane, c_.ceiling, next, frame) != length)
      return false;
    const uint32_t* head = words.data() + at;
    const bool ended = frame.sat_out || head[device::kFwEndWord] != device::kUnsetWord;
    if (!ended || !length_fits(head, length, chain.digest(chain.frames.size()))) return false;
    chain.frames.push_back({origin + static_cast<uint32_t>(at), static_cast<uint32_t>(length), false,
                            chain.digest(chain.frames.size()), head[device::kIdHost], frame.markers,
                            frame.sat_out});
    chain.digests.push_back(next);
    return true;
  }

  // Words [from, until) of the log are new frames and nothing else. `words` begin at log word `origin`.
  std::optional<Chain> exact_chain(std::span<const uint32_t> words, uint32_t origin, uint32_t until,
                                   const FrameDigest& digest, uint32_t from = 0) const {
    Chain chain{{}, {}, digest, origin + from};
    if (until < origin + from || until - origin > words.size()) return std::nullopt;
    const auto region = words.first(until - origin);
    for (size_t at = from; at < region.size();) {
      if (!frame_starts(region, at, c_.lane) && !frame_starts_damaged(region, at, c_.lane))
        return std::nullopt;
      FrameDigest next = chain.digest(chain.frames.size());
      VerifiedFrame frame;
      const size_t length = detail::verify_frame(region, at, c_.lane, c_.ceiling, next, frame);
      if (length == 0 || !append(chain, region, at, length, origin)) return std::nullopt;
      at += length;
    }
    return chain;
  }

  // Length of a new frame where older bytes may follow; 0: there is none.
  size_t open_length(std::span<const uint32_t> words, size_t at, const FrameDigest& digest) const {
    if (!frame_starts(words, at, c_.lane)) return 0;
    if (!c_.lane.sat_out(words.data() + at)) {
      FrameDigest unused = digest;
      return recovered_frame(words, at, c_.lane, c_.ceiling, unused);
    }
    const bool fits = digest.known && at + digest.trailing_words <= words.size();
    return fits ? digest.trailing_words : 0;
  }

  // What is new at the old place behind that, where no end was stored.
  Chain open_chain(Chain chain) const {
    for (size_t at = chain.end(chain.frames.size()) - c_.pos;;) {
      const size_t length = open_length(c_.old_place, at, chain.digest(chain.frames.size()));
      if (length == 0 || !append(chain, c_.old_place, at, length, c_.pos)) return chain;
      at += length;
    }
  }

  // A frame whose time shows that it is new begins at word `at` of the log's front.
  bool new_at_front(size_t at, const FrameDigest& digest) const {
    const bool in_lap = at + device::kFirstCustomWord <= c_.front.size() && at < c_.pos;
    return in_lap && open_length(c_.front, at, digest) != 0 && !c_.lane.sat_out(c_.front.data() + at);
  }

  // A new frame without its end, which a quick push leaves: words behind it would not be found.
  bool pushed_early_behind(const Chain& chain) const {
    const size_t at = chain.end(chain.frames.size()) - c_.pos;
    if (open_length(c_.old_place, at, chain.digest(chain.frames.size())) == 0) return false;
    const uint32_t* head = c_.old_place.data() + at;
    return !c_.lane.sat_out(head) && head[device::kFwEndWord] == device::kUnsetWord;
  }

  static std::optional<size_t> frames_until(const Chain& chain, uint32_t word) {
    for (size_t n = 0; n <= chain.frames.size(); ++n)
      if (chain.end(n) == word) return n;
    return std::nullopt;
  }
  // Counts up to the last frame that a time of its own proves to be new.
  static size_t frames_with_time(const Chain& chain) {
    size_t n = chain.frames.size();
    while (n > 0 && chain.frames[n - 1].sat_out) --n;
    return n;
  }

  void add_torn(const Chain& old, size_t j) {
    const size_t length = open_length(c_.front, 0, old.digest(j));
    const uint32_t behind = old.end(j) + static_cast<uint32_t>(length);
    if (length == 0 || behind <= c_.index_before || behind > c_.index_after) return;
    Chain lap{{}, {}, old.digest(j), 0};
    if (!append(lap, c_.front, 0, length, 0) || new_at_front(length, lap.digest(1))) return;
    const auto rest = exact_chain(c_.old_place, c_.pos, c_.index_after, lap.digest(1), behind - c_.pos);
    if (rest) add(Verdict::torn, old, j, {&lap, &*rest}, c_.index_after);
  }

  // Everything from pos to the index, as if nothing had been cleared.
  void add_whole(Verdict verdict) {
    const auto chain = exact_chain(c_.old_place, c_.pos, c_.index_after, c_.digest);
    const auto seen = chain ? frames_until(*chain, c_.index_before) : std::nullopt;
    if (!seen) return;
    seen_ = *seen;
    add(verdict, *chain, chain->frames.size(), {}, c_.index_after);
  }

  void add(Verdict verdict, const Chain& old, size_t j, std::initializer_list<const Chain*> then,
           uint32_t cursor) {
    LaneOutcome o;
    o.verdict = verdict;
    o.announced = seen_;
    o.frames.assign(old.frames.begin(), old.frames.begin() + static_cast<ptrdiff_t>(j));
    o.digest = old.digest(j);
    o.old_end = old.end(j);
    o.cursor = cursor;
    bool first = true;
    for (const Chain* chain : then) {
      for (NewFrame frame : chain->frames) {
        frame.in_new_lap = first;
        o.frames.push_back(frame);
      }
      o.digest = chain->digest(chain->frames.size());
      first = false;
    }
    const size_t crossing = o.frames.size() - seen_;
    if (all_counted_ && static_cast<int64_t>(crossing) != c_.crossing.most) return;
    if (c_.allowed.holds(o.frames.size()) && c_.crossing.holds(crossing)) found_.push_back(std::move(o));
  }

  const LaneCase& c_;
  size_t seen_ = 0;  // new frames up to index_before
  bool any_length_ = false;
  bool all_counted_ = false;  // only a reading with a frame for every run that may have ended is possible
  std::vector<LaneOutcome> found_;
};

}  // namespace

const char* to_string(Verdict verdict) {
  static constexpr const char* kNames[] = {"untouched",   "clean", "front",      "after",
                                           "after+front", "torn",  "lost write", "found again"};
  return kNames[static_cast<size_t>(verdict)];
}

std::vector<LaneOutcome> possible_outcomes(const LaneCase& lane) {
  return Resolving(lane).run();
}

std::optional<LaneOutcome> place_found_again(const LaneCase& lane) {
  return Resolving(lane).found_again();
}

}  // namespace ttc::collect
