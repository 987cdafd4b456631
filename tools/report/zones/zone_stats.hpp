// Zones paired into times: per zone and processor how often, how long, on which cores. Zones nest; a START
// whose END never comes is counted and left out.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "tools/report/zones/duration_clock.hpp"
#include "tools/report/zones/lane_events.hpp"

namespace ttc::report {

// One zone that began and ended.
struct ZoneSpan {
  Launch launch;
  Lane lane;
  uint32_t zone;
  uint32_t depth;  // 0: not within another
  uint64_t begin, end;
  uint64_t seen_ns = 0;  // as FrameEvents has it
};

class ZoneStats : public Listener {
 public:
  static constexpr size_t kBuckets = 44;  // of the histogram: durations of 2^n .. 2^(n+1) cycles
  // The zones that a clock has measured. Those with a hard bound only, which would dominate all others, are left out.
  struct Times {
    uint64_t count = 0, cycles = 0, self_cycles = 0;
    Measured sum, self;
    void add(uint64_t took, uint64_t own_cycles, const Measured& zone, const Measured& own) {
      ++count;
      cycles += took, self_cycles += own_cycles;
      sum.ns += zone.ns, sum.bound_ns += zone.bound_ns;
      self.ns += own.ns, self.bound_ns += own.bound_ns;
    }
  };
  struct CoreShare {
    uint64_t count = 0, cycles = 0;
    Times times;
  };
  struct Entry {
    uint64_t count = 0, cycles = 0, self_cycles = 0, least = ~0ull, most = 0;
    std::array<uint32_t, kBuckets> histogram{};
    std::map<uint32_t, CoreShare> cores;  // by core_key()
    ZoneSpan longest{};
    Times times;
    Measured shortest_measured{-1, 0}, longest_measured;
    // `measured` and `own` (without what is nested): none where the clock does not cover it.
    void add(const ZoneSpan& span, uint64_t self, const std::optional<Measured>& measured,
             const Measured& own);
  };
  struct Key {
    uint32_t zone = 0;
    LogRisc risc = LogRisc::brisc;
    bool no_program = false;  // run host ID 0, or on a core that dispatches: its kernels never end
    auto operator<=>(const Key&) const = default;  // NOLINT(modernize-use-nullptr): of clang-tidy 14
  };

  static uint32_t core_key(uint32_t chip, uint8_t x, uint8_t y) {
    return chip << 16 | static_cast<uint32_t>(x) << 8 | y;
  }

  void events(const LaneEvents& batch) override;

  const std::map<Key, Entry>& entries() const { return entries_; }
  uint64_t unclosed() const { return unclosed_; }
  // Zones that end from now on are measured by `clock`; null: they have no bounds.
  void measure_with(std::shared_ptr<const DurationClock> clock) { clock_ = std::move(clock); }
  // Receives every span if set.
  std::function<void(const ZoneSpan&)> on_span;

 private:
  struct Open {
    uint32_t zone;
    uint16_t id;
    uint64_t begin;
    uint64_t children;
    Measured measured_children{};
    bool unmeasured_child = false;
  };
  void close(const LaneEvents& batch, std::vector<Open>& open, size_t depth, const Event& end);

  std::shared_ptr<const DurationClock> clock_;
  std::unordered_map<uint64_t, std::vector<Open>> lanes_;
  std::set<uint32_t> dispatch_cores_;  // by core_key()
  std::map<Key, Entry> entries_;
  std::vector<Event> sorted_;
  uint64_t unclosed_ = 0;
};

}  // namespace ttc::report
