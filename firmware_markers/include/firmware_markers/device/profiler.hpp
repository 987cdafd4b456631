// Device side: writes the on-card profiler formats from a RISC-V core, with the order of accesses that the
// real firmware of each generation has. Freestanding: <stdint.h> only. The same code, on a host Port, is the
// firmware of the emulated card. How to use it in a kernel of your own: DEVICE.md.
//
// A Port is the machine underneath. Addresses are bytes in this core's own L1:
//
//   uint32_t control_address()                         of the control vector
//   uint32_t buffer_address()                          of RISC 0's buffer; the other RISCs' buffers follow,
//                                                      2048 bytes each
//   uint32_t load(uint32_t address)
//   void     store(uint32_t address, uint32_t value)
//   uint32_t clock_high(), clock_low()                 0xFFB121F4 (live), 0xFFB121F0; high is read first
//   void     push(uint32_t risc, uint32_t words, uint32_t bank, uint32_t bank_offset)
//                                                      posted NoC write of the first `words` of a buffer
//   void     wait_sent()                               until posted writes have left the core
//   uint32_t noc_x(), noc_y()                          what the core reads from its NIU
//   bool     noc_busy()                                a NoC command buffer is in linked state
//   void     recorded(risc, type, id, time, a, b)      a marker was stored; empty on silicon
//
// One Profiler per RISC; RISC 0 (BRISC, ERISC0) also opens and finishes launches. Not thread-safe: a core has
// no threads.
//
// Source: tt-metal tt_metal/tools/profiler/kernel_profiler.hpp of early 2025, mid 2025 and 2026 (@6a16835d);
// accumulate mode: tt-metal PR #48506, issue #57102 and measurements on the public simulator. Its threshold
// (kAccumulateReserveWords) is chosen here.
#pragma once
#include <stdint.h>

#include "firmware_markers/device/format.hpp"

namespace ttc::device {

// FNV-1a folded to 16 bits over NAME,FILE,LINE,KERNEL_PROFILER: evaluated by the compiler.
constexpr uint32_t zone_id(const char* text) {
  uint32_t h = 2166136261u;
  for (; *text; ++text) h = (h ^ static_cast<uint8_t>(*text)) * 16777619u;
  return (h & 0xffffu) ^ (h >> 16);
}

inline constexpr uint32_t kBufferBytes = 4 * kBufferWords;
// Accumulate mode pushes when a RISC has less than this left at the end of a launch.
inline constexpr uint32_t kAccumulateReserveWords = 64;

// The zones accumulate mode records around a push, in BRISC's guaranteed slots.
struct PushZones {
  uint32_t push = 0;
  uint32_t flush = 0;
};

template <class Port, const Format& F, Mode M = Mode::normal>
class Profiler {
  static constexpr bool kTraceOnly = M == Mode::trace_only;
  static constexpr bool kAccumulate = M == Mode::accumulate;
  static_assert(!kTraceOnly || F.trace_status != 0, "this generation has no trace-only mode");

 public:
  // `riscs`: how many share this core's vector: 5 on a Tensix, 1 or 2 on an Ethernet core.
  Profiler(Port& port, uint32_t risc, uint32_t bytes_per_risc, uint32_t riscs = kMaxRiscs)
      : port_(port), risc_(risc), riscs_(riscs), log_words_(bytes_per_risc / 4) {
    restart_buffer();
  }

  // --- RISC 0 only: the launch around the kernels ---------------------------------------------------------

  // Once after the core came out of reset.
  void boot() {
    trace_count_ = 0;
    if constexpr (kTraceOnly) clean_slots();
  }

  // The firmware has received GO. Opens a clean set of guaranteed slots on every RISC.
  void open_launch() {
    if constexpr (!kTraceOnly) clean_slots();
  }

  // The launch message was read: is it for this core, and under which id does it run?
  void take_launch(bool for_this_core, uint32_t host_id) {
    set_control(F.done, for_this_core ? 0 : 1);
    if constexpr (M == Mode::normal) set_host_id(host_id);
  }

