// One host's clock relative to the common time of a job: points with bounds, and the bounds of times between them. Pure.
//
// Hosts' CLOCK_MONOTONIC_RAW count crystals. Two of them differ by kDriftPpm at most, and within a minute their difference in frequency
// moves by kWanderPpm at most to either side of some value. The first is a crystal's tolerance, twice; the second is generous for what
// temperature does. Bounds rest on both.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>

namespace ttc::tools {

inline constexpr uint64_t kDriftPpm = 200;
inline constexpr uint64_t kWanderPpm = 10;
inline constexpr uint64_t kWanderWindowNs = 60'000'000'000;
inline constexpr uint64_t kUnknownBound = ~uint64_t{0};

struct ClockPoint {
  uint64_t raw_ns = 0;                // of the host
  int64_t offset_ns = 0;              // common time less RAW
  uint64_t bound_ns = kUnknownBound;  // of the offset
  bool known() const { return bound_ns != kUnknownBound; }
  bool operator==(const ClockPoint&) const = default;
};

// The given parts per million of a duration, rounded up.
constexpr uint64_t parts_of(uint64_t ns, uint64_t ppm) {
  constexpr uint64_t kMillion = 1'000'000;
  return ns / kMillion * ppm + (ns % kMillion * ppm + kMillion - 1) / kMillion;
}

class ClockPoints {
 public:
  ClockPoints() = default;
  explicit ClockPoints(size_t most) : most_(most) {}

  // Points must come in order of RAW; one that is not later than the latest begins again, as after a boot. If there are
  // too many, the oldest are dropped.
  void add(const ClockPoint& point);
  // RAW of this host is the common time.
  void be_exact() { exact_ = true; }
  bool exact() const { return exact_; }
  void clear() { points_.clear(), exact_ = false; }
  bool known() const { return exact_ || !points_.empty(); }
  // The value is on the line that joins the two points around it, else from the nearest one on with the drift of its
  // age.
  ClockPoint at(uint64_t raw_ns) const;
  // The offset that at() adds to a time, both in sixteenths of a nanosecond: later times never become earlier ones.
  int64_t offset_sixteenths(uint64_t raw_sixteenths) const;
  const std::deque<ClockPoint>& all() const { return points_; }

 private:
  std::deque<ClockPoint>::const_iterator first_from(uint64_t raw_ns) const;

  size_t most_ = 4096;
  bool exact_ = false;
  std::deque<ClockPoint> points_;
};

// The clock of one host in a job. Common times of different references are not comparable.
struct RankClock {
  uint64_t reference = 0;  // whose RAW the common time is; 0: not known
  ClockPoints points;
  bool known() const { return reference && points.known(); }
  ClockPoint at(uint64_t raw_ns) const {
    return reference ? points.at(raw_ns) : ClockPoint{raw_ns, 0, kUnknownBound};
  }
};

}  // namespace ttc::tools
