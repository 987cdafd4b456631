#include "tools/ttdelay/statistics/contrast.hpp"

#include <algorithm>
#include <array>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <random>
#include <set>

#include "tools/report/diff/bootstrap.hpp"

namespace ttc::delay {
namespace {

constexpr size_t kDraws = 2000;
constexpr double kAlpha = 0.05;

double squares_of(const std::vector<double>& values, double mean) {
  double sum = 0;
  for (const double v : values) sum += (v - mean) * (v - mean);
  return sum;
}

// Variance of one run of each group: its own, or that of all groups together where it has fewer runs than `own_from`.
std::vector<double> variances(const Groups& groups, const Weights& weights, size_t own_from) {
  double squares = 0, freedom = 0;
  std::vector<double> own(groups.size(), 0);
  for (size_t g = 0; g < groups.size(); ++g) {
    if (weights[g] == 0 || groups[g].empty()) continue;
    own[g] = squares_of(groups[g], mean_of(groups[g]));
    squares += own[g];
    freedom += static_cast<double>(groups[g].size() - 1);
  }
  for (size_t g = 0; g < groups.size(); ++g) {
    if (groups[g].size() >= own_from)
      own[g] /= static_cast<double>(groups[g].size() - 1);
    else
      own[g] = freedom > 0 ? squares / freedom : 0;
  }
  return own;
}

// The values that a group is drawn from: deviations from means, widened to the variance that they estimate.
std::vector<std::vector<double>> deviations(const Groups& groups, const Weights& weights) {
  std::vector<double> all;
  std::vector<std::vector<double>> own(groups.size());
  for (size_t g = 0; g < groups.size(); ++g) {
    if (weights[g] == 0 || groups[g].size() < 2) continue;
    const auto n = static_cast<double>(groups[g].size());
    const double mean = mean_of(groups[g]), widen = std::sqrt(n / (n - 1));
    for (const double v : groups[g]) own[g].push_back((v - mean) * widen);
    all.insert(all.end(), own[g].begin(), own[g].end());
  }
  for (size_t g = 0; g < groups.size(); ++g)
    if (groups[g].size() < kOwnScatter) own[g] = all;
  return own;
}

Studentised studentised_from(const Groups& groups, const Weights& weights, size_t own_from) {
  Studentised s;
  const std::vector<double> variance = variances(groups, weights, own_from);
  double square = 0, shares = 0, pooled_share = 0, pooled_freedom = 0;
  for (size_t g = 0; g < groups.size(); ++g) {
    if (weights[g] == 0) continue;
    const auto n = static_cast<double>(groups[g].size());
    s.value += weights[g] * mean_of(groups[g]);
    const double part = weights[g] * weights[g] * variance[g] / n;
    square += part;
    pooled_freedom += n - 1;
    if (groups[g].size() >= own_from)
      shares += part * part / (n - 1);
    else
      pooled_share += part;
  }
  if (pooled_share > 0) shares += pooled_share * pooled_share / pooled_freedom;
  s.error = std::sqrt(square);
  s.freedom = shares > 0 ? square * square / shares : pooled_freedom;
  return s;
}

// Welch's interval.
report::Interval by_t(const Groups& groups, const Weights& weights) {
  const Studentised s = welch(groups, weights);
  if (s.freedom <= 0) return {s.value, s.value};
  const boost::math::students_t t(s.freedom);
  const double half = boost::math::quantile(boost::math::complement(t, kAlpha / 2)) * s.error;
  return {s.value - half, s.value + half};
}

// Gauss and Jordan, of three equations.
std::array<double, 3> solved(std::array<std::array<double, 4>, 3> m) {
  for (size_t c = 0; c < 3; ++c) {
    size_t pivot = c;
    for (size_t r = c + 1; r < 3; ++r)
      if (std::abs(m[r][c]) > std::abs(m[pivot][c])) pivot = r;
    std::swap(m[c], m[pivot]);
    for (size_t r = 0; r < 3; ++r) {
      if (r == c) continue;
      const double factor = m[r][c] / m[c][c];
      for (size_t k = c; k < 4; ++k) m[r][k] -= factor * m[c][k];
    }
    const double scale = m[c][c];
    for (size_t k = c; k < 4; ++k) m[c][k] /= scale;
  }
  return {m[0][3], m[1][3], m[2][3]};
}

}  // namespace

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

Studentised studentised(const Groups& groups, const Weights& weights) {
  return studentised_from(groups, weights, kOwnScatter);
}

Studentised welch(const Groups& groups, const Weights& weights) {
  return studentised_from(groups, weights, kOwnVariance);
}

double welch_p(const Groups& groups, const Weights& weights) {
  const Studentised s = welch(groups, weights);
  if (s.freedom <= 0) return 1;
  if (s.error <= 0) return s.value == 0 ? 1 : 0;
  const boost::math::students_t t(s.freedom);
  return 2 * boost::math::cdf(boost::math::complement(t, std::abs(s.value) / s.error));
}

Estimate estimate(const Groups& groups, const Weights& weights, uint64_t seed) {
  const Studentised here = studentised(groups, weights);
  Estimate e{here.value, here.error, here.freedom, here.value, here.value};
  if (here.freedom <= 0 || here.error <= 0) return e;
  const report::Interval welch = by_t(groups, weights);
  e.low = welch.low, e.high = welch.high;
  const auto pool = deviations(groups, weights);
  std::mt19937_64 random(seed);
  Groups drawn = groups;
  std::vector<double> ratios;
  ratios.reserve(kDraws);
  for (size_t i = 0; i < kDraws; ++i) {
    for (size_t g = 0; g < groups.size(); ++g) {
      if (weights[g] == 0) continue;
      std::uniform_int_distribution<size_t> any(0, pool[g].size() - 1);
      for (double& v : drawn[g]) v = pool[g][any(random)];
    }
    const Studentised one = studentised(drawn, weights);
    if (one.error > 0) ratios.push_back(one.value / one.error);
  }
  if (ratios.empty()) return e;
  const report::Interval between = report::interval_of(std::move(ratios), kAlpha);
  e.low = std::min(e.low, here.value - between.high * here.error);
  e.high = std::max(e.high, here.value - between.low * here.error);
  return e;
}

Weights shift_weights(size_t groups, size_t control, size_t treated) {
  Weights w(groups, 0);
  w[control] = -1;
  w[treated] = 1;
  return w;
}

Weights slope_weights(const std::vector<double>& doses, const Groups& groups) {
  double runs = 0, mean = 0, square = 0;
  for (size_t g = 0; g < groups.size(); ++g) {
    runs += static_cast<double>(groups[g].size());
    mean += static_cast<double>(groups[g].size()) * doses[g];
  }
  mean /= runs;
  for (size_t g = 0; g < groups.size(); ++g)
    square += static_cast<double>(groups[g].size()) * (doses[g] - mean) * (doses[g] - mean);
  Weights w(groups.size(), 0);
  for (size_t g = 0; g < groups.size(); ++g)
    w[g] = static_cast<double>(groups[g].size()) * (doses[g] - mean) / square;
  return w;
}

Weights curvature_weights(const std::vector<double>& doses, const Groups& groups) {
  std::set<double> apart;
  double largest = 0;
  for (size_t g = 0; g < groups.size(); ++g)
    if (!groups[g].empty()) apart.insert(doses[g]), largest = std::max(largest, std::abs(doses[g]));
  if (apart.size() < 3) return {};
  std::array<std::array<double, 4>, 3> normal{};
  for (size_t g = 0; g < groups.size(); ++g)
    for (size_t r = 0; r < 3; ++r)
      for (size_t c = 0; c < 3; ++c)
        normal[r][c] +=
            static_cast<double>(groups[g].size()) * std::pow(doses[g] / largest, static_cast<double>(r + c));
  normal[2][3] = 1;  // the third column of the inverse is that of the square
  const std::array<double, 3> inverse = solved(normal);
  Weights w(groups.size(), 0);
  for (size_t g = 0; g < groups.size(); ++g) {
    const double d = doses[g] / largest;
    w[g] = static_cast<double>(groups[g].size()) * (inverse[0] + inverse[1] * d + inverse[2] * d * d) /
           (largest * largest);
  }
  return w;
}

}  // namespace ttc::delay
