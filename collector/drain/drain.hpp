// The drain: polls cores, takes what is new in their DRAM logs, verifies it and publishes it. It only reads.
//
// One poll of a core, in round trips to the card (a line is one):
//
//   1. the lines of the control vector that hold HOST_BUFFER_END_INDEX and RUN_COUNTER: one or two. When they
//      are unchanged, the poll ends here.
//   2. the new words of every lane, each line once, straight into a claimed ring slot, together with the
//      words just in front of them that were delivered earlier (the canary: while it stands the host has not reset
//      the log since)
//   3. the RUN_COUNTER line again: a host reset in between makes the poll void
//
// A frame is published when it verified: syntax, identity, times later than everything delivered before in
// the lane. The device raises the index before the data lands (tt-metal tools/profiler/kernel_profiler.hpp,
// finish_profiler), so a frame that does not verify is read again by the next poll. Only when it still does
// not verify after 100 ms (Stuck::for_good) are its words counted as unparsable. Payload words, and the frames of a RISC
// that sat a launch out, carry nothing that could be verified: lanes that have them are read only up to the
// index that was seen kLandedNs ago.
//
// A host reset (RUN_COUNTER or an index smaller than known, or a canary that was overwritten) starts a new epoch. What
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
//     the canary of a quiet core. The front of its empty log is read before its indices are: a frame there
//     is of this epoch only if the indices cover it.
//   - A core that only quick-pushes never shows its runs: two of its frames, in different epochs, must not be
//     further apart than half of what it takes to fill a buffer.
//   - What accumulates in L1 is in no log: a DEVICE_END that decreases while no index moves, a push that does
//     not begin with the buffer's first marker, or another first marker without a push, has a reset in front of it.
//
// CoreAccount decides what is a loss: it joins new markers to those delivered before only with a Proof
// (continuity.hpp), and records an interval otherwise. DRAIN.md has the form of all of this.
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
#include "collector/attach/card_access.hpp"
#include "collector/attach/core_reader.hpp"
#include "collector/attach/region_size.hpp"
#include "collector/continuity/device_clock.hpp"
#include "collector/continuity/firmware_kind.hpp"
#include "collector/continuity/timing.hpp"
#include "collector/drain/core_state.hpp"
#include "collector/drain/sweep_stats.hpp"
#include "collector/io/log_reader.hpp"
#include "collector/loss/loss_log.hpp"
#include "collector/publish/publisher.hpp"
#include "collector/recycle/recycling.hpp"
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
  Recycling* recycling = nullptr;                  // null: the card is only read
  std::function<void(const std::string&)> report;  // what a user should know now: a log that fills, a refusal
};

// What drains of the same segment have counted before, on a card that was reset since. Epochs go on behind
// theirs: a lane's words are identified by (session, lane, epoch, offset).
struct Carried {
  uint32_t first_epoch = 0;
  uint64_t programs = 0, markers = 0, frames = 0, epochs = 0, retries = 0, missed_poll_deadlines = 0,
           sweeps = 0;
  uint64_t recovered_words = 0, unparsable_words = 0, dropped_runs = 0;
  std::vector<shm::LossRecord> lost;
  card::Transactions transactions;
};

// Of the card's kind.
struct CardFacts {
  size_t banks;          // of DRAM
  bool indices_may_lag;  // a core may use a cached index after a store of recycling
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

  // Once, at the end: what the account can still say. Cores that were not examined after `ended_ns` (by the
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
  // Examines Tensix cores that came so late after the one before that an epoch may have gone by unseen: this
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
  static constexpr uint32_t kHeadWords = 4;  // of a frame: sentinel, identity, host id
  static constexpr size_t kHostsKept = 2048;
  static constexpr uint64_t kCeilingAgeNs = 1'000'000;   // where a frame is doubted, or an epoch recovered
  static constexpr uint64_t kClockEveryNs = 10'000'000;  // DeviceClock::kKept readings are 40 s
  static constexpr uint64_t kFreshNs =
      1'000'000'000;  // an empty log is watched as closely as a busy one for so long

  // New words of one lane, in the claimed slot.
  struct Fetched {
    LaneState* lane;
    uint32_t risc;
    uint32_t lead;  // words of the canary in front
    uint32_t words;
    uint32_t ahead;        // words behind them in the same line: where the next frame will begin
    bool cut;              // the log goes on behind
    uint32_t data_offset;  // of the first new word, from the chunk's start
  };
  using LastTimes = std::array<uint64_t, device::kMaxRiscs>;
  class Judge;

