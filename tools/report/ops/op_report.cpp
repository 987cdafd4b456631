#include "tools/report/ops/op_report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

#include "tools/report/input/device_input.hpp"
#include "tools/report/ops/busy_time.hpp"
#include "tools/report/ops/op_choice.hpp"
#include "tools/report/text/python_text.hpp"

namespace ttc::report {
namespace {

std::string list(const std::set<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

// The architecture from the rows of a table.
class Architectures {
 public:
  void add(const OpRow& op) {
    if (!op.arch.empty()) {
      if (first_.empty()) first_ = op.arch;
      names_.insert(op.arch);
    }
    if (op.available_cores.value_or(0) > 0) {
      if (cores_ == 0) cores_ = *op.available_cores;
      counts_.insert(*op.available_cores);
    }
  }

  Architecture choose(const OpTable& table, const ReportOptions& options, OpReport& report) const {
    if (names_.size() > 1)
      report.remarks.push_back("the table names several architectures (" + list(names_) +
                               "); peaks are those of " + first_);
    if (counts_.size() > 1)
      report.remarks.push_back(
          "the table names several numbers of worker cores; every op's peak is that of its own row");
    if (!first_.empty() && !options.arch.empty() && architecture(first_) != architecture(options.arch))
      report.remarks.push_back("--arch " + options.arch + " is not used: the table has " + first_);
    const std::string name = !first_.empty() ? first_ : options.arch.empty() ? "wormhole" : options.arch;
    const Architecture* known = architecture(name);
    if (!known)
      throw InputError("'" + name +
                       "' is no architecture that peaks are known of; --arch takes wormhole, blackhole, "
                       "bh20 and n1");
    Architecture arch = *known;
    if (cores_ > 0)
      arch.worker_cores = cores_;
    else if (table.has_arch || table.has_worker_cores)
      arch.worker_cores = 64;  // the column is there and empty
    return arch;
  }

 private:
  std::string first_;
  double cores_ = 0;
  std::set<std::string> names_;
  std::set<double> counts_;
};

std::vector<std::string> matmul_advice(const ReportRow& row) {
  std::vector<std::string> advice;
  const OpRow& op = row.op;
  const FidelityAdvice fidelity = judge_fidelity(op);
  if (row.bound == "DRAM" || row.bound == "BOTH") {
    if (!row.figures.dram_sharded)
      advice.emplace_back(
          "a DRAM-sharded program config (MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig) may "
          "bring more of the DRAM's rate");
    if (fidelity.verdict == Fidelity::too_low && row.figures.flops_percent.value_or(100) < 40)
      advice.push_back(fidelity.advice);
    if (fidelity.verdict == Fidelity::too_high) advice.push_back(fidelity.advice);
  } else if (row.bound == "FLOP") {
    if (row.figures.cores.value_or(64) < 64)
      advice.push_back("use a larger grid than " + python_rounded(*row.figures.cores, 0) + " cores");
    if (fidelity.verdict == Fidelity::too_high) advice.push_back(fidelity.advice);
  } else if (row.bound == "SLOW") {
    if (!op.input0.memory.empty() && op.input0.memory.find("L1") == std::string::npos)
      advice.push_back("input 0 is in " + op.input0.memory + "; L1 would be nearer");
    const Figures& f = row.figures;
    const auto shown = [](const Number& n) { return n ? python_rounded(*n, 0) : std::string("?"); };
    const auto whole = [&](const Number& n) { return shown(n).substr(0, shown(n).find('.')); };
    if (!f.block_w && !f.subblock_h && !f.subblock_w) {
      advice.emplace_back("no program_config: one could set in0_block_w and out_subblock_h/w");
    } else {
      bool good = true;
      if (!f.block_w || *f.block_w < 2) {
        good = false;
        advice.push_back("in0_block_w is " + whole(f.block_w) + "; 2 or more is better");
      }
      if (!f.subblock_h || !f.subblock_w || *f.subblock_h * *f.subblock_w < 2) {
        good = false;
        advice.push_back("the output subblock is " + whole(f.subblock_h) + "x" + whole(f.subblock_w) +
                         "; an area of 2 or more is better");
      }
      if (good)
        advice.push_back("in0_block_w=" + whole(f.block_w) + " and output subblock " + whole(f.subblock_h) +
                         "x" + whole(f.subblock_w) + " are fine");
      if (!fidelity.advice.empty()) advice.push_back(fidelity.advice);
    }
  }
  std::erase_if(advice, [](const std::string& s) { return s.empty(); });
  return advice;
}

// How far the share of the gap can be from the true one, in per cent: it is largest with the longest gap and the shortest kernel.
Number bound_of_share(const ReportRow& r) {
  if (!r.gap_us || !r.device_bound_us || !r.gap_bound_us) return std::nullopt;
  const auto percent = [](double gap, double kernel) {
    gap = std::max(0.0, gap), kernel = std::max(0.0, kernel);
    return gap + kernel > 0 ? gap / (gap + kernel) * 100 : 0;
  };
  const double shown = *r.dispatch_percent, gap = *r.gap_us, kernel = *r.device_us;
  const double most = percent(gap + *r.gap_bound_us, kernel - *r.device_bound_us);
  const double least = percent(gap - *r.gap_bound_us, kernel + *r.device_bound_us);
  return std::max(most - shown, shown - least);
}

// Values that need the sum over all rows, and those that tt-perf-report defines.
void finish(ReportRow& r, double total_us) {
  if (total_us > 0 && (r.device_us || r.gap_us))
    r.total_percent = (r.device_us.value_or(0) + r.gap_us.value_or(0)) / total_us * 100;
  if (r.op.host()) {
    r.bound = "HOST";
  } else if (is_matmul(r.op.code) && r.figures.dram_percent.value_or(0) > 0 &&
             r.figures.flops_percent.value_or(0) > 0) {
    const bool dram = *r.figures.dram_percent >= kBoundPercent,
               flop = *r.figures.flops_percent >= kBoundPercent;
    r.bound = dram && flop ? "BOTH" : dram ? "DRAM" : flop ? "FLOP" : "SLOW";
  }
  if (is_matmul(r.op.code) && !r.op.signpost()) r.advice = matmul_advice(r);
  const double wall = r.device_us.value_or(0) + r.gap_us.value_or(0);
  if (!r.device_us || wall <= 0) return;
  r.dispatch_percent = std::max(0.0, r.gap_us.value_or(0)) / wall * 100;
  r.dispatch_percent_bound = bound_of_share(r);
}

ReportRow make_row(OpRow&& row, bool has_previous, const Architecture& arch) {
  ReportRow r;
  r.op = std::move(row);
  const OpRow& op = r.op;
  if (op.signpost()) {
    r.figures.text = op.code + " (signpost)";
    return r;
  }
  r.figures = figures(op, arch);
  if (!op.host()) r.device_us = op.kernel.value_or(0) / 1000;
  if (has_previous && op.gap) r.gap_us = *op.gap / 1000;
  const auto in_us = [](const Number& ns) { return ns ? Number(*ns / 1000) : Number(); };
  if (!op.host()) r.device_bound_us = in_us(op.kernel_bound());
  if (r.gap_us) r.gap_bound_us = in_us(op.gap_bound());
  r.first_to_last_bound_us = in_us(op.first_to_last_bound());
  r.dispatch_bound_us = in_us(op.dispatch_bound());
  if (op.core_mean && *op.core_mean > 0 && op.core_max)
    r.imbalance_percent = (*op.core_max / *op.core_mean - 1) * 100;
  return r;
}

void add_up(OpReport& report, const DurationClock* clock, TimeOf time) {
  Totals& t = report.totals;
  BusyTime times(clock, time);
  t.busy_bound_us = t.span_bound_us = 0;
  for (const ReportRow& r : report.rows) {
    if (r.op.host())
      ++t.host_ops;
    else if (r.op.signpost())
      ++t.signposts;
    else
      ++t.device_ops;
    t.device_us += r.device_us.value_or(0);
    t.gap_us += r.gap_us.value_or(0);
    if (!r.op.host() && !r.op.signpost()) times.add(r.op);
  }
  for (const auto& [device, busy] : times.by_device()) {
    t.busy_us += busy.busy_us;
    t.overlap_us += busy.sum_us - busy.busy_us;
    if (busy.span_us >= t.span_us) t.span_us = busy.span_us, t.span_bound_us = busy.span_bound_us;
    t.busy_bound_us = sum_of(t.busy_bound_us, busy.busy_bound_us);
  }
  if (t.device_ops == 0) return;
  const double wall = t.device_us + t.gap_us, share = wall > 0 ? t.gap_us / wall * 100 : 0;
  char rule[200];
  std::snprintf(rule, sizeof rule,
                "%.1f %% of kernels and gaps together (%.*f of %.*f us) are gaps; over 70 %% is host-bound, "
                "over 30 %% partly",
                share, t.gap_us < 10, t.gap_us, wall < 10, wall);
  t.verdict = verdict_of(share);
  t.verdict_rule = rule;
}

}  // namespace

std::string verdict_of(double gap_percent) {
  return gap_percent > 70 ? "host-bound" : gap_percent > 30 ? "partly host-bound" : "device-bound";
}

ReportRows::ReportRows(OpRows ops, Architecture arch, Records<Chosen> chosen, double total_us)
    : ops_(std::move(ops)), arch_(std::move(arch)), chosen_(std::move(chosen)), total_us_(total_us) {}

ReportRow ReportRows::operator[](size_t i) const {
  const Chosen chosen = chosen_[i];
  OpRow op = ops_[chosen.row];
  if (!std::isnan(chosen.kernel)) op.kernel = chosen.kernel;
  ReportRow r = make_row(std::move(op), chosen.gap, arch_);
  if (!std::isnan(chosen.kernel))
    r.device_bound_us = std::isnan(chosen.kernel_bound) ? Number() : Number(chosen.kernel_bound / 1000);
  finish(r, total_us_);
  return r;
}

OpReport make_report(OpTable table, const ReportOptions& options) {
  OpReport report;
  report.remarks = table.remarks;
  const std::shared_ptr<const DurationClock> clock = table.clock;
  const TimeOf time = table.time;
  Architectures architectures;
  Choice choice;
  {
    OpChoice rows(options);
    for (const OpRow& op : table.rows) {
      architectures.add(op);
      rows.add(op);
    }
    report.arch = architectures.choose(table, options, report);
    choice = rows.choose(table.rows, report.remarks);
  }
  report.devices = choice.devices;
  report.rows = ReportRows(std::move(table.rows), report.arch, std::move(choice.rows), choice.total_us);
  add_up(report, clock.get(), time);
  return report;
}

}  // namespace ttc::report
