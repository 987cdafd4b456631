// The card's side of a schedule, recorded before the observer runs.
//
// An observer that only reads changes nothing on the card, so what firmware, host and NoC do can be recorded
// first, store by store, and be played under the observer later, a few stores between any two of its loads.
// That needs no second stack and no thread, and a schedule is two short lists of numbers. Only time stays
// open: reading the wall clock is an event, and the words that depend on it are filled in when they are
// played.
//
// The case is small on purpose: one core, BRISC and NCRISC, two launches, at most one host reset in the
// middle.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "firmware_markers/device/profiler.hpp"
#include "firmware_markers/layout.hpp"

namespace ttc::sim {

inline constexpr uint32_t kControlAddress = 0xB00;  // L1, as M4 mailboxes have it
inline constexpr uint32_t kRiscs = 2;               // that take part
inline constexpr uint32_t kGranuleWords = 4;        // what one load of the observer reads whole
inline constexpr uint32_t kLogWords = 12000;        // tt-metal's default region of 48000 bytes
inline constexpr uint32_t kPlayedLogWords = 256;    // at its front can be written, the rest reads as zero

inline constexpr uint64_t kFinishesWithinNs = 20'000;  // a launch, from BRISC's FW end to its last index
inline constexpr uint64_t kPostsWithinNs = 4'000;      // of storing the index
inline constexpr uint64_t kLandsWithinNs = 40'000;     // of being posted
inline constexpr uint64_t kResetWithinNs = 20'000;     // the host's whole vector, of its first word

enum class EventKind : uint8_t {
  control,  // control vector word `where` = value
  buffer,   // L1 buffer word `where` = value
  clock,    // clock reading `value` is taken
  high,     // buffer word = value, with the high bits of clock reading `extra`
  low,      // buffer word = low bits of clock reading `extra`
  post,     // push `value` leaves the core
  land,     // its granule `where` reaches the log
  pause,    // nothing happens for `value` microseconds
};
struct Event {
  EventKind kind;
  bool visible;  // an observer that reads the right place gets the difference
  uint16_t where;
  uint16_t extra;
  uint32_t value;
};

struct Push {
  uint32_t risc, at, words;
  uint32_t index_event;  // that makes it visible
  uint32_t post_event;
  std::vector<uint16_t> land_events;  // by granule, where they are in the history
  bool readable = false;              // there was a time when it was announced and there
};

// A marker some RISC stored, with its time still open.
struct TrueMarker {
  uint32_t risc, type, id, host_id, clock;
  uint64_t data[2];
  int push = -1;  // the one that carried it to the log; -1: none did
};

enum class Work : uint8_t {
  plain,       // zones on both RISCs
  payload,     // also data: words that carry no proof
  sits_out,    // NCRISC takes no part in the second launch; its old buffer is pushed again
  quick_push,  // NCRISC pushes in the middle of the launches as well
  kinds
};

// The ids of zones; the RISC is added.
enum Id : uint32_t { kFw = 0x100, kKernel = 0x200, kZone = 0x300, kData = 0x400, kQuick = 0x500 };

struct HistoryOptions {
  unsigned generation = 4;  // 16, 1 to 4
  Work work = Work::plain;
  bool stale_log = false;      // frames of the same shape lie in the log, from before the observer came
  uint32_t pause_us = 0;       // between launches, and around a reset that falls there
  int reset_at = -1;           // in firmware accesses; -1: none
  uint32_t reset_spacing = 0;  // firmware accesses between two words of the reset
  bool final_reset = false;    // the device is closed
  // Posted writes: a granule lands `lag` firmware accesses after it was posted, and `spread` more for each
  // granule in front of it, counted from the end when `backwards`.
  uint32_t lag = 0, spread = 0;
  bool backwards = false;
};

struct History {
  const markers::Layout* layout = nullptr;
  std::vector<Event> events;
  uint32_t prelude = 0;            // events over before the observer comes
  uint32_t firmware_accesses = 0;  // of the two launches: reset_at may be anything below
  std::vector<Push> pushes;
  std::vector<TrueMarker> markers;
  uint32_t prelude_markers = 0;  // of them, from before
  uint32_t clocks = 0;
  // What silicon guarantees: when event `from` has happened, `to` follows within `ns`.
  struct Deadline {
    uint32_t from, to;
    uint64_t ns;
  };
  std::vector<Deadline> deadlines;
  // The reset fell between two of the firmware's reads of one index, and it does what no card survives (a
  // push of nothing) or what no log can show (an index over words that were not written): not a case to check.
  bool undefined = false;
  std::vector<std::pair<uint32_t, uint32_t>> resets;  // by the host: events [first, second)
  // Granules some event writes; no schedule can make a difference at the others.
  std::array<bool, 24> control_touched{};
  std::array<bool, device::kMaxRiscs * device::kBufferWords / kGranuleWords> buffer_touched{};
  std::array<std::array<bool, kPlayedLogWords / kGranuleWords>, kRiscs> log_touched{};
};

// The machine under the device header, as a recorder.
template <const device::Format& F>
class Recorder {
 public:
  explicit Recorder(const HistoryOptions& o)
      : o_(o), risc_{{{*this, 0, 4 * kLogWords}, {*this, 1, 4 * kLogWords}}} {
    history_.layout = markers::layout_by_generation(F.generation);
  }

