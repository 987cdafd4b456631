// A set of numbers other than 0 that is filled and cleared again and again, and takes memory only while it grows.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ttc::tools {

class NumberSet {
 public:
  // False: it was there.
  bool insert(uint64_t number) {
    if (2 * (used_.size() + 1) > places_.size()) grow();
    const size_t at = place_of(number);
    if (places_[at] == number) return false;
    places_[at] = number;
    used_.push_back(at);
    return true;
  }
  void clear() {
    for (const size_t at : used_) places_[at] = 0;
    used_.clear();
  }

 private:
  // Where it is, or the free place where it would be.
  size_t place_of(uint64_t number) const {
    const size_t mask = places_.size() - 1;
    size_t at = (number * 0x9e3779b97f4a7c15u >> 32) & mask;
    while (places_[at] != 0 && places_[at] != number) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    const std::vector<uint64_t> before =
        std::exchange(places_, std::vector<uint64_t>(places_.empty() ? 256 : 2 * places_.size()));
    for (size_t& at : used_) {
      const uint64_t number = before[at];
      at = place_of(number);
      places_[at] = number;
    }
  }

  std::vector<uint64_t> places_;  // 0: free
  std::vector<size_t> used_;      // the others
};

}  // namespace ttc::tools
