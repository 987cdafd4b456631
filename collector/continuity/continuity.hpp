// What joins the next delivered marker of a lane to the last one: a Proof that no marker between them is missing. Only the
// functions here make proofs, from what was read. Pure: no card, no clock, no state.
//
// Every field of the evidence is false by default, and a proof needs all fields that its rule names. A forgotten reading, or a
// case that was not foreseen, therefore gives no proof; and without a proof, CoreAccount records an interval.
#pragma once
#include <optional>

namespace ttc::collect {

struct SameEpoch;
struct BehindReset;
struct AcrossReset;
struct FirstFrame;
struct RecycledLap;
struct PlaceFound;
struct L1Tail;
struct PushZones;
struct UnsettledWords;
struct CountedRuns;
struct QuietCore;
struct LogRoom;

class Proof {
  Proof() = default;
  friend std::optional<Proof> prove_same_epoch(const SameEpoch&);
  friend std::optional<Proof> prove_behind_reset(const BehindReset&);
  friend std::optional<Proof> prove_across_one_reset(const AcrossReset&);
  friend std::optional<Proof> prove_first_frame(const FirstFrame&);
  friend std::optional<Proof> prove_recycled(const RecycledLap&);
  friend std::optional<Proof> prove_same_place(const PlaceFound&);
  friend std::optional<Proof> prove_l1_tail(const L1Tail&);
  friend std::optional<Proof> prove_push_zones(const PushZones&);
  friend std::optional<Proof> prove_no_launch_between(const UnsettledWords&);
  friend std::optional<Proof> prove_counted_runs(const CountedRuns&);
  friend std::optional<Proof> prove_quiet(const QuietCore&);
};

// Another proof: the card wrote all that firmware pushed to the log.
class RoomProof {
  RoomProof() = default;
  friend std::optional<RoomProof> prove_room(const LogRoom&);
};

// New words behind the cursor of a log.
struct SameEpoch {
  bool counters_not_back =
      false;                     // RUN_COUNTER, or the indices, are not below those that announced the words
  bool canaries_intact = false;  // of the lanes whose canary was read; read after the words
  bool in_time = false;          // all of it within kPollDeadlineNs of the poll that announced them
};
std::optional<Proof> prove_same_epoch(const SameEpoch&);

// Words behind the cursor after a host reset: logs are overwritten from the front, and the index moves before the data.
struct BehindReset {
  bool index_not_there = false;  // the new epoch's index has not reached the words, read after them
  bool words_stand = false;  // a canary in front and their own first ones, or they all, read again after that
  // About the first frame among them:
  bool at_cursor =
      false;  // it is where the lane had been read to, and not behind what the new epoch has overwritten
  bool in_sight = false;      // no epoch came and went unseen in front of it
  bool l1_continues = false;  // accumulating firmware: it begins with the buffer's canary
};
bool words_are_old(const BehindReset&);
std::optional<Proof> prove_behind_reset(const BehindReset&);

// No marker that a lane pushed before a host reset is missing, so that the new epoch follows without a gap.
struct AcrossReset {
  bool nothing_announced = false;  // no index of the lane ever moved, and no frame is at the front of its log
  bool cursor_stands = false;  // the new epoch has not reached the cursor, and the canary before it is intact
  bool read_through =
      false;  // up to the last frame that follows in place and time; no index was read beyond it
  bool older_behind = false;     // the words behind it were there before: the lane pushed no further frame
  bool with_the_others = false;  // or: its last frame is of the last launch that other lanes pushed
  bool in_time_or_idle =
      false;  // one reset at most since the last proof: polled in time, or the core has not run since
  // Accumulating firmware: the buffer in L1 was read after the reset, and what it holds was delivered to its end. A later launch
  // would have restarted it.
  bool l1_shows_end = false;
};
std::optional<Proof> prove_across_one_reset(const AcrossReset&);

// The first frame of a lane in an epoch: no epoch came and went unseen before it.
struct FirstFrame {
  bool another_lane_joined = false;  // with a frame of the same launch: a core's lanes are reset together
  bool in_sight = false;             // the core was polled in time until the launch's end
  bool host_never_read = false;      // the host has not read results since it set the profiler up
  bool pushes_often =
      false;  // a core without launches: its frames are no further apart than a buffer takes to fill
  bool counts_launches = false;  // the core is not one of those
};
std::optional<Proof> prove_first_frame(const FirstFrame&);

// No frame of the epoch was delivered, and other words are where its first frame was expected.
struct UnsettledWords {
  bool first_seen = false;  // nothing stood there before, or nothing is known of the lane
  bool not_later = false;   // they hold no launch that is later than the one read before
};
std::optional<Proof> prove_no_launch_between(const UnsettledWords&);

// The runs that a core has counted against BRISC's frames.
struct CountedRuns {
  bool all_came = false;        // or their frames are in the log
  bool may_still_come = false;  // a frame may be about to land
  bool dropped = false;         // the card had no room for them: another interval holds them
  bool known = false;           // they were found missing by an earlier poll
};
std::optional<Proof> prove_counted_runs(const CountedRuns&);

// A poll that found nothing new. L1 still holds the core's last launch, which may have been reset with its epoch.
struct QuietCore {
  bool none_since = false;       // no launch was closed since what is known
  bool host_never_read = false;  // so that no epoch has ended
  bool not_closed = false;       // a launch is under way: its frame will show what was before it
  bool being_pushed = false;     // an index, or the count of runs, has moved meanwhile
  bool uncounted = false;        // the firmware's mode shows resets otherwise
};
std::optional<Proof> prove_quiet(const QuietCore&);

// Frames that recycling took from a lane's old place and from its new front (recycle_resolve.hpp).
struct RecycledLap {
  bool resolved = false;  // the verdict has the lane's new place, and each frame follows the one before it
};
std::optional<Proof> prove_recycled(const RecycledLap&);

// A lane without a new frame, whose place in the log was not certain.
struct PlaceFound {
  bool stayed = false;           // it is where it was, in a lap that was not cleared
  bool never_delivered = false;  // no marker of it is known
};
std::optional<Proof> prove_same_place(const PlaceFound&);

// Markers of a buffer in L1 that no log holds yet.
struct L1Tail {
  bool begins_with_canary = false;  // its first marker is the one that was read when the buffer was begun
  bool nothing_before =
      false;  // its first marker was delivered; or the lane had none, and was polled in time until it came
  bool behind_last_push = false;  // it was begun behind the push that was delivered last
  bool last_of_replay =
      false;  // trace-only firmware: a replay's last frame stays until the next replay pushes it
  bool holds_none = false;
};
std::optional<Proof> prove_l1_tail(const L1Tail&);

// The zones of accumulating firmware's last push: in BRISC's slots alone, until the next push takes them, or the first launch
// after a host reset clears them.
struct PushZones {
  bool no_push = false;        // in the epoch that has ended
  bool slots_hold_it = false;  // read after the reset
};
std::optional<Proof> prove_push_zones(const PushZones&);

// Did the log have room for all that the lane pushed?
struct LogRoom {
  bool fits_any = false;        // a frame of any length fits behind the index
  bool not_said = false;        // the core's DROPPED word does not name the lane, nor do its counts
  bool nothing_before = false;  // the drops lie behind frames that wait in the log
  bool emptied = false;         // the DROPPED word keeps its bits when recycling has emptied the log
  bool not_cut = false;         // a frame near the log's end is longer than what firmware writes without room
};
std::optional<RoomProof> prove_room(const LogRoom&);

}  // namespace ttc::collect
