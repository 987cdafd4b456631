// Programs of a chip, put together from what its processors ran under one host id.
//
// A launch of a processor belongs to the program of its host id and replay that is nearest in time and does not
// have this processor yet; else it is another program of the same id. Cores are read one after another, by a sweep
// as in a log: a program is settled when the cores came round several times without adding to it. Host id 0 is no
// program. Memory: some 500 bytes for each program that is not settled, and 40 for each of its cores.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tools/viewers/zones/launch_ends.hpp"

namespace ttc::tools {

struct Program {
  uint32_t host_id = 0;
  uint16_t replay = 0;
  uint64_t begin_ns = ~uint64_t{0}, end_ns = 0;  // of the firmware zones
  uint64_t kernel_begin_ns = ~uint64_t{0}, kernel_end_ns = 0;
  uint64_t longest_ns = 0;  // of a kernel zone
  uint8_t longest_x = 0, longest_y = 0;
  // Times of cores, from the first start of a kernel zone to the last end of one.
  uint64_t core_mean_ns = 0, core_most_ns = 0;
  uint8_t most_x = 0, most_y = 0;  // of core_most_ns
  uint32_t open = 0;               // processors whose end did not come
  std::vector<uint32_t> cores;     // x << 8 | y, sorted
  std::vector<uint64_t> flows;     // one for each core
  // Of durations, as duration_bound_ns() has them: of all, of the kernel zones, of longest_ns, core_mean_ns and core_most_ns.
  struct {
    uint32_t duration_ns = kNoDurationBound, kernel_ns = kNoDurationBound, longest_ns = kNoDurationBound,
             core_mean_ns = kNoDurationBound, core_most_ns = kNoDurationBound;
  } bounds;
  // The markers of begin_ns and end_ns, where these are host times. `clock`: of all its markers; null: they are of several, or of none.
  TimedMarker first, last;
  const collect::ClockMap* clock = nullptr;
  uint64_t widest_bound = collect::kNoBound;  // of any of its markers' times
  collect::HostTime seen_by = 0;              // words of all its markers had been read by then; 0: not known
};

class Programs {
 public:
  static constexpr size_t kMostOpen = 1 << 16;

  Programs() = default;
  Programs(const Programs&) = delete;
  Programs& operator=(const Programs&) = delete;

  struct Launch {
    uint32_t lane = 0;
    uint64_t flow = 0;  // 0: the core is in the program already
    uint32_t flow_marker = ~uint32_t{0};
  };
  // One frame of a lane, of which only what it is of and its clock are read. `of_clock`: the times in ns are the host times, which `ends` has.
  Launch take(const FrameEvents& frame, uint32_t lane, const LaunchEnds& ends, bool of_clock);

  using Take = std::function<void(const Program&)>;
  // Hands over what is settled and has ended before `until_ns`, and the older half where there are too many, by
  // begin. ~0: all there are.
  void settled(uint64_t until_ns, const Take& take);
  // The same after every lane was read up to `until_ns`, as by a reader of a live ring: without rounds, which a card of one core never has.
  void ended(uint64_t until_ns, const Take& take);

 private:
  using End = LaunchEnds::End;

  struct Kernel {
    uint64_t begin_ns = ~uint64_t{0}, end_ns = 0;
    uint64_t begin_cycles = 0, end_cycles = 0;
    const collect::ClockMap* clock = nullptr;  // null: the times are not of a clock model
    void take(const FrameEvents& frame, const End& begin, const End& end, bool of_clock);
    uint32_t bound_ns(collect::HostTime seen_by) const;
  };
  // The first begin and the last end of the zones of all cores.
  class Ends {
   public:
    // Markers whose host times are known.
    void begin(const FrameEvents& frame, const End& marker);
    void end(const FrameEvents& frame, const End& marker);
    uint32_t bound_ns(bool one_tile) const;
    const TimedMarker& first() const { return begin_; }
    const TimedMarker& last() const { return end_; }
    uint64_t widest() const { return begin_.at && end_.at ? widest_ : collect::kNoBound; }
    const collect::ClockMap* one_clock() const { return one_clock_ ? clock_ : nullptr; }

   private:
    void add(const FrameEvents& frame, const End& marker);
    TimedMarker begin_, end_;
    uint64_t widest_ = 0;  // bound of any of the times: which of them is the first for sure is not known
    const collect::ClockMap* clock_ = nullptr;
    bool one_clock_ = true;
  };
  struct Open {
    Program is;
    Ends firmware, kernel;
    TimedMarker longest_begin, longest_end;
    std::vector<Kernel> kernels;  // by core, as in `is`
    uint64_t number = 0;
    uint64_t round = 0;           // of the last frame
    std::vector<uint32_t> lanes;  // sorted
  };
  Open& of(const FrameEvents& frame, uint32_t lane, std::optional<uint64_t> begin_ns);
  void count_rounds(uint32_t core);
  void hand_over(uint64_t until_ns, uint64_t rounds, const Take& take);
  static void close(Open& open);

  std::unordered_map<uint64_t, Open> open_;                     // by number
  std::unordered_map<uint64_t, std::vector<Open*>> of_one_id_;  // open ones, by host id and replay
  // The entry of the last frame: frames of a launch come in a row. Null: it may be gone.
  std::pair<const uint64_t, std::vector<Open*>>* latest_id_ = nullptr;
  std::unordered_map<uint32_t, uint64_t> rounds_;  // in which a core came, by core
  uint32_t core_ = ~0u;                            // that came last
  uint64_t round_ = 0;
  uint64_t next_ = 1;
};

}  // namespace ttc::tools
