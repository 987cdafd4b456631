#include "tools/report/ops/op_report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

#include "tools/report/input/device_input.hpp"
#include "tools/report/text/python_text.hpp"

namespace ttc::report {
namespace {

std::string list(const std::set<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

Architecture choose_architecture(const OpTable& table, const ReportOptions& options, OpReport& report) {
  std::string name;
  double cores = 0;
  std::set<std::string> archs;
  std::set<double> counts;
  for (const OpRow& op : table.rows) {
    if (!op.arch.empty()) {
      if (name.empty()) name = op.arch;
      archs.insert(op.arch);
    }
    if (op.available_cores.value_or(0) > 0) {
      if (cores == 0) cores = *op.available_cores;
      counts.insert(*op.available_cores);
    }
  }
  if (archs.size() > 1)
    report.remarks.push_back("the table names several architectures (" + list(archs) +
                             "); peaks are those of " + name);
  if (counts.size() > 1)
    report.remarks.push_back(
        "the table names several numbers of worker cores; peaks are those of the first, " +
        python_rounded(cores, 0));
  if (!name.empty() && !options.arch.empty() && architecture(name) != architecture(options.arch))
    report.remarks.push_back("--arch " + options.arch + " is left aside: the table says " + name);
  if (name.empty()) name = options.arch.empty() ? "wormhole" : options.arch;
  const Architecture* known = architecture(name);
  if (!known)
    throw InputError("'" + name +
                     "' is no architecture that peaks are known of; --arch takes wormhole, blackhole, "
                     "bh20 and n1");
  Architecture arch = *known;
  if (cores > 0)
    arch.worker_cores = cores;
  else if (table.has_arch || table.has_worker_cores)
    arch.worker_cores = 64;  // the column is there and empty
  return arch;
}

using Rows = std::vector<const OpRow*>;

size_t ops_in(const Rows& rows) {
  return static_cast<size_t>(
      std::count_if(rows.begin(), rows.end(), [](const OpRow* r) { return !r->signpost(); }));
}

Rows without_signposts(Rows rows, const ReportOptions& options) {
  if (!options.print_signposts) std::erase_if(rows, [](const OpRow* r) { return r->signpost(); });
  return rows;
}

// Behind the first row of that code, or everything when there is none.
Rows behind(const Rows& rows, const std::string& code) {
  const auto at = std::find_if(rows.begin(), rows.end(), [&](const OpRow* r) { return r->code == code; });
  return at == rows.end() ? rows : Rows(at + 1, rows.end());
}

Rows named_window(const Rows& rows, const ReportOptions& o, OpReport& report, bool& cut) {
  const auto place_of = [&](const std::string& name, size_t which) {
    for (size_t i = 0; i < rows.size(); ++i)
      if (rows[i]->signpost() && rows[i]->code == name && which-- == 0) return i;
    return rows.size();
  };
  size_t begin = 0, end = rows.size();
  if (!o.start_signpost.empty()) {
    const size_t at = place_of(o.start_signpost, 0);
    if (at == rows.size()) {
      report.remarks.push_back("there is no signpost '" + o.start_signpost + "' to start at");
    } else {
      begin = at + 1;
      cut = true;
    }
  }
  if (!o.end_signpost.empty()) {
    const size_t at = place_of(o.end_signpost, o.end_signpost == o.start_signpost ? 1 : 0);
    if (at == rows.size()) {
      report.remarks.push_back("there is no " +
                               std::string(o.end_signpost == o.start_signpost ? "second " : "") +
                               "signpost '" + o.end_signpost + "' to end at");
    } else {
      end = at;
      cut = true;
    }
  }
  return begin < end
             ? Rows(rows.begin() + static_cast<ptrdiff_t>(begin), rows.begin() + static_cast<ptrdiff_t>(end))
             : Rows();
}

// Without a wish: what lies behind the last signpost's name, or, where that is nothing, an earlier one's.
Rows window(const Rows& rows, const ReportOptions& o, OpReport& report) {
  if (o.ignore_signposts) return rows;
  std::vector<std::string> names;
  for (const OpRow* r : rows)
    if (r->signpost()) names.push_back(r->code);
  if (names.empty()) {
    for (const std::string& wish : {o.start_signpost, o.end_signpost})
      if (!wish.empty())
        report.remarks.push_back("there are no signposts here, and so none called '" + wish +
                                 "'; all ops are shown");
    return rows;
  }
  bool cut = false;
  const Rows named = named_window(rows, o, report, cut);
  if (cut) return without_signposts(named, o);
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    const Rows candidate = behind(rows, *name);
    if (ops_in(candidate) == 0) continue;
    report.remarks.push_back(
        "the ops after signpost '" + *name + "' are shown" +
        (name == names.rbegin() ? "" : ", because none follow the last one, '" + names.back() + "'") +
        "; --ignore-signposts shows all");
    return without_signposts(candidate, o);
  }
  report.remarks.push_back("no op follows a signpost; all ops are shown");
  return without_signposts(rows, o);
}

bool is_collective(const std::string& code) {
  for (const char* name : {"AllGather", "ReduceScatter", "AllReduce"})
    if (code.find(name) != std::string::npos) return true;
  return false;
}

// Several devices that ran the same ops in the same order become one: of every step the longest, of
// collectives the first with the mean.
std::vector<OpRow> merged(const Rows& rows, OpReport& report) {
  std::map<uint32_t, std::vector<const OpRow*>> by_device;
  std::vector<OpRow> all;
  for (const OpRow* r : rows) {
    if (r->type == "tt_dnn_device")
      by_device[r->device.value_or(0)].push_back(r);
    else
      all.push_back(*r);
  }
  std::map<uint32_t, size_t> next;
  size_t misaligned = 0;
  std::string first;
  for (;;) {
    std::vector<const OpRow*> step;
    const std::string* code = nullptr;
    for (const auto& [device, ops] : by_device) {
      size_t& at = next[device];
      if (at == ops.size()) continue;
      if (!code) code = &ops[at]->code;
      if (ops[at]->code != *code) {
        if (misaligned++ == 0) first = *code + " (row " + std::to_string(step.front()->id) + ")";
        continue;
      }
      step.push_back(ops[at++]);
    }
    if (step.empty()) break;
    if (is_collective(*code)) {
      OpRow one = *step.front();
      double sum = 0;
      size_t count = 0;
      for (const OpRow* r : step)
        if (r->kernel) sum += *r->kernel, ++count;
      one.kernel = count ? Number(sum / static_cast<double>(count)) : Number();
      all.push_back(std::move(one));
    } else {
      all.push_back(**std::max_element(step.begin(), step.end(), [](const OpRow* a, const OpRow* b) {
        return a->kernel.value_or(-1) < b->kernel.value_or(-1);
      }));
    }
  }
  if (misaligned)
    report.remarks.push_back("the devices did not run the same ops: " + std::to_string(misaligned) +
                             " steps do not match, the first at " + first +
                             "; --no-merge-devices keeps the devices apart");
  std::stable_sort(all.begin(), all.end(), [](const OpRow& a, const OpRow& b) { return a.id < b.id; });
  return all;
}

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
      advice.push_back("input 0 lies in " + op.input0.memory + "; L1 would be nearer");
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

void derive(OpReport& report) {
  double total = 0;
  for (const ReportRow& r : report.rows) total += r.device_us.value_or(0) + r.gap_us.value_or(0);
  for (ReportRow& r : report.rows) {
    r.total_percent.reset();
    if (total > 0 && (r.device_us || r.gap_us))
      r.total_percent = (r.device_us.value_or(0) + r.gap_us.value_or(0)) / total * 100;
    r.bound.clear();
    if (r.op.host()) {
      r.bound = "HOST";
      r.device_us.reset();
    } else if (is_matmul(r.op.code) && r.figures.dram_percent.value_or(0) > 0 &&
               r.figures.flops_percent.value_or(0) > 0) {
      const bool dram = *r.figures.dram_percent >= kBoundPercent,
                 flop = *r.figures.flops_percent >= kBoundPercent;
      r.bound = dram && flop ? "BOTH" : dram ? "DRAM" : flop ? "FLOP" : "SLOW";
    }
    r.advice = is_matmul(r.op.code) && !r.op.signpost() ? matmul_advice(r) : std::vector<std::string>();
    r.dispatch_percent.reset();
    const double wall = r.device_us.value_or(0) + r.gap_us.value_or(0);
    if (r.device_us && wall > 0) r.dispatch_percent = std::max(0.0, r.gap_us.value_or(0)) / wall * 100;
  }
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
  r.device_us = op.kernel.value_or(0) / 1000;
  if (has_previous && op.gap) r.gap_us = *op.gap / 1000;
  r.limit = bound(op, r.figures);
  r.waits = bottleneck(op);
  if (op.core_mean && *op.core_mean > 0 && op.core_max)
    r.imbalance_percent = (*op.core_max / *op.core_mean - 1) * 100;
  return r;
}

void add_up(OpReport& report) {
  Totals& t = report.totals;
  t = {};
  std::map<uint32_t, std::vector<const OpRow*>> by_device;
  for (const ReportRow& r : report.rows) {
    if (r.op.host())
      ++t.host_ops;
    else if (r.op.signpost())
      ++t.signposts;
    else
      ++t.device_ops;
    t.device_us += r.device_us.value_or(0);
    t.gap_us += r.gap_us.value_or(0);
    if (!r.op.host() && !r.op.signpost()) by_device[r.op.device.value_or(0)].push_back(&r.op);
  }
  for (const auto& [device, ops] : by_device) {
    const Busy busy = busy_time(ops);
    t.busy_us += busy.busy_us;
    t.overlap_us += busy.sum_us - busy.busy_us;
    t.span_us = std::max(t.span_us, busy.span_us);
  }
  if (t.device_ops == 0) return;
  const double wall = t.device_us + t.gap_us, share = wall > 0 ? t.gap_us / wall * 100 : 0;
  char rule[200];
  std::snprintf(rule, sizeof rule,
                "%.1f %% of kernels and gaps together (%.0f of %.0f us) are gaps; over 70 %% is host-bound, "
                "over 30 %% partly",
                share, t.gap_us, wall);
  t.verdict = share > 70 ? "host-bound" : share > 30 ? "partly host-bound" : "device-bound";
  t.verdict_rule = rule;
}

std::string cell(const Number& n) {
  if (!n) return "";
  const std::string text = python_float(*n);
  return text.ends_with(".0") ? text.substr(0, text.size() - 2) : text;
}

std::string fixed(const Number& n, int digits) {
  if (!n || std::isnan(*n)) return "";
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, *n);
  return text;
}

}  // namespace

