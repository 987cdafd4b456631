// The drain: polls cores, takes what is new in their DRAM logs, verifies it and publishes it. It only reads.
//
// One poll of a core, in round trips to the card (a line is one):
//
//   1. the lines of the control vector that hold HOST_BUFFER_END_INDEX and RUN_COUNTER: one or two. When they
//      are unchanged, the poll ends here.
//   2. the new words of every lane, each line once, straight into a claimed ring slot, together with the
//      words just in front of them that were delivered earlier (the witness: while it is intact the host has
//      not reset the log since)
//   3. the RUN_COUNTER line again: a host reset in between makes the poll void
//
// A frame is published when it verified: syntax, identity, times later than everything delivered before in
// the lane. The device raises the index before the data lands (tt-metal tools/profiler/kernel_profiler.hpp,
// finish_profiler), so a frame that does not verify is read again by the next poll. Only when it still does
// not verify after kGiveUpNs are its words counted as unparsable. Payload words, and the frames of a RISC
// that sat a launch out, carry nothing that could be verified: lanes that have them are read only up to the
// index that was seen kLandedNs ago.
//
// A host reset (RUN_COUNTER or an index smaller than known, or a damaged witness) starts a new epoch. What
// the host reset the index over is still in DRAM until it is overwritten, and is recovered where the chain of
// frames is unbroken.
//
// An epoch that began and ended between two polls leaves no trace in the control vector. The drain finds it
// by these rules; where one of them fails, the gap is reported as possibly lost:
//
//   - L1 still holds the core's last run: on the first quiet poll of an epoch it must be one that was
//     delivered.
//   - The first frame of an epoch must follow the last poll that found everything delivered within
//     kPollDeadlineNs.
//   - The host resets all cores at once: a reset noticed on one core, or a late poll, makes the drain check
//     the witness of a quiet core. The front of its empty log is read before its indices are: a frame there
//     is of this epoch only if the indices cover it.
//   - A core that only quick-pushes never shows its runs: two of its frames, in different epochs, must not be
//     further apart than half of what it takes to fill a buffer.
//   - What accumulates in L1 is in no log: a DEVICE_END that decreases while no index moves, a push that does
//     not begin with the buffer's first marker, or another first marker without a push, has a reset in front of it.
//
// CoreAccount decides what is a loss: it joins new markers to those delivered before only with a Proof
// (continuity.hpp), and records an interval otherwise.
//
// What stays unseen: an epoch within kPollDeadlineNs.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "collector/attach/attach.hpp"
#include "collector/attach/region_size.hpp"
#include "collector/drain/continuity.hpp"
#include "collector/drain/core_account.hpp"
#include "collector/drain/sweep_stats.hpp"
#include "collector/drain/timing.hpp"
#include "collector/io/log_reader.hpp"
#include "collector/loss/loss_log.hpp"
#include "collector/publish/publisher.hpp"
#include "collector/recycle/recycling.hpp"
#include "collector/sampling/device_time.hpp"
#include "firmware_markers/frame.hpp"

namespace ttc::collect {

struct DrainOptions {
  uint32_t bytes_per_risc = 0;                  // 0: learn
  uint64_t busy_interval_ns = 50'000;           // a core that had news is visited again after this
  uint64_t idle_interval_ns = 1'000'000;        // worst case between two visits of a Tensix core
  uint64_t ethernet_interval_ns = 100'000'000;  // an Ethernet core is never visited more often
  std::function<void()>
      before_publish;  // words were read and will be published: time to look for their names
  // A marker of this tile with this time was on the card before `host_ns` (by the attachment's clock).
  std::function<void(card::Coord tile, uint64_t marker_time, uint64_t host_ns)> seen;
  Recycling* recycling = nullptr;                // null: the card is only read
  std::function<void(const std::string&)> tell;  // what a user should know now: a log that fills, a refusal
};

// What drains of the same segment have counted before, on a card that was reset since. Epochs go on behind
// theirs: a lane's words are told apart by (session, lane, epoch, offset).
struct Carried {
  uint32_t first_epoch = 0;
  uint64_t programs = 0, markers = 0, frames = 0, epochs = 0, retries = 0, missed_poll_deadlines = 0,
           sweeps = 0;
  uint64_t recovered_words = 0, unparsable_words = 0, dropped_runs = 0;
  std::vector<shm::LossRecord> lost;
  card::Transactions transactions;
};

class Drain {
 public:
  Drain(card::Card& card, const Attachment& attachment, LogReader& logs, Publisher& publisher,
        shm::SegmentWriter& segment, const DrainOptions& options, Carried carried = {});
  // For the drain that goes on after this one, when its account is closed.
  Carried carry() const;