  // Appends every RISC's buffer to its DRAM log. The index is stored before the data leaves (hazard 5.7.2).
  void finish_launch(PushZones zones = {}) {
    if constexpr (kTraceOnly) return;
    if (control(F.done) == 1) return;
    if constexpr (kAccumulate)
      finish_accumulated(zones);
    else
      finish_whole();
    set_control(F.done, 1);
  }

  // A trace is replayed from here on: every RISC's identity counts it. Trace-only mode instead pushes the
  // frame of the replay before, which is valid by now, and opens a new one.
  void replay_started(uint32_t quick_push_zone) {
    if constexpr (kTraceOnly) {
      if (trace_count_ > 0) quick_push(quick_push_zone);
      ++trace_count_;
      set_host_id(trace_count_);
      set_control(F.trace_status, kExpectFwStart);
      port_.store(buffer_of(lane()) + 4 * kIdSentinelHigh, kUnsetWord);  // not valid until BRISC's end
    } else if constexpr (F.trace.bits != 0) {
      ++trace_count_;
      for (uint32_t r = 0; r < riscs_; ++r) {
        const uint32_t at = buffer_of(r) + 4 * kIdIdentity;
        port_.store(at, F.trace.put(trace_count_) | (port_.load(at) & (F.risc.mask() | F.flat.mask())));
      }
    }
  }
  uint32_t trace_count() const { return trace_count_; }

  // --- every RISC -----------------------------------------------------------------------------------------

  void fw_start(uint32_t id) {
    if constexpr (kTraceOnly) {
      if (!trisc() && control(F.trace_status) & kExpectFwStart) {
        guaranteed(kFwStartWord, kZoneStart, id);
        set_control(F.trace_status, kExpectKernelStart);
      }
    } else if constexpr (kAccumulate) {
      if (control(F.device_end + lane()) == 0) restart_buffer();  // pushed since
      limit_ = buffer_of(lane()) + kBufferBytes;
      fw_recorded_ = zone_start(id);
    } else {
      restart_buffer();
      for (Sum& sum : sums_) sum = {};
      guaranteed(kFwStartWord, kZoneStart, id);
    }
  }

  void kernel_start(uint32_t id) {
    if constexpr (kTraceOnly) {
      if (control(F.trace_status) & kExpectKernelStart) {
        guaranteed(kKernelStartWord, kZoneStart, id);
        set_control(F.trace_status, kExpectEnds);
      }
    } else if constexpr (kAccumulate) {
      kernel_recorded_ = zone_start(id);
    } else {
      guaranteed(kKernelStartWord, kZoneStart, id);
    }
  }

  void kernel_end(uint32_t id) {
    if constexpr (kTraceOnly) {
      trace_end(kKernelEndWord, id);
    } else if constexpr (kAccumulate) {
      if (kernel_recorded_) zone_end(id);
    } else {
      guaranteed(kKernelEndWord, kZoneEnd, id);
    }
  }

  // Closes the FW zone and publishes how much of the buffer is valid. `for_this_core` false: BRISC in a
  // launch that is not its own; G4 then leaves the index alone, older firmware publishes it all the same.
  void fw_end(uint32_t id, bool for_this_core = true) {
    if constexpr (kTraceOnly) {
      trace_end(kFwEndWord, id);
      set_control(F.device_end, index());
      return;
    } else if constexpr (kAccumulate) {
      if (fw_recorded_) zone_end(id);
    } else {
      guaranteed(kFwEndWord, kZoneEnd, id);
    }
    if (!for_this_core && F.done_tested_first) return;
    for (const Sum& sum : sums_)
      if (sum.cycles > 0) total(sum.id, sum.cycles);
    pad();
    set_control(F.device_end + lane(), index());
  }