Busy busy_time(const std::vector<const OpRow*>& ops) {
  Busy busy;
  std::vector<std::pair<double, double>> spans;  // ns, from the first firmware end seen
  double origin = -1;
  for (const OpRow* op : ops) {
    if (!op->kernel) continue;
    busy.sum_us += *op->kernel / 1000;
    if (!op->firmware_end || !op->firmware_start || !op->firmware || *op->firmware <= 0 ||
        *op->firmware_end <= *op->firmware_start) {
      busy.busy_us += *op->kernel / 1000;  // nothing tells where it lies
      continue;
    }
    const double ns_per_cycle = *op->firmware / (*op->firmware_end - *op->firmware_start);
    if (origin < 0) origin = *op->firmware_end;
    const double end = (*op->firmware_end - origin) * ns_per_cycle;
    spans.emplace_back(end - *op->kernel, end);
  }
  std::sort(spans.begin(), spans.end());
  double until = -1e300, first = spans.empty() ? 0 : spans.front().first, last = first;
  for (const auto& [begin, end] : spans) {
    busy.busy_us += std::max(0.0, end - std::max(begin, until)) / 1000;
    until = std::max(until, end);
    last = std::max(last, end);
  }
  busy.span_us = (last - first) / 1000;
  return busy;
}

OpReport make_report(const OpTable& table, const ReportOptions& options) {
  OpReport report;
  report.remarks = table.remarks;
  report.arch = choose_architecture(table, options, report);
  Rows rows;
  for (const OpRow& r : table.rows) rows.push_back(&r);
  if (!options.tracing_mode)
    std::stable_sort(rows.begin(), rows.end(), [](const OpRow* a, const OpRow* b) {
      return a->host_start.value_or(1e300) < b->host_start.value_or(1e300);  // unknown last, as it came
    });
  rows = window(rows, options, report);
  std::set<uint32_t> devices;
  for (const OpRow* r : rows)
    if (r->device) devices.insert(*r->device);
  report.devices = devices.size();
  std::vector<OpRow> chosen;
  if (options.merge_devices && !devices.empty())
    chosen = merged(rows, report);
  else
    for (const OpRow* r : rows) chosen.push_back(*r);
  bool has_previous = false;
  for (OpRow& op : chosen) {
    const bool signpost = op.signpost();
    report.rows.push_back(make_row(std::move(op), has_previous, report.arch));
    has_previous = has_previous || !signpost;
  }
  derive(report);
  if (options.id_range) {
    std::erase_if(report.rows, [&](const ReportRow& r) {
      return r.op.id < options.first_id.value_or(0) || r.op.id > options.last_id.value_or(~0ull);
    });
    if (!report.rows.empty()) report.rows.front().gap_us.reset();
  }
  if (options.no_host_ops) std::erase_if(report.rows, [](const ReportRow& r) { return r.op.host(); });
  derive(report);
  add_up(report);
  return report;
}

