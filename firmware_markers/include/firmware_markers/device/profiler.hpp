// Device side: writes the on-card profiler formats from a RISC-V core, with the order of accesses the real
// firmware has (format sheet 5.1, 5.2). Freestanding: <stdint.h> only. The same code, on a host Port, is the
// firmware of the emulated card.
//
// A Port is the machine underneath; all its calls are in words of this core's own L1 structures:
//
//   uint32_t control(uint32_t word)                    read a control vector word
//   void     set_control(uint32_t word, uint32_t v)
//   void     set_buffer(uint32_t risc, uint32_t word, uint32_t v)
//   uint32_t clock_high(), clock_low()                 0xFFB121F4 (live), 0xFFB121F0; high is read first
//   void     push(uint32_t risc, uint32_t words, uint32_t bank, uint32_t bank_offset)
//                                                      posted NoC write of the first `words` of a buffer
//   void     wait_sent()                               until posted writes have left the core
//   uint32_t noc_x(), noc_y()                          what the core reads from its NIU
//   void     recorded(risc, type, id, time, a, b)      a marker was stored; empty on silicon
//   bool     noc_busy()                                a NoC command buffer is in linked state
//
// One Profiler per RISC; RISC 0 (BRISC) also opens and finishes launches. Not thread-safe: a core has no
// threads.
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

template <class Port, const Format& F>
class Profiler {
 public:
  Profiler(Port& port, uint32_t risc, uint32_t bytes_per_risc)
      : port_(port), risc_(risc), log_words_(bytes_per_risc / 4) {}

  // --- BRISC only: the launch around the kernels ----------------------------------------------------------

  // GO was seen. Opens a clean set of guaranteed slots on every RISC.
  void open_launch(uint32_t trace_count = 0) {
    port_.set_control(F.done, 0);
    if (port_.control(F.run_counter) == 0) {
      for (uint32_t r = 0; r < kMaxRiscs; ++r) {
        for (uint32_t w = 0; w < 4; ++w) port_.set_buffer(r, w, 0);
        stamp_identity(r, trace_count);
      }
      port_.set_control(F.noc_x, port_.noc_x());
      port_.set_control(F.noc_y, port_.noc_y());
    }
    for (uint32_t r = 0; r < kMaxRiscs; ++r)
      for (uint32_t w = kFwStartWord; w < kFirstCustomWord; ++w) port_.set_buffer(r, w, kUnsetWord);
    trace_count_ = trace_count;
  }

  // The launch message was read: is it for this core, and under which id does it run?
  void take_launch(bool for_this_core, uint32_t host_id) {
    port_.set_control(F.done, for_this_core ? 0 : 1);
    for (uint32_t r = 0; r < kMaxRiscs; ++r) port_.set_buffer(r, kIdHost, host_id);
  }

  // Appends every RISC's buffer to its DRAM log. The index is stored before the data leaves (hazard 5.7.2).
  void finish_launch() {
    if (port_.control(F.done) == 1) return;
    for (uint32_t r = 0; r < kMaxRiscs; ++r) {
      if (port_.control(F.device_end + r) == 0)
        continue;  // the index is read again below, as the firmware does
      const uint32_t at = port_.control(F.host_end + r);
      const uint32_t whole = port_.control(F.device_end + r);
      uint32_t words = 0;
      if (at + whole <= log_words_)
        words = whole;
      else if (at + kFirstCustomWord <= log_words_)
        words = kFirstCustomWord;
      if (words != whole) drop(r);
      if (words == 0) continue;
      stamp_identity(r, trace_count_);
      port_.set_control(F.host_end + r, at + words);
      push_to_log(r, at, words);
    }
    port_.wait_sent();
    port_.set_control(F.run_counter, port_.control(F.run_counter) + 1);
    port_.set_control(F.done, 1);
  }

  // --- every RISC -----------------------------------------------------------------------------------------

  void fw_start(uint32_t id) {
    index_ = kFirstCustomWord;
    open_ = 0;
    guaranteed(kFwStartWord, kZoneStart, id);
  }
  void kernel_start(uint32_t id) { guaranteed(kKernelStartWord, kZoneStart, id); }
  void kernel_end(uint32_t id) { guaranteed(kKernelEndWord, kZoneEnd, id); }

  // Closes the FW zone and publishes how much of the buffer is valid. `for_this_core` false: BRISC in a
  // launch that is not its own; G4 then leaves the index alone, older firmware publishes it all the same.
  void fw_end(uint32_t id, bool for_this_core = true) {
    guaranteed(kFwEndWord, kZoneEnd, id);
    pad();
    if (for_this_core || !F.done_tested_first) port_.set_control(F.device_end + risc_, index_);
  }

