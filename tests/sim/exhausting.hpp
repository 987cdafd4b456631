// One history of whole steps on a MacroCard, from attaching to the end, and the check of what a reader of the ring gets.
#pragma once
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "collector/drain/drain.hpp"
#include "tests/sim/macro_attachment.hpp"
#include "tests/sim/ring_reading.hpp"

namespace ttc::sim {

inline constexpr uint64_t kDeadlineNs = collect::timing::kPollDeadlineNs;

// Letters of a history:
//   L launch      s launch that NCRISC sits out      q launch with a quick push      d launch whose words land late
//   n launch with a host reset in it, before NCRISC begins          m likewise, after NCRISC ended
//   R host reset  t host reset, half written, that continues 20 us later
//   i launch between two lines that the next poll loads
//   e launch on the Ethernet core
//   p one poll, 50 us later    2 one poll, 2 ms later    P polls for longer than the deadline, each in time     S no poll for longer than the deadline
//   E polls, each in time, for longer than an Ethernet core is left alone
struct HistoryCase {
  unsigned generation;
  device::Mode mode;
  uint32_t zones;
  std::string letters;
  size_t length;      // of its histories; two more in a long run
  bool soon = false;  // launches may follow a reset at once: outside the assumptions
  // The collector was attached before anything ran, to a card that was reset: the mode shows in L1 only, which holds what is older.
  bool mode_unknown = false;
  bool ethernet = false;  // the card has an Ethernet core, too, and polls are those of the drain's schedule
};

inline bool is_reset(char step) {
  return step == 'R' || step == 't' || step == 'n' || step == 'm';
}
inline bool is_pause(char step) {
  return step == 'P' || step == 'S' || step == 'E';
}
inline bool is_launch(char step) {
  return step != 'R' && step != 't' && step != 'p' && step != '2' && !is_pause(step);
}

struct Judgement {
  uint64_t silent = 0, excused = 0, late = 0, false_alarms = 0, intervals = 0, missing = 0;
  std::string wrong;  // not empty: a fault of any kind but a false alarm
  std::string what;
  bool bad() const { return !wrong.empty() || silent || (!late && missing == 0 && false_alarms); }
  const std::string& text() const { return wrong.empty() ? what : wrong; }
};

class Exhausting : public RingReading {
 public:
  // `inside`: the lines that a poll loads in front of a launch `i`.
  Exhausting(Shared& shared, const HistoryCase& c, const std::string& history, uint64_t inside = 1)
      : RingReading(shared),
        history_(history),
        inside_(inside),
        all_at_once_(!c.ethernet),
        card_({c.generation, c.mode, c.zones, c.mode_unknown, c.ethernet}),
        attachment_(attachment_of(card_)) {
    if (c.mode_unknown) attachment_.mode = device::Mode::normal;
    attachment_.mode_given = !c.mode_unknown;
    last_poll_ns_ = card_.now();
  }

  Judgement run() {
    collect::Publisher publisher(shared_.segment, 0, card_.format().generation);
    const auto logs = collect::window_log_reader(card_);
    collect::DrainOptions options;
    options.bytes_per_risc = 4 * MacroCard::kLogWords;
    collect::Drain drain(port(*logs), collect::facts_of(card_), attachment_, publisher, shared_.segment,
                         options);
    for (const char step : history_)
      if (gone_ns_ == 0) take(step, drain);
    poll_in_time(drain, 2 * kDeadlineNs);
    card_.launch_inside(0);  // what begins in the last poll is not owed
    all_at_once_ = true;
    poll_in_time(drain, 2 * kDeadlineNs);
    drain.close_account(gone_ns_ != 0);
    read_ring(publisher);
    losses_ = pipeline_.losses();
    return judge();
  }
  bool trace = false;
  const std::vector<SimMarker>& delivered() const { return delivered_; }  // sorted
  const std::vector<shm::LossRecord>& losses() const { return losses_; }

 protected:
  // What the drain reads through. A test may put something between.
  virtual std::unique_ptr<collect::CardPort> port(collect::LogReader& logs) {
    return std::make_unique<collect::CardAccess>(card_, logs, attachment_.clock, nullptr);
  }

  virtual void sweeps(uint64_t /*now_ns*/, bool /*all*/) {}

  std::string history_;
  uint64_t inside_;
  bool all_at_once_;
  MacroCard card_;
  collect::Attachment attachment_;

 private:
  static constexpr uint64_t kPollEveryNs = 900'000;
  static constexpr uint64_t kEthernetNs =
      110'000'000;  // DrainOptions::ethernet_interval_ns and a little more

