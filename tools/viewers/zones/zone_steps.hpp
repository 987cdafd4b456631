// Starts and ends of one lane, paired: what a viewer draws, step by step in the order of time.
//
// Steps of a lane nest: an end closes the begin that was opened last. What does not fit is shown as the
// markers it consists of, never completed by guessing:
//
//   no_end    a start whose end never came. Known within its frame: a mark. Its begin is out already (a zone
//             of an earlier frame): an end without a marker, at the last time read on the lane
//   no_start  an end without a start: a mark
//   overlap   a start and an end that reach across another zone's: a zone `aside`, on a lane beside this one,
//             so that both times are true. What does not nest there either: two marks
//   late      of a frame that is earlier than what the lane has shown; its steps touch no open zone
#pragma once
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "firmware_markers/decoder.hpp"

namespace ttc::tools {

enum class Flaw : uint8_t { none, no_end, no_start, overlap };
const char* to_string(Flaw flaw);  // words for people

inline constexpr uint32_t kNoMarker = ~uint32_t{0};

struct ZoneStep {
  enum class Kind : uint8_t { begin, end, mark };
  Kind kind = Kind::mark;
  Flaw flaw = Flaw::none;
  bool aside = false;
  uint32_t marker = kNoMarker;  // index; of an end: none where the zone is closed without a marker
  uint32_t other = kNoMarker;   // begin: its end's marker; end: its begin's; none: not in this frame
  uint64_t cycles = 0;          // end: of the zone, as the device counted them; 0: without a marker
};

// One lane's zones that are open between frames.
class ZoneSteps {
 public:
  // `markers` by time. `main_zone`: the id that opens a launch, 0 when not known. Valid until the next call.
  std::span<const ZoneStep> of(std::span<const markers::Marker> markers, uint16_t main_zone, bool late);
  size_t open() const { return open_.size(); }
  void forget_open() { open_.clear(); }

 private:
  struct Open {
    uint16_t id;
    uint32_t start;  // marker, or none: of an earlier frame
    uint32_t step;   // of the begin, where start is known
    uint64_t at_cycles;
    bool crossed = false;  // a zone below it has ended
  };
  void put(const ZoneStep& step) { steps_[count_++] = step; }
  void start(uint32_t index, uint16_t main_zone);
  void end(uint32_t index);
  void cross_above(size_t at);
  void abandon();
  void give_up(const Open& zone);
  void settle_crossed(bool late);

  std::span<const markers::Marker> markers_;
  std::vector<Open> open_;
  std::vector<Open> kept_;       // the lane's, while a late frame is examined
  std::vector<ZoneStep> steps_;  // as many as a frame can have; of them `count_`
  size_t count_ = 0;
  std::vector<std::pair<uint32_t, uint32_t>> aside_;  // steps of begin and end
};

}  // namespace ttc::tools