  // drain.cpp
  // Reads the card's clock, where the last reading is older than that. Four round trips and a window move.
  void read_clock(uint64_t older_than_ns);
  uint64_t cycles_at(uint64_t host_ns);  // reads the clock where `host_ns` lies behind the last reading
  card::Access look_after(CoreState& core, uint64_t now_ns);
  void note_reset(CoreState& core, bool long_ago);
  void note_polled(const CoreState& core, uint64_t before_ns, bool had_canary);
  card::Access visit(CoreState& core, uint64_t now_ns, bool& news);
  card::Expected<bool> layout_known(CoreState& core, const ControlSample& snap);
  card::Access account_drops(CoreState& core, const ControlSample& snap, const LastTimes& before);
  bool near_full(const ControlSample& snap) const;
  bool runs_missing(const CoreState& core, const ControlSample& snap) const;
  uint32_t log_capacity() const { return region_size_.bytes() / 4; }
  uint32_t longest_frame() const {
    return options_.recycling ? options_.recycling->options.limits.keep_clear_words
                              : device::kBufferWords + 8;
  }
  // Up to this word of a log any frame fits, overrun or not.
  uint32_t roomy_until() const {
    return log_capacity() - std::min(log_capacity(), 2u * device::kBufferWords);
  }
  void report_losses();
  static std::string place_of(const CoreState& core);
  void report_waiting(uint64_t& since_ns, const std::string& why);
  void store_counters();

  // drain_looks.cpp
  enum class Front : uint8_t { not_asked, empty, frame };
  struct Look {
    uint64_t begun_ns = 0;
    bool in_doubt = false;
    Front front = Front::not_asked;  // read before the snapshot
    ControlSample snapshot;
  };
  card::Access look_at(CoreState& core, Look& look);
  card::Access check_quiet(CoreState& core, const Look& look);
  bool rewound(const CoreState& core, const ControlSample& snap) const;
  device::Mode mode_of(const CoreState& core) const;
  FirmwareKind kind_of(const CoreState& core) const { return collect::kind_of(mode_of(core)); }
  static FirmwareKind kind_of(device::Mode mode) { return collect::kind_of(mode); }
  bool may_accumulate(const CoreState& core) const;
  void note_indices(CoreState& core, const ControlSample& snap) const;
  bool words_wait(const CoreState& core, const ControlSample& snap) const;
  bool has_news(const CoreState& core, const ControlSample& snap) const;
  Publisher::Core chunk_core(const CoreState& core, uint32_t run_counter, uint64_t read_time_ns,
                             uint32_t notes) const;

  // firmware_watch.cpp
  card::Access check_firmware(CoreState& core);
  card::Access check_one_core_now_and_then();

  // drain_delivery.cpp
  card::Access deliver(CoreState& core, const ControlSample& snap, uint64_t now_ns);
  card::Expected<bool> unrewound(CoreState& core, const ControlSample& snap, std::span<const Fetched> fetched,
                                 const uint64_t* slot, bool interrupted);
  std::vector<Fetched> plan(CoreState& core, const ControlSample& snap, uint64_t& bytes) const;
  void accept(CoreState& core, const Fetched& f, const uint64_t* slot, const ControlSample& snap,
              uint64_t now_ns, const Proof& same_epoch, std::vector<Publisher::Span>& spans);
  static void remember_hosts(CoreState& core, std::span<const uint32_t> hosts);
  bool settled(CoreState& core, LaneState& lane, std::span<const uint32_t> words, uint64_t read_since_ns);
  markers::Ceiling ceiling() const;
  void give_up(CoreState& core, const Fetched& f, std::span<const uint32_t> words);

  // drain_epochs.cpp
  static uint64_t gap_end(const LaneState& lane, std::span<const uint32_t> frame, uint64_t after);
  void enter_epoch(CoreState& core, uint32_t risc, std::span<const uint32_t> frame, uint64_t until);
  void account_older_launches(CoreState& core);
  bool one_launch(const CoreState& core, std::span<const uint32_t> frame) const;
  uint64_t earlier_until(const CoreState& core, std::span<const uint32_t> frame, uint64_t time) const;
  bool out_of_sight_before(const CoreState& core, uint64_t time);
  static HostResets::Mark last_known(const CoreState& core);
  bool at_most_one_reset_since_known(const CoreState& core, uint64_t now_ns) const;
  FirstFrame before_first_frame(CoreState& core, uint32_t risc, std::span<const uint32_t> frame,
                                uint64_t time);

  // settle.cpp
  card::Access settle_mode(CoreState& core, uint64_t now_ns, bool urgent);
  card::Expected<bool> mode_decided_by_log(const CoreState& core, const ControlSample& snap);
  card::Expected<std::optional<device::Mode>> look_at_mode(const CoreState& core);
  card::Access wait_until_landed(const CoreState& core);
  void use_mode(device::Mode mode);
  card::Access account_unknown_mode(CoreState& core);
  card::Access settle_generation(const CoreState& core, const ControlSample& snap);
  card::Expected<std::vector<uint32_t>> read_landed_front(const CoreState& core, const ControlSample& snap,
                                                          uint32_t words);
  void use_generation(unsigned generation);
  card::Expected<ControlSample> sample(const CoreState& core) const {
    return reader_.sample(core.core, may_accumulate(core));
  }

