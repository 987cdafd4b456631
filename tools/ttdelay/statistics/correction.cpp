#include "tools/ttdelay/statistics/correction.hpp"

#include <algorithm>
#include <numeric>

namespace ttc::delay {
namespace {

std::vector<size_t> rising(const std::vector<double>& p) {
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return p[a] < p[b]; });
  return order;
}

}  // namespace

std::vector<double> holm(const std::vector<double>& p) {
  std::vector<double> corrected(p.size());
  const std::vector<size_t> order = rising(p);
  double before = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    before = std::max(before, std::min(1.0, p[order[i]] * static_cast<double>(p.size() - i)));
    corrected[order[i]] = before;
  }
  return corrected;
}

std::vector<double> benjamini_hochberg(const std::vector<double>& p) {
  std::vector<double> corrected(p.size());
  const std::vector<size_t> order = rising(p);
  double behind = 1;
  for (size_t i = order.size(); i-- > 0;) {
    behind = std::min(behind, p[order[i]] * static_cast<double>(p.size()) / static_cast<double>(i + 1));
    corrected[order[i]] = behind;
  }
  return corrected;
}

}  // namespace ttc::delay