  // Visits every core that is due at `now_ns` (all when `all`). `gone` ends collecting.
  card::Access sweep(uint64_t now_ns, bool all = false);
  // When the next core is due.
  uint64_t next_due_ns() const;

  // Once, at the end: what the account can still say. Cores that were not looked at after `ended_ns` (by the
  // attachment's clock) could not be read any more.
  void close_account(bool card_vanished, uint64_t ended_ns = 0);
  // Likewise when firmware_changed(): takes what stands in the logs behind what was delivered, and records an interval for every
  // lane that may lack more. Intervals end now: what comes later is another workload's.
  void close_workload();

  // The firmware that was attached to is not on the card any more: its control vectors are another's, or cleared. Nothing was
  // read by its layout since. The profiler must be attached to again.
  bool firmware_changed() const { return firmware_changed_; }

  const LossLog& losses() const { return losses_; }
  const RegionSize& region_size() const { return region_size_; }
  const DurationStats& sweep_times() const { return sweep_times_; }
  uint64_t programs() const { return programs_; }
  uint64_t markers() const { return markers_; }
  uint64_t frames() const { return frames_; }
  uint64_t epochs() const { return epochs_; }
  uint64_t retries() const { return retries_; }
  // Looks at Tensix cores that came so late after the one before that an epoch may have gone by unseen: this
  // process, or the card, was kept waiting.
  uint64_t missed_poll_deadlines() const { return missed_poll_deadlines_; }
  uint64_t sweeps() const { return sweeps_; }
  card::Transactions transactions() const;  // all drains' of the segment
  size_t cores() const { return cores_.size(); }
  size_t lanes() const;                                  // that delivered anything
  std::map<std::string, uint64_t> not_recycled() const;  // why -> how many cores
  double highest_fill() const { return highest_fill_; }  // of a log, at any look; 0..1
  bool recycling_under_way() const;
  // The last sweep skipped words: another one may find frames behind them.
  bool skipped_words() const { return skipped_words_; }
  const markers::Layout& layout() const { return *attachment_.layout; }
  device::Mode mode() const { return attachment_.mode; }

 private:
  static constexpr uint32_t kWitnessWords = 16;
  static constexpr uint32_t kHeadWords = 4;  // of a frame: sentinel, identity, host id
  static constexpr size_t kHostsKept = 2048;
  static constexpr uint64_t kGiveUpNs = 100'000'000;
  static constexpr uint32_t kGiveUpLooks = 16;          // a starved collector may look once in that time
  static constexpr uint64_t kCeilingAgeNs = 1'000'000;  // where a frame is doubted, or an epoch recovered
  static constexpr uint64_t kFreshNs =
      1'000'000'000;  // an empty log is watched as closely as a busy one for so long