  History record() {
    write_vector(0);
    if (o_.stale_log) {
      launch(7, true);
      land_all();
      write_vector(kDramBase);
    }
    history_.prelude = static_cast<uint32_t>(history_.events.size());
    history_.prelude_markers = static_cast<uint32_t>(history_.markers.size());
    accesses_ = 0;
    counting_ = true;
    launch(1, true);
    quiet();
    launch(2, o_.work != Work::sits_out);
    counting_ = false;
    history_.firmware_accesses = accesses_;
    while (reset_next_ != 0) reset_word();
    quiet();
    if (o_.final_reset) {
      const auto at = static_cast<uint32_t>(history_.events.size());
      write_vector(kDramBase);
      history_.resets.push_back({at, static_cast<uint32_t>(history_.events.size())});
    }
    find_touched();
    for (Push& push : history_.pushes) find_readable(push);
    note_deadlines();
    return std::move(history_);
  }

  // --- Port ------------------------------------------------------------------------------------------------
  static constexpr uint32_t control_address() { return kControlAddress; }
  static constexpr uint32_t buffer_address() { return kControlAddress + 4 * F.control_words; }
  uint32_t load(uint32_t address) {
    if (address >= buffer_address()) return buffer_[(address - buffer_address()) / 4];
    access();
    return control_[(address - control_address()) / 4];
  }
  void store(uint32_t address, uint32_t value) {
    if (address >= buffer_address()) return store_buffer((address - buffer_address()) / 4, value);
    access();
    const uint32_t word = (address - control_address()) / 4;
    if (word >= F.host_end && word < F.host_end + kRiscs) note_index(word - F.host_end, value);
    store_control(word, value);
  }
  // The store that follows each carries its half of the reading.
  uint32_t clock_high() {
    event(EventKind::clock, false, 0, history_.clocks);
    half_ = EventKind::high;
    return 0;
  }
  uint32_t clock_low() {
    event(EventKind::clock, false, 0, history_.clocks++);
    half_ = EventKind::low;
    return 0;
  }
  void push(uint32_t risc, uint32_t words, uint32_t, uint32_t bank_offset) {
    access();
    if (words == 0) {  // hangs the core, or worse (tt-metal kernel_profiler.hpp)
      history_.undefined = true;
      return;
    }
    const auto index = static_cast<uint32_t>(history_.pushes.size());
    const uint32_t granules = (words + kGranuleWords - 1) / kGranuleWords;
    const uint32_t at = bank_offset / 4 % kLogWords;
    if (index_event_[risc] != 0 && (at != index_before_[risc] || at + words != index_value_[risc]))
      history_.undefined = true;
    history_.pushes.push_back({risc, bank_offset / 4 % kLogWords, words, index_event_[risc],
                               static_cast<uint32_t>(history_.events.size()),
                               std::vector<uint16_t>(granules)});
    awaited_[risc] = index_event_[risc] == 0 ? static_cast<int>(index) : -1;
    index_event_[risc] = 0;
    event(EventKind::post, false, 0, index);
    for (uint32_t w = 0; w < words; ++w)
      if (const int m = owner_[risc * device::kBufferWords + w]; m >= 0 && history_.markers[m].push < 0)
        history_.markers[m].push = static_cast<int>(index);
    for (uint32_t g = 0; g < granules; ++g) {
      const uint32_t rank = o_.backwards ? granules - 1 - g : g;
      under_way_.push_back({accesses_ + o_.lag + rank * o_.spread, index, g});
    }
    land_due();
  }
  void wait_sent() {}
  uint32_t noc_x() const { return 1; }
  uint32_t noc_y() const { return 2; }
  bool noc_busy() const { return false; }
  void recorded(uint32_t risc, uint32_t type, uint32_t id, uint64_t, uint64_t a, uint64_t b) {
    owner_[header_at_] = static_cast<int>(history_.markers.size());
    history_.markers.push_back(
        {risc, type, id, F.host_id.get(F.host_id.put(host_id_)), history_.clocks - 1, {a, b}});
  }

