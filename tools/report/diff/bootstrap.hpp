// Percentile bootstrap: how far medians and sums of samples would scatter if the run were repeated. The same
// samples give the same draws.
#pragma once
#include <cstdint>
#include <random>
#include <vector>

namespace ttc::report {

struct Interval {
  double low = 0, high = 0;
};

class Bootstrap {
 public:
  static constexpr size_t kDraws = 2000;
  explicit Bootstrap(uint64_t seed = 1) : random_(seed) {}

  // kDraws medians of samples as many as `sorted`, drawn from it with repetition. At least one value.
  std::vector<double> medians(const std::vector<double>& sorted);
  // Draws sums likewise. From kNormalFrom values on the sum is drawn from the normal distribution of its mean and
  // variance.
  static constexpr size_t kNormalFrom = 200;
  std::vector<double> sums(const std::vector<double>& values);

 private:
  double beta(double a, double b);
  std::mt19937_64 random_;
};

// The interval from the alpha/2 to the 1 - alpha/2 quantile. `draws` must have at least one value.
Interval interval_of(std::vector<double> draws, double alpha);

}  // namespace ttc::report
