#include "tools/report/diff/bootstrap.hpp"

#include <algorithm>
#include <cmath>

namespace ttc::report {

double Bootstrap::beta(double a, double b) {
  const double x = std::gamma_distribution<double>(a)(random_),
               y = std::gamma_distribution<double>(b)(random_);
  return x + y > 0 ? x / (x + y) : 0.5;
}

// The k-th smallest of n uniform numbers has the distribution Beta(k, n + 1 - k), and a drawn sample is
// sorted[floor(n * uniform)]: so a median costs one or two draws, however many samples there are.
std::vector<double> Bootstrap::medians(const std::vector<double>& sorted) {
  const auto n = static_cast<double>(sorted.size());
  const auto value = [&](double uniform) {
    return sorted[std::min(sorted.size() - 1, static_cast<size_t>(uniform * n))];
  };
  std::vector<double> draws(kDraws);
  for (double& draw : draws) {
    if (sorted.size() % 2) {
      draw = value(beta((n + 1) / 2, (n + 1) / 2));
      continue;
    }
    const double lower = beta(n / 2, n / 2 + 1);
    const double upper = lower + (1 - lower) * beta(1, n / 2);  // the least of the n/2 above it
    draw = (value(lower) + value(upper)) / 2;
  }
  return draws;
}

std::vector<double> Bootstrap::sums(const std::vector<double>& values) {
  std::vector<double> draws(kDraws);
  if (values.empty()) return draws;
  if (values.size() < kNormalFrom) {
    std::uniform_int_distribution<size_t> any(0, values.size() - 1);
    for (double& draw : draws)
      for (size_t i = 0; i < values.size(); ++i) draw += values[any(random_)];
    return draws;
  }
  const auto n = static_cast<double>(values.size());
  double mean = 0, squares = 0;
  for (const double v : values) mean += v / n;
  for (const double v : values) squares += (v - mean) * (v - mean);
  std::normal_distribution<double> sum(mean * n, std::sqrt(squares));
  for (double& draw : draws) draw = sum(random_);
  return draws;
}

Interval interval_of(std::vector<double> draws, double alpha) {
  std::sort(draws.begin(), draws.end());
  const auto last = static_cast<double>(draws.size() - 1);
  const auto at = [&](double share) { return draws[static_cast<size_t>(std::lround(share * last))]; };
  return {at(alpha / 2), at(1 - alpha / 2)};
}

}  // namespace ttc::report