  // recovery.cpp
  card::Access begin_epoch(CoreState& core);
  card::Expected<Front> look_at_front(const CoreState& core);
  card::Access check_unseen_reset(CoreState& core, Front front);
  enum class LastRun : uint8_t { delivered, undelivered, open };
  card::Expected<LastRun> look_at_last_run(const CoreState& core);
  card::Expected<bool> is_being_pushed(const CoreState& core) const;
  card::Access check_last_run(CoreState& core, bool& decided);
  card::Access take_what_was_reset(CoreState& core, const ControlSample& snap);
  card::Access take_accumulated(CoreState& core, const ControlSample& snap, bool idle);
  card::Expected<bool> was_idle(const CoreState& core);
  std::array<std::optional<Proof>, device::kMaxRiscs> prove_reset(const CoreState& core, bool in_time,
                                                                  bool idle) const;
  const LaneState* furthest_recovered(const CoreState& core) const;
  card::Access check_never_seen(CoreState& core, bool& decided);
  enum class FrontKinds : uint8_t { launches, all };
  card::Expected<bool> frame_waits_at_front(const CoreState& core, uint32_t risc, FrontKinds kinds);
  bool never_showed_any(const CoreState& core, uint32_t risc, const ControlSample& snap) const;
  card::Expected<bool> nothing_at_front(const CoreState& core, uint32_t risc);
  card::Access recover_lane(CoreState& core, uint32_t risc, const ControlSample& snap, Recovered& recovered);
  card::Expected<bool> canaries_stand(CoreState& core, bool all);
  card::Expected<bool> canary_at_cursor(const CoreState& core, uint32_t risc) const;

  // recovered_chain.cpp
  bool surely_old(const CoreState& core, uint32_t risc, uint32_t end, const markers::FrameDigest& digest);
  struct Survivor {
    std::optional<uint32_t> at;
    bool passed_newer = false;  // one in front of it may be of the new epoch
  };
  card::Expected<Survivor> find_survivor(const CoreState& core, uint32_t risc, uint32_t from);
  // What came back from a log.
  struct Chain {
    uint32_t at = 0;                 // behind the last frame that was taken
    bool has_canary = false;         // the lane's canary stood in front of it
    uint32_t announced = 0;          // then: an index of its epoch
    bool incomplete = false;         // more may have stood behind it
    bool piece_too_short = false;    // of what was read last: it ends within the first frame that has times
    std::optional<uint64_t> begins;  // markers may be missing in front of this; none: nothing was taken
    std::optional<uint64_t> begins_with;  // time of the only first marker that its first frame may have
    // Of what comes first: does not stand at the cursor; an epoch may have come and gone in front of it; its buffer in L1 was
    // restarted.
    bool behind_gap = false, out_of_sight = false, l1_restarted = false;
    bool older_behind = false;               // there no word is newer than what was taken
    std::optional<uint32_t> sat_out_launch;  // its host id, where one stands there
    uint32_t sat_out_until = 0;          // behind the frames without times of launches that the RISC sat out
    std::optional<uint64_t> full_since;  // behind this frames may lack markers, or runs
  };
  card::Expected<bool> still_stands(const CoreState& core, uint32_t risc, uint32_t at,
                                    std::span<const uint32_t> front, std::span<const uint32_t> words) const;
  static bool is_older(const LaneState& lane, std::span<const uint32_t> words);
  static bool passes_sat_out(const LaneState& lane, std::span<const uint32_t> seen, uint32_t announced,
                             uint32_t& pos, Chain& chain);
  void begin_chain(CoreState& core, uint32_t risc, std::span<const uint32_t> taken, uint64_t until,
                   bool at_front, Chain& chain);
  uint32_t walk_chain(CoreState& core, uint32_t risc, std::span<const uint32_t> seen, Chain& chain);
  card::Access publish_chain(CoreState& core, uint32_t risc, Chain& chain);