  // Room is tested for the start alone, and two words a zone are kept for the ends of open ones: a buffer of
  // zones and 4-word packets ends exactly at its end, any other mix can write 2 words past it, into the next
  // RISC's identity (tt-metal kernel_profiler.hpp).
  bool zone_start(uint32_t id) {
    if (!room(0)) return false;
    limit_ -= 8;
    stamp(kZoneStart, id);
    return true;
  }
  void zone_end(uint32_t id) {
    stamp(kZoneEnd, id);
    limit_ += 8;
  }

  bool event(uint32_t id) {
    if constexpr (F.last_type < kTsEvent) return false;
    if (!room(0)) return false;
    stamp(kTsEvent, id);
    return true;
  }
  bool data(uint32_t id, uint64_t value) {
    if constexpr (F.last_type < kTsData || kAccumulate) return false;
    if (!data_fits()) return false;
    const uint64_t time = store_marker(kTsData, id);
    store_u64(value);
    port_.recorded(lane(), kTsData, id, time, value, 0);
    return true;
  }
  bool data16(uint32_t id, uint64_t first, uint64_t second) {
    if constexpr (F.last_type < kTsData16B || kAccumulate) return false;
    if (!data16_fits()) return false;
    const uint64_t time = store_marker(kTsData16B, id);
    store_u64(first);
    store_u64(second);
    port_.recorded(lane(), kTsData16B, id, time, first, second);
    return true;
  }
  bool total(uint32_t id, uint32_t cycles) {
    if (!room(0)) return false;
    store(marker_high(kZoneTotal, id, 0));
    store(cycles);
    port_.recorded(lane(), kZoneTotal, id, 0, cycles, 0);
    return true;
  }

  // Two sums of cycles a launch, written as totals when the FW zone closes and only if they are not 0. 32
  // bits: a sum wraps after 4.3 s at 1 GHz.
  void add_to_sum(uint32_t slot, uint32_t id, uint64_t cycles) {
    if constexpr (kAccumulate) return;
    sums_[slot].id = id;
    sums_[slot].cycles += static_cast<uint32_t>(cycles);
  }
  uint64_t clock() {
    const uint32_t high = port_.clock_high();
    return uint64_t{high} << 32 | port_.clock_low();
  }

  // Zones of kernels that never finish: they keep room for a quick push, and reserve it at their end.
  bool dispatch_start(uint32_t id) {
    if (!room(kDispatchHeadroomWords)) return false;
    limit_ -= 8;
    stamp(kZoneStart, id);
    return true;
  }
  void dispatch_end(uint32_t id, uint32_t quick_push_zone) {
    zone_end(id);
    if (index() >= kBufferWords - kDispatchHeadroomWords) quick_push(quick_push_zone);
  }

  // What is left for custom markers, less what open zones keep for their ends.
  uint32_t free_words() const { return next_ < limit_ ? (limit_ - next_) / 4 : 0; }
  bool data_fits() const { return room(F.whole_packet_reserved ? 2 : 0); }
  bool data16_fits() const { return room(F.whole_packet_reserved ? 4 : 1); }

  // RISCs with a NoC of their own push what the buffer holds in the middle of a run and go on with an empty
  // one; on the others this does nothing. Dispatch kernels never finish and rely on it. The pair of the zone
  // is written without a check for room: on a completely full buffer it overwrites the next RISC's identity.
  void quick_push(uint32_t zone) {
    if (!can_push()) return;
    if constexpr (!F.early_2025) {
      if (port_.noc_busy()) return;
    }
    if constexpr (F.quick_push_guarded) {
      if (control(F.dram_address) == 0 || control(F.dropped) >> lane() & 1) return;
    }
    stamp(kZoneStart, zone);
    if constexpr (F.early_2025)
      wait_for_address();
    else if (!F.quick_push_guarded && control(F.dram_address) == 0)
      return;
    stamp_identity(lane());
    if constexpr (!F.quick_push_ends_late) stamp(kZoneEnd, zone);
    if constexpr (!F.early_2025) pad();
    push_now(zone);
  }

 private:
  static constexpr uint32_t kDispatchHeadroomWords = F.early_2025 ? 4 : 16;

