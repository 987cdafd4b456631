// The drain's state of a lane (one RISC's log), as values. Each has the rules that need no other input; none reads the card.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "collector/continuity/continuity.hpp"
#include "firmware_markers/frame.hpp"

namespace ttc::collect {

// The last words before the cursor. Logs are overwritten from the front: while these are intact, no later epoch has come that far.
class Canary {
 public:
  static constexpr uint32_t kWords = 16;

  bool none() const { return count_ == 0; }
  // An even number: a log is read in units of 8 bytes.
  uint32_t words() const { return count_ & ~1u; }
  // The last `count` of them, at most words().
  std::span<const uint32_t> last(uint32_t count) const {
    return std::span<const uint32_t>(words_).subspan(count_ - count, count);
  }
  bool stands(std::span<const uint32_t> now) const;
  void append(std::span<const uint32_t> delivered);
  void clear() { count_ = 0; }

 private:
  std::array<uint32_t, kWords> words_{};
  uint32_t count_ = 0;
};

// The first words of an epoch, while no canary could prove that they are not of an earlier one: they must look the same in two
// polls, far enough apart for what was under way to land.
class FirstWords {
 public:
  // `start`: the first time in them, 0: none.
  void see(std::span<const uint32_t> words, uint64_t start, uint64_t now_ns);
  void forget() { words_ = 0; }
  bool none() const { return words_ == 0; }
  bool same(std::span<const uint32_t> words) const;
  bool landed(uint64_t read_since_ns) const;
  uint64_t start() const { return start_; }

 private:
  uint64_t hash_ = 0, start_ = 0, since_ns_ = 0;
  uint32_t words_ = 0;
};

// Measures how long the words behind the cursor have been no frame.
class Stuck {
 public:
  void note(uint64_t now_ns) {
    if (since_ns_ == 0) since_ns_ = now_ns, polls_ = 0;
    ++polls_;
  }
  void clear() { since_ns_ = 0; }
  bool any() const { return since_ns_ != 0; }
  bool for_longer_than(uint64_t ns, uint64_t now_ns) const { return any() && now_ns - since_ns_ > ns; }
  // They never will be one. A starved collector may poll once in that time: so many polls must have found it.
  bool for_good(uint64_t now_ns) const { return polls_ >= 16 && for_longer_than(100'000'000, now_ns); }

 private:
  uint64_t since_ns_ = 0;
  uint32_t polls_ = 0;
};

// The buffer in L1 of firmware that keeps markers there for long (accumulating_mode.cpp). Times are those of a buffer's first marker, its
// canary; 0: not known.
struct L1Buffer {
  std::vector<uint32_t> rest;  // a copy of what only L1 holds
  uint64_t canary = 0;         // none was read since the last push
  std::optional<Proof> joins;  // that buffer follows what was delivered
  uint64_t next_canary = 0;    // of the buffer behind a frame that was pushed and is not delivered yet
  // A buffer may have been begun and lost since what is known: a poll was late, and L1 has not been examined in time since.
  bool unchecked = false;

  // A buffer that begins with a marker at `first` was read. `joins_now`: the proof that it follows what was delivered.
  void begin(uint64_t first, const std::optional<Proof>& joins_now);
  // A frame up to `until`, which a push took from the buffer, is delivered.
  void take_push(uint64_t until);
  // A frame behind that one, up to `until`, which may hold the buffer that is known.
  void pushed_until(uint64_t until);
  void clear_known() { canary = next_canary = 0, unchecked = false; }
};

// Laps of a log that recycling has emptied.
struct Lap {
  uint32_t base = 0;             // stream offset of the log's word 0: words of earlier laps
  uint64_t frames = 0;           // delivered since the host's last reset
  std::optional<int64_t> ahead;  // frames minus runs: a constant of the lane in an epoch
};

// How much of what an index announces can be read at once.
struct Caution {
  bool careful = false;  // it has frames with words that cannot be verified: read when surely landed
  bool waits = false;    // likewise, until the frame behind the cursor is delivered
  std::optional<uint32_t> old_host;  // what stood in the next frame's host id word before its index moved
  // If the word of the host id was not read before, a frame is read once it has landed: not twice.
  bool only_landed() const { return careful || waits || !old_host; }
};

// What a lane's log showed after a host reset.
struct Recovered {
  AcrossReset evidence;
  // The new epochs had come to the cursor: what was taken lay behind or in front of it.
  bool behind_gap = false;
  std::optional<uint32_t>
      sat_out_launch;  // host id of a frame without times that stands behind what was taken
};

// A recovery that is not finished: it may need several polls, and takes no frame twice.
struct Recovery {
  uint32_t chain_end = 0;          // behind the frames that it has taken; 0: none
  std::optional<Recovered> taken;  // it has taken all of this lane
};

struct LaneState {
  // What a visit with news reads of every lane is in front, in few cache lines.
  markers::Lane lane;
  uint32_t cursor = 0;  // words of this epoch's log delivered
  bool delivered = false;
  bool pushes_early = false;  // it has frames of runs that had not ended
  Caution caution;
  markers::FrameDigest digest;  // of the frame before the cursor
  Canary canary;
  Stuck stuck;
  Lap lap;
  // None: no fresh frame of this epoch has come. Else the end of the first one's launch, 0 where it is not known, was checked, or
  // more came.
  std::optional<uint64_t> entered_until;
  FirstWords first_words;
  L1Buffer l1;
  Recovery recovery;

  // The next fresh frame is the first of its epoch.
  bool first_of_epoch() const { return !entered_until; }
  // The end of the epoch's first launch in this lane, if it is still to be checked; 0: none is.
  uint64_t take_entered_until();
  // Everything behind the cursor is unknown.
  void forget_what_follows() {
    caution.old_host.reset();
    first_words.forget();
    stuck.clear();
  }
  void advance(std::span<const uint32_t> words, const markers::FrameDigest& of_last);
  // Words that are no frame.
  void skip(uint32_t words);
  void begin_epoch();
  void begin_laps() { lap = {}; }
};

// The lanes' cache lines are requested at once: between two visits of a core they leave the CPU's caches, and one after another they
// would be waited for.
inline void request_lines(std::span<const LaneState> lanes) {
  constexpr size_t kCacheLineBytes = 64;
  const auto bytes = std::as_bytes(lanes);
  for (size_t at = 0; at < bytes.size(); at += kCacheLineBytes) __builtin_prefetch(&bytes[at], 1);
}

}  // namespace ttc::collect