  struct LaneState {
    markers::Lane lane;
    uint32_t cursor = 0;  // words of this epoch's log delivered
    bool delivered = false;
    markers::FrameDigest digest;                    // of the frame before the cursor
    std::array<uint32_t, kWitnessWords> witness{};  // the last words before the cursor
    uint32_t witness_words = 0;
    uint64_t settled_hash = 0;  // of words seen once, while nothing is known about the lane's time
    uint32_t settled_words = 0;
    uint64_t settled_since_ns = 0;
    uint64_t settled_start = 0;   // first time of those words
    uint64_t stuck_since_ns = 0;  // 0: the words behind the cursor verified when last looked at
    uint32_t stuck_looks = 0;     // since then
    bool careful = false;         // it has frames with words that cannot be verified: read when surely landed
    bool pushes_early = false;    // it has frames of runs that had not ended
    bool waits = false;           // likewise, until the frame behind the cursor is delivered
    std::optional<uint32_t> old_host;  // what stood in the next frame's host id word before its index moved
    std::vector<uint32_t> l1_rest;     // copy of what only L1 holds (l1_tail.cpp)
    uint64_t l1_canary =
        0;  // time of the first marker of the buffer in L1; 0: none was seen since the last push
    bool l1_joins = false;  // that buffer follows what was delivered
    uint64_t l1_next_canary =
        0;  // likewise, of the buffer behind a frame that was pushed and is not delivered yet; 0: not known
    // A buffer may have been begun and lost since what is known: a poll was late, and L1 has not been examined in time since.
    bool l1_unchecked = false;
    uint32_t chain_end = 0;        // behind what a recovery has taken that is not finished yet
    bool first_of_epoch = true;    // the next fresh frame is the first of its epoch
    uint64_t entered_until = 0;    // end of that frame's launch, until it was judged or more came
    uint32_t base = 0;             // stream offset of the log's word 0: words of earlier laps
    uint64_t frames = 0;           // delivered since the host's last reset
    std::optional<int64_t> ahead;  // frames minus runs: a constant of the lane in an epoch
  };
  // Runs that a core has counted against BRISC's frames, which are one a run. Goes on where only an index
  // went back.
  struct Referee {
    uint32_t counted = 0;  // RUN_COUNTER when last looked at
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
    uint64_t ended_ns = 0;           // the last one; 0: there was none
    bool reopened = false;           // it looks at provisional lanes again
    uint32_t provisional = 0;        // bit r: lane r was found empty, and the core may not have seen that
    CoreRecycle::Result last;        // of what it says, runs and settled
    std::vector<uint32_t> baseline;  // the vector's fixed words
    std::string refused;             // why not; until the host's next reset, or for good
    uint32_t resets = 0;             // of the host
    bool words_skipped = false, pushes_soon = false;
  };
  // What a lane's log showed after a host reset.
  struct Recovered {
    AcrossReset evidence;
    bool behind_gap =
        false;  // the new epochs had come to the cursor: what was taken lay behind or in front of it
    std::optional<uint32_t>
        sat_out_launch;  // host id of a frame without times that stands behind what was taken
  };
  // The launch that an epoch's first frames are of.
  struct Entered {
    uint32_t host_id, trace_count;
    uint64_t begins;  // its first new marker
    bool missed;      // an epoch may have gone by unseen before it
  };
  struct CoreState {
    CoreState(const AttachedCore& at, LossLog& log, uint32_t first_epoch)
        : core(at), account(log, {at.at.x, at.at.y, 0, first_epoch}) {}
    AttachedCore core;
    std::array<LaneState, device::kMaxRiscs> lanes;
    CoreAccount account;
    uint32_t run_counter = 0;
    uint32_t runs_delivered = 0;  // of this epoch, by BRISC's finished frames
    uint64_t runs_total = 0;
    uint32_t unexplained_visits = 0;                     // in a row with more runs counted than frames found
    std::array<uint32_t, device::kMaxRiscs> seen_end{};  // the indices when last looked at
    uint32_t seen_runs = 0;                              // RUN_COUNTER likewise
    std::array<uint32_t, device::kMaxRiscs> landed_end{};   // indices first seen at least kLandedNs ago
    std::array<uint32_t, device::kMaxRiscs> landing_end{};  // indices seen at landing_since_ns
    uint64_t landing_since_ns = 0;
    uint64_t reset_generation = 0;      // of the device's resets, the last one this core was looked at for
    uint64_t caught_up_generation = 0;  // likewise, when nothing was left undelivered
    uint64_t look_ns = 0;               // read time of the last look
    uint64_t previous_look_ns = 0;
    bool looked_late = false;         // it came later than blind_spot after the one before
    bool ask_all = false;             // a poll came late, and not every lane's canary has been read since
    std::optional<Entered> entered;   // what the first fresh frames of this epoch showed
    bool last_run_unchecked = false;  // an epoch began, and no quiet poll has compared L1 yet
    std::vector<uint32_t> hosts;  // of BRISC's latest frames: other lanes may come later to the same launches
    uint32_t quiet_looks = 0;     // in a row
    uint64_t rewound_ns = 0;      // a rewind was noticed then, and its epoch has not begun yet; 0: none
    bool rewound_late = false;    // by a look that came late or took long
    uint64_t rewound_after_ns = 0;  // the look before
    uint64_t epoch_since_ns = 0;
    uint64_t mode_due_ns = 0;                       // when what L1 looks like is asked for next
    device::Mode mode_seen = device::Mode::normal;  // what L1 looked like before the mode was settled
    uint64_t l1_kept_ns = 0;
    uint32_t l1_runs = 0;  // RUN_COUNTER when l1_rest was copied
    std::array<uint32_t, device::kMaxRiscs>
        seen_stored{};          // DEVICE_END of accumulating firmware, when last polled
    uint64_t caught_up_ns = 0;  // read time of the last look that left nothing undelivered
    uint64_t proven_ns = 0;     // likewise, that showed the log to be still that of this epoch
    uint64_t due_ns = 0;
    uint64_t interval_ns = 0;
    bool firmware_proven = true;  // in this epoch the vector showed the firmware that was attached to
    bool read_by_host = false;    // its per-RISC address words were set
    uint32_t notes = 0;           // for the next chunk
    std::array<std::optional<Recovered>, device::kMaxRiscs>
        across;  // of lanes that a recovery has taken; it may need several polls
    RecycleState recycling;
  };
  // What one look at the control vector shows. Torn, untrusted.
  struct Snapshot {
    std::array<uint32_t, device::kMaxRiscs> host_end{};
    std::array<uint32_t, device::kMaxRiscs>
        stored{};  // DEVICE_END, where the firmware may accumulate; read before host_end
    uint32_t run_counter = 0;
    uint64_t read_time_ns = 0;
  };
  // A run of control words that is fetched in one go: an even number of them, from an even one on.
  struct ControlPart {
    uint32_t first_word;
    uint32_t words;
  };
  // New words of one lane, in the claimed slot.
  struct Fetched {
    LaneState* lane;
    uint32_t risc;
    uint32_t lead;  // witness words in front
    uint32_t words;
    uint32_t ahead;        // words behind them in the same line: where the next frame will begin
    bool cut;              // the log goes on behind
    uint32_t data_offset;  // of the first new word, from the chunk's start
  };
  using LastTimes = std::array<uint64_t, device::kMaxRiscs>;
  class Judge;