  struct Sum {
    uint32_t id = 0;
    uint32_t cycles = 0;
  };

  uint32_t control(uint32_t word) { return port_.load(port_.control_address() + 4 * word); }
  void set_control(uint32_t word, uint32_t value) { port_.store(port_.control_address() + 4 * word, value); }
  uint32_t buffer_of(uint32_t risc) const { return port_.buffer_address() + kBufferBytes * risc; }
  // The RISC whose buffer and log this RISC writes.
  uint32_t lane() const { return kTraceOnly ? 0 : risc_; }
  bool trisc() const { return riscs_ == kMaxRiscs && risc_ >= 2; }
  bool can_push() const {
    const bool ncrisc = risc_ == 1 && riscs_ == kMaxRiscs;
    return ncrisc || (risc_ == 0 && !F.early_2025);
  }

  uint32_t index() const { return (next_ - buffer_of(lane())) / 4; }
  void restart_buffer() {
    next_ = buffer_of(lane()) + 4 * kFirstCustomWord;
    limit_ = buffer_of(lane()) + kBufferBytes;
  }
  bool room(uint32_t extra_words) const { return next_ + 4 * extra_words < limit_; }

  void store(uint32_t word) {
    port_.store(next_, word);
    next_ += 4;
  }
  void store_u64(uint64_t value) {
    store(static_cast<uint32_t>(value >> 32));
    store(static_cast<uint32_t>(value));
  }
  uint64_t write_marker(uint32_t at, uint32_t type, uint32_t id) {
    const uint32_t high = port_.clock_high() & 0xfff;
    port_.store(at, marker_high(type, id, 0) | high);
    const uint32_t low = port_.clock_low();
    port_.store(at + 4, low);
    return uint64_t{high} << 32 | low;
  }
  uint64_t store_marker(uint32_t type, uint32_t id) {
    const uint32_t at = next_;
    next_ = at + 8;
    return write_marker(at, type, id);
  }
  void stamp(uint32_t type, uint32_t id) { port_.recorded(lane(), type, id, store_marker(type, id), 0, 0); }
  void guaranteed(uint32_t word, uint32_t type, uint32_t id) {
    const uint64_t time = write_marker(buffer_of(lane()) + 4 * word, type, id);
    port_.recorded(lane(), type, id, time, 0, 0);
  }
  void trace_end(uint32_t word, uint32_t id) {
    if (control(F.trace_status) != kExpectEnds) return;
    guaranteed(word, kZoneEnd, id);
    if (risc_ == 0) port_.store(buffer_of(0) + 4 * kIdSentinelHigh, 0);  // the frame is valid
  }

  // Every push is a multiple of 16 bytes, as long as there is room to pad.
  void pad() {
    if (index() % 4 == 2 && next_ < buffer_of(lane()) + kBufferBytes) {
      store(kUnsetWord);
      store(0);
    }
  }

  void clean_slots() {
    const uint32_t runs = control(F.run_counter);
    set_control(F.done, 0);
    if (runs == 0) clean_identities();
    if (kAccumulate && runs != 0) return;  // BRISC's slots hold the zones of the last push
    for (uint32_t r = 0; r < riscs_; ++r) {
      for (uint32_t w = kFwStartWord; w < kFirstCustomWord; ++w)
        port_.store(buffer_of(r) + 4 * w, kUnsetWord);
      if constexpr (F.early_2025) {
        const uint32_t at = buffer_of(r) + 4 * kIdHost;
        port_.store(at, (runs & ~F.host_id.mask()) | (port_.load(at) & F.host_id.mask()));
      }
    }
  }
  void clean_identities() {
    for (uint32_t r = 0; r < riscs_; ++r) {
      for (uint32_t w = 0; w < 4; ++w) port_.store(buffer_of(r) + 4 * w, 0);
      if constexpr (F.trace.bits != 0) port_.store(buffer_of(r) + 4 * kIdIdentity, F.trace.put(trace_count_));
    }
    set_control(F.noc_x, port_.noc_x());
    set_control(F.noc_y, port_.noc_y());
  }
  void set_host_id(uint32_t host_id) {
    for (uint32_t r = 0; r < riscs_; ++r) {
      const uint32_t at = buffer_of(r) + 4 * kIdHost;
      const uint32_t runs = F.early_2025 ? port_.load(at) & ~F.host_id.mask() : 0;
      port_.store(at, F.host_id.put(host_id) | runs);
    }
  }
  void stamp_identity(uint32_t r) {
    const uint32_t at = buffer_of(r) + 4 * kIdIdentity;
    uint32_t counted = 0;
    if constexpr (F.trace.bits != 0) counted = port_.load(at) & F.trace.mask();
    port_.store(at, counted | F.identity(r, control(F.flat_id), 0));
  }
  void wait_for_address() {
    while (control(F.dram_address) == 0) {
    }
  }

