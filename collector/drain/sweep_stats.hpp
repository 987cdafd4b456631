// Durations in logarithmic buckets: percentiles in constant memory, within 3 % of the value.
#pragma once
#include <array>
#include <cstdint>

namespace ttc::collect {

class DurationStats {
 public:
  void add(uint64_t ns);
  uint64_t percentile(double p) const;  // upper edge of the bucket; 0 when empty
  uint64_t max() const { return max_; }
  uint64_t count() const { return count_; }

 private:
  static constexpr unsigned kSubBits = 5;  // 32 buckets an octave
  static unsigned bucket(uint64_t ns);
  static uint64_t upper_edge(unsigned index);

  std::array<uint64_t, (64 - kSubBits + 1) << kSubBits> buckets_{};
  uint64_t count_ = 0;
  uint64_t max_ = 0;
};

}  // namespace ttc::collect
