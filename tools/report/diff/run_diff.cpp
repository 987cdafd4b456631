#include "tools/report/diff/run_diff.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
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

// The launches of one signature in one run, us. Bounds of times: infinite where they are not known.
struct Side {
  std::vector<double> times, bounds;
  // The bounds of the measurement of the times, without the error of cycles at the nominal rate, which both runs have. A
  // hard bound is none.
  std::vector<double> measured_bounds;
  std::vector<double> gaps;
  Number gap_bound = 0.0;  // of their sum

  void add(const OpRow& op) {
    constexpr double kUnknown = std::numeric_limits<double>::infinity(), kRoundingNs = 1;
    if (op.kernel) {
      const Number bound = op.kernel_bound();
      times.push_back(*op.kernel / 1000);
      bounds.push_back(bound ? *bound / 1000 : kUnknown);
      measured_bounds.push_back(bound && !op.hard_bound ? (*op.kernel_measured_bound + kRoundingNs) / 1000
                                                        : kUnknown);
    }
    gaps.push_back(std::max(0.0, op.gap.value_or(0)) / 1000);
    // The first op of a device has none, and its 0 is no measurement.
    if (op.gap.value_or(0) == 0) return;
    const Number bound = op.gap_bound();
    gap_bound = sum_of(gap_bound, bound ? Number(*bound / 1000) : Number());
  }
};

struct Samples {
  std::string code;
  Side a, b;
};
using BySignature = std::map<std::string, Samples>;

void take(const OpTable& table, Side Samples::*side, BySignature& all) {
  for (const OpRow& op : table.rows) {
    if (op.signpost() || op.host()) continue;
    Samples& s = all[signature(op)];
    s.code = op.code;
    (s.*side).add(op);
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

Number finite(double value) {
  return std::isfinite(value) ? Number(value) : Number();
}

// How far the median of the true times can be from that of `times`: a median does not fall where no value does, so it lies
// between those of the lower and of the upper limits.
Number median_bound(const std::vector<double>& times, const std::vector<double>& bounds) {
  std::vector<double> low(times), high(times);
  for (size_t i = 0; i < times.size(); ++i) low[i] -= bounds[i], high[i] += bounds[i];
  const double median = spread(times).median;
  const double bound =
      std::max(median - spread(std::move(low)).median, spread(std::move(high)).median - median);
  return finite(bound);
}

DiffRow row_of(const std::string& text, Samples& s, const DiffOptions& options, size_t compared) {
  DiffRow r;
  r.signature = text;
  r.code = s.code;
  r.median_bound_a = median_bound(s.a.times, s.a.bounds);
  r.median_bound_b = median_bound(s.b.times, s.b.bounds);
  const Number bound =
      sum_of(median_bound(s.a.times, s.a.measured_bounds), median_bound(s.b.times, s.b.measured_bounds));
  std::sort(s.a.times.begin(), s.a.times.end());
  std::sort(s.b.times.begin(), s.b.times.end());
  r.a = spread(s.a.times);
  r.b = spread(s.b.times);
  r.total_a = sum(s.a.times);
  r.total_b = sum(s.b.times);
  r.gaps_a = sum(s.a.gaps);
  r.gaps_b = sum(s.b.gaps);
  r.total_bound_a = finite(sum(s.a.bounds));
  r.total_bound_b = finite(sum(s.b.bounds));
  r.gaps_bound_a = s.a.gap_bound;
  r.gaps_bound_b = s.b.gap_bound;
  if (!r.a.count || !r.b.count) return r;
  r.within_clock = std::abs(r.b.median - r.a.median) <= bound.value_or(options.bound_us);
  if (r.a.median > 0) r.change_percent = (r.b.median / r.a.median - 1) * 100;
  if (r.a.count < 2 || r.b.count < 2 || r.a.least <= 0) return r;
  Bootstrap draw;
  const std::vector<double> before = draw.medians(s.a.times);
  const std::vector<double> changes = percent_changes(before, draw.medians(s.b.times));
  r.change = interval_of(changes, options.alpha);
  r.strict = interval_of(changes, options.alpha / static_cast<double>(std::max<size_t>(1, compared)));
  return r;
}

void add(std::vector<double>& to, const std::vector<double>& more) {
  for (size_t i = 0; i < to.size(); ++i) to[i] += more[i];
}

// The change of the sums over all ops, each op's launches drawn again.
Interval change_of_sums(const BySignature& all, std::vector<double> Side::*what, double alpha) {
  Bootstrap draw;
  std::vector<double> before(Bootstrap::kDraws), after(Bootstrap::kDraws);
  for (const auto& [text, s] : all) {
    add(before, draw.sums(s.a.*what));
    add(after, draw.sums(s.b.*what));
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
  take(a, &Samples::a, all);
  take(b, &Samples::b, all);
  const auto compared = static_cast<size_t>(std::count_if(all.begin(), all.end(), [](const auto& one) {
    return one.second.a.times.size() > 1 && one.second.b.times.size() > 1;
  }));
  RunDiff diff;
  diff.total_bound_a = diff.total_bound_b = diff.gaps_bound_a = diff.gaps_bound_b = 0;
  for (auto& [text, s] : all) {
    diff.rows.push_back(row_of(text, s, options, compared));
    const DiffRow& r = diff.rows.back();
    diff.total_a += r.total_a;
    diff.total_b += r.total_b;
    diff.gaps_a += r.gaps_a;
    diff.gaps_b += r.gaps_b;
    diff.total_bound_a = sum_of(diff.total_bound_a, r.total_bound_a);
    diff.total_bound_b = sum_of(diff.total_bound_b, r.total_bound_b);
    diff.gaps_bound_a = sum_of(diff.gaps_bound_a, r.gaps_bound_a);
    diff.gaps_bound_b = sum_of(diff.gaps_bound_b, r.gaps_bound_b);
  }
  diff.total_change = change_of_sums(all, &Side::times, options.alpha);
  diff.gaps_change = change_of_sums(all, &Side::gaps, options.alpha);
  std::stable_sort(diff.rows.begin(), diff.rows.end(), [](const DiffRow& x, const DiffRow& y) {
    if (x.within_clock != y.within_clock) return y.within_clock;
    return std::abs(x.total_b - x.total_a) > std::abs(y.total_b - y.total_a);
  });
  diff.waterfall = waterfall(diff.rows);
  return diff;
}

}  // namespace ttc::report