  // drain.cpp
  card::Access look_after(CoreState& core, uint64_t now_ns);
  card::Access visit(CoreState& core, uint64_t now_ns, bool& news);
  card::Access account_drops(CoreState& core, const Snapshot& snap, const LastTimes& before);
  bool near_full(const Snapshot& snap) const;
  bool runs_missing(const CoreState& core, const Snapshot& snap) const;
  uint64_t log_address(const CoreState& core, uint32_t risc, uint32_t word) const;
  uint32_t log_capacity() const { return region_size_.bytes() / 4; }
  // Up to this word of a log any frame fits, overrun or not.
  uint32_t roomy_until() const {
    return log_capacity() - std::min(log_capacity(), 2u * device::kBufferWords);
  }
  void tell_losses();
  void tell_waiting();
  void store_counters();

  // drain_looks.cpp
  enum class Front : uint8_t { not_asked, empty, frame };
  struct Look {
    uint64_t begun_ns = 0;
    bool in_doubt = false;
    Front front = Front::not_asked;  // read before the snapshot
    Snapshot snapshot;
  };
  card::Access look_at(CoreState& core, Look& look);
  card::Access check_quiet(CoreState& core, const Look& look);
  card::Access read_snapshot(const CoreState& core, Snapshot& snap);
  card::Access read_part(const CoreState& core, const ControlPart& part, uint32_t* words);
  card::Access still_unrewound(const CoreState& core, const Snapshot& snap, bool& unrewound);
  bool rewound(const CoreState& core, const Snapshot& snap) const;
  device::Mode mode_of(const CoreState& core) const;
  bool may_accumulate(const CoreState& core) const;
  void caught_up(CoreState& core, uint64_t looked_ns) const;
  void note_indices(CoreState& core, const Snapshot& snap) const;
  void note_rewind(CoreState& core, bool long_ago) const;
  bool words_wait(const CoreState& core, const Snapshot& snap) const;
  bool has_news(const CoreState& core, const Snapshot& snap) const;
  Publisher::Core chunk_core(const CoreState& core, uint32_t run_counter, uint64_t read_time_ns,
                             uint32_t notes) const;

