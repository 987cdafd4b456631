// Cores on which a part of tt-metal's streaming profiler stays while it captures, watched from outside: the sampler of its clock and the
// relay of Ethernet cores, on idle Ethernet cores. Each has a control block of seven words, in 64 bytes of their own near the end of L1
// (tt-metal streaming_profiler_common.h, ResidentCtrl; device_programs.cpp): done, heartbeat, go, two indices of a ring, a count of what
// was dropped, stop. Where exactly differs between versions: a block is found by its words and by a heartbeat that increases. The relays of
// Tensix cores stay on DRAM cores, which are not examined. Pure.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace ttc::other_profilers {

inline constexpr uint32_t kResidentBytes = 64;
inline constexpr uint32_t kResidentSearchBytes = 64 * 1024;  // at the end of L1

struct ResidentControl {
  enum class State : uint8_t { waiting, running, stopping, draining, done } state = State::running;
  uint32_t heartbeat = 0, sync_tail = 0, sync_head = 0, dropped = 0;
};
const char* to_string(ResidentControl::State state);

// Nothing where these 16 words are no control block, or one whose core has not begun.
std::optional<ResidentControl> read_resident(std::span<const uint32_t> words);

// Offsets of control blocks in L1 that was copied twice: heartbeats went on in between, or the core is done.
std::vector<uint32_t> find_residents(std::span<const uint32_t> before, std::span<const uint32_t> after);

// One between its first and its latest poll.
class ResidentCore {
 public:
  void look(const ResidentControl& control, uint64_t ns);
  const ResidentControl& now() const { return now_; }
  uint64_t beats() const { return beats_; }       // that were counted
  double beats_a_second() const;                  // 0: polled once
  uint64_t silent_ns() const { return silent_; }  // the longest time without one, as far as polls show

 private:
  ResidentControl now_;
  uint64_t beats_ = 0, first_ns_ = 0, last_ns_ = 0, changed_ns_ = 0, silent_ = 0;
};

}  // namespace ttc::other_profilers
