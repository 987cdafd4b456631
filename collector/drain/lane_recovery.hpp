// What a host reset left behind in one lane's log.
#pragma once
#include <optional>
#include <span>

#include "collector/core/core_part.hpp"

namespace ttc::collect {

class LaneRecovery : CorePart {
 public:
  explicit LaneRecovery(const CorePart& part) : CorePart(part) {}

  // Takes what the log still holds behind the cursor, or, where the new epoch has come further, behind that.
  card::Access recover(uint32_t risc, const ControlSample& snap, Recovered& recovered);
  bool never_showed_any(uint32_t risc, const ControlSample& snap) const;
  card::Expected<bool> nothing_at_front(uint32_t risc);

 private:
  // What came back from a log.
  struct Chain {
    uint32_t at = 0;                 // behind the last frame that was taken
    bool has_canary = false;         // the lane's canary stood in front of it
    uint32_t announced = 0;          // then: an index of its epoch
    bool incomplete = false;         // more may have stood behind it
    bool piece_too_short = false;    // of what was read last: it ends within the first frame that has times
    std::optional<uint64_t> begins;  // markers may be missing in front of this; none: no frame was taken
    std::optional<uint64_t> begins_with;  // time of the only first marker that its first frame may have
    // About the frame that comes first: it is not at the cursor; an epoch may have begun and ended in front of it; its
    // buffer in L1 was restarted.
    bool behind_gap = false, out_of_sight = false, l1_restarted = false;
    bool older_behind = false;               // there no word is newer than what was taken
    std::optional<uint32_t> sat_out_launch;  // its host id, if one is there
    uint32_t sat_out_until = 0;          // behind the frames without times of launches that the RISC sat out
    std::optional<uint64_t> full_since;  // behind this frames may lack markers, or runs
  };
  struct Survivor {
    std::optional<uint32_t> at;
    bool passed_newer = false;  // one in front of it may be of the new epoch
  };
  static constexpr uint32_t kPieceWords =
      2 * device::kBufferWords + 16;  // holds any frame and the start of the next

  bool surely_old(uint32_t risc, uint32_t end, const markers::FrameDigest& digest) const;
  card::Expected<Survivor> find_survivor(uint32_t risc, uint32_t from);
  card::Expected<bool> still_stands(uint32_t risc, uint32_t at, std::span<const uint32_t> front,
                                    std::span<const uint32_t> words) const;
  static bool is_older(const LaneState& lane, std::span<const uint32_t> words);
  static bool passes_sat_out(const LaneState& lane, std::span<const uint32_t> seen, uint32_t announced,
                             uint32_t& pos, Chain& chain);
  void begin_chain(uint32_t risc, std::span<const uint32_t> taken, uint64_t until, bool at_front,
                   Chain& chain);
  uint32_t walk_chain(uint32_t risc, std::span<const uint32_t> seen, Chain& chain);
  card::Access publish_chain(uint32_t risc, Chain& chain);
  // The words that were read into the claimed `slot`. `before`: of the frame in front of them.
  void publish_frames(uint32_t risc, uint64_t* slot, uint32_t at, uint32_t words,
                      const markers::FrameDigest& before, uint64_t read_time_ns);
};

}  // namespace ttc::collect
