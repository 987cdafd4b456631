#include "tools/ttdelay/statistics/detectable.hpp"

#include <boost/math/distributions/students_t.hpp>

#include "tools/ttdelay/statistics/permutation.hpp"

namespace ttc::delay {

std::optional<double> detectable(const Groups& groups, const Weights& weights, size_t tests, double alpha) {
  const double share = alpha / static_cast<double>(tests);  // of one question: what Holm allows the first one
  const Studentised s = welch(groups, weights);
  if (s.freedom < 1 || s.error <= 0 || least_p(groups) > share) return std::nullopt;
  const boost::math::students_t t(s.freedom);
  const double found = boost::math::quantile(boost::math::complement(t, share / 2));
  const double often = boost::math::quantile(t, kPower);
  return (found + often) * s.error;
}

}  // namespace ttc::delay
