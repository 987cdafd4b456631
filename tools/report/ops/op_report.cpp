#include "tools/report/ops/op_report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "tools/report/input/device_input.hpp"
#include "tools/report/input/signposts.hpp"
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
        "the table names several numbers of worker cores; every op's peak is that of its own row");
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

constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();
double or_zero(double value) {
  return std::isnan(value) ? 0 : value;
}

// What of a row decides whether and where it is shown.
struct OpKey {
  uint32_t row = 0, device = 0, id = 0;
  bool has_device : 1 = false, signpost : 1 = false, host : 1 = false, on_device : 1 = false,
                    collective : 1 = false;
  size_t code = 0;                         // hash of the name: nameless programs have one each
  double host_start = 1e300;               // unknown last, as it came
  double kernel = kAbsent, gap = kAbsent;  // ns
};
static_assert(sizeof(OpKey) <= 48);
using Rows = std::vector<OpKey>;

size_t hash_of(const std::string& code) {
  return std::hash<std::string>()(code);
}

bool is_collective(const std::string& code) {
  for (const char* name : {"AllGather", "ReduceScatter", "AllReduce"})
    if (code.find(name) != std::string::npos) return true;
  return false;
}

Rows keys_of(const OpRows& ops) {
  Rows rows;
  rows.reserve(ops.size());
  for (const OpRow& op : ops) {
    OpKey k;
    k.row = static_cast<uint32_t>(rows.size());
    k.device = op.device.value_or(0);
    k.has_device = op.device.has_value();
    k.id = static_cast<uint32_t>(op.id);
    k.code = hash_of(op.code);
    k.collective = is_collective(op.code);
    k.host_start = op.host_start.value_or(k.host_start);
    k.kernel = op.kernel.value_or(kAbsent);
    k.gap = op.gap.value_or(kAbsent);
    k.signpost = op.signpost();
    k.host = op.host();
    k.on_device = op.type == "tt_dnn_device";
    rows.push_back(k);
  }
  return rows;
}

size_t ops_in(const Rows& rows) {
  return static_cast<size_t>(
      std::count_if(rows.begin(), rows.end(), [](const OpKey& r) { return !r.signpost; }));
}

Rows without_signposts(Rows rows, const ReportOptions& options) {
  if (!options.print_signposts) std::erase_if(rows, [](const OpKey& r) { return r.signpost; });
  return rows;
}

// Behind the first row of that code, or everything when there is none.
Rows behind(const Rows& rows, const std::string& code) {
  const auto at =
      std::find_if(rows.begin(), rows.end(), [of = hash_of(code)](const OpKey& r) { return r.code == of; });
  return at == rows.end() ? rows : Rows(at + 1, rows.end());
}

// Between signposts that are there.
Rows named_window(const Rows& rows, const ReportOptions& o) {
  const auto place_of = [&](const std::string& name, size_t which) {
    for (size_t i = 0; i < rows.size(); ++i)
      if (rows[i].signpost && rows[i].code == hash_of(name) && which-- == 0) return i;
    return rows.size();
  };
  const size_t begin = o.start_signpost.empty() ? 0 : place_of(o.start_signpost, 0) + 1;
  const size_t end = o.end_signpost.empty()
                         ? rows.size()
                         : place_of(o.end_signpost, o.end_signpost == o.start_signpost ? 1 : 0);
  return begin < end
             ? Rows(rows.begin() + static_cast<ptrdiff_t>(begin), rows.begin() + static_cast<ptrdiff_t>(end))
             : Rows();
}

// Without a wish: what lies behind the last signpost's name, or, where that is nothing, an earlier one's.
Rows window(Rows rows, const OpRows& ops, const ReportOptions& o, OpReport& report) {
  if (o.ignore_signposts) return rows;
  std::vector<std::string> names;
  for (const OpKey& r : rows)
    if (r.signpost) names.push_back(ops[r.row].code);
  need_signpost(o.start_signpost, 1, names);
  need_signpost(o.end_signpost, o.end_signpost == o.start_signpost ? 2 : 1, names);
  if (!o.start_signpost.empty() || !o.end_signpost.empty())
    return without_signposts(named_window(rows, o), o);
  if (names.empty()) return rows;
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    Rows candidate = behind(rows, *name);
    if (ops_in(candidate) == 0) continue;
    report.remarks.push_back(
        "the ops after signpost '" + *name + "' are shown" +
        (name == names.rbegin() ? "" : ", because none follow the last one, '" + names.back() + "'") +
        "; --ignore-signposts shows all");
    return without_signposts(std::move(candidate), o);
  }
  report.remarks.push_back("no op follows a signpost; all ops are shown");
  return without_signposts(std::move(rows), o);
}

