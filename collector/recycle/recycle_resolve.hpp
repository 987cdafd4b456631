// What happened to one lane when its index was set to 0 while programs ran: every way to read what lies at
// the old place and at the front that holds together (RECYCLE.md). Pure: words in, outcomes out.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "firmware_markers/frame.hpp"

namespace ttc::collect {

enum class Verdict : uint8_t {
  untouched,    // the lane was not cleared
  clean,        // cleared, no run since
  front,        // all runs since went to the front
  after,        // runs came before the zero, none since
  after_front,  // both
  torn,         // one frame at the front, its index behind the old place
  lost_write,   // the core stored its index over our zero
  found_again,  // frames lack, and the log's last ones end at the index: the lane continues there
  kinds
};
const char* to_string(Verdict verdict);

struct NewFrame {
  uint32_t at = 0;  // word of the lane's log
  uint32_t words = 0;
  bool in_new_lap = false;      // its stream place follows the old lap's end, not its own place
  markers::FrameDigest before;  // of the frame before it
  uint32_t host_id = 0;
  uint32_t markers = 0;
  bool sat_out = false;
};

// How many new frames the counts allow.
struct FrameRange {
  int64_t least = 0, most = 0;
  bool holds(size_t frames) const {
    return static_cast<int64_t>(frames) >= least && static_cast<int64_t>(frames) <= most;
  }
};

struct LaneCase {
  markers::Lane lane;
  markers::Ceiling ceiling;
  markers::FrameDigest digest;  // of the last frame taken
  bool cleared = false;
  uint32_t pos = 0;                     // words of the log taken before
  uint32_t index_before = 0;            // read before our store: pos <= index_before
  uint32_t index_after = 0;             // that counts
  std::span<const uint32_t> old_place;  // the log from word `pos` on, as far as it can matter
  std::span<const uint32_t> front;      // the log from word 0 on
  FrameRange allowed;                   // new frames
  FrameRange crossing;                  // of them, behind index_before or in the new lap
};

struct LaneOutcome {
  Verdict verdict = Verdict::untouched;
  std::vector<NewFrame> frames;  // in order of time
  size_t announced = 0;          // of them, up to index_before
  markers::FrameDigest digest;   // of the last one
  uint32_t cursor = 0;           // words of the log that are taken then
  uint32_t old_end = 0;          // where the old place ended: stream place of a new lap's word 0
};

// Exactly one is the answer. None: words have not landed, or something happened that cannot.
std::vector<LaneOutcome> possible_outcomes(const LaneCase& lane);

// A lane whose words before an index are not known to be those of one lap: no outcome fitted, or the log was full. `front`: the log
// from word 0 to `index_after`, at a control sample without a finish under way, landed. The answer: the new frames that end at
// the index, each behind the other. Whatever else the lane pushed since its last frame was taken, was pushed before them, so that one
// interval holds it. Without any: the last frame that was taken ends there. Counts are not compared. None: the words up to the index
// are neither.
std::optional<LaneOutcome> place_found_again(const LaneCase& lane);

}  // namespace ttc::collect
