#include "collector/clock/geometry/states_row.hpp"

#include <algorithm>

namespace ttc::collect {

CourseStates StatesRow::operator[](size_t i) const {
  CourseStates states;
  const size_t begin = i == 0 ? 0 : ends_[i - 1];
  states.count_ = ends_[i] - begin;
  std::copy_n(corners_.begin() + static_cast<ptrdiff_t>(begin), states.count_, states.corners_.begin());
  return states;
}

void StatesRow::push_back(const CourseStates& states) {
  const auto& corners = states.corners_;
  corners_.insert(corners_.end(), corners.begin(), corners.begin() + static_cast<ptrdiff_t>(states.count_));
  ends_.push_back(corner_count());
}

}  // namespace ttc::collect
