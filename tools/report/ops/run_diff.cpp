#include "tools/report/ops/run_diff.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <map>

namespace ttc::report {
namespace {

std::string shape(const Tensor& t) {
  if (!t.w && !t.x) return "";
  std::string out;
  for (const Number& side : {t.w, t.z, t.y, t.x}) {
    if (!out.empty()) out += "x";
    out += side ? std::to_string(static_cast<long long>(*side)) : "?";
  }
  if (!t.datatype.empty()) out += " " + t.datatype;
  // Which device a tensor is said to lie on is no part of what the op does.
  std::string place = t.memory;
  if (place.starts_with("DEV_")) {
    const size_t end = place.find('_', 4);
    place = end == std::string::npos ? place : place.substr(end + 1);
  }
  return place.empty() ? out : out + " " + place;
}

}  // namespace

std::string signature(const OpRow& op) {
  std::string text = op.code;
  if (!op.fidelity.empty()) text += ", " + op.fidelity;
  for (const Tensor* t : {&op.input0, &op.input1})
    if (const std::string s = shape(*t); !s.empty()) text += ", " + s;
  if (const std::string s = shape(op.output0); !s.empty()) text += " => " + s;
  return text;
}

double welch_p(const Spread& a, const Spread& b) {
  const double na = static_cast<double>(a.count), nb = static_cast<double>(b.count);
  const double va = a.deviation * a.deviation / na, vb = b.deviation * b.deviation / nb;
  if (va + vb <= 0) return a.mean == b.mean ? 1 : 0;  // no spread at all: any difference is one
  const double t = std::abs(a.mean - b.mean) / std::sqrt(va + vb);
  const double freedom = (va + vb) * (va + vb) / (va * va / (na - 1) + vb * vb / (nb - 1));
  return 2 * boost::math::cdf(boost::math::complement(boost::math::students_t(freedom), t));
}

RunDiff compare(const OpTable& a, const OpTable& b) {
  struct Samples {
    std::string code;
    std::vector<double> a, b;
  };
  std::map<std::string, Samples> by_signature;
  RunDiff diff;
  const auto take = [&](const OpTable& table, std::vector<double> Samples::*side, double& total,
                        double& gaps) {
    for (const OpRow& op : table.rows) {
      if (op.signpost() || op.host()) continue;
      gaps += std::max(0.0, op.gap.value_or(0)) / 1000;
      if (!op.kernel) continue;
      Samples& s = by_signature[signature(op)];
      s.code = op.code;
      (s.*side).push_back(*op.kernel / 1000);
      total += *op.kernel / 1000;
    }
  };
  take(a, &Samples::a, diff.total_a, diff.gaps_a);
  take(b, &Samples::b, diff.total_b, diff.gaps_b);
  for (const auto& [text, s] : by_signature) {
    DiffRow r;
    r.signature = text;
    r.code = s.code;
    r.a = spread(s.a);
    r.b = spread(s.b);
    r.total_a = r.a.mean * static_cast<double>(r.a.count);
    r.total_b = r.b.mean * static_cast<double>(r.b.count);
    if (r.a.count && r.b.count && r.a.mean > 0) r.change_percent = (r.b.mean / r.a.mean - 1) * 100;
    if (r.a.count > 1 && r.b.count > 1) r.p_value = welch_p(r.a, r.b);
    diff.rows.push_back(std::move(r));
  }
  std::stable_sort(diff.rows.begin(), diff.rows.end(), [](const DiffRow& x, const DiffRow& y) {
    return std::abs(x.total_b - x.total_a) > std::abs(y.total_b - y.total_a);
  });
  return diff;
}

}  // namespace ttc::report
