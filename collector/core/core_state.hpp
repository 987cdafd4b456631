// The drain's state of a core, as values. Each has the rules that need nothing else; none reads the card.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collector/attach/attach.hpp"
#include "collector/attach/core_reader.hpp"
#include "collector/continuity/core_account.hpp"
#include "collector/continuity/host_resets.hpp"
#include "collector/continuity/lane_state.hpp"
#include "collector/continuity/timing.hpp"
#include "collector/recycle/core_recycle.hpp"

namespace ttc::collect {

// Indices that were read so long ago that the words they announce are in DRAM.
class Landing {
 public:
  using Indices = std::array<uint32_t, device::kMaxRiscs>;
  // Announced by an index at least kLandedNs ago.
  const Indices& landed() const { return landed_; }
  void note(const Indices& seen, uint64_t read_ns, uint64_t now_ns);
  void begin_epoch() { landed_ = coming_ = {}; }
  // The place of the lane is not certain: some of its words were announced a moment ago.
  void doubt(uint32_t risc) { landed_[risc] = coming_[risc] = 0; }
  void waits_from(uint64_t now_ns) { since_ns_ = now_ns; }
  void all_landed(const Indices& indices, uint64_t now_ns) {
    landed_ = coming_ = indices;
    since_ns_ = now_ns;
  }

 private:
  Indices landed_{}, coming_{};  // coming_ was read at since_ns_
  uint64_t since_ns_ = 0;
};

// RUN_COUNTER against BRISC's finished frames.
struct Runs {
  uint32_t counter = 0;    // when everything was delivered last
  uint32_t delivered = 0;  // of this epoch
  uint64_t total = 0;
  uint32_t missing_visits = 0;  // in a row with more runs counted than frames found

  void note_missing(bool missing) { missing_visits = missing ? missing_visits + 1 : 0; }
  void begin_epoch() { counter = delivered = missing_visits = 0; }
};

// When the core was polled, by the attachment's clock, and what that showed.
struct Polls {
  uint64_t last_ns = 0, before_ns = 0;  // the last two
  HostResets::Mark caught_up;           // the last one that left nothing undelivered
  uint64_t proven_ns = 0;               // likewise, that showed the log to be still that of this epoch
  uint32_t quiet = 0;                   // in a row, without news
  bool check_all = false;               // one was late, and not every lane's canary has been read since
  uint64_t resets_checked = 0;          // HostResets::counted() when this core was last checked for one

  static bool too_late(uint64_t before, uint64_t now_ns) { return now_ns - before > timing::kPollDeadlineNs; }
  // The last one missed the deadline.
  bool late() const { return too_late(before_ns, last_ns); }
  void begin_with(uint64_t ns) { last_ns = before_ns = caught_up.ns = proven_ns = ns; }
  void note(uint64_t begun_ns);
  void note_caught_up(uint64_t begun_ns, const HostResets& resets) {
    caught_up = {begun_ns, resets.counted()};
    proven_ns = begun_ns;
  }
};

// A host reset was noticed, and its epoch has not begun for the drain.
struct Rewind {
  uint64_t noticed_ns = 0;  // 0: none
  uint64_t after_ns = 0;    // of the poll before
  bool late = false;        // more than one may have passed: the poll came late or took long

  bool pending() const { return noticed_ns != 0; }
  // Pushes that the reset caught under way have landed, and the host has written the whole vector.
  bool over(uint64_t read_ns) const { return read_ns >= noticed_ns + timing::kResetOverNs; }
  void note(const Polls& polls, bool long_ago, uint64_t now_ns);
};

// The launch that an epoch's first frames are of.
struct Entered {
  uint32_t host_id, trace_count;
  uint64_t begins;              // its first new marker
  std::optional<Proof> joined;  // none: an epoch may have gone by unseen before it
};

struct EpochBegin {
  HostResets::Mark since;
  std::optional<Entered> entered;
  bool last_run_unchecked = false;  // no quiet poll has compared L1 yet
};

// What L1 looked like before the mode was settled.
struct ModeWatch {
  uint64_t due_ns = 0;
  device::Mode seen = device::Mode::normal;
  uint64_t waits_since_ns = 0;  // words wait in the log because the mode is not known; 0: none do
};

// When buffers in L1 were copied, and RUN_COUNTER then.
struct L1Copy {
  uint64_t kept_ns = 0;
  uint32_t runs = 0;
};

// By the clock of sweeps.
struct Visits {
  uint64_t due_ns = 0;
  uint64_t last_ns = 0;  // when it was visited; 0: not yet
  uint64_t interval_ns() const { return due_ns - last_ns; }
};

struct FirmwareSeen {
  bool proven = true;         // in this epoch the vector showed the firmware that was attached to
  bool read_by_host = false;  // its per-RISC address words were set
};

// Runs that a core has counted against BRISC's frames, which are one a run. Continues where only an index
// went back.
struct Referee {
  uint32_t counted = 0;  // RUN_COUNTER when last polled
  uint64_t came = 0;     // frames since it was 0
  uint64_t earlier = 0;  // runs that did not come until the host's last reset
  uint64_t missing() const { return counted > came ? counted - came : 0; }
  void see(uint32_t run_counter) {
    if (run_counter < counted) earlier += missing(), came = 0;
    counted = run_counter;
  }
};

struct RecycleState {
  Referee referee;
  std::unique_ptr<CoreRecycle> under_way;
  uint64_t ended_ns = 0;     // the last one; 0: there was none
  bool reopened = false;     // it reads provisional lanes again
  uint32_t provisional = 0;  // bit r: lane r was found empty, and the core may not have read that
  CoreRecycle::Counted last;
  std::vector<uint32_t> baseline;  // the vector's fixed words
  std::string refused;             // why not; until the host's next reset, or for good
  uint32_t resets = 0;             // of the host
  bool pushes_soon = false;
  bool place_lost = false;     // frames cannot be counted until find_place() has resolved
  uint64_t find_due_ns = 0;    // the next try
  uint64_t find_pause_ns = 0;  // between the last two
};

struct CoreState {
  CoreState(const AttachedCore& at, LossLog& log, uint32_t first_epoch)
      : tile(at), account(log, {at.at.x, at.at.y, 0, first_epoch}, at.riscs) {}

  AttachedCore tile;
  std::array<LaneState, device::kMaxRiscs> lanes;
  CoreAccount account;
  ControlSample seen;  // the last one whose words were acted upon
  Landing landing;
  Runs runs;
  Polls polls;
  Rewind rewind;
  EpochBegin epoch;
  std::vector<uint32_t> hosts;  // of BRISC's latest frames: other lanes may come later to the same launches
  ModeWatch mode;
  L1Copy l1_copy;
  Visits visits;
  FirmwareSeen firmware;
  uint32_t notes = 0;  // for the next chunk
  uint32_t lane_in_turn =
      0;  // the next delivery begins with it, where the last one did not come to all lanes
  RecycleState recycling;
};

}  // namespace ttc::collect