  void take(char step, collect::Drain& drain) {
    using Launch = MacroCard::Launch;
    const auto& resets = card_.resets_ns();
    soon_ = soon_ || step == 'n' || step == 'm' ||
            (is_launch(step) && !resets.empty() && card_.now() - resets.back() < kDeadlineNs);
    switch (step) {
      case 'L':
        return card_.launch(Launch::plain);
      case 's':
        return card_.launch(Launch::sits_out);
      case 'q':
        return card_.launch(Launch::quick_push);
      case 'd':
        return card_.launch(Launch::lands_late);
      case 'n':
        return card_.launch(Launch::reset_first);
      case 'm':
        return card_.launch(Launch::reset_inside);
      case 'i':
        return card_.launch_inside(inside_);
      case 'R':
        return card_.reset();
      case 't':
        return card_.begin_torn_reset();
      case 'e':
        return card_.launch_on_ethernet();
      case 'E':
        return poll_in_time(drain, kEthernetNs);
      case 'S':
        return card_.pass(kDeadlineNs + 500'000);
      case 'P':
        return poll_in_time(drain, kDeadlineNs + 100'000);
      case '2':
        card_.pass(2'000'000);
        return poll(drain);
      default:
        card_.pass(50'000);
        return poll(drain);
    }
  }
  void poll(collect::Drain& drain) {
    if (card_.now() - last_poll_ns_ > kDeadlineNs) late_ = true;
    if (trace) std::printf("%10.3f us  poll\n", us(card_.now()));
    last_poll_ns_ = card_.now();
    sweeps(card_.now(), all_at_once_);
    if (gone_ns_ != 0 || drain.sweep(card_.now(), all_at_once_) != card::Access::gone) return;
    gone_ns_ = card_.now();
  }
  void poll_in_time(collect::Drain& drain, uint64_t ns) {
    const uint64_t until = card_.now() + ns;
    while (card_.now() < until && gone_ns_ == 0) {
      const uint64_t due = std::max(drain.next_due_ns(), card_.now() + 50'000);
      card_.pass(std::min(due, card_.now() + kPollEveryNs) - card_.now());
      poll(drain);
    }
  }
  static double us(uint64_t ns) { return static_cast<double>(ns - MacroCard::kBeginNs) / 1000; }

  uint32_t first_lane_of(card::Coord core) const override {
    return core == MacroCard::kEthernet ? MacroCard::kRiscs : 0;
  }
  void saw_marker(const SimMarker& m) override {
    if (trace) std::printf("              %s\n", text(m).c_str());
  }
  Judgement judge() {
    Judgement j;
    j.late = late_ || soon_;
    if (!fault_.empty()) return j.wrong = fault_, j;
    std::vector<SimMarker> truth, expected;
    for (const MacroMarker& m : card_.markers()) {
      truth.push_back(m.marker);
      if (m.visible_ns != 0) expected.push_back(m.marker);
    }
    if (j.wrong = delivered_once(truth); !j.wrong.empty()) return j;
    std::sort(expected.begin(), expected.end());
    const std::vector<SimMarker> missing = missing_of(expected);
    j.missing = missing.size();
    for (const SimMarker& m : missing) {
      if (inside_interval(m)) continue;
      if (excused(m)) {
        ++j.excused;
        continue;
      }
      ++j.silent;
      j.what = "missing outside every interval: " + text(m);
    }
    j.intervals = losses_.size();
    for (const shm::LossRecord& r : losses_) {
      const auto in = [&](const SimMarker& m) { return covers(r, m); };
      if (std::any_of(missing.begin(), missing.end(), in)) continue;
      // The number of resets that passed on an Ethernet core is not known.
      if (r.core_x == MacroCard::kEthernet.x && r.core_y == MacroCard::kEthernet.y &&
          r.risc < MacroCard::kRiscs)
        j.late = true;
      ++j.false_alarms;
      if (!j.late && j.what.empty())
        j.what = "nothing is missing in the interval of RISC " + std::to_string(r.risc) + " " +
                 shm::to_string(r.cause) + " from " + std::to_string(r.from_cycles) + " to " +
                 std::to_string(r.to_cycles);
    }
    if (trace)
      for (const shm::LossRecord& r : losses_)
        std::printf("interval: RISC %u %s %llu..%llu\n", r.risc, shm::to_string(r.cause),
                    (unsigned long long)r.from_cycles, (unsigned long long)r.to_cycles);
    return j;
  }
  // A reset took it, or the card went, within the deadline of its becoming visible.
  bool excused(const SimMarker& m) const {
    for (const MacroMarker& each : card_.markers())
      if (each.marker == m && gone_ns_ != 0 && gone_ns_ < each.visible_ns + kDeadlineNs)
        return true;
      else if (each.marker == m)
        for (const uint64_t reset : card_.resets_ns())
          if (reset >= each.visible_ns && reset < each.visible_ns + kDeadlineNs) return true;
    return false;
  }

  uint64_t last_poll_ns_ = 0;
  uint64_t gone_ns_ = 0;  // when the card was gone for the drain; 0: it is there
  bool late_ = false;
  bool soon_ = false;  // a launch within the deadline of a host reset
};

}  // namespace ttc::sim