  // firmware_watch.cpp
  card::Access check_firmware(CoreState& core);
  card::Access check_one_core_now_and_then();

  // drain_delivery.cpp
  card::Access deliver(CoreState& core, const Snapshot& snap, uint64_t now_ns);
  card::Access prove(CoreState& core, const Snapshot& snap, std::span<const Fetched> fetched,
                     const uint64_t* slot, bool interrupted, bool& unrewound);
  std::vector<Fetched> plan(CoreState& core, const Snapshot& snap, uint64_t& bytes) const;
  static bool silent(std::span<const uint32_t> words);
  card::Access doubt_bank(const CoreState& core);
  bool witness_holds(const Fetched& f, const uint64_t* slot) const;
  void accept(CoreState& core, const Fetched& f, const uint64_t* slot, const Snapshot& snap, uint64_t now_ns,
              const Proof& same_epoch, std::vector<Publisher::Span>& spans);
  static void remember_hosts(CoreState& core, std::span<const uint32_t> hosts);
  bool settled(CoreState& core, LaneState& lane, std::span<const uint32_t> words, uint64_t read_since_ns);
  markers::Ceiling ceiling() const;
  void give_up(CoreState& core, const Fetched& f, std::span<const uint32_t> words);
  static bool given_up_on(const LaneState& lane, uint64_t now_ns);
  void advance(LaneState& lane, std::span<const uint32_t> delivered, const markers::FrameDigest& digest);

  // drain_epochs.cpp
  static uint64_t gap_end(const LaneState& lane, std::span<const uint32_t> frame, uint64_t after);
  void enter_epoch(CoreState& core, uint32_t risc, std::span<const uint32_t> frame, uint64_t until);
  void account_older_launches(CoreState& core);
  bool one_launch(const CoreState& core, std::span<const uint32_t> frame) const;
  uint64_t earlier_until(const CoreState& core, std::span<const uint32_t> frame, uint64_t time) const;
  bool out_of_sight_before(const CoreState& core, uint64_t time);
  FirstFrame before_first_frame(CoreState& core, uint32_t risc, std::span<const uint32_t> frame,
                                uint64_t time);
  bool host_has_read(const CoreState& core);

  // settle.cpp
  card::Access settle_mode(CoreState& core, uint64_t now_ns, bool urgent);
  card::Access settle_mode_by_log(const CoreState& core, const Snapshot& snap, bool& decided);
  card::Access look_at_mode(const CoreState& core, std::optional<device::Mode>& mode);
  card::Access wait_until_landed(const CoreState& core);
  void use_mode(device::Mode mode);
  card::Access account_unknown_mode(CoreState& core);
  card::Access settle_generation(const CoreState& core, const Snapshot& snap);
  card::Access read_landed_front(const CoreState& core, const Snapshot& snap, uint32_t words,
                                 std::vector<uint32_t>& front);
  void use_generation(unsigned generation);

