// Faults of what runs on an emulated card: firmware, host, compiler. All off by default. Each draws from its
// own seed, so that a run can be repeated.
#pragma once
#include <cstdint>

namespace ttc::emulation {

// Assumptions about firmware and host that a workload can break, one bit each (contradictions.hpp).
enum class Unlike : uint32_t {
  index_behind = 1u << 0,
  split_markers = 1u << 1,
  log_overwritten = 1u << 2,
  slow_reset = 1u << 3,
  quick_relaunch = 1u << 4,
  run_counter_doubles = 1u << 5,
  reset_some_cores = 1u << 6,
  addresses_early = 1u << 7,
  flat_id_order = 1u << 8,
};

struct WorkloadFaults {
  bool is_unlike(Unlike one) const { return (unlike & static_cast<uint32_t>(one)) != 0; }

  // Posted DRAM writes land between `min` and `max` later, each lane by itself: pushes of different lanes and
  // cores overtake one another, those of one lane do not.
  struct LateLanding {
    bool on = false;
    uint64_t min_ns = 0;
    uint64_t max_ns = 40'000;
    uint64_t seed = 1;
  } late_landing;

  // The host rewrites all control vectors at a firmware step, wherever that falls: inside a launch, inside
  // finish, between index and data.
  struct HostReset {
    uint64_t at_step = 0;         // once, at this step; 0: not
    uint64_t every = 0;           // again and again, one of so many steps; 0: not
    uint64_t words_per_step = 0;  // the vectors are rewritten while firmware runs; 0: at once
    uint64_t apart_ns = 0;        // not sooner after any other reset, or the first step
    uint64_t seed = 1;
  } host_reset;

  // An earlier session has left its frames in DRAM and its buffers in L1, with the flat ids and host ids that
  // this one will use.
  struct StaleDram {
    uint64_t programs = 0;  // of that session; 0: none
    bool future = false;    // its clock had run further than this session's will
  } stale_dram;

  // A RISC's buffer ends at word 514: its last zone overwrites the first words of the next RISC's buffer
  // (tt-metal kernel_profiler.hpp).
  struct Overrun {
    uint64_t every = 0;   // one of so many launches of a core; 0: none
    bool damage = false;  // the lane's later pushes, misaligned since, arrive damaged
    uint64_t seed = 1;
  } overrun;

  // The low word of the clock rolls over between the two reads of a marker.
  struct TornMarker {
    uint64_t every = 0;          // virtual time: the clock jumps there, for one of so many markers
    uint64_t within_cycles = 0;  // real time: a marker that begins so shortly before the rollover is torn
    uint64_t seed = 1;
  } torn_marker;

  // The ways in which firmware and host differ from what is assumed of them: set of Unlike.
  uint32_t unlike = 0;

  // Strings that the compiler's notes lack, or that share a hash.
  struct Names {
    unsigned missing_percent = 0;
    unsigned collisions = 0;  // so many zones get a second string with their hash
    uint64_t seed = 1;
  } names;
};

}  // namespace ttc::emulation