  // A zone is recorded whole or not at all: room for its end is kept when it starts.
  bool zone_start(uint32_t id) {
    if (index_ + 4 + 2 * open_ > kBufferWords) return false;
    ++open_;
    stamp(kZoneStart, id);
    return true;
  }
  void zone_end(uint32_t id) {
    --open_;
    stamp(kZoneEnd, id);
  }

  bool event(uint32_t id) {
    if (!room(2)) return false;
    stamp(kTsEvent, id);
    return true;
  }
  bool data(uint32_t id, uint64_t value) {
    if (!room(4)) return false;
    const uint64_t time = store_marker(kTsData, id);
    store_u64(value);
    port_.recorded(risc_, kTsData, id, time, value, 0);
    return true;
  }
  bool data16(uint32_t id, uint64_t first, uint64_t second) {
    if (!room(6)) return false;
    const uint64_t time = store_marker(kTsData16B, id);
    store_u64(first);
    store_u64(second);
    port_.recorded(risc_, kTsData16B, id, time, first, second);
    return true;
  }
  bool total(uint32_t id, uint32_t cycles) {
    if (!room(2)) return false;
    store(marker_high(kZoneTotal, id, 0));
    store(cycles);
    port_.recorded(risc_, kZoneTotal, id, 0, cycles, 0);
    return true;
  }

  uint32_t free_words() const { return kBufferWords - index_ - 2 * open_; }

  // BRISC and NCRISC: pushes what the buffer holds in the middle of a run and goes on with an empty one.
  // Dispatch kernels never finish and rely on it.
  void quick_push(uint32_t zone) {
    if (port_.noc_busy() || port_.control(F.dram_address) == 0) return;
    if (port_.control(F.dropped) >> risc_ & 1) return;
    const uint32_t open = open_;
    open_ = 0;  // the pair may use the room kept for open zones: their ends start the next buffer
    if (zone_start(zone)) zone_end(zone);
    open_ = open;
    stamp_identity(risc_, trace_count_);
    pad();
    const uint32_t at = port_.control(F.host_end + risc_);
    if (at + index_ <= log_words_ - 4) {
      push_to_log(risc_, at, index_);
      port_.wait_sent();
      port_.set_control(F.host_end + risc_, at + index_);  // here the data is first, unlike in finish
    } else {
      drop(risc_);
    }
    index_ = kFirstCustomWord;
  }

 private:
  bool room(uint32_t words) const { return index_ + words + 2 * open_ <= kBufferWords; }

  void store(uint32_t word) { port_.set_buffer(risc_, index_++, word); }
  void store_u64(uint64_t value) {
    store(static_cast<uint32_t>(value >> 32));
    store(static_cast<uint32_t>(value));
  }
  uint64_t store_marker(uint32_t type, uint32_t id) {
    const uint32_t high = port_.clock_high();
    const uint32_t low = port_.clock_low();
    store(marker_high(type, id, high));
    store(low);
    return uint64_t{high & 0xfffu} << 32 | low;
  }
  void stamp(uint32_t type, uint32_t id) { port_.recorded(risc_, type, id, store_marker(type, id), 0, 0); }

  void guaranteed(uint32_t word, uint32_t type, uint32_t id) {
    const uint32_t high = port_.clock_high();
    const uint32_t low = port_.clock_low();
    port_.set_buffer(risc_, word, marker_high(type, id, high));
    port_.set_buffer(risc_, word + 1, low);
    port_.recorded(risc_, type, id, uint64_t{high & 0xfffu} << 32 | low, 0, 0);
  }

  // Every push is a multiple of 16 bytes.
  void pad() {
    if (index_ % 4 == 2) {
      store(kUnsetWord);
      store(0);
    }
  }
  void stamp_identity(uint32_t r, uint32_t trace_count) {
    port_.set_buffer(r, kIdIdentity, F.identity(r, port_.control(F.flat_id), trace_count));
  }
  void drop(uint32_t r) { port_.set_control(F.dropped, port_.control(F.dropped) | 1u << r); }

  void push_to_log(uint32_t r, uint32_t at, uint32_t words) {
    if (port_.control(F.dram_address) == 0) return;  // the index has moved all the same (5.1)
    const uint32_t flat = port_.control(F.flat_id);
    const uint32_t cores = port_.control(F.core_count_per_dram);
    port_.push(r, words, flat / cores, ((flat % cores * kMaxRiscs + r) * log_words_ + at) * 4);
  }

  Port& port_;
  uint32_t risc_;
  uint32_t log_words_;  // capacity of one RISC's DRAM region
  uint32_t index_ = kFirstCustomWord;
  uint32_t open_ = 0;  // custom zones started and not ended
  uint32_t trace_count_ = 0;
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

}  // namespace ttc::device