  // recovery.cpp
  card::Access begin_epoch(CoreState& core);
  card::Access look_at_front(const CoreState& core, Front& front);
  card::Access check_unseen_reset(CoreState& core, Front front);
  card::Access read_slots(const CoreState& core, uint32_t risc, std::array<uint32_t, 8>& slots);
  enum class LastRun : uint8_t { delivered, undelivered, open };
  card::Access look_at_last_run(const CoreState& core, LastRun& run);
  card::Access check_last_run(CoreState& core, bool& decided);
  card::Access take_what_was_reset(CoreState& core, const Snapshot& snap);
  card::Access take_accumulated(CoreState& core, const Snapshot& snap, bool idle);
  card::Access was_idle(CoreState& core, bool& idle);
  std::array<std::optional<Proof>, device::kMaxRiscs> prove_reset(const CoreState& core, bool in_time,
                                                                  bool idle) const;
  const LaneState* furthest_recovered(const CoreState& core) const;
  card::Access check_never_seen(CoreState& core, bool& decided);
  enum class FrontKinds : uint8_t { launches, all };
  bool frame_waits_at_front(const CoreState& core, uint32_t risc, FrontKinds kinds, card::Access& access);
  card::Access nothing_at_front(CoreState& core, uint32_t risc, bool& nothing);
  card::Access recover_lane(CoreState& core, uint32_t risc, const Snapshot& snap, Recovered& recovered);
  card::Access ask_witnesses(CoreState& core, bool all, bool& intact);
  card::Access witness_at_cursor(const CoreState& core, uint32_t risc, bool& intact);

  // recovered_chain.cpp
  bool surely_old(const CoreState& core, uint32_t risc, uint32_t end, const markers::FrameDigest& digest);
  card::Access find_survivor(const CoreState& core, uint32_t risc, uint32_t from, std::optional<uint32_t>& at,
                             bool& passed_newer);
  // What came back from a log.
  struct Chain {
    uint32_t at = 0;                 // behind the last frame that was taken
    bool has_witness = false;        // the lane's witness stood in front of it
    uint32_t announced = 0;          // then: an index of its epoch
    bool incomplete = false;         // more may have stood behind it
    bool piece_too_short = false;    // of what was read last: it ends within the first frame that has times
    std::optional<uint64_t> begins;  // markers may be missing in front of this; none: nothing was taken
    std::optional<uint64_t> begins_with;     // time of the only first marker that its first frame may have
    bool behind_gap = false;                 // what comes first does not follow what was delivered
    bool older_behind = false;               // there no word is newer than what was taken
    std::optional<uint32_t> sat_out_launch;  // its host id, where one stands there
    uint32_t sat_out_until = 0;          // behind the frames without times of launches that the RISC sat out
    std::optional<uint64_t> full_since;  // behind this frames may lack markers, or runs
  };
  card::Access still_stands(const CoreState& core, uint32_t risc, uint32_t at,
                            std::span<const uint32_t> front, std::span<const uint32_t> words, bool& stands);
  static bool is_older(const LaneState& lane, std::span<const uint32_t> words);
  static bool passes_sat_out(const LaneState& lane, std::span<const uint32_t> seen, uint32_t announced,
                             uint32_t& pos, Chain& chain);
  uint32_t walk_chain(CoreState& core, uint32_t risc, std::span<const uint32_t> seen, Chain& chain);
  card::Access publish_chain(CoreState& core, uint32_t risc, Chain& chain);

  // drain_recycle.cpp
  double fill(const Snapshot& snap) const;
  static bool pushes_soon(std::span<const uint32_t> frames);
  std::string why_never(const CoreState& core) const;
  RecycleCore recycle_core(const CoreState& core) const;
  CoreRecycle::Deps recycle_deps();
  card::Access consider_recycling(CoreState& core, const Snapshot& snap);
  void tell_refusal(const CoreState& core);
  void announce_fill(const CoreState& core, double filled);
  bool provisional_moved(const CoreState& core, const Snapshot& snap) const;
  void reopen_recycle(CoreState& core);
  card::Access go_on_recycling(CoreState& core);
  void lose_until_now(CoreState& core, uint32_t risc);
  void go_on_after_surprise(CoreState& core, const CoreRecycle& recycle);
  void publish_new_frames(CoreState& core, uint32_t risc, const CoreRecycle::Result& result);
  void count_new_frames(CoreState& core, uint32_t risc, const LaneOutcome& outcome);
  void take_resolved(CoreState& core, const CoreRecycle& recycle, const Proof& resolved);
  static void forget_laps(CoreState& core);
  uint64_t missing_launches() const;

