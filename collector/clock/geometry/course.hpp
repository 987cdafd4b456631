// All courses of a counter past some points, with what is assumed of its pace between them. What the points in front of a
// moment and those behind it leave of it are two sets of states; their intersection is all that is left. Pure.
#pragma once
#include <cstddef>
#include <vector>

#include "collector/clock/geometry/course_states.hpp"

namespace ttc::collect {

class Course {
 public:
  // What is known of the first moment at which the counter showed x.
  struct Point {
    double x;
    Range times{-kUnlimited, kUnlimited};
    double next_after = -kUnlimited;  // the next number is not reached before
  };

  // One pacing for each two neighbouring points. `begin` and `end`: what is known of the state at the first and the last
  // point besides.
  Course(std::vector<Point> points, std::vector<Pacing> pacings, const CourseStates& begin,
         const CourseStates& end);
  // The states at the ends are unknown.
  static CourseStates anything() { return {{-kUnlimited, kUnlimited}, {0, kSlowestPace}}; }

  // False: no course is left.
  bool agrees() const { return agrees_; }

  size_t size() const { return points_.size(); }
  const Point& point(size_t i) const { return points_[i]; }
  const Pacing& pacing(size_t i) const { return pacings_[i]; }
  // All that is left at point i; by the points up to it, and by it and those behind it. Those by points of one side are there
  // though no course is left by both.
  CourseStates at(size_t i) const;
  CourseStates by_earlier(size_t i) const { return outside(forward_[i], points_[i].x); }
  CourseStates by_later(size_t i) const { return outside(backward_[i], points_[i].x); }
  // The states at x between the points i and i + 1.
  CourseStates within(size_t i, double x) const;

 private:
  // Within, times and paces are less those of a straight line that all courses are near to: what is left then has all the
  // digits.
  CourseStates inside(CourseStates states, double x) const;
  CourseStates outside(CourseStates states, double x) const;
  Pacing inside(const Pacing& pacing) const;
  void keep(CourseStates& states, const Point& point) const;
  bool go_through(const CourseStates& begin, const CourseStates& end);

  std::vector<Point> points_;
  std::vector<Pacing> pacings_;
  double line_;  // its pace
  std::vector<CourseStates> forward_, backward_;
  bool agrees_;
};

}  // namespace ttc::collect
