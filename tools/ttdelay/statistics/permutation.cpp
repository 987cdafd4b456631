#include "tools/ttdelay/statistics/permutation.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace ttc::delay {
namespace {

constexpr size_t kLeastDraws = 9999, kMostDraws = 199'999;
constexpr size_t kEnough =
    200;  // assignments as large as the observed one: p is far from any bound, whatever follows

double ratio(const Groups& groups, const Weights& weights) {
  const Studentised s = studentised(groups, weights);
  if (s.error > 0) return std::abs(s.value) / s.error;
  return s.value == 0 ? 0 : HUGE_VAL;
}

}  // namespace

size_t draws_for(size_t tests, double alpha) {
  const auto wanted = static_cast<size_t>(2 * static_cast<double>(tests) / alpha);
  return std::clamp(wanted, kLeastDraws, kMostDraws);
}

double least_p(const Groups& groups) {
  double runs = 0, ways = 0;
  for (const auto& group : groups) {
    runs += static_cast<double>(group.size());
    ways -= std::lgamma(static_cast<double>(group.size()) + 1);
  }
  ways += std::lgamma(runs + 1);
  return std::exp(-ways);
}

double permutation_p(const Groups& groups, const Weights& weights, size_t draws, uint64_t seed) {
  // Rounding must not exclude the observed assignment itself when it is drawn.
  const double observed = ratio(groups, weights) * (1 - 1e-9);
  std::vector<double> all;
  for (const auto& group : groups) all.insert(all.end(), group.begin(), group.end());
  std::mt19937_64 random(seed);
  Groups drawn = groups;
  size_t as_large = 0, looked = 0;
  while (looked < draws && as_large < kEnough) {
    std::shuffle(all.begin(), all.end(), random);
    auto next = all.begin();
    for (auto& group : drawn) {
      std::copy_n(next, group.size(), group.begin());
      next += static_cast<ptrdiff_t>(group.size());
    }
    ++looked;
    if (ratio(drawn, weights) >= observed) ++as_large;
  }
  const double p = static_cast<double>(as_large + 1) / static_cast<double>(looked + 1);
  return std::max(p, least_p(groups));
}

}  // namespace ttc::delay
