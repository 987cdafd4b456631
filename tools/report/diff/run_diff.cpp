#include "tools/report/diff/run_diff.hpp"

#include <algorithm>
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
  // The device of a tensor is no part of what the op does.
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

const char* to_string(WaterfallPart::Kind kind) {
  constexpr const char* kNames[] = {"device", "gap", "new", "gone"};
  return kNames[static_cast<size_t>(kind)];
}

namespace {

struct Samples {
  std::string code;
  std::vector<double> a, b;  // kernels, us
  std::vector<double> gaps_a, gaps_b;
};
using BySignature = std::map<std::string, Samples>;

void take(const OpTable& table, std::vector<double> Samples::*kernels, std::vector<double> Samples::*gaps,
          BySignature& all) {
  for (const OpRow& op : table.rows) {
    if (op.signpost() || op.host()) continue;
    Samples& s = all[signature(op)];
    s.code = op.code;
    if (op.kernel) (s.*kernels).push_back(*op.kernel / 1000);
    (s.*gaps).push_back(std::max(0.0, op.gap.value_or(0)) / 1000);
  }
}

double sum(const std::vector<double>& values) {
  double all = 0;
  for (const double v : values) all += v;
  return all;
}

std::vector<double> percent_changes(const std::vector<double>& before, const std::vector<double>& after) {
  std::vector<double> all(before.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = before[i] > 0 ? (after[i] / before[i] - 1) * 100 : 0;
  return all;
}

DiffRow row_of(const std::string& text, Samples& s, const DiffOptions& options, size_t compared) {
  DiffRow r;
  r.signature = text;
  r.code = s.code;
  std::sort(s.a.begin(), s.a.end());
  std::sort(s.b.begin(), s.b.end());
  r.a = spread(s.a);
  r.b = spread(s.b);
  r.total_a = sum(s.a);
  r.total_b = sum(s.b);
  r.gaps_a = sum(s.gaps_a);
  r.gaps_b = sum(s.gaps_b);
  if (!r.a.count || !r.b.count) return r;
  r.within_clock = std::abs(r.b.median - r.a.median) <= options.bound_us;
  if (r.a.median > 0) r.change_percent = (r.b.median / r.a.median - 1) * 100;
  if (r.a.count < 2 || r.b.count < 2 || r.a.least <= 0) return r;
  Bootstrap draw;
  const std::vector<double> before = draw.medians(s.a);
  const std::vector<double> changes = percent_changes(before, draw.medians(s.b));
  r.change = interval_of(changes, options.alpha);
  r.strict = interval_of(changes, options.alpha / static_cast<double>(std::max<size_t>(1, compared)));
  return r;
}

void add(std::vector<double>& to, const std::vector<double>& more) {
  for (size_t i = 0; i < to.size(); ++i) to[i] += more[i];
}

// Of the sums over all ops, each op's launches drawn again.
Interval change_of_sums(const BySignature& all, std::vector<double> Samples::*a,
                        std::vector<double> Samples::*b, double alpha) {
  Bootstrap draw;
  std::vector<double> before(Bootstrap::kDraws), after(Bootstrap::kDraws);
  for (const auto& [text, s] : all) {
    add(before, draw.sums(s.*a));
    add(after, draw.sums(s.*b));
  }
  return interval_of(percent_changes(before, after), alpha);
}

std::vector<WaterfallPart> waterfall(const std::vector<DiffRow>& rows) {
  using Kind = WaterfallPart::Kind;
  std::vector<WaterfallPart> parts;
  for (size_t i = 0; i < rows.size(); ++i) {
    const DiffRow& r = rows[i];
    if (!r.a.count) {
      parts.push_back({Kind::added, i, r.total_b + r.gaps_b - r.gaps_a});
    } else if (!r.b.count) {
      parts.push_back({Kind::gone, i, r.gaps_b - r.total_a - r.gaps_a});
    } else {
      parts.push_back({Kind::device, i, r.total_b - r.total_a});
      parts.push_back({Kind::gap, i, r.gaps_b - r.gaps_a});
    }
  }
  std::stable_sort(parts.begin(), parts.end(), [](const WaterfallPart& x, const WaterfallPart& y) {
    return std::abs(x.us) > std::abs(y.us);
  });
  return parts;
}

}  // namespace

RunDiff compare(const OpTable& a, const OpTable& b, const DiffOptions& options) {
  BySignature all;
  take(a, &Samples::a, &Samples::gaps_a, all);
  take(b, &Samples::b, &Samples::gaps_b, all);
  const auto compared = static_cast<size_t>(std::count_if(all.begin(), all.end(), [](const auto& one) {
    return one.second.a.size() > 1 && one.second.b.size() > 1;
  }));
  RunDiff diff;
  for (auto& [text, s] : all) {
    diff.rows.push_back(row_of(text, s, options, compared));
    const DiffRow& r = diff.rows.back();
    diff.total_a += r.total_a;
    diff.total_b += r.total_b;
    diff.gaps_a += r.gaps_a;
    diff.gaps_b += r.gaps_b;
  }
  diff.total_change = change_of_sums(all, &Samples::a, &Samples::b, options.alpha);
  diff.gaps_change = change_of_sums(all, &Samples::gaps_a, &Samples::gaps_b, options.alpha);
  std::stable_sort(diff.rows.begin(), diff.rows.end(), [](const DiffRow& x, const DiffRow& y) {
    if (x.within_clock != y.within_clock) return y.within_clock;
    return std::abs(x.total_b - x.total_a) > std::abs(y.total_b - y.total_a);
  });
  diff.waterfall = waterfall(diff.rows);
  return diff;
}

}  // namespace ttc::report
