// Computes which differences of two clocks are possible at an instant, from intervals that hold the difference at other instants. Pure.
//
// The difference is a line of time but for what the frequency wanders (tools/ranks/clock_points.hpp): every interval, grown by the wander of
// its distance in time, is crossed by a line through the true difference. The possible differences are those of all such lines.
#pragma once
#include <cstdint>
#include <deque>
#include <optional>

namespace ttc::fleet {

class OffsetLines {
 public:
  static constexpr size_t kMost = 128;
  struct Interval {
    uint64_t at_ns = 0;
    int64_t low = 0, high = 0;
  };
  struct Range {
    int64_t low = 0, high = 0;
  };

  // Adds the newest. Intervals older than kWanderWindowNs are dropped. False, without a change, if no line crosses it and all of those
  // that are kept.
  bool add(const Interval& interval);
  // Drops the oldest ones until a line crosses all that are left and `interval`.
  void add_anyway(const Interval& interval);
  void clear() { intervals_.clear(); }
  bool empty() const { return intervals_.empty(); }

  std::optional<Range> at(uint64_t raw_ns) const;

 private:
  std::optional<Range> range(size_t from, size_t to, uint64_t raw_ns) const;

  std::deque<Interval> intervals_;
};

}  // namespace ttc::fleet
