#include "tools/report/ops/run_summary.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <set>

#include "collector/program/printable.hpp"
#include "tools/report/input/device_input.hpp"
#include "tools/report/input/signposts.hpp"
#include "tools/report/ops/op_report.hpp"
#include "tools/report/ops/steps.hpp"
#include "tools/report/text/time_bounds.hpp"

namespace ttc::report {
namespace {

constexpr size_t kSlowest = 5, kOpsShown = 12, kProcessesShown = 32;
constexpr double kUsPerMs = 1000;
constexpr const char* kCutWithinBounds =
    "the next one may be as long as the last that is shown, within their bounds";

// A row of the table, of the device or a signpost.
struct SummaryRow {
  const Signpost* signpost = nullptr;
  std::optional<DeviceRow> device;
  std::string code, process;
  std::optional<bool> cache_hit;
};

template <class Take>
void each_row(const Run& run, const Take& take) {
  const auto of_device = [&](uint32_t place) {
    return place == RowPlace::kNoDevice ? std::optional<DeviceRow>() : run.rows[place];
  };
  if (!run.plan.joined) {
    for (const RowPlace place : run.plan.places) {
      SummaryRow row{place.signpost, of_device(place.row), {}, {}, {}};
      if (row.device) row.code = program_name(row.device->call_count);
      take(row);
    }
    return;
  }
  for (const Joined& joined : run.plan.rows) {
    SummaryRow row{joined.signpost, of_device(joined.device), {}, {}, {}};
    if (!joined.signpost) {
      row.code = run.host.codes[joined.op.code];
      row.cache_hit = joined.op.cache_hit;
      if (const auto of = run.host.processes.find(joined.op.process); of != run.host.processes.end())
        row.process = of->second;
    }
    take(row);
  }
}

// The steps that signposts of the form ...start and ...end make, as far as the program cache is concerned.
class CacheOfSteps {
 public:
  void row(const SummaryRow& row) {
    if (row.signpost) return signpost(signpost_family(row.signpost->header));
    if (end_.empty()) return;
    steps_.back().cache_hits += row.cache_hit == true;
    steps_.back().cache_misses += row.cache_hit == false;
  }
  std::string warning() const { return compiled_in_every_step(steps_); }

 private:
  // The first family that begins steps is the one that is followed.
  void signpost(const std::string& family) {
    if (family == family_ || family_.empty()) {
      const std::vector<std::string> ends = ends_of_family(family);
      if (!ends.empty()) {
        family_ = family;
        end_ = ends;
        steps_.emplace_back();
        return;
      }
    }
    if (std::find(end_.begin(), end_.end(), family) != end_.end()) end_.clear();
  }
  std::string family_;
  std::vector<std::string> end_;  // of the step that is open; empty: none is
  std::vector<Step> steps_;
};

class Summing {
 public:
  void row(const SummaryRow& row) {
    steps_.row(row);
    if (!row.device || row.device->kernel_ns.value_or(0) == 0) return;
    const DeviceRow& d = *row.device;
    const auto ns = static_cast<double>(*d.kernel_ns);
    const double us = ns / 1000;
    const Number bound_us = d.kernel_measured ? Number(d.kernel_measured->bound_of(ns) / 1000) : Number();
    ++sum_.ops;
    sum_.device_us += us;
    all_.add(us, bound_us);
    if (any_ && d.gap_ns) sum_.gap_us += static_cast<double>(*d.gap_ns) / 1000;
    any_ = true;
    devices_.insert(d.device);
    for (auto* sums : {&sum_.by_op[row.code], &sum_.by_process[row.process]}) sums->add(us, bound_us);
    offer(us, bound_us, row);
  }

  RunSummary end() {
    sum_.devices = devices_.size();
    if (sum_.ops) sum_.device_bound_us = all_.bound();
    if (sum_.slowest.size() > kSlowest) {
      SharedRank rank;
      const auto& last = sum_.slowest[kSlowest - 1];
      rank.shares(last.us, last.bound_us);
      sum_.slowest_within_bounds = rank.shares(sum_.slowest.back().us, sum_.slowest.back().bound_us);
      sum_.slowest.pop_back();
    }
    const double wall = sum_.device_us + sum_.gap_us;
    if (sum_.ops) sum_.verdict = verdict_of(wall > 0 ? sum_.gap_us / wall * 100 : 0);
    if (sum_.by_process.size() < 2) sum_.by_process.clear();
    sum_.warning = steps_.warning();
    return std::move(sum_);
  }

 private:
  // One more than is listed.
  void offer(double us, const Number& bound_us, const SummaryRow& row) {
    std::vector<RunSummary::Single>& all = sum_.slowest;
    if (all.size() > kSlowest && us <= all.back().us) return;
    std::string what = row.code + ", call " + std::to_string(row.device->call_count) + " on device " +
                       std::to_string(row.device->device);
    const auto at = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.us < us; });
    all.insert(at, {us, bound_us, std::move(what), row.process});
    if (all.size() > kSlowest + 1) all.pop_back();
  }