struct Picked {
  const OpKey* key;
  double kernel = kAbsent;  // instead of the row's
  double kernel_ns() const { return or_zero(std::isnan(kernel) ? key->kernel : kernel); }
};

// Of one step over several devices: the longest; of collectives the first, with the mean.
Picked one_of(const std::vector<const OpKey*>& step) {
  if (!step.front()->collective)
    return {*std::max_element(step.begin(), step.end(), [](const OpKey* a, const OpKey* b) {
      const auto known = [](double ns) { return std::isnan(ns) ? -1 : ns; };
      return known(a->kernel) < known(b->kernel);
    })};
  double sum = 0;
  size_t count = 0;
  for (const OpKey* r : step)
    if (!std::isnan(r->kernel)) sum += r->kernel, ++count;
  Picked one{step.front()};
  if (count) one.kernel = sum / static_cast<double>(count);
  return one;
}

void by_id(std::vector<Picked>& all) {
  std::sort(all.begin(), all.end(), [](const Picked& a, const Picked& b) {
    return std::tie(a.key->id, a.key->row) < std::tie(b.key->id, b.key->row);
  });
}

// Several devices that ran the same ops in the same order become one.
std::vector<Picked> merged(const Rows& rows, const OpRows& names, OpReport& report) {
  std::map<uint32_t, std::vector<const OpKey*>> by_device;
  std::vector<Picked> all;
  all.reserve(rows.size());
  for (const OpKey& r : rows) {
    if (r.on_device)
      by_device[r.device].push_back(&r);
    else
      all.push_back({&r});
  }
  std::map<uint32_t, size_t> next;
  size_t misaligned = 0;
  std::string first;
  for (;;) {
    std::vector<const OpKey*> step;
    std::optional<size_t> code;
    for (const auto& [device, ops] : by_device) {
      size_t& at = next[device];
      if (at == ops.size()) continue;
      if (!code) code = ops[at]->code;
      if (ops[at]->code != *code) {
        if (misaligned++ == 0)
          first = names[step.front()->row].code + " (row " + std::to_string(step.front()->id) + ")";
        continue;
      }
      step.push_back(ops[at++]);
    }
    if (step.empty()) break;
    all.push_back(one_of(step));
  }
  if (misaligned)
    report.remarks.push_back("the devices did not run the same ops: " + std::to_string(misaligned) +
                             " steps do not match, the first at " + first +
                             "; --no-merge-devices keeps the devices apart");
  by_id(all);
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

// What needs the sum over all rows, and what is of tt-perf-report's own making.
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
  if (r.device_us && wall > 0) r.dispatch_percent = std::max(0.0, r.gap_us.value_or(0)) / wall * 100;
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
  r.limit = bound(op, r.figures);
  r.waits = bottleneck(op);
  if (op.core_mean && *op.core_mean > 0 && op.core_max)
    r.imbalance_percent = (*op.core_max / *op.core_mean - 1) * 100;
  return r;
}

void add_up(OpReport& report) {
  Totals& t = report.totals;
  std::map<uint32_t, BusyTime> by_device;
  for (const ReportRow& r : report.rows) {
    if (r.op.host())
      ++t.host_ops;
    else if (r.op.signpost())
      ++t.signposts;
    else
      ++t.device_ops;
    t.device_us += r.device_us.value_or(0);
    t.gap_us += r.gap_us.value_or(0);
    if (!r.op.host() && !r.op.signpost()) by_device[r.op.device.value_or(0)].add(r.op);
  }
  for (auto& [device, times] : by_device) {
    const Busy busy = times.result();
    t.busy_us += busy.busy_us;
    t.overlap_us += busy.sum_us - busy.busy_us;
    t.span_us = std::max(t.span_us, busy.span_us);
  }
  if (t.device_ops == 0) return;
  const double wall = t.device_us + t.gap_us, share = wall > 0 ? t.gap_us / wall * 100 : 0;
  char rule[200];
  std::snprintf(rule, sizeof rule,
                "%.1f %% of kernels and gaps together (%.*f of %.*f us) are gaps; over 70 %% is host-bound, "
                "over 30 %% partly",
                share, t.gap_us < 10, t.gap_us, wall < 10, wall);
  t.verdict = share > 70 ? "host-bound" : share > 30 ? "partly host-bound" : "device-bound";
  t.verdict_rule = rule;
}

}  // namespace