  void finish_whole() {
    if constexpr (F.early_2025) wait_for_address();
    bool push = control(F.dram_address) != 0;
    for (uint32_t r = 0; r < riscs_; ++r) {
      stamp_identity(r);
      if (control(F.device_end + r) == 0) continue;
      const bool fitted = finish_risc(r, push);
      // G1 and G2 keep one flag for the whole launch: later RISCs' indices move, their words stay behind.
      if constexpr (!F.early_2025 && !F.guaranteed_when_full) push = push && fitted;
      if constexpr (F.early_2025) set_control(F.device_end + r, 0);
    }
    port_.wait_sent();
    set_control(F.run_counter, control(F.run_counter) + 1);
  }

  // The indices are read again and again, as the firmware does: the host may rewrite them in between, and a
  // DEVICE_END that became 0 after the test is a push of nothing. False: this frame did not fit.
  bool finish_risc(uint32_t r, bool push) {
    const uint32_t all = control(F.device_end + r) + control(F.host_end + r);
    const uint32_t guaranteed =
        control(F.host_end + r) + kFirstCustomWord;  // read whether it is needed or not
    if (all <= log_words_) {
      const uint32_t at = control(F.host_end + r);
      const uint32_t words = control(F.device_end + r);
      set_control(F.host_end + r, all);
      if (push) push_to_log(r, at, words);
      return true;
    }
    if constexpr (F.guaranteed_when_full) {
      const uint32_t at = control(F.host_end + r);
      if (guaranteed <= log_words_) {
        set_control(F.host_end + r, guaranteed);
        drop(r);
        if (push) push_to_log(r, at, kFirstCustomWord);
        return true;
      }
    } else if (control(F.run_counter) < 1) {
      drop(r);  // and the index stays: the next frame overwrites these words
      if (push) push_to_log(r, 0, kFirstCustomWord);
      return true;
    }
    drop(r);
    return false;
  }

  void finish_accumulated(PushZones zones) {
    bool any_full = false;
    for (uint32_t r = 0; r < riscs_; ++r)
      any_full |= control(F.device_end + r) > kBufferWords - kAccumulateReserveWords;
    if (!any_full) return;
    const uint64_t push_start = clock();
    for (uint32_t r = 0; r < riscs_; ++r) {
      stamp_identity(r);
      const uint32_t words = control(F.device_end + r);
      const uint32_t at = control(F.host_end + r);
      if (words == 0) continue;
      if (at + words <= log_words_) {
        set_control(F.host_end + r, at + words);
        if (control(F.dram_address) != 0) push_to_log(r, at, words);
      } else {
        drop(r);
      }
      set_control(F.device_end + r, 0);  // each RISC starts over when it reads this
    }
    const uint64_t flush_start = clock();
    port_.wait_sent();
    const uint64_t flush_end = clock();
    set_control(F.run_counter, control(F.run_counter) + 1);
    past_zone(kFwStartWord, zones.push, push_start, clock());
    past_zone(kKernelStartWord, zones.flush, flush_start, flush_end);
  }
  // A zone whose times were taken before: it goes out with the next push.
  void past_zone(uint32_t word, uint32_t id, uint64_t start, uint64_t end) {
    past_marker(word, kZoneStart, id, start);
    past_marker(word + 2, kZoneEnd, id, end);
  }
  void past_marker(uint32_t word, uint32_t type, uint32_t id, uint64_t time) {
    const uint32_t at = buffer_of(0) + 4 * word;
    port_.store(at, marker_high(type, id, static_cast<uint32_t>(time >> 32)));
    port_.store(at + 4, static_cast<uint32_t>(time));
    port_.recorded(0, type, id, time & 0xfffffffffff, 0, 0);
  }