 private:
  using Risc = device::Profiler<Recorder, F>;
  struct UnderWay {
    uint32_t due;
    uint32_t push;
    uint32_t granule;
  };
  static constexpr uint32_t kDramBase = 0x20, kFlatId = 1, kCoresPerBank = 8;

  void event(EventKind kind, bool visible, uint32_t where, uint32_t value) {
    history_.events.push_back({kind, visible, static_cast<uint16_t>(where), 0, value});
  }

  // What the drain ever reads of L1 buffers are the ends of the last run.
  static bool slot_is_looked_at(uint32_t index) {
    const uint32_t risc = index / device::kBufferWords, word = index % device::kBufferWords;
    const bool fw_end = word == device::kFwEndWord || word == device::kFwEndWord + 1;
    const bool kernel_end = word == device::kKernelEndWord || word == device::kKernelEndWord + 1;
    return risc < kRiscs && (fw_end || (risc == 0 && kernel_end));
  }
  static bool word_is_looked_at(uint32_t word) {
    return (word >= F.host_end && word < F.host_end + kRiscs) || word == F.run_counter || word == F.dropped ||
           (word >= F.risc_dram_address && word < F.risc_dram_address + F.risc_dram_address_count);
  }
  void store_buffer(uint32_t word, uint32_t value) {
    owner_[word] = -1;
    buffer_[word] = value;
    const auto kind = std::exchange(half_, EventKind::buffer);
    const uint32_t clock = kind == EventKind::high ? history_.clocks : history_.clocks - 1;
    if (kind == EventKind::high) header_at_ = static_cast<uint16_t>(word);
    history_.events.push_back(
        {kind, slot_is_looked_at(word), static_cast<uint16_t>(word), static_cast<uint16_t>(clock), value});
  }
  // A launch's end stores the index before it pushes, quick push after.
  void note_index(uint32_t risc, uint32_t value) {
    const auto at = static_cast<uint32_t>(history_.events.size());
    last_index_event_ = at;
    index_before_[risc] = control_[F.host_end + risc];
    index_value_[risc] = value;
    if (awaited_[risc] >= 0) {
      Push& push = history_.pushes[static_cast<size_t>(awaited_[risc])];
      push.index_event = at;
      if (push.at != index_before_[risc] || push.at + push.words != value) history_.undefined = true;
    } else {
      index_event_[risc] = at;
    }
    awaited_[risc] = -1;
  }
  void store_control(uint32_t word, uint32_t value) {
    event(EventKind::control, word_is_looked_at(word) && control_[word] != value, word, value);
    control_[word] = value;
  }

