// The set of states that a counter's course can have at one of its numbers: every pair of a time and a pace that reads
// and assumptions leave, as a convex polygon. Moving from number to number widens it by what the pace may do; reads cut
// it. No other course is excluded: what is outside of the polygon is contradicted (CLOCK.md, "Courses").
//
// Times are nanoseconds and numbers cycles, both from an origin of the caller's that keeps them small. Paces are
// nanoseconds a cycle.
#pragma once
#include <array>
#include <cstddef>

#include "collector/clock/geometry/clock_ticks.hpp"

namespace ttc::collect {

inline constexpr double kUnlimited = 1e15;    // of a time: eleven days
inline constexpr double kSlowestPace = 1000;  // what is slower counts as standing
inline constexpr double kAnyBend = 1e300;     // of a pace

// What the pace may do between two numbers.
struct Pacing {
  double fast = 0;                                      // the pace at least
  double slow = kUnlimited;                             // at most; kUnlimited: the counter may stop
  double least_bend = -kAnyBend, most_bend = kAnyBend;  // change of the pace a cycle
  bool any_bend() const { return least_bend <= -kAnyBend && most_bend >= kAnyBend; }
};

class CourseStates {
 public:
  CourseStates() = default;  // none
  CourseStates(Range times, Range paces);

  bool empty() const { return count_ == 0; }
  // Both need a set that is not empty.
  Range times() const;
  Range paces() const;

  // The times that many numbers later, at one pace.
  Range times_straight_on(double cycles) const;

  void keep_times(Range times);
  void keep_paces(Range paces);
  // The next number is not reached before `time`, at the same pace.
  void keep_next_after(double time);
  void keep(const CourseStates& other);
  // The least convex polygon that holds both.
  void join(const CourseStates& other);
  // Moves the origin of times to `ns` later, and takes paces as differences from `pace`.
  void shift_origin(double ns, double pace = 0);

  // Moves to the state that many numbers later, or earlier.
  void advance(double cycles, const Pacing& pacing);
  void retreat(double cycles, const Pacing& pacing);

 private:
  struct Corner {
    double time, pace;
  };
  // Corners anticlockwise, times to the right and paces upwards; at most kMost of them: a polygon with more becomes a
  // larger one with less.
  static constexpr size_t kMost = 12, kRoom = 32;
  struct Outline;

  void clip(double of_time, double of_pace, double most);
  void mirror();
  void take(Outline& outline);
  void take_box(const Outline& outline);

  std::array<Corner, kMost> corners_{};
  size_t count_ = 0;
};

}  // namespace ttc::collect
