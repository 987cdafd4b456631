// Frames: what one push of one RISC's L1 buffer leaves in the DRAM log (tt-metal kernel_profiler.hpp).
//
//   word 0,1   0 0            sentinel; may be damaged by an overrun of the RISC before (3.5)
//   word 2     identity       RISC and flat id of the lane, trace counter
//   word 3     host id        the launch
//   word 4..11 four guaranteed markers: FW start, FW end, KERNEL start, KERNEL end
//   word 12..  custom markers and their payload, possibly one padding marker
//
// A frame has no length field: it ends where the next one begins or where the log ends. These functions find
// where frames begin and end, read no word outside `words`, and neither allocate nor throw.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "firmware_markers/layout.hpp"

namespace ttc::markers {

inline constexpr uint64_t kClockBits = 44;
inline constexpr uint64_t kClockMask = (uint64_t{1} << kClockBits) - 1;

// The stream of one processor, as far as its words show. Set as a whole, Lane{format, risc, flat_id}: the
// rest follows from these three and is kept because every frame needs it.
struct Lane {
  const device::Format* format = nullptr;
  uint8_t risc = 0;
  uint8_t flat_id = 0;
  device::Mode mode = device::Mode::normal;
  uint32_t identity = format ? format->identity(risc, flat_id, 0) : 0;
  uint32_t identity_mask = format ? ~format->trace.mask() : 0;

