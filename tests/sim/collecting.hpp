// One schedule from attach to the last word: the collector's real drain on a scheduled card, what a reader of
// the ring decodes, and the check of it:
//
//   - What is delivered was emitted, bit for bit, and is delivered once.
//   - What was pushed and is not delivered is inside a reported loss interval of its lane (else: a silent
//     loss).
//   - An interval that has anything in it does not hold delivered markers alone.
//
// Stated exception (DESIGN.md): see excused().
#pragma once
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "collector/drain/drain.hpp"
#include "tests/sim/ring_reading.hpp"
#include "tests/sim/scheduled_card.hpp"

namespace ttc::sim {

// What of a schedule's run is worth counting.
struct Coverage {
  uint64_t runs = 0, retries = 0, torn_reads = 0, held_back = 0, epochs = 0, recovered = 0, rewound = 0,
           unparsable = 0, excused = 0, silent = 0, false_alarms = 0, complete = 0, points = 0;
  void add(const Coverage& c) {
    runs += c.runs, retries += c.retries, torn_reads += c.torn_reads, held_back += c.held_back,
        epochs += c.epochs;
    recovered += c.recovered, rewound += c.rewound, unparsable += c.unparsable, excused += c.excused;
    silent += c.silent;
    complete += c.complete, false_alarms += c.false_alarms, points = std::max(points, c.points);
  }
  std::string text() const {
    std::ostringstream out;
    out << runs << " schedules of up to " << points << " points: " << complete << " complete, " << torn_reads
        << " torn reads, " << retries << " retries, " << held_back << " held back, " << epochs << " epochs, "
        << recovered << " recovered, " << rewound << " rewound, " << unparsable << " unparsable, " << excused
        << " excused, " << silent << " with a silent loss, " << false_alarms << " false alarms";
    return out.str();
  }
};

class Collecting : public RingReading {
 public:
  // `attach_after`: visible events before the collector comes.
  Collecting(Shared& shared, const History& history, Schedule& schedule, uint32_t attach_after = 0,
             Lie lie = Lie::none)
      : RingReading(shared), history_(history), schedule_(schedule), card_(history, schedule, lie) {
    card_.trace = std::getenv("TTC_SCHEDULE") || std::getenv("TTC_RANDOM") || std::getenv("TTC_RANDOM_SHARE");
    card_.play(attach_after);
    const device::Format& f = history.layout->format;
    attachment_.layout = history.layout;
    attachment_.layout_given = true;  // two launches and a reset may prove nothing about the width of ids
    attachment_.placement = markers::placement_for("wormhole_b0");
    attachment_.dram_base = ScheduledCard::kDramBase;
    attachment_.core_count_per_dram = 8;
    collect::AttachedCore core;
    core.at = {1, 2};
    core.flat_id = ScheduledCard::kFlatId;
    core.control_address = kControlAddress;
    core.buffer_address = kControlAddress + 4u * f.control_words;
    attachment_.cores = {core};
    attachment_.clock = [this] { return card_.reported_now(); };
    attachment_.begun_ns = attachment_.begun_cycles = card_.now();
  }

  // Runs the schedule and checks the result. Empty if all is well.
  std::string run() {
    collect::Publisher publisher(shared_.segment, 0, history_.layout->format.generation);
    const auto logs = collect::window_log_reader(card_);
    collect::DrainOptions options;
    options.bytes_per_risc = 4 * kLogWords;
    options.lines_per_s = schedule_.lines_per_s;
    collect::Drain drain(card_, attachment_, *logs, publisher, shared_.segment, options);
    collect(drain, publisher);
    drain.close_account(false);
    read_ring(publisher);
    coverage_.runs = 1;
    coverage_.retries = drain.retries();
    coverage_.epochs = drain.epochs();
    coverage_.torn_reads = card_.torn_reads();
    coverage_.points = card_.points();
    coverage_.recovered = shared_.segment.get(shm::Counter::recovered_words) != 0;
    coverage_.unparsable = drain.losses().count(shm::LossCause::unparsable);
    coverage_.rewound = drain.losses().count(shm::LossCause::host_reset);
    losses_ = pipeline_.losses();
    return judge();
  }

  const Coverage& coverage() const { return coverage_; }
  const std::string& silent_loss() const { return silently_; }  // empty: none
  const std::vector<SimMarker>& delivered() const { return delivered_; }

