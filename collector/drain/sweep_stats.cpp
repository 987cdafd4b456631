#include "collector/drain/sweep_stats.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace ttc::collect {

unsigned DurationStats::bucket(uint64_t ns) {
  if (ns < (1u << kSubBits)) return static_cast<unsigned>(ns);
  const unsigned octave = static_cast<unsigned>(std::bit_width(ns)) - 1 - kSubBits;
  return ((octave + 1) << kSubBits) + static_cast<unsigned>((ns >> octave) & ((1u << kSubBits) - 1));
}

uint64_t DurationStats::upper_edge(unsigned index) {
  if (index < (1u << kSubBits)) return index;
  const unsigned octave = (index >> kSubBits) - 1;
  const uint64_t low = (uint64_t{1} << kSubBits) + (index & ((1u << kSubBits) - 1));
  return ((low + 1) << octave) - 1;
}

void DurationStats::add(uint64_t ns) {
  ++buckets_[bucket(ns)];
  ++count_;
  max_ = std::max(max_, ns);
}

uint64_t DurationStats::percentile(double p) const {
  if (count_ == 0) return 0;
  const auto wanted =
      std::max<uint64_t>(1, static_cast<uint64_t>(std::llround(p / 100.0 * static_cast<double>(count_))));
  uint64_t below = 0;
  for (unsigned i = 0; i < buckets_.size(); ++i) {
    below += buckets_[i];
    if (below >= wanted) return std::min(upper_edge(i), max_);
  }
  return max_;
}

}  // namespace ttc::collect
