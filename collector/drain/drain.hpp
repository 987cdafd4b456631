// The drain of a device: the sweep over its cores, each a machine of its own (core_machine.hpp), counters, and the end of collecting.
//
// One poll of a core, in round trips to the card (a line is one):
//
//   1. the lines of the control vector that hold HOST_BUFFER_END_INDEX and RUN_COUNTER: one or two. When they
//      are unchanged, the poll ends here.
//   2. the new words of every lane, each line once, straight into a claimed ring slot, together with the
//      words just in front of them that were delivered earlier (the canary: while it is intact the host has not reset
//      the log since); what would take longer than half the poll deadline waits for the next poll
//   3. the RUN_COUNTER line again: a host reset in between makes the poll void
//
// A frame is published when it verified: syntax, identity, times later than everything delivered before in
// the lane. The device raises the index before the data lands (tt-metal tools/profiler/kernel_profiler.hpp,
// finish_profiler), so a frame that does not verify is read again by the next poll. Only when it still does
// not verify after 100 ms (Stuck::for_good) are its words counted as unparsable. Payload words, and the frames of a RISC
// that sat a launch out, have no words that could be verified: lanes that have them are read only up to the
// index that was read kLandedNs ago.
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
// CoreAccount records losses: it joins new markers to those delivered before only with a Proof
// (continuity.hpp), and records an interval otherwise. DRAIN.md has the form of all of this.
//
// What stays unseen: an epoch within kPollDeadlineNs.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "collector/attach/card_access.hpp"
#include "collector/core/core_part.hpp"
#include "collector/core/device_state.hpp"
#include "collector/drain/sweep_stats.hpp"
#include "collector/drain/visit_budget.hpp"
#include "collector/io/log_reader.hpp"

namespace ttc::collect {

// What drains of the same segment have counted before, on a card that was reset since. Epochs go on behind
// theirs: a lane's words are identified by (session, lane, epoch, offset).
struct Carried {
  uint32_t first_epoch = 0;
  DrainCounters counters;
  std::vector<shm::LossRecord> lost;
  card::Transactions transactions;
};

CardFacts facts_of(const card::Card& card);

class Drain {
 public:
  Drain(std::unique_ptr<CardPort> port, const CardFacts& facts, const Attachment& attachment,
        Publisher& publisher, shm::SegmentWriter& segment, const DrainOptions& options, Carried carried = {});
  // Reads through a card's windows, or as `logs` reads them.
  Drain(card::Card& card, const Attachment& attachment, LogReader& logs, Publisher& publisher,
        shm::SegmentWriter& segment, const DrainOptions& options, Carried carried = {});
  // What the drain that follows this one needs, when this one's account is closed.
  Carried carry() const;

  // Visits every core that is due at `now_ns` (all when `all`), in the order in which they became due. Where the link's share is used
  // up, those are left out whose poll deadline is not near, and the others are polled alone: their words wait. `gone` ends collecting.
  card::Access sweep(uint64_t now_ns, bool all = false);
  // When the next core is due.
  uint64_t next_due_ns() const;

  // Once, at the end: records what is missing until then. Cores that were not examined after `ended_ns` (by the
  // attachment's clock) could not be read any more.
  void close_account(bool card_vanished, uint64_t ended_ns = 0);
  // Closes the account when firmware_changed(): takes what is in the logs behind what was delivered, and records an interval
  // for every lane that may lack more. Intervals end now: what comes later is another workload's.
  void close_workload();

  // The firmware that was attached to is not on the card any more: its control vectors are another's, or cleared. No word was
  // read by its layout since. The profiler must be attached to again.
  bool firmware_changed() const { return dev_.firmware_changed; }

  const LossLog& losses() const { return losses_; }
  const RegionSize& region_size() const { return dev_.region_size; }
  const DurationStats& sweep_times() const { return sweep_times_; }
  uint64_t programs() const { return dev_.counters.programs; }
  uint64_t markers() const { return dev_.counters.markers; }
  uint64_t frames() const { return dev_.counters.frames; }
  uint64_t epochs() const { return dev_.counters.epochs; }
  uint64_t retries() const { return dev_.counters.retries; }
  uint64_t missed_poll_deadlines() const { return dev_.counters.missed_poll_deadlines; }
  uint64_t lines_beyond_share() const {
    return dev_.counters.lines_beyond_share + budget_.beyond_lines();  // DrainOptions::lines_per_s
  }
  uint64_t sweeps() const { return dev_.counters.sweeps; }
  card::Transactions transactions() const;  // all drains' of the segment
  size_t cores() const { return dev_.cores.size(); }
  size_t lanes() const;                                      // that delivered anything
  std::map<std::string, uint64_t> not_recycled() const;      // why -> how many cores
  double highest_fill() const { return dev_.highest_fill; }  // of a log, at any look; 0..1
  bool recycling_under_way() const;
  // The last sweep skipped words: another one may find frames behind them.
  bool skipped_words() const { return dev_.skipped_words; }
  // A visit of the last sweep would have taken too long for all words that wait: another sweep takes more.
  bool took_a_part() const { return dev_.took_a_part; }
  const markers::Layout& layout() const { return *dev_.attachment.layout; }
  device::Mode mode() const { return dev_.attachment.mode; }

 private:
  CorePart part(CoreState& core) { return {dev_, reader_, publisher_, core}; }
  void put_due_in_order(uint64_t now_ns, bool all);
  uint64_t must_ns(const CoreState& core) const;
  card::Access poll_and_reschedule(CoreState& core, uint64_t now_ns);
  card::Access check_one_core_now_and_then();
  void end_account();
  uint64_t missing_launches() const;
  void report_losses();
  void store_counters();

  std::unique_ptr<CardPort> port_;
  DeviceState dev_;
  CoreReader reader_;
  Publisher& publisher_;
  shm::SegmentWriter& segment_;
  std::vector<shm::LossRecord> unreported_losses_;
  LossLog losses_;
  VisitBudget budget_;
  std::vector<CoreState*> due_;    // of the sweep under way
  uint64_t longest_sweep_ns_ = 0;  // of late
  size_t next_to_check_ = 0;
  DurationStats sweep_times_;
  card::Transactions earlier_transactions_;  // of carried drains
};

}  // namespace ttc::collect