  // The end of a quick push: here the data is first and the index follows, unlike in finish.
  void push_now(uint32_t zone) {
    const uint32_t at = control(F.host_end + lane());
    const uint32_t before = control(F.host_end + lane());  // read again: for the room, and for what is stored
    const uint32_t words = index();
    if (before + words <= log_words_ - (F.quick_push_guarded ? 4 : 0)) {
      push_to_log(lane(), at, words);
      if constexpr (!F.early_2025) port_.wait_sent();
      set_control(F.host_end + lane(), before + words);
    } else {
      drop(lane());
    }
    next_ = buffer_of(lane()) + 4 * kFirstCustomWord;  // the room open zones keep stays kept
    if constexpr (F.quick_push_ends_late) stamp(kZoneEnd, zone);
  }

  void drop(uint32_t r) { set_control(F.dropped, control(F.dropped) | 1u << r); }

  void push_to_log(uint32_t r, uint32_t at, uint32_t words) {
    const uint32_t flat = control(F.flat_id);
    const uint32_t cores = control(F.core_count_per_dram);
    port_.push(r, words, flat / cores, ((flat % cores * kMaxRiscs + r) * log_words_ + at) * 4);
  }

  Port& port_;
  uint32_t next_;   // L1 address of the next custom word
  uint32_t limit_;  // end of the buffer less what open zones keep for their ends
  uint32_t risc_;
  uint32_t riscs_;
  uint32_t log_words_;  // capacity of one RISC's DRAM region
  uint32_t trace_count_ = 0;
  Sum sums_[kSums];
  bool fw_recorded_ = false;
  bool kernel_recorded_ = false;
};

// A zone for the length of a C++ scope.
template <class P>
class Scope {
 public:
  Scope(P& profiler, uint32_t id) : profiler_(profiler), id_(id), recorded_(profiler.zone_start(id)) {}
  ~Scope() {
    if (recorded_) profiler_.zone_end(id_);
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  P& profiler_;
  uint32_t id_;
  bool recorded_;
};

// Records as Scope does, in a kernel that never finishes.
template <class P>
class DispatchScope {
 public:
  DispatchScope(P& profiler, uint32_t id, uint32_t quick_push_zone)
      : profiler_(profiler), id_(id), push_zone_(quick_push_zone), recorded_(profiler.dispatch_start(id)) {}
  ~DispatchScope() {
    if (recorded_) profiler_.dispatch_end(id_, push_zone_);
  }
  DispatchScope(const DispatchScope&) = delete;
  DispatchScope& operator=(const DispatchScope&) = delete;

 private:
  P& profiler_;
  uint32_t id_;
  uint32_t push_zone_;
  bool recorded_;
};

// Adds the cycles of a C++ scope to one of the RISC's sums.
template <class P>
class SumScope {
 public:
  SumScope(P& profiler, uint32_t slot, uint32_t id)
      : profiler_(profiler), slot_(slot), id_(id), start_(profiler.clock()) {}
  ~SumScope() { profiler_.add_to_sum(slot_, id_, profiler_.clock() - start_); }
  SumScope(const SumScope&) = delete;
  SumScope& operator=(const SumScope&) = delete;

 private:
  P& profiler_;
  uint32_t slot_;
  uint32_t id_;
  uint64_t start_;
};

}  // namespace ttc::device