  // Before every access of the firmware: writes land, the host continues.
  void access() {
    ++accesses_;
    land_due();
    if (!counting_ || o_.reset_at < 0) return;
    if (accesses_ == static_cast<uint32_t>(o_.reset_at) + 1) {
      const auto at = static_cast<uint32_t>(history_.events.size());
      history_.resets.push_back({at, at});
      reset_next_ = 1;
      if (o_.reset_spacing == 0)
        while (reset_next_ != 0) reset_word();
    } else if (reset_next_ != 0 &&
               (accesses_ - static_cast<uint32_t>(o_.reset_at) - 1) % o_.reset_spacing == 0) {
      reset_word();
    }
  }
  // tt-metal writes the vector whole, word after word. Words that do not change are passed over together.
  void reset_word() {
    bool changed = false;
    while (!changed && reset_next_ <= F.control_words) {
      const uint32_t word = reset_next_++ - 1;
      const uint32_t value = initial(word, kDramBase);
      changed = control_[word] != value;
      if (changed) store_control(word, value);
    }
    if (reset_next_ <= F.control_words) return;
    reset_next_ = 0;
    history_.resets.back().second = static_cast<uint32_t>(history_.events.size());
  }
  static uint32_t initial(uint32_t word, uint32_t risc_addresses) {
    if (word == F.dram_address) return kDramBase;
    if (word == F.flat_id) return kFlatId;
    if (word == F.core_count_per_dram) return kCoresPerBank;
    const bool address =
        word >= F.risc_dram_address && word < F.risc_dram_address + F.risc_dram_address_count;
    return address ? risc_addresses : 0;
  }
  void write_vector(uint32_t risc_addresses) {
    for (uint32_t w = 0; w < F.control_words; ++w) store_control(w, initial(w, risc_addresses));
  }

  void land(const UnderWay& u) {
    Push& push = history_.pushes[u.push];
    push.land_events[u.granule] = static_cast<uint16_t>(history_.events.size());
    event(EventKind::land, true, u.granule, u.push);
  }
  void land_due() {
    std::stable_sort(under_way_.begin(), under_way_.end(),
                     [](const auto& a, const auto& b) { return a.due < b.due; });
    while (!under_way_.empty() && under_way_.front().due <= accesses_) {
      land(under_way_.front());
      under_way_.erase(under_way_.begin());
    }
  }
  void land_all() {
    for (const UnderWay& u : under_way_) land(u);
    under_way_.clear();
  }
  // Nothing runs for a while; writes under way arrive before it is over.
  void quiet() {
    if (o_.pause_us == 0 && counting_) return;
    while (reset_next_ != 0) reset_word();
    land_all();
    if (o_.pause_us != 0) event(EventKind::pause, false, 0, o_.pause_us);
  }

  void launch(uint32_t host_id, bool both) {
    Risc& brisc = risc_[0];
    Risc& ncrisc = risc_[1];
    host_id_ = host_id;
    brisc.open_launch();
    brisc.fw_start(kFw);
    brisc.take_launch(true, host_id);
    if (both) {
      ncrisc.fw_start(kFw + 1);
      ncrisc.kernel_start(kKernel + 1);
      work(ncrisc, 1);
      if (o_.work == Work::quick_push) {
        ncrisc.quick_push(kQuick);
        work(ncrisc, 1);
      }
      ncrisc.kernel_end(kKernel + 1);
      ncrisc.fw_end(kFw + 1);
    }
    brisc.kernel_start(kKernel);
    work(brisc, 0);
    brisc.kernel_end(kKernel);
    brisc.fw_end(kFw);
    const auto closed = static_cast<uint32_t>(history_.events.size()) - 1;
    brisc.finish_launch();
    if (last_index_event_ > closed)
      history_.deadlines.push_back({closed, last_index_event_, kFinishesWithinNs});
  }
  void work(Risc& risc, uint32_t r) {
    risc.zone_start(kZone + r);
    if (o_.work == Work::payload) risc.data(kData + r, 0x8000000180000002u + host_id_);
    risc.zone_end(kZone + r);
  }