  RunSummary sum_;
  RunSummary::Sum all_;
  std::set<uint32_t> devices_;
  CacheOfSteps steps_;
  bool any_ = false;
};

std::vector<std::string> signposts_of(const Run& run) {
  std::vector<std::string> names;
  each_row(run, [&](const SummaryRow& row) {
    if (row.signpost) names.push_back(row.signpost->header);
  });
  return names;
}

RunSummary all_of(const Run& run) {
  Summing summing;
  each_row(run, [&](const SummaryRow& row) { summing.row(row); });
  return summing.end();
}

std::string row_text(bool shares_rank, double us, double percent, const std::string& name) {
  char figures[80];
  std::snprintf(figures, sizeof figures, "%c %8.3f ms  %5.1f %%  ", shares_rank ? '=' : ' ', us / kUsPerMs,
                percent);
  return figures + program::printable(name) + "\n";
}

// Returns how many rows share a rank.
size_t list(const std::map<std::string, RunSummary::Sum>& sums, double total, const char* what, size_t most,
            std::string& text) {
  std::vector<std::pair<std::string, RunSummary::Sum>> sorted(sums.begin(), sums.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.us > b.second.us; });
  text.append("  device time   share  count  ").append(what).append(1, '\n');
  SharedRank rank;
  for (size_t i = 0; i < std::min(sorted.size(), most); ++i) {
    const RunSummary::Sum& sum = sorted[i].second;
    char count[32];
    std::snprintf(count, sizeof count, "%5zu  ", sum.count);
    text += row_text(rank.shares(sum.us, sum.bound()), sum.us, total > 0 ? 100 * sum.us / total : 0,
                     count + sorted[i].first);
  }
  const size_t shared = rank.count();
  if (sorted.size() > most) {
    const bool within = rank.shares(sorted[most].second.us, sorted[most].second.bound());
    text += "  and " + std::to_string(sorted.size() - most) + " more" +
            (within ? std::string("; ") + kCutWithinBounds : "") + "\n";
  }
  return shared;
}

}  // namespace

RunSummary summarize(const Run& run, const SummaryWindow& window) {
  if (window.start_signpost.empty() && window.end_signpost.empty()) return all_of(run);
  const std::vector<std::string> names = signposts_of(run);
  try {
    need_signpost(window.start_signpost, 1, names);
    need_signpost(window.end_signpost, window.end_signpost == window.start_signpost ? 2 : 1, names);
  } catch (const UnknownName& e) {
    if (!window.else_all) throw;
    RunSummary all = all_of(run);
    all.remarks.push_back("the summary is of all ops that were collected: " + std::string(e.what()));
    return all;
  }
  Summing summing;
  bool open = window.start_signpost.empty(), over = false;
  each_row(run, [&](const SummaryRow& row) {
    const std::string name = row.signpost ? row.signpost->header : std::string();
    if (over || (!open && name != window.start_signpost)) return;
    if (open && row.signpost && name == window.end_signpost) {
      over = true;
      return;
    }
    if (open) summing.row(row);
    open = true;
  });
  RunSummary some = summing.end();
  if (some.ops || !window.else_all) return some;
  RunSummary all = all_of(run);
  all.remarks.emplace_back("the summary is of all ops that were collected: none began within the range");
  return all;
}

std::string text_of(const RunSummary& s) {
  if (s.ops == 0) return {};
  char head[120];
  std::snprintf(head, sizeof head, "%zu ops, %.3f ms of device time", s.ops, s.device_us / kUsPerMs);
  std::string text = head;
  if (s.devices > 1) text += " on " + std::to_string(s.devices) + " devices";
  if (!s.by_process.empty()) text += " by " + std::to_string(s.by_process.size()) + " processes";
  if (s.device_bound_us) text += " (\u00b1 " + written_bound(s.device_bound_us) + ")";
  text += (s.verdict.empty() ? "" : "; " + s.verdict) + "\n";
  size_t shared = list(s.by_op, s.device_us, "op", kOpsShown, text);
  if (!s.by_process.empty()) shared += list(s.by_process, s.device_us, "process", kProcessesShown, text);
  text += "slowest:\n";
  SharedRank rank;
  for (const RunSummary::Single& one : s.slowest)
    text +=
        row_text(rank.shares(one.us, one.bound_us), one.us, s.device_us > 0 ? 100 * one.us / s.device_us : 0,
                 one.what + (s.by_process.empty() ? "" : " by process " + one.process));
  if (s.slowest_within_bounds) text += std::string("  ") + kCutWithinBounds + "\n";
  text += shared_rank_legend(shared + rank.count());
  if (!s.warning.empty()) text += "warning: " + s.warning + "\n";
  return text;
}

}  // namespace ttc::report