// --- summary -----------------------------------------------------------------------------------------------

std::vector<StackedRow> stacked(const OpReport& report, GroupBy by, bool merge_devices, bool no_host_ops) {
  struct Group {
    StackedRow row;
    double carry = 0;                              // of Kahan's sum: two decimals are printed of it
    std::vector<std::pair<double, double>> flops;  // percent, us
  };
  std::map<std::pair<std::string, int64_t>, Group> groups;
  for (const ReportRow& r : report.rows) {
    if (r.op.signpost() || (no_host_ops && r.op.host())) continue;
    const std::string kind = category(r.figures.text);
    std::string name = r.figures.text.substr(0, r.figures.text.find(' '));
    if (name == "program") name = r.figures.text;  // nobody named it
    if (by == GroupBy::category) name = kind;
    if (by == GroupBy::memory && !r.op.input0.memory.empty()) {
      const std::string& memory = r.op.input0.memory;
      const size_t last = memory.rfind('_');
      const size_t before =
          last == std::string::npos || last == 0 ? std::string::npos : memory.rfind('_', last - 1);
      std::string place = memory.substr(before == std::string::npos ? 0 : before + 1);
      for (char& c : place) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      name += " (in0:" + place + ")";
    }
    const int64_t device = merge_devices ? -1 : static_cast<int64_t>(r.op.device.value_or(0));
    Group& g = groups[{name, device}];
    g.row.name = name;
    if (!merge_devices) g.row.device = static_cast<uint32_t>(device);
    if (g.row.count++ == 0) g.row.category = kind;
    const double part = r.device_us.value_or(0) - g.carry, sum = g.row.device_us + part;
    g.carry = (sum - g.row.device_us) - part;
    g.row.device_us = sum;
    if (r.figures.flops_percent) g.flops.emplace_back(*r.figures.flops_percent, r.device_us.value_or(0));
  }
  std::map<int64_t, double> totals;
  for (const auto& [key, g] : groups) totals[key.second] += g.row.device_us;
  std::vector<StackedRow> rows;
  for (auto& [key, g] : groups) {
    StackedRow& row = g.row;
    row.percent = totals[key.second] > 0 ? row.device_us / totals[key.second] * 100 : 0;
    if (!g.flops.empty()) {
      double sum = 0, weighted = 0, weight = 0, least = g.flops[0].first, most = least;
      for (const auto& [percent, us] : g.flops) {
        sum += percent;
        weighted += percent * us;
        weight += us;
        least = std::min(least, percent);
        most = std::max(most, percent);
      }
      const auto n = static_cast<double>(g.flops.size());
      row.flops_min = least;
      row.flops_max = most;
      row.flops_mean = sum / n;
      if (weight > 0) row.flops_weighted = weighted / weight;
      if (n > 1) {
        double squares = 0;
        for (const auto& [percent, us] : g.flops) squares += (percent - sum / n) * (percent - sum / n);
        row.flops_deviation = std::sqrt(squares / (n - 1));
      }
    }
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
    cells.rows.push_back(std::move(line));
  }
  return cells;
}