  // l1_tail.cpp
  card::Access read_vector(const CoreState& core, markers::ControlVector& vector);
  card::Access read_buffer(const CoreState& core, uint32_t risc, std::vector<uint32_t>& words);
  card::Access keep_l1(CoreState& core, uint64_t now_ns);
  uint64_t known_until(const CoreState& core, uint32_t risc) const;
  bool l1_joins(const CoreState& core, uint32_t risc, std::span<const uint32_t> buffer);
  bool holds_marker(std::span<const uint32_t> buffer);
  card::Access check_l1(CoreState& core, const Snapshot& snap, bool& stands);
  card::Access check_l1_before_mode(CoreState& core, const Snapshot& snap);
  void l1_begins(CoreState& core, uint32_t risc, std::span<const uint32_t> buffer);
  card::Access read_l1_canary(const CoreState& core, uint32_t risc,
                              std::array<uint32_t, device::kFirstCustomWord + 2>& buffer);
  bool may_have_stored(const CoreState& core, uint32_t risc) const;
  card::Access note_begun_buffers(CoreState& core);
  card::Access notice_l1_reset(CoreState& core, const Snapshot& snap);
  bool frame_joins_l1(CoreState& core, uint32_t risc, std::span<const uint32_t> frame, uint64_t until);
  card::Access take_l1_tail(CoreState& core, uint32_t risc);
  card::Access publish_l1_rest(CoreState& core, uint32_t pushed = 0);
  void publish_rest(CoreState& core, uint32_t risc, const std::vector<uint32_t>& rest, bool joins);
  void publish_frame_of_rest(CoreState& core, uint32_t risc, const std::vector<uint32_t>& rest);

  card::Card& card_;
  Attachment attachment_;
  LogReader& logs_;
  Publisher& publisher_;
  shm::SegmentWriter& segment_;
  DrainOptions options_;
  RegionSize region_size_;
  LossLog losses_;
  std::vector<shm::LossRecord> untold_losses_;
  std::vector<ControlPart> poll_parts_;
  ControlPart stored_part_;
  ControlPart dropped_part_;
  ControlPart host_read_part_;
  ControlPart identity_part_;  // what the host writes when it sets the profiler up
  bool firmware_changed_ = false;
  uint64_t firmware_checked_ns_ = 0;  // on any core
  size_t next_to_check_ = 0;
  std::vector<CoreState> cores_;
  DurationStats sweep_times_;
  DeviceTime device_time_;
  bool generation_settled_ = false;
  std::map<const CoreState*, std::pair<uint32_t, uint32_t>>
      widths_asked_;               // -> epoch and BRISC's index, when the log proved nothing
  uint64_t waiting_since_ns_ = 0;  // for the regions' size
  bool waiting_told_ = false;
  uint64_t line_ns_ = 0;  // what a line of the log takes, of late
  bool mode_settled_ = false;
  uint64_t reset_generation_ = 0;  // results reads of the host noticed on any core
  std::vector<uint64_t> scratch_;
  bool ending_ = false;  // the last looks: nothing is recycled any more
  bool last_chance_ =
      false;  // likewise, and each core had one: what is unproven is decided by what it looks like
  bool skipped_words_ = false;
  bool fill_told_ = false;
  double highest_fill_ = 0;
  std::map<std::string, std::set<const CoreState*>> refusals_;  // why cores are not recycled

  uint64_t programs_ = 0, markers_ = 0, frames_ = 0, epochs_ = 0, retries_ = 0, missed_poll_deadlines_ = 0,
           sweeps_ = 0;
  uint64_t recovered_words_ = 0, unparsable_words_ = 0, dropped_runs_ = 0;
  card::Transactions earlier_transactions_;  // of carried drains
};

}  // namespace ttc::collect
