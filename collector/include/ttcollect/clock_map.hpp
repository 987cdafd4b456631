// Converts markers' 44-bit device times to host time: the segments of one clock domain as a reader has them.
// Integer arithmetic only; the error beyond a bound is below a sixteenth of a nanosecond.
//
// Segments come in order. Later ones replace those that were not final, so the same marker may be converted
// again with a smaller bound. A marker in a final segment gets the same time from every reader.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ttcollect/clock_segment.hpp"

namespace ttc::collect {

class ClockMap {
 public:
  struct Quality {
    uint64_t bound = kNoBound;  // host ticks either way
    uint64_t hard_bound = kNoBound;
    BoundKind kind = BoundKind::none;
    bool final = false;
  };
  struct Converted {
    HostTime host = 0;
    Quality quality;
  };
  // The time from one marker to another. The offset to host time, which both times share, is no part
  // of the bound.
  struct Difference {
    int64_t ticks = 0;
    uint64_t bound = kNoBound;  // host ticks either way
    BoundKind kind = BoundKind::none;
  };
  // What difference() is between two markers of one tile that both lie here: of many durations it takes less time. It holds until
  // the next update().
  class SamePace {
   public:
    // Host ticks either way, as difference() has them; none where one of the markers is not of this part, or `to` is before `from`.
    std::optional<uint64_t> bound(uint64_t from_time, uint64_t to_time, HostTime seen_by) const;

   private:
    friend class ClockMap;
    uint64_t from_ = 0, length_ = 0;  // cycles; 0 is no part
    HostTime seen_from_ = 0, seen_until_ = 0;
    double drift_per_cycle_ = 0;
    uint64_t fixed_ = 0, most_ = 0;
  };
  // A run of consecutive markers.
  struct Run {
    size_t count = 0;
    Quality quality;
  };

  // A checked body (check_clock_body()) of this domain.
  void update(std::span<const char> body);
  void update(const ClockHead& head, std::span<const ClockSegment> segments);

  bool empty() const { return segments_.empty(); }
  const ClockHead& head() const { return head_; }  // the latest
  std::span<const ClockSegment> segments() const { return segments_; }
  // Final segments cover every marker that a card showed before this time; 0: there is no final segment yet.
  HostTime final_until() const;

  // `seen_by`: a host time at which the marker was certainly on the card, such as the read time of the words behind it.
  // It selects which of the counter's wraps and resets is meant (the marker must not be older than
  // 2^43 cycles, 1.8 hours at 1.35 GHz) and bounds what is later than the last segment.
  Converted at(uint64_t marker_time, HostTime seen_by) const;
  enum class Tiles : uint8_t { one, two };
  // The difference of two markers of one tile of the domain, or of two tiles, whose counters are apart by twice the spread
  // at most. While ClockHead::tile_spread is not known: of the reference tile alone. `seen_by` as above, for both.
  Difference difference(uint64_t from_time, uint64_t to_time, HostTime seen_by,
                        Tiles tiles = Tiles::one) const;
  // The part around a marker, of no length where there is none. `seen_by` as above.
  SamePace same_pace(uint64_t marker_time, HostTime seen_by) const;
  // Converts many. `out` must be as long as `marker_times`, and may be the same memory. Adds to `runs`.
  void convert(std::span<const uint64_t> marker_times, HostTime seen_by, std::span<HostTime> out,
               std::vector<Run>& runs) const;

 private:
  // The segment at which the search for a marker of that read time begins.
  struct Place {
    size_t index = 0;     // of the segment that holds `seen_by`, or the nearest before it
    bool known = false;   // false: between two eras, where the counter was reset at an unknown time
    uint64_t newest = 0;  // 64-bit time that the marker is not later than
  };
  Place place_of(HostTime seen_by) const;
  Converted converted(const ClockSegment* holds, uint64_t cycles, const Place& place, HostTime seen_by) const;
  void append(const ClockSegment& s);
  std::optional<uint64_t> pace_bound(const ClockSegment& first, uint64_t from, const ClockSegment& last,
                                     uint64_t to) const;
  uint64_t shift_bound(const ClockSegment& first, uint64_t from, const ClockSegment& last, uint64_t to) const;
  const ClockSegment* holding(uint64_t cycles, size_t near) const;
  Converted outside(uint64_t cycles, uint32_t era, HostTime seen_by) const;

  ClockHead head_;
  std::vector<ClockSegment> segments_;  // by era, then cycles
  // Sums up to the begin of each segment, in host ticks: how much less or more host time can have passed than the segments
  // before it show, by their pace errors; and how many of them have no pace error.
  struct Drift {
    uint64_t ticks, unknown;
  };
  std::vector<Drift> drifts_;
  std::vector<HostTime> begins_;  // of segments, kept apart so that a search reads few cache lines
};

}  // namespace ttc::collect