  // A reset that falls into a push takes its index back before the words are there: it could not have
  // been read at any time.
  void find_readable(Push& push) const {
    uint32_t rewound = ~0u;
    for (uint32_t i = push.index_event + 1; i < history_.events.size() && rewound == ~0u; ++i) {
      const Event& e = history_.events[i];
      if (e.kind == EventKind::control && e.where == F.host_end + push.risc && e.value < push.at + push.words)
        rewound = i;
    }
    push.readable = *std::max_element(push.land_events.begin(), push.land_events.end()) < rewound;
  }
  void note_deadlines() {
    for (const auto& [begin, end] : history_.resets)
      if (begin < end) history_.deadlines.push_back({begin, end - 1, kResetWithinNs});
    for (const Push& push : history_.pushes) {
      if (push.index_event < push.post_event)
        history_.deadlines.push_back({push.index_event, push.post_event, kPostsWithinNs});
      history_.deadlines.push_back({push.post_event,
                                    *std::max_element(push.land_events.begin(), push.land_events.end()),
                                    kLandsWithinNs});
    }
  }
  void find_touched() {
    for (size_t i = history_.prelude; i < history_.events.size(); ++i) {
      const Event& e = history_.events[i];
      if (!e.visible) continue;
      if (e.kind == EventKind::control) history_.control_touched[e.where / kGranuleWords] = true;
      if (e.kind == EventKind::land) {
        const Push& p = history_.pushes[e.value];
        history_.log_touched[p.risc][p.at / kGranuleWords + e.where] = true;
      }
      if (e.kind == EventKind::buffer || e.kind == EventKind::high || e.kind == EventKind::low)
        history_.buffer_touched[e.where / kGranuleWords] = true;
    }
  }

  HistoryOptions o_;
  History history_;
  std::array<Risc, kRiscs> risc_;
  std::array<uint32_t, 80> control_{};
  std::array<int, device::kMaxRiscs* device::kBufferWords> owner_ = [] {
    std::array<int, device::kMaxRiscs * device::kBufferWords> none{};
    none.fill(-1);
    return none;
  }();
  std::vector<UnderWay> under_way_;
  std::array<uint32_t, kRiscs> index_before_{};  // when it was last stored
  std::array<uint32_t, kRiscs> index_value_{};   // that was stored then
  std::array<uint32_t, kRiscs> index_event_{};   // an index was stored whose push is still to come
  uint32_t last_index_event_ = 0;
  std::array<int, kRiscs> awaited_{-1, -1};  // a push whose index is still to come
  std::array<uint32_t, device::kMaxRiscs * device::kBufferWords> buffer_{};  // times left out
  EventKind half_ = EventKind::buffer;  // what the next store to a buffer is
  uint16_t header_at_ = 0;
  uint32_t host_id_ = 0;
  uint32_t accesses_ = 0;
  bool counting_ = false;
  uint32_t reset_next_ = 0;  // word of the vector the host writes next, plus one; 0: it writes none
};

inline History record(const HistoryOptions& o) {
  switch (o.generation) {
    case device::kG1Narrow.generation:
      return Recorder<device::kG1Narrow>(o).record();
    case device::kG1.generation:
      return Recorder<device::kG1>(o).record();
    case device::kG2.generation:
      return Recorder<device::kG2>(o).record();
    case device::kG3.generation:
      return Recorder<device::kG3>(o).record();
    default:
      return Recorder<device::kG4>(o).record();
  }
}

}  // namespace ttc::sim