  bool owns_identity(uint32_t word) const { return (word & identity_mask) == identity; }
  // The RISC took no part in the launch whose frame begins at `head`: what follows is of an earlier one.
  // (Accumulating firmware has no launches of its own in the slots.)
  bool sat_out(const uint32_t* head) const {
    return head[device::kFwStartWord] == device::kUnsetWord && mode != device::Mode::accumulate;
  }
};

constexpr uint64_t marker_time(uint32_t high, uint32_t low) {
  return (uint64_t{high & 0xfffu} << 32) | low;
}
constexpr bool is_marker(uint32_t high) {
  return high >> 31;
}
// Type 0, id 0, high time 0 and valid: an unset slot or padding, never a real marker.
constexpr bool is_blank(uint32_t high) {
  return high == device::kUnsetWord;
}
constexpr uint32_t packet_type(uint32_t high) {
  return (high >> 28) & 7;
}
constexpr uint32_t packet_id(uint32_t high) {
  return (high >> 12) & 0xffff;
}

// Words of a packet by type; 0 for types the classic backend does not write.
constexpr uint32_t packet_words(uint32_t type) {
  switch (type) {
    case device::kTsData:
      return 4;
    case device::kTsData16B:
      return 6;
    case device::kZoneStart:
    case device::kZoneEnd:
    case device::kZoneTotal:
    case device::kTsEvent:
      return 2;
    default:
      return 0;
  }
}

namespace detail {
constexpr bool slot_holds(const uint32_t* slot, uint32_t type) {
  return slot[0] >> 28 == (8 | type) || (slot[0] == device::kUnsetWord && slot[1] == device::kUnsetWord);
}
// Each slot holds its type: the differences or-ed, so that it takes one branch.
constexpr bool slots_hold_types(const uint32_t* head) {
  constexpr uint32_t kStart = device::marker_high(device::kZoneStart, 0, 0);
  constexpr uint32_t kEnd = device::marker_high(device::kZoneEnd, 0, 0);
  return ((head[device::kFwStartWord] ^ kStart) | (head[device::kFwEndWord] ^ kEnd) |
          (head[device::kKernelStartWord] ^ kStart) | (head[device::kKernelEndWord] ^ kEnd)) >>
             28 ==
         0;
}
inline bool carries_identity(const uint32_t* head, const Lane& lane) {
  if (!lane.owns_identity(head[device::kIdIdentity])) return false;
  if (slots_hold_types(head)) [[likely]]
    return true;
  return slot_holds(head + device::kFwStartWord, device::kZoneStart) &&
         slot_holds(head + device::kFwEndWord, device::kZoneEnd) &&
         slot_holds(head + device::kKernelStartWord, device::kZoneStart) &&
         slot_holds(head + device::kKernelEndWord, device::kZoneEnd);
}
}  // namespace detail

// A frame of `lane` begins at words[at], sentinel intact. Inline, as the next one: once or twice a frame.
inline bool frame_starts(std::span<const uint32_t> words, size_t at, const Lane& lane) {
  return at + device::kFirstCustomWord <= words.size() && words[at] == 0 && words[at + 1] == 0 &&
         detail::carries_identity(words.data() + at, lane);
}
// Likewise, but the sentinel was overwritten by a marker of another RISC.
inline bool frame_starts_damaged(std::span<const uint32_t> words, size_t at, const Lane& lane) {
  if (at + device::kFirstCustomWord > words.size() || !is_marker(words[at])) return false;
  const bool may_be_open = lane.mode == device::Mode::trace_only;  // a replay whose end BRISC did not record
  return (may_be_open || !is_blank(words[at])) && detail::carries_identity(words.data() + at, lane);
}

// The 64-bit difference a-b of two 44-bit clocks, in [-2^43, 2^43).
constexpr int64_t clock_difference(uint64_t a, uint64_t b) {
  constexpr unsigned kUnused = 64 - kClockBits;
  return static_cast<int64_t>((a - b) << kUnused) >> kUnused;
}

// The device reads the high half before the low half. A roll-over in between gives a time 2^32 cycles too
// early, with a low half of a few cycles; `earlier` is a time known to precede it on the same processor.
constexpr bool looks_rolled_over(uint64_t time, uint64_t earlier) {
  return clock_difference(time, earlier) < 0 && (time & 0xffffffffu) < 0x10000 &&
         clock_difference(time + (uint64_t{1} << 32), earlier) >= 0;
}
constexpr uint64_t repaired(uint64_t time) {
  return (time + (uint64_t{1} << 32)) & kClockMask;
}
// Used for a lane's first marker, or one behind a gap of a roll-over or more: true if the marker that follows shows
// that `time` had rolled over. `later` is the next time of the same processor. `time` had rolled over if `later` is
// one roll-over and less than kNextToNothing behind it.
constexpr bool rolled_over_before(uint64_t time, uint64_t later) {
  constexpr int64_t kRollOver = int64_t{1} << 32, kNextToNothing = int64_t{1} << 24;
  const int64_t gap = clock_difference(later, time);
  return (time & 0xffffffffu) < 0x400 && gap >= kRollOver && gap < kRollOver + kNextToNothing;
}

// Time of the frame's FW start, which must be set; repaired where the markers that follow it show a
// roll-over.
uint64_t start_time(std::span<const uint32_t> frame);
// The time of the frame's first custom marker, which there must be.
uint64_t first_custom_time(std::span<const uint32_t> frame);

// The part of a lane's past that is needed to verify its next frame. Every span carries one
// (shm::SpanEntry::digest), so a reader that starts there decodes the same as a reader of all spans.
// Digests cross processes and files: the layout is part of their format (docs/format-versions.md). All zeros:
// the past is unknown.
struct FrameDigest {
  uint32_t guaranteed[8] = {};  // words 4..11 of the previous frame
  uint64_t last_time = 0;       // latest repaired time in the lane so far
  uint32_t host_id = 0;
  uint32_t trailing_words = 0;  // words of the previous frame; 0: no previous frame
  uint32_t known = 0;           // 1: the fields above are set
  uint32_t repaired_slots = 0;  // bit s: the time of slot s had rolled over
  uint32_t reserved[2] = {};
};
static_assert(offsetof(FrameDigest, guaranteed) == 0 && offsetof(FrameDigest, last_time) == 32 &&
              offsetof(FrameDigest, host_id) == 40 && offsetof(FrameDigest, trailing_words) == 44 &&
              offsetof(FrameDigest, known) == 48 && offsetof(FrameDigest, repaired_slots) == 52 &&
              offsetof(FrameDigest, reserved) == 56 && sizeof(FrameDigest) == 64 &&
              std::is_trivially_copyable_v<FrameDigest> && std::is_standard_layout_v<FrameDigest>);

struct Walk {
  size_t whole_words = 0;  // words covered by frames that verified, from words[0]
  size_t frames = 0;
  size_t markers = 0;  // set slots and packets of frames that took part; repeats of quick push included
  bool held = false;   // judge.take() returned false for the next frame
  bool clean = false;  // the frames cover all of `words` exactly
};

// A time every marker must be earlier than, where one is known: what the clock can show by now at most. An
// earlier session on another boot's clock may have left later ones.
struct Ceiling {
  bool known = false;
  uint64_t time = 0;
};

// Verifies frames from words[0] on and stops at the first that does not hold: syntax, identity, and time.
// Every time a frame adds must be later than digest.last_time (when known), which distinguishes a frame that
// has not landed yet from the older bytes it will replace. A frame whose FW start slot is unset has no time
// of its own (a RISC that sat the launch out): judge.sat_out_ok(host_id) then verifies it. `cut`: the log continues
// behind `words`, so the last frame is only whole when another begins behind it. Leaves in `digest` what must
// be known in front of the first word that did not verify.
//
// Judge: bool sat_out_ok(uint32_t host_id);
//        bool take(const VerifiedFrame& frame);   // each verified frame, in order; false stops in front of
//        it
struct VerifiedFrame {
  std::span<const uint32_t> words;
  size_t end = 0;  // of the frame, in the words verified
  uint32_t markers = 0;
  bool sat_out = false;
  bool has_payload =
      false;  // words that carry neither valid bit nor time: a torn landing would not show in them
};
template <class Judge>
Walk verify_frames(std::span<const uint32_t> words, const Lane& lane, const Ceiling& ceiling, bool cut,
                   FrameDigest& digest, Judge&& judge);

// Returns the word behind the frame at words[at] of a launch that the RISC sat out, by syntax: the words behind it may be read as
// its own. 0: no such frame begins there.
size_t sat_out_frame_end(std::span<const uint32_t> words, size_t at, const Lane& lane);

// Length of the frame at words[at], behind a rewound index, where older bytes may follow instead of the next
// frame. Followed by a frame it ends there; otherwise where a word is no marker, or a time is not later than
// the one before or is beyond the frame's own FW end. 0 when there is no frame later than digest.last_time,
// which must be known. Updates `digest`.
size_t recovered_frame(std::span<const uint32_t> words, size_t at, const Lane& lane, const Ceiling& ceiling,
                       FrameDigest& digest);

// Words of the frame in front of the sums it ends with, which carry no time.
size_t without_sums(std::span<const uint32_t> frame);

// The earliest time a frame adds to a lane whose markers up to `after` are known (0: none). A run that pushes
// more than once repeats its starts, so the first custom marker counts where the start is not new or may not
// be.
uint64_t first_time(std::span<const uint32_t> frame, uint64_t after);

namespace detail {
// The FW start of the frame at words[at] is later than all before it, or that of the launch still running.
bool head_is_fresh(std::span<const uint32_t> words, size_t at, const Lane& lane, const FrameDigest& digest);
// Length of the frame at words[at], 0 when it does not hold. Updates `digest` and `frame` when it does; a
// frame at the very end of `words` is taken to end there.
size_t verify_frame(std::span<const uint32_t> words, size_t at, const Lane& lane, const Ceiling& ceiling,
                    FrameDigest& digest, VerifiedFrame& frame);
}  // namespace detail

template <class Judge>
Walk verify_frames(std::span<const uint32_t> words, const Lane& lane, const Ceiling& ceiling, bool cut,
                   FrameDigest& digest, Judge&& judge) {
  Walk walk;
  while (walk.whole_words < words.size()) {
    const size_t at = walk.whole_words;
    // The later ones were found where the frame before ended.
    if (at == 0 && !frame_starts(words, at, lane) && !frame_starts_damaged(words, at, lane)) break;
    const bool sat_out = lane.sat_out(words.data() + at);
    if (sat_out && !judge.sat_out_ok(words[at + device::kIdHost])) break;
    FrameDigest next = digest;
    VerifiedFrame frame;
    const size_t length = detail::verify_frame(words, at, lane, ceiling, next, frame);
    if (length == 0 || (cut && at + length == words.size())) break;
    // Only a frame that is not an older one shows where the next frame begins.
    if (at + length < words.size()) {
      const size_t behind = at + length;
      if (lane.sat_out(words.data() + behind) ? !judge.sat_out_ok(words[behind + device::kIdHost])
                                              : !detail::head_is_fresh(words, behind, lane, next))
        break;
    }
    walk.held = !judge.take(frame);
    if (walk.held) break;
    digest = next;
    walk.whole_words += length;
    ++walk.frames;
    walk.markers += frame.markers;
  }
  walk.clean = walk.whole_words == words.size();
  return walk;
}

}  // namespace ttc::markers
