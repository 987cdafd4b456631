// A card whose history is played under its observer, by a schedule: before any load of something that
// the history writes, some more of the history may happen. Loads are whole in 16 bytes and torn between them.
//
// Time is simulated. What silicon guarantees about it (History::deadlines) holds in every schedule.
#pragma once
#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

#include "driver_iface/card.hpp"
#include "firmware_markers/frame.hpp"
#include "tests/sim/history.hpp"
#include "tests/support/fake_card.hpp"

namespace ttc::sim {

class Schedule {
 public:
  virtual ~Schedule() = default;
  // Visible events that happen before the observer's next load of something that changes.
  virtual uint32_t before_load() = 0;
  struct Pause {
    uint32_t events;
    uint64_t ns;  // beyond the drain's own waiting
  };
  // Between two of its looks.
  virtual Pause between_looks() = 0;
  double lines_per_s = 0;  // of the link, that the observer may take (--link-share); 0: no limit
};

// Ways in which a card may lie, each of which takes one safety rule of the drain away. For tests of the
// tests.
enum class Lie : uint8_t {
  none,
  clock_runs_ahead,  // every poll seems long after the one before: nothing waits for landing
  vector_lags,       // the vector is served as it was when the payload before it had not been read yet
};

class ScheduledCard : public card::FakeCard {
 public:
  static constexpr uint64_t kBeginNs = 10'000'000'000;
  static constexpr uint64_t kDramBase = 0x20;
  static constexpr uint32_t kFlatId = 1;

  ScheduledCard(const History& history, Schedule& schedule, Lie lie = Lie::none)
      : FakeCard("sim"),
        history_(history),
        schedule_(schedule),
        lie_(lie),
        pushed_(history.pushes.size()),
        clocks_(history.clocks),
        event_ns_(history.events.size()) {
    tiles_ = {{{1, 2}, card::TileKind::tensix, false}};
    buffer_address_ = kControlAddress + 4u * history.layout->format.control_words;
    while (next_ < history.prelude) apply(history.events[next_++]);
    now_ = kBeginNs + 1'000'000'000;  // long ago
  }