 private:
  // A poll: the card's state around one sweep.
  struct Look {
    uint64_t begun_ns, ended_ns;
    uint32_t begun_at, ended_at;                                 // position in the history
    std::array<uint64_t, kRiscs> frames;                         // delivered so far
    std::array<uint32_t, kRiscs + 1> first_vector, last_vector;  // indices and RUN_COUNTER around it
  };
  static constexpr uint64_t kPollDeadlineNs = collect::timing::kPollDeadlineNs;
  static constexpr uint32_t kQuietLooks = 20;  // more than the drain leaves a canary unread
  static constexpr uint32_t kMostLooks = 300;  // a lane may wait for 100 ms before it is given up
  static constexpr uint64_t kIdleNs = 1'000'000;

  void look(collect::Drain& drain, collect::Publisher& publisher) {
    const uint64_t frames = drain.frames(), retries = drain.retries();
    Look l{card_.now(), 0, card_.position(), 0, {}, card_.vector(), {}};
    card_.look_begins();
    drain.sweep(card_.reported_now());
    card_.look_ends();
    l.ended_ns = card_.now();
    l.ended_at = card_.position();
    if (drain.frames() != frames) read_ring(publisher);
    l.frames = lane_chunks_;
    l.last_vector = card_.vector();
    looks_.push_back(l);
    if (card_.trace)
      std::printf("%9.3f us  look, %llu frames, %llu retries, %llu epochs\n",
                  static_cast<double>(card_.now() - ScheduledCard::kBeginNs) / 1000 - 1e6,
                  (unsigned long long)drain.frames(), (unsigned long long)drain.retries(),
                  (unsigned long long)drain.epochs());
    const bool nothing_done = drain.frames() == frames && drain.retries() == retries;
    quiet_ = nothing_done ? quiet_ + 1 : 0;
    for (uint32_t r = 0; r < kRiscs; ++r)
      if (nothing_done && drain.epochs() == epoch_ && card_.index_of(r) > read_to_[r]) ++coverage_.held_back;
    epoch_ = drain.epochs();
  }
  void collect(collect::Drain& drain, collect::Publisher& publisher) {
    while (!card_.over()) {
      const auto pause = schedule_.between_looks();
      card_.pass(pause.ns);
      card_.play(pause.events);
      wait(drain);
      look(drain, publisher);
    }
    quiet_ = 0;
    for (uint32_t i = 0; i < kMostLooks && quiet_ < kQuietLooks; ++i) {
      card_.pass(kIdleNs);
      wait(drain);
      look(drain, publisher);
    }
  }
  void wait(const collect::Drain& drain) {
    const uint64_t due = drain.next_due_ns();
    if (due > card_.now()) card_.pass(due - card_.now());
  }

  // --- what a reader gets
  void saw_chunk(const shm::ChunkHeader& h) override {
    if (h.kind != shm::ChunkKind::device_words) return;
    if (std::exchange(chunk_epoch_, h.epoch) != h.epoch) read_to_ = {};
    for (const shm::SpanEntry& span : shm::spans_of(shared_.chunk)) {
      if (span.risc < kRiscs) ++lane_chunks_[span.risc];
      if (!(h.flags & shm::kRecovered)) read_to_[span.risc] = span.word_offset + span.word_count;
    }
  }
  void saw_marker(const SimMarker& m) override {
    if (card_.trace) std::printf("              %s\n", text(m).c_str());
  }
  void loss(const shm::LossRecord& r) override {
    if (card_.trace)
      std::printf("              loss %llu: RISC %u %s %llu..%llu, %llu words\n", (unsigned long long)r.id,
                  r.risc, shm::to_string(r.cause), (unsigned long long)r.from_cycles,
                  (unsigned long long)r.to_cycles, (unsigned long long)r.words);
  }

