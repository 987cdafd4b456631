// What one log holds and lacks once no frame is being pushed any more: words in, parts and gaps out. Pure.
//
// One quantity is carried forward, FrameDigest::last_time: every marker of the lane up to it is in a part or inside a gap. It
// has two ways forward: a frame that verifies and directly follows the one before it, or a gap. What does not verify is
// never delivered; a cause that no rule covers becomes a gap too large, not a silent loss.
//
//   Words that are no frame behind the last one  a gap of as many words, up to the next frame that is later. Firmware before
//       2026 leaves them: once one RISC's log is full the later RISCs' indices go on without their words being written, and
//       frames of earlier epochs show through (tt-metal kernel_profiler.hpp of 2025, do_noc).
//   A head that another RISC's last packet has overwritten, with an id that no launch has  likewise: a packet of 6 words at the
//       end of a buffer reaches the host id of the next.
//   DROPPED  a gap without end, from the last frame in front of which no drop is possible: firmware continues to push
//       shorter frames after the first one that lacks markers.
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "firmware_markers/frame.hpp"

namespace ttc::markers {

// Ids of the launches whose BRISC frames were found, since every RISC's frame of a launch carries the id of BRISC's.
struct KnownLaunches {
  std::set<uint32_t> ids;
  bool complete = true;  // BRISC's log lacks none of the epoch
};

// One RISC's log in one epoch.
struct LogWords {
  std::span<const uint32_t> words;  // from word 0 up to its index
  uint32_t capacity = 0;            // of the log, in words
  bool dropped = false;             // its bit of the control vector's DROPPED
};

struct LogPart {
  uint32_t at, words;  // whole frames, each verified
  FrameDigest before;  // of the lane, in front of them
};
struct LogGap {
  uint64_t from = 0;           // markers of later times may be missing
  std::optional<uint64_t> to;  // and of earlier times than this; none: no marker follows
  uint32_t words = 0;          // that were skipped; 0: DROPPED
};
struct LogAccount {
  std::vector<LogPart> parts;
  std::vector<LogGap> gaps;
  std::optional<uint64_t> begins;  // time of the first new marker; none: no frame with a time of its own
  std::set<uint32_t> launches;     // ids of the frames
};

// `digest`: of the lane behind the epoch before; of its last frame afterwards. `launches`: null for BRISC itself.
LogAccount account_log(const LogWords& log, const Lane& lane, const KnownLaunches* launches,
                       FrameDigest& digest);

}  // namespace ttc::markers