Cells report_cells(const OpReport& report, bool advice, bool raw_codes, bool extended) {
  Cells cells;
  cells.header = {"ID",
                  "Total %",
                  "Bound",
                  "OP Code",
                  "Device",
                  "Device Time",
                  "Op-to-Op Gap",
                  "Cores",
                  "DRAM",
                  "DRAM %",
                  "FLOPs",
                  "FLOPs %",
                  "Math Fidelity",
                  "Output Datatype",
                  "Input 0 Datatype",
                  "Input 1 Datatype",
                  "DRAM Sharded",
                  "Input 0 Memory",
                  "Inner Dim Block Size",
                  "Output Subblock H",
                  "Output Subblock W",
                  "Global Call Count"};
  if (advice) cells.header.emplace_back("Advice");
  if (raw_codes) cells.header.emplace_back("Raw OP Code");
  if (extended)
    cells.header.insert(cells.header.end(),
                        {"Limit", "Limit Rule", "Waits For", "RISC Shares", "Slowest Core", "Imbalance [%]",
                         "Not Kernel [%]", "First To Last Start [us]", "Dispatch [us]"});
  for (const ReportRow& r : report.rows) {
    const Figures& f = r.figures;
    std::vector<std::string> line{std::to_string(r.op.id),
                                  cell(r.total_percent),
                                  r.bound,
                                  f.text,
                                  r.op.device ? std::to_string(*r.op.device) : "",
                                  cell(r.device_us),
                                  cell(r.gap_us),
                                  cell(f.cores),
                                  cell(f.dram_gb_s),
                                  cell(f.dram_percent),
                                  cell(f.tflops),
                                  cell(f.flops_percent),
                                  f.fidelity,
                                  r.op.output0.datatype,
                                  r.op.input0.datatype,
                                  r.op.input1.datatype,
                                  f.dram_sharded ? "True" : "False",
                                  r.op.input0.memory,
                                  cell(f.block_w),
                                  cell(f.subblock_h),
                                  cell(f.subblock_w),
                                  r.op.call_count ? std::to_string(*r.op.call_count) : ""};
    if (advice) {
      std::string all;
      for (const std::string& a : r.advice) all += (all.empty() ? "" : " \u2022 ") + a;
      line.push_back(all);
    }
    if (raw_codes) line.push_back(r.op.code);
    if (extended) {
      line.push_back(r.limit.what);
      line.push_back(r.limit.why);
      line.push_back(r.waits.who);
      line.push_back(r.waits.why);
      line.push_back(r.op.slowest_x
                         ? std::to_string(*r.op.slowest_x) + "-" + std::to_string(r.op.slowest_y.value_or(0))
                         : "");
      line.push_back(cell(r.imbalance_percent));
      line.push_back(cell(r.dispatch_percent));
      line.push_back(r.op.first_to_last ? cell(*r.op.first_to_last / 1000) : "");
      line.push_back(r.op.dispatch ? cell(*r.op.dispatch / 1000) : "");
    }
    cells.rows.push_back(std::move(line));
  }
  return cells;
}

}  // namespace ttc::report
