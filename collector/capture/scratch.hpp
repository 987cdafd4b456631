// Memory for values that are written before they are read, taken again and again: neither cleared nor given
// back. Fresh pages cost more than what is then written to them.
#pragma once
#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>

namespace ttc::collect {

template <class T>
class Scratch {
 public:
  // What was taken before is gone.
  std::span<T> take(size_t count) {
    if (count > capacity_) {
      const size_t more = std::max(count, capacity_ + capacity_ / 2);
      memory_.reset();
      capacity_ = 0;  // should there be no memory
      memory_ = std::make_unique_for_overwrite<T[]>(more);
      capacity_ = more;
    }
    return {memory_.get(), count};
  }

 private:
  std::unique_ptr<T[]> memory_;
  size_t capacity_ = 0;
};

}  // namespace ttc::collect