  // drain_recycle.cpp
  double fill(const ControlSample& snap) const;
  static bool pushes_soon(std::span<const uint32_t> frames);
  std::string why_never(const CoreState& core) const;
  RecycleCore recycle_core(const CoreState& core) const;
  CoreRecycle::Deps recycle_deps();
  card::Access consider_recycling(CoreState& core, const ControlSample& snap);
  void find_place(CoreState& core);
  void account_cut_frames(CoreState& core, uint32_t risc, const LaneOutcome& taken);
  void account_lost_place(CoreState& core, uint32_t risc, const LaneOutcome& found,
                          const CoreRecycle::Result& result);
  void report_refusal(const CoreState& core);
  void announce_fill(const CoreState& core, double filled);
  bool provisional_moved(const CoreState& core, const ControlSample& snap) const;
  void reopen_recycle(CoreState& core);
  card::Access go_on_recycling(CoreState& core);
  void account_unresolved(CoreState& core, uint32_t risc, const CoreRecycle& recycle);
  void go_on_after_surprise(CoreState& core, const CoreRecycle& recycle);
  void publish_new_frames(CoreState& core, uint32_t risc, const CoreRecycle::Result& result);
  void count_new_frames(CoreState& core, uint32_t risc, const LaneOutcome& outcome);
  void count_verdict(const RecycleState& state, const LaneOutcome& outcome, bool lap, bool provisional);
  void take_resolved_lane(CoreState& core, uint32_t risc, const CoreRecycle::Result& result,
                          const Proof& resolved);
  void take_resolved(CoreState& core, const CoreRecycle& recycle, const Proof& resolved);
  static void forget_laps(CoreState& core);
  uint64_t missing_launches() const;

  // l1_tail.cpp
  card::Access keep_l1(CoreState& core, uint64_t now_ns);
  uint64_t known_until(const CoreState& core, uint32_t risc) const;
  std::optional<Proof> l1_joins(const CoreState& core, uint32_t risc, std::span<const uint32_t> buffer);
  bool holds_marker(std::span<const uint32_t> buffer);
  // Of buffers in L1: those of before, a host reset has cleared one, or firmware went on while they were read.
  enum class L1Check : uint8_t { stands, reset, moved_on };
  card::Expected<L1Check> check_l1(CoreState& core, const ControlSample& snap);
  card::Expected<L1Check> why_restarted(CoreState& core, uint32_t risc, const ControlSample& snap);
  card::Access check_l1_before_mode(CoreState& core, const ControlSample& snap);
  void l1_begins(CoreState& core, uint32_t risc, std::span<const uint32_t> buffer);
  bool may_have_stored(const CoreState& core, uint32_t risc) const;
  card::Access note_begun_buffers(CoreState& core);
  card::Expected<L1Check> notice_l1_reset(CoreState& core, const ControlSample& snap);
  std::optional<Proof> frame_joins_l1(CoreState& core, uint32_t risc, std::span<const uint32_t> frame,
                                      uint64_t until);
  card::Access take_l1_tail(CoreState& core, uint32_t risc);
  card::Access publish_l1_rest(CoreState& core, uint32_t pushed = 0);
  void publish_rest(CoreState& core, uint32_t risc, const std::vector<uint32_t>& rest,
                    const std::optional<Proof>& joins);
  void publish_frame_of_rest(CoreState& core, uint32_t risc, const std::vector<uint32_t>& rest,
                             const Proof& in_buffer);

  const CardFacts facts_;
  Attachment attachment_;
  Publisher& publisher_;
  shm::SegmentWriter& segment_;
  DrainOptions options_;
  RegionSize region_size_;
  CardAccess port_;
  CoreReader reader_;
  LossLog losses_;
  std::vector<shm::LossRecord> untold_losses_;
  bool firmware_changed_ = false;
  uint64_t firmware_checked_ns_ = 0;  // on any core
  size_t next_to_check_ = 0;
  std::vector<CoreState> cores_;
  DurationStats sweep_times_;
  DeviceClock clock_;
  bool generation_settled_ = false;
  std::map<const CoreState*, std::pair<uint32_t, uint32_t>>
      widths_asked_;               // -> epoch and BRISC's index, when the log proved nothing
  uint64_t waiting_since_ns_ = 0;  // for the regions' size
  bool waiting_reported_ = false;
  uint64_t line_ns_ = 0;  // what a line of the log takes, of late
  bool mode_settled_ = false;
  HostResets resets_;
  std::vector<uint64_t> scratch_;
  bool ending_ = false;  // the last polls: nothing is recycled any more
  bool last_chance_ =
      false;  // likewise, and each core had one: what is unproven is decided by the evidence so far
  bool skipped_words_ = false;
  bool fill_reported_ = false;
  double highest_fill_ = 0;
  std::map<std::string, std::set<const CoreState*>> refusals_;  // why cores are not recycled

  uint64_t programs_ = 0, markers_ = 0, frames_ = 0, epochs_ = 0, retries_ = 0, missed_poll_deadlines_ = 0,
           sweeps_ = 0;
  uint64_t recovered_words_ = 0, unparsable_words_ = 0, dropped_runs_ = 0;
  card::Transactions earlier_transactions_;  // of carried drains
};

}  // namespace ttc::collect
