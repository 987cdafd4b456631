// CourseStates one behind the other, each in the memory that its corners take: most have far fewer than they may have.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "collector/clock/geometry/course_states.hpp"

namespace ttc::collect {

class StatesRow {
 public:
  bool empty() const { return ends_.empty(); }
  size_t size() const { return ends_.size(); }
  CourseStates operator[](size_t i) const;
  void push_back(const CourseStates& states);
  void push_back_none(size_t count) { ends_.insert(ends_.end(), count, corner_count()); }
  void clear() { corners_.clear(), ends_.clear(); }

 private:
  uint32_t corner_count() const { return static_cast<uint32_t>(corners_.size()); }

  std::vector<CourseStates::Corner> corners_;
  std::vector<uint32_t> ends_;  // of each one's corners
};

}  // namespace ttc::collect
