#include "collector/clock/geometry/course.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ttc::collect {
namespace {

bool limited(double time) {
  return std::abs(time) < kUnlimited / 2;
}

double pace_near(const std::vector<Course::Point>& points) {
  const Course::Point &first = points.front(), &last = points.back();
  const double from = limited(first.times.high) ? first.times.high : first.next_after;
  const double to = limited(last.times.high) ? last.times.high : last.next_after;
  if (last.x <= first.x || !limited(from) || !limited(to)) return 1;
  return std::clamp((to - from) / (last.x - first.x), 0.0, kSlowestPace);
}

}  // namespace

Course::Course(std::vector<Point> points, std::vector<Pacing> pacings, const CourseStates& begin,
               const CourseStates& end)
    : points_(std::move(points)),
      pacings_(std::move(pacings)),
      line_(pace_near(points_)),
      agrees_(go_through(begin, end)) {}

CourseStates Course::inside(CourseStates states, double x) const {
  states.shift_origin(line_ * x, line_);
  return states;
}
CourseStates Course::outside(CourseStates states, double x) const {
  states.shift_origin(-line_ * x, -line_);
  return states;
}
Pacing Course::inside(const Pacing& p) const {
  return {p.fast - line_, p.slow >= kUnlimited ? kUnlimited : p.slow - line_, p.least_bend, p.most_bend};
}

void Course::keep(CourseStates& states, const Point& point) const {
  const double here = line_ * point.x;
  // An unlimited time first gets a limit that is not: a side that is cut across needs digits.
  states.keep_times(
      {std::max(point.times.low, point.next_after - kSlowestPace) - here, point.times.high - here});
  if (limited(point.next_after)) states.keep_next_after(point.next_after - here - line_);
}

bool Course::go_through(const CourseStates& begin, const CourseStates& end) {
  const size_t last = points_.size() - 1;
  forward_.resize(points_.size());
  backward_.resize(points_.size());
  forward_[0] = inside(begin, points_[0].x);
  keep(forward_[0], points_[0]);
  for (size_t i = 1; i <= last; ++i) {
    forward_[i] = forward_[i - 1];
    forward_[i].advance(points_[i].x - points_[i - 1].x, inside(pacings_[i - 1]));
    keep(forward_[i], points_[i]);
  }
  backward_[last] = inside(end, points_[last].x);
  keep(backward_[last], points_[last]);
  for (size_t i = last; i-- > 0;) {
    backward_[i] = backward_[i + 1];
    backward_[i].retreat(points_[i + 1].x - points_[i].x, inside(pacings_[i]));
    keep(backward_[i], points_[i]);
  }
  for (size_t i = 0; i <= last; ++i) {
    CourseStates both = forward_[i];
    both.keep(backward_[i]);
    if (both.empty()) return false;
  }
  return true;
}

CourseStates Course::at(size_t i) const {
  CourseStates s = forward_[i];
  s.keep(backward_[i]);
  return outside(s, points_[i].x);
}

CourseStates Course::within(size_t i, double x) const {
  CourseStates s = forward_[i], later = backward_[i + 1];
  s.advance(x - points_[i].x, inside(pacings_[i]));
  later.retreat(points_[i + 1].x - x, inside(pacings_[i]));
  s.keep(later);
  return outside(s, x);
}

}  // namespace ttc::collect