  uint64_t now() const { return now_; }
  // What the drain gets.
  uint64_t reported_now() { return lie_ == Lie::clock_runs_ahead ? now_ + 60'000 * ++questions_ : now_; }
  bool over() const { return next_ == history_.events.size(); }
  uint64_t reset_ns(size_t reset) const { return reset_ns_[reset]; }
  uint64_t event_ns(uint32_t event) const { return event_ns_[event]; }  // when it happened
  uint32_t position() const { return next_; }
  uint64_t torn_reads() const { return torn_reads_; }
  uint64_t points() const { return points_; }
  uint64_t clock_reading(uint32_t index) const { return clocks_[index] & markers::kClockMask; }
  std::array<uint32_t, kRiscs + 1> vector() const {
    return {index_of(0), index_of(1), control_[history_.layout->format.run_counter]};
  }
  uint32_t index_of(uint32_t risc) const { return control_[history_.layout->format.host_end + risc]; }

  bool trace = false;  // prints what happens

  // Plays `events` more visible events, and what is invisible before the next.
  void play(uint32_t events) {
    while (next_ < history_.events.size()) {
      const Event& e = history_.events[next_];
      if ((e.visible && events-- == 0) || too_soon(e)) return;
      ++next_;
      apply(e);
    }
  }
  // Around a poll: a host that resets needs longer to launch as much again than a poll takes (kPollDeadlineNs in
  // collector/continuity/timing.hpp), also where the poll begins between two words of the reset.
  void look_begins() { in_look_ = true, reset_in_look_ = reset_under_way(); }
  void look_ends() { in_look_ = false; }
  void pass(uint64_t ns) {
    const uint64_t until = now_ + ns;
    while (deadline_ <= until) {  // what must have happened by then has
      now_ = std::max(now_, deadline_);
      do apply(history_.events[next_++]);
      while (deadline_ <= now_);
    }
    now_ = std::max(now_, until);
  }

  // --- card::Card
  card::Access aim(card::Window window, card::Coord tile, uint64_t address) override {
    place(window, tile, address);
    return card::Access::ok;
  }
  card::Access copy(card::Window window, uint32_t offset, std::span<uint64_t> out) override {
    const bool dram = window == card::Window::payload;
    uint64_t address = base_of(window) + (offset & (card::kWindowBytes - 1));
    for (size_t i = 0; i < out.size(); ++i, address += 8) {
      if (i == 0 || address % (4 * kGranuleWords) == 0)
        point(dram ? changes_in_dram(address) : changes_in_l1(address));
      const uint32_t low = dram ? dram_word(address) : l1_word(static_cast<uint32_t>(address));
      const uint32_t high = dram ? dram_word(address + 4) : l1_word(static_cast<uint32_t>(address + 4));
      __atomic_store_n(&out[i], uint64_t{high} << 32 | low, __ATOMIC_RELEASE);
    }
    return card::Access::ok;
  }
  card::Access wall_clock(card::Coord, uint64_t& cycles) override {
    cycles = now_;
    return card::Access::ok;
  }

 private:
  static constexpr uint64_t kLoadNs = 250, kEventNs = 20;
  struct Place {
    uint32_t risc = kRiscs, word = 0;
  };

  void point(bool changes) {
    if (!changes) return;
    ++points_;
    pass(kLoadNs);
    if (over()) return;
    if (const uint32_t events = schedule_.before_load()) play(events);
  }

  bool reset_under_way() const {
    return std::any_of(history_.resets.begin(), history_.resets.end(),
                       [this](const auto& reset) { return reset.first < next_ && next_ < reset.second; });
  }
  bool too_soon(const Event& e) const {
    if (!in_look_ || !reset_in_look_ || e.kind != EventKind::control || e.value == 0) return false;
    const device::Format& f = history_.layout->format;
    if (e.where == f.run_counter) return e.value >= before_reset_[kRiscs];
    const uint32_t risc = e.where - f.host_end;
    return risc < kRiscs && e.value >= before_reset_[risc];
  }
  void apply(const Event& e) {
    now_ += kEventNs;
    event_ns_[next_ - 1] = now_;
    for (const auto& [begin, end] : history_.resets) {
      if (begin == next_ - 1 && begin != end) reset_in_look_ = in_look_, before_reset_ = vector();
      if (end == next_) reset_ns_.push_back(now_);
    }
    if (trace && (e.visible || e.kind == EventKind::post || e.kind == EventKind::pause)) show(e);
    switch (e.kind) {
      case EventKind::control:
        control_[e.where] = e.value;
        break;
      case EventKind::buffer:
        buffer_[e.where] = e.value;
        break;
      case EventKind::clock:
        clocks_[e.value] = now_;
        break;
      case EventKind::high:
        buffer_[e.where] = e.value | (static_cast<uint32_t>(clocks_[e.extra] >> 32) & 0xfff);
        break;
      case EventKind::low:
        buffer_[e.where] = static_cast<uint32_t>(clocks_[e.extra]);
        break;
      case EventKind::post: {
        const Push& p = history_.pushes[e.value];
        const auto* from = buffer_.data() + p.risc * device::kBufferWords;
        pushed_[e.value].assign(from, from + p.words);
        break;
      }
      case EventKind::land: {
        const Push& p = history_.pushes[e.value];
        for (uint32_t w = e.where * kGranuleWords; w < std::min((e.where + 1u) * kGranuleWords, p.words); ++w)
          log_[p.risc][p.at + w] = pushed_[e.value][w];
        break;
      }
      case EventKind::pause:
        now_ += uint64_t{e.value} * 1000;
        break;
    }
    for (const History::Deadline& d : history_.deadlines)
      if (d.from == next_ - 1 && d.to >= next_) due_.push_back({now_ + d.ns, d.to});
    while (!due_.empty() && due_.front().event < next_) due_.erase(due_.begin());
    deadline_ = ~uint64_t{0};
    for (const Due& d : due_)
      if (d.event >= next_) deadline_ = std::min(deadline_, d.at_ns);
  }

  void show(const Event& e) const {
    static constexpr const char* kNames[] = {"control", "buffer", "clock", "high",
                                             "low",     "post",   "land",  "pause"};
    bool host = false;
    for (const auto& [begin, end] : history_.resets) host = host || (next_ > begin && next_ <= end);
    std::printf("%9.3f us  %4u  %s%s %u = %u\n", static_cast<double>(now_ - kBeginNs) / 1000 - 1e6, next_ - 1,
                host ? "host: " : "", kNames[static_cast<int>(e.kind)], e.where, e.value);
  }

  bool changes_in_l1(uint64_t address) const {
    if (address < kControlAddress || address >= buffer_address_ + 4 * buffer_.size()) return false;
    if (address < buffer_address_)
      return history_.control_touched[(address - kControlAddress) / 4 / kGranuleWords];
    return history_.buffer_touched[(address - buffer_address_) / 4 / kGranuleWords];
  }
  uint32_t l1_word(uint32_t address) const {
    if (address < kControlAddress || address >= buffer_address_ + 4 * buffer_.size()) return 0;
    if (address < buffer_address_) return control_[(address - kControlAddress) / 4];
    return buffer_[(address - buffer_address_) / 4];
  }
  Place place_of(uint64_t address) const {
    const uint64_t lane = (address - kDramBase) / 4 / kLogWords;
    const uint64_t first = uint64_t{kFlatId} * device::kMaxRiscs;
    if (lane < first || lane >= first + kRiscs) return {};
    const Place p{static_cast<uint32_t>(lane - first),
                  static_cast<uint32_t>((address - kDramBase) / 4 % kLogWords)};
    return p.word < kPlayedLogWords ? p : Place{};
  }
  bool changes_in_dram(uint64_t address) const {
    const Place p = place_of(address);
    return p.risc < kRiscs && history_.log_touched[p.risc][p.word / kGranuleWords];
  }
  // Words that are announced and have not landed.
  bool torn(const Place& p) const {
    if (p.word >= index_of(p.risc)) return false;
    for (size_t i = 0; i < history_.pushes.size(); ++i) {
      const Push& push = history_.pushes[i];
      if (pushed_[i].empty() || push.risc != p.risc || p.word < push.at || p.word >= push.at + push.words)
        continue;
      if (push.land_events[(p.word - push.at) / kGranuleWords] >= next_) return true;
    }
    return false;
  }
  uint32_t dram_word(uint64_t address) {
    const Place p = place_of(address);
    if (p.risc >= kRiscs) return 0;
    if (torn(p)) ++torn_reads_;
    return log_[p.risc][p.word];
  }

  struct Due {
    uint64_t at_ns;
    uint32_t event;
  };
  const History& history_;
  Schedule& schedule_;
  Lie lie_;
  uint32_t buffer_address_ = 0;
  uint64_t now_ = kBeginNs;
  uint64_t questions_ = 0;
  uint32_t next_ = 0;
  uint64_t deadline_ = ~uint64_t{0};
  std::vector<Due> due_;
  bool in_look_ = false, reset_in_look_ = false;
  std::array<uint32_t, kRiscs + 1> before_reset_{};
  std::array<uint32_t, 96> control_{};
  std::array<uint32_t, device::kMaxRiscs * device::kBufferWords> buffer_{};
  std::array<std::array<uint32_t, kPlayedLogWords>, kRiscs> log_{};
  std::vector<std::vector<uint32_t>> pushed_;
  std::vector<uint64_t> clocks_;
  std::vector<uint64_t> event_ns_;
  std::vector<uint64_t> reset_ns_;  // when each was over
  uint64_t torn_reads_ = 0;
  uint64_t points_ = 0;
};

}  // namespace ttc::sim