  // --- checks
  std::string judge() {
    if (!fault_.empty()) return fault_;
    // Never readable: a reset came between the end of a RISC and the end of its push. May come, need not be
    // accounted for.
    std::vector<SimMarker> truth, readable, unreadable;
    for (size_t i = history_.prelude_markers; i < history_.markers.size(); ++i) {
      const TrueMarker& m = history_.markers[i];
      const SimMarker d{card_.clock_reading(m.clock), m.risc, m.type, m.id, m.host_id,
                        {m.data[0], m.data[1]}};
      if (m.push >= 0) truth.push_back(d);
      (m.push >= 0 && history_.pushes[m.push].readable ? readable : unreadable).push_back(d);
    }
    std::sort(readable.begin(), readable.end());
    if (const std::string wrong = delivered_once(truth); !wrong.empty()) return wrong;
    const std::vector<SimMarker> missing = missing_of(readable);
    if (missing.empty()) coverage_.complete = 1;
    for (const SimMarker& d : missing) {
      if (inside_interval(d) || d.time < attachment_.begun_cycles) continue;
      if (excused(d)) {
        coverage_.excused = 1;
        continue;
      }
      coverage_.silent = 1;
      silently_ = "missing outside every interval: " + text(d);
    }
    for (const shm::LossRecord& r : losses_) {
      const auto in = [&](const SimMarker& d) { return covers(r, d); };
      // The starts of the run that ended it may lie in an interval: it may lack an earlier push of that run.
      const auto alone = [&](const SimMarker& d) { return in(d) && !starts_run(d); };
      if (std::none_of(delivered_.begin(), delivered_.end(), alone) ||
          std::any_of(missing.begin(), missing.end(), in) ||
          std::any_of(unreadable.begin(), unreadable.end(), in))
        continue;
      // An interval of unknown precision is allowed for a time without a poll, and only for that.
      if (r.precision == shm::LossPrecision::unknown && (looked_late() || !history_.resets.empty())) {
        coverage_.false_alarms = 1;
        continue;
      }
      return "an interval holds delivered markers alone: RISC " + std::to_string(r.risc) + " " +
             shm::to_string(r.cause) + " from " + std::to_string(r.from_cycles) + " to " +
             std::to_string(r.to_cycles);
    }
    return {};
  }
  static bool starts_run(const SimMarker& d) {
    return d.type == device::kZoneStart && (d.id == kFw + d.risc || d.id == kKernel + d.risc);
  }
  bool looked_late() const {
    uint64_t before = attachment_.begun_ns;
    for (const Look& l : looks_) {
      if (l.begun_ns - before > kPollDeadlineNs) return true;
      before = l.begun_ns;
    }
    return false;
  }
  // The stated exceptions: a reset took it within the poll deadline of its becoming visible; the host reset the
  // core and something was announced again between two polls that were closer than that; or the core had not
  // delivered anything when looks were further apart.
  bool excused(const SimMarker& d) const {
    const auto visible = visible_at(d);
    for (size_t i = 0; i < history_.resets.size(); ++i) {
      const bool takes_it = history_.resets[i].second > visible;
      if (takes_it && card_.reset_ns(i) < card_.event_ns(visible) + kPollDeadlineNs) return true;
      if (announced_before_next_look(history_.resets[i])) return true;
    }
    return late_before_anything(visible);
  }
  bool late_before_anything(uint32_t visible) const {
    uint64_t before_ns = attachment_.begun_ns;
    bool delivered = false;
    for (const Look& l : looks_) {
      if (!delivered && l.begun_ns > before_ns + kPollDeadlineNs && visible < l.ended_at) return true;
      before_ns = l.begun_ns;
      delivered = std::any_of(l.frames.begin(), l.frames.end(), [](uint64_t frames) { return frames != 0; });
    }
    return false;
  }
  bool announced_before_next_look(const std::pair<uint32_t, uint32_t>& reset) const {
    Look before{};
    before.ended_ns = attachment_.begun_ns;
    for (const Look& l : looks_) {
      const bool first_after = l.ended_at > reset.first;
      if (first_after && l.begun_ns > before.ended_ns + kPollDeadlineNs) return false;
      if (first_after)
        return std::any_of(history_.pushes.begin(), history_.pushes.end(), [&](const Push& p) {
          return p.index_event > reset.first && p.index_event < l.ended_at;
        });
      before = l;
    }
    return false;
  }
  // The event that stores the index over this marker.
  uint32_t visible_at(const SimMarker& d) const {
    for (const TrueMarker& m : history_.markers)
      if (m.push >= 0 && m.risc == d.risc && card_.clock_reading(m.clock) == d.time)
        return history_.pushes[static_cast<size_t>(m.push)].index_event;
    return 0;
  }
  const History& history_;
  Schedule& schedule_;
  ScheduledCard card_;
  collect::Attachment attachment_;
  std::vector<Look> looks_;
  std::array<uint32_t, device::kMaxRiscs> read_to_{};  // in the log of chunk_epoch_
  std::array<uint64_t, kRiscs> lane_chunks_{};
  uint32_t chunk_epoch_ = 0;
  uint64_t epoch_ = 0;
  uint32_t quiet_ = 0;
  std::string silently_;
  Coverage coverage_;
};

}  // namespace ttc::sim
