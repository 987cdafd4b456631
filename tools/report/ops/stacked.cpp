// The summary of a report by op, memory or category.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

#include "tools/report/ops/op_report.hpp"

namespace ttc::report {
namespace {

std::string fixed(const Number& n, int digits) {
  if (!n || std::isnan(*n)) return "";
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, *n);
  return text;
}

// Percentages of FLOPs, one after the other; the deviation by Welford's recurrence.
class Flops {
 public:
  void add(double percent, double us) {
    ++count_;
    sum_ += percent;
    weighted_ += percent * us;
    weight_ += us;
    least_ = count_ == 1 ? percent : std::min(least_, percent);
    most_ = count_ == 1 ? percent : std::max(most_, percent);
    const double off = percent - running_mean_;
    running_mean_ += off / static_cast<double>(count_);
    squares_ += off * (percent - running_mean_);
  }
  void put(StackedRow& row) const {
    if (count_ == 0) return;
    row.flops_min = least_;
    row.flops_max = most_;
    row.flops_mean = sum_ / static_cast<double>(count_);
    if (weight_ > 0) row.flops_weighted = weighted_ / weight_;
    if (count_ > 1) row.flops_deviation = std::sqrt(squares_ / static_cast<double>(count_ - 1));
  }

 private:
  size_t count_ = 0;
  double sum_ = 0, weighted_ = 0, weight_ = 0, least_ = 0, most_ = 0, running_mean_ = 0, squares_ = 0;
};

// Programs without a name have a line each, until these are so many; the others share one.
constexpr size_t kMostNameless = 4096;
constexpr const char* kOthers = "other programs";

// Buffer and layout of input 0, as its column's last two parts have them.
std::string place_of(const std::string& memory) {
  const size_t last = memory.rfind('_');
  const size_t before =
      last == std::string::npos || last == 0 ? std::string::npos : memory.rfind('_', last - 1);
  std::string place = memory.substr(before == std::string::npos ? 0 : before + 1);
  for (char& c : place) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return place;
}

}  // namespace

std::vector<StackedRow> stacked(const OpReport& report, GroupBy by, bool merge_devices, bool no_host_ops) {
  struct Group {
    StackedRow row;
    double carry = 0;  // of Kahan's sum: two decimals are printed of it
    Flops flops;
  };
  std::map<std::pair<std::string, int64_t>, Group> groups;
  std::set<std::string> nameless;
  for (const ReportRow& r : report.rows) {
    if (r.op.signpost() || (no_host_ops && r.op.host())) continue;
    const std::string kind = category(r.figures.text);
    std::string name = r.figures.text.substr(0, r.figures.text.find(' '));
    if (name == "program") {  // it has no name
      name = r.figures.text;
      if (!nameless.contains(name))
        name = nameless.size() < kMostNameless ? *nameless.insert(name).first : kOthers;
    }
    if (by == GroupBy::category) name = kind;
    if (by == GroupBy::memory && !r.op.input0.memory.empty())
      name += " (in0:" + place_of(r.op.input0.memory) + ")";
    const int64_t device = merge_devices ? -1 : static_cast<int64_t>(r.op.device.value_or(0));
    Group& g = groups[{name, device}];
    g.row.name = name;
    if (!merge_devices) g.row.device = static_cast<uint32_t>(device);
    if (g.row.count++ == 0) g.row.category = kind, g.row.bound_us = 0;
    if (!r.op.host()) g.row.bound_us = sum_of(g.row.bound_us, r.device_bound_us);
    const double part = r.device_us.value_or(0) - g.carry, sum = g.row.device_us + part;
    g.carry = (sum - g.row.device_us) - part;
    g.row.device_us = sum;
    if (r.figures.flops_percent) g.flops.add(*r.figures.flops_percent, r.device_us.value_or(0));
  }
  std::map<int64_t, double> totals;
  for (const auto& [key, g] : groups) totals[key.second] += g.row.device_us;
  std::vector<StackedRow> rows;
  for (auto& [key, g] : groups) {
    StackedRow& row = g.row;
    row.percent = totals[key.second] > 0 ? row.device_us / totals[key.second] * 100 : 0;
    g.flops.put(row);
    rows.push_back(row);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const StackedRow& a, const StackedRow& b) { return a.device_us > b.device_us; });
  return rows;
}

Cells stacked_cells(const std::vector<StackedRow>& rows, GroupBy by, bool merge_devices) {
  Cells cells;
  cells.header = {"Total % [%]", "Op Code"};
  if (!merge_devices) cells.header.emplace_back("Device");
  cells.header.insert(cells.header.end(), {"Device Time Sum [\u03bcs]", "Op Count"});
  if (by != GroupBy::category)
    cells.header.insert(cells.header.end(), {"Op Category", "Min FLOPs [%]", "Max FLOPs [%]",
                                             "Mean FLOPs [%]", "Std FLOPs [%]", "Weighted Mean FLOPs [%]"});
  for (const StackedRow& r : rows) {
    std::vector<std::string> line{fixed(r.percent, 2), r.name};
    if (!merge_devices) line.push_back(std::to_string(r.device.value_or(0)));
    line.push_back(fixed(r.device_us, 2));
    line.push_back(std::to_string(r.count));
    if (by != GroupBy::category) {
      line.push_back(r.category);
      for (const Number& n : {r.flops_min, r.flops_max, r.flops_mean, r.flops_deviation, r.flops_weighted})
        line.push_back(fixed(n, 2));
    }
    cells.rows.push_back(line);
  }
  return cells;
}

}  // namespace ttc::report
