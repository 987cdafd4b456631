// tt-metal's streaming profiler, watched from outside: how full the rings in L1 are, how often their producers waited, and what passed
// through them. Its relays own the rings; nothing is taken here and nothing written. Pure: vectors of control words in, an account out.
//
// Layout: the one merged in September 2026 (tt-metal streaming_profiler_common.h@01f9c2c): heads in words 0 to 4, tails in 24 to 28, counts of
// words since the firmware was loaded; word 48 arms the producers, which then wait for room; words 50 to 54 count how often they
// did. The layout of August 2026 gave word 48 the opposite meaning and had the core's place in word 49: it is distinguished by that word.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace ttc::other_profilers {

inline constexpr uint32_t kStreamRiscs = 5, kStreamRingWords = 512, kStreamControlWords = 64;

struct StreamControl {
  struct Lane {
    uint32_t head = 0, tail = 0, stalls = 0;
    uint32_t fill() const {
      return tail - head;
    }  // words that no relay has taken; above the ring's size: overwritten
  };
  std::array<Lane, kStreamRiscs> lanes;
  bool armed = false;
};

// Nothing where the words are not those of the merged layout.
std::optional<StreamControl> read_stream_control(std::span<const uint32_t> words);

// One lane between its first and its latest poll.
struct StreamLane {
  uint64_t words = 0;        // that its producer published
  uint64_t stalls = 0;       // times that it waited for room, since the firmware was loaded
  uint64_t stalls_seen = 0;  // of those, since the first poll
  uint64_t unseen = 0;       // looks between which more than a whole ring went by
  uint32_t fill = 0, peak_fill = 0;
  uint64_t overwritten = 0;  // words that no relay had taken, without a relay
};

class StreamCore {
 public:
  void look(const StreamControl& control);
  const std::array<StreamLane, kStreamRiscs>& lanes() const { return lanes_; }
  bool armed() const { return armed_; }
  uint64_t restarts() const { return restarts_; }  // firmware was loaded again: counts began again

 private:
  std::array<StreamLane, kStreamRiscs> lanes_;
  std::optional<StreamControl> last_;
  bool armed_ = false;
  uint64_t restarts_ = 0;
};

}  // namespace ttc::other_profilers