void BusyTime::add(const OpRow& op) {
  if (!op.kernel) return;
  known_.sum_us += *op.kernel / 1000;
  if (!op.firmware_end || !op.firmware_start || !op.firmware || *op.firmware <= 0 ||
      *op.firmware_end <= *op.firmware_start) {
    known_.busy_us += *op.kernel / 1000;  // nothing tells where it lies
    return;
  }
  const double ns_per_cycle = *op.firmware / (*op.firmware_end - *op.firmware_start);
  if (origin_ < 0) origin_ = *op.firmware_end;
  const double end = (*op.firmware_end - origin_) * ns_per_cycle;
  spans_.add({end - *op.kernel, end});
}

Busy BusyTime::result() {
  Busy busy = known_;
  double until = -1e300, first = 0, last = 0;
  bool any = false;
  spans_.drain([&](const Span& span) {
    if (!any) first = last = span.begin;
    any = true;
    busy.busy_us += std::max(0.0, span.end - std::max(span.begin, until)) / 1000;
    until = std::max(until, span.end);
    last = std::max(last, span.end);
  });
  busy.span_us = (last - first) / 1000;
  return busy;
}

Busy busy_time(const std::vector<const OpRow*>& ops) {
  BusyTime times;
  for (const OpRow* op : ops) times.add(*op);
  return times.result();
}

ReportRows::ReportRows(OpRows ops, Architecture arch, std::vector<Chosen> chosen, double total_us)
    : ops_(std::move(ops)), arch_(std::move(arch)), chosen_(std::move(chosen)), total_us_(total_us) {}

OpRow ReportRows::op(size_t i) const {
  OpRow op = ops_[chosen_[i].row];
  if (!std::isnan(chosen_[i].kernel)) op.kernel = chosen_[i].kernel;
  return op;
}

ReportRow ReportRows::operator[](size_t i) const {
  ReportRow r = make_row(op(i), chosen_[i].gap, arch_);
  finish(r, total_us_);
  return r;
}

namespace {

// The rows to show, in order, with what is theirs alone.
std::vector<ReportRows::Chosen> choose(const std::vector<Picked>& picked, const ReportOptions& options,
                                       double& total_us) {
  std::vector<ReportRows::Chosen> chosen;
  chosen.reserve(picked.size());
  bool has_previous = false, first = true;
  for (const Picked& one : picked) {
    const OpKey& key = *one.key;
    const bool gap = has_previous;
    has_previous = has_previous || !key.signpost;
    if (options.id_range &&
        (key.id < options.first_id.value_or(0) || key.id > options.last_id.value_or(~0ull)))
      continue;
    const bool keeps_gap = gap && !(options.id_range && first);
    first = false;
    if (options.no_host_ops && key.host) continue;
    chosen.push_back({key.row, keeps_gap, one.kernel});
    if (key.signpost) continue;
    total_us += (key.host ? 0 : one.kernel_ns() / 1000) + (keeps_gap ? or_zero(key.gap) / 1000 : 0);
  }
  return chosen;
}

}  // namespace

OpReport make_report(OpTable table, const ReportOptions& options) {
  OpReport report;
  report.remarks = table.remarks;
  report.arch = choose_architecture(table, options, report);
  Rows rows = keys_of(table.rows);
  if (!options.tracing_mode)
    std::sort(rows.begin(), rows.end(), [](const OpKey& a, const OpKey& b) {
      return std::tie(a.host_start, a.row) < std::tie(b.host_start, b.row);
    });
  rows = window(std::move(rows), table.rows, options, report);
  std::set<uint32_t> devices;
  for (const OpKey& r : rows)
    if (r.has_device) devices.insert(r.device);
  report.devices = devices.size();
  std::vector<Picked> picked;
  if (options.merge_devices && devices.size() > 1) {
    picked = merged(rows, table.rows, report);
  } else {
    picked.reserve(rows.size());
    for (const OpKey& r : rows) picked.push_back({&r});
    if (options.merge_devices && !devices.empty()) by_id(picked);
  }
  double total_us = 0;
  std::vector<ReportRows::Chosen> chosen = choose(picked, options, total_us);
  report.rows = ReportRows(std::move(table.rows), report.arch, std::move(chosen), total_us);
  std::vector<Picked>().swap(picked);
  Rows().swap(rows);
  add_up(report);
  return report;
}

}  // namespace ttc::report
