#include "tools/report/metal_files/counters.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "firmware_markers/perf_counter.hpp"

namespace ttc::report {
namespace {

constexpr const char* kFullGrid[] = {"Avg SFPU util on full grid (%)", "Avg FPU util on full grid (%)",
                                     "Avg Math util on full grid (%)"};
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
// The counts of one core, by counter; a counter that it did not report is NaN.
struct CoreCounts {
  std::vector<double> value, reference;
};

// Value of a member in compact JSON whose commas may be semicolons.
std::string_view member(std::string_view meta, std::string_view key) {
  const size_t at = meta.find("\"" + std::string(key) + "\"");
  if (at == std::string_view::npos) return {};
  meta.remove_prefix(at + key.size() + 2);
  while (!meta.empty() && (meta.front() == ':' || meta.front() == ' ')) meta.remove_prefix(1);
  if (meta.starts_with('"')) {
    meta.remove_prefix(1);
    return meta.substr(0, meta.find('"'));
  }
  return meta.substr(0, meta.find_first_of(",;}"));
}

std::optional<uint32_t> number(std::string_view meta, std::string_view key) {
  const std::string_view text = member(meta, key);
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

double sum(const std::vector<double>& values, const std::vector<uint16_t>& which) {
  double all = 0;
  for (const uint16_t i : which) all += values[i];
  return all;
}

double blocked_share(double asked, double granted) {
  return std::max(0.0, (asked - granted) / asked * 100);  // NaN stays NaN: it is the second of no maximum
}

// Mean over what has a value.
template <class Part>
double mean_of(size_t n, const Part& part) {
  double all = 0;
  size_t have = 0;
  for (size_t i = 0; i < n; ++i) {
    const double value = part(i);
    if (!std::isfinite(value)) continue;
    all += value;
    ++have;
  }
  return have ? all / static_cast<double>(have) : kNone;
}

// The value of one core; not finite where there is none.
double value_of(MetricShape shape, const std::vector<uint16_t>& over, const std::vector<uint16_t>& under,
                const CoreCounts& core) {
  const std::vector<double>& v = core.value;
  const auto per_cycle = [&] {
    return sum(v, over) / static_cast<double>(over.size()) / core.reference[over.front()];
  };
  switch (shape) {
    case MetricShape::share:
      return per_cycle() * 100;
    case MetricShape::rate:
      return per_cycle();
    case MetricShape::percentage:
      return sum(v, over) / sum(v, under) * 100;
    case MetricShape::quotient:
      return sum(v, over) / sum(v, under);
    case MetricShape::blocked: {
      const double asked = sum(v, over), granted = sum(v, under);
      return asked > 0 && !std::isnan(granted) ? blocked_share(asked, granted) : kNone;
    }
    case MetricShape::mean_share:
      return mean_of(over.size(), [&](size_t i) { return v[over[i]] / v[under[i]] * 100; });
    case MetricShape::mean_blocked:
      return mean_of(over.size(), [&](size_t i) {
        return v[over[i]] > 0 && !std::isnan(v[under[i]]) ? blocked_share(v[over[i]], v[under[i]]) : kNone;
      });
    case MetricShape::spread: {
      double least = v[over.front()], greatest = least;
      for (const uint16_t i : over) {
        if (std::isnan(v[i])) return kNone;
        least = std::min(least, v[i]);
        greatest = std::max(greatest, v[i]);
      }
      return (greatest - least) / greatest * 100;
    }
  }
  return kNone;
}

double middle_of(std::vector<double>& sorted) {
  const size_t n = sorted.size();
  return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

}  // namespace

Counters::Counters() {
  for (const CounterMetric& m : counter_metrics()) {
    Formula f{counters(m.over), counters(m.under)};
    if (m.alive) f.alive = counter(m.alive);
    formulas_.push_back(std::move(f));
  }
}

uint16_t Counters::counter(std::string_view name) {
  return ids_.try_emplace(std::string(name), static_cast<uint16_t>(ids_.size())).first->second;
}

std::vector<uint16_t> Counters::counters(std::string_view names) {
  std::vector<uint16_t> all;
  while (!names.empty()) {
    const size_t end = std::min(names.find(' '), names.size());
    all.push_back(counter(names.substr(0, end)));
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return all;
}

void Counters::device(const Device& device) {
  chips_[device.chip].arch = device.arch;
}

void Counters::meta(const Launch& launch, const Lane& lane, const Event& event, std::string_view text) {
  if (event.id != markers::kPerfCounterId) return;
  const auto id = ids_.find(std::string(member(text, "counter type")));
  if (id == ids_.end()) return;  // no metric is made of it
  const auto value = number(text, "value"), reference = number(text, "ref cnt");
  if (!value || !reference) {
    ++unreadable_;
    return;
  }
  const auto core = static_cast<uint16_t>(lane.x << 8 | lane.y);
  reported_.add({launch, reports_++, {core, id->second, *value, *reference}});
}

// The first report of every counter of every core, sorted by core; the rest stays in `all`.
std::vector<Counters::Count> Counters::take_execution(std::vector<Count>& all) {
  std::stable_sort(all.begin(), all.end(), [](const Count& a, const Count& b) {
    return std::tie(a.core, a.counter) < std::tie(b.core, b.counter);
  });
  std::vector<Count> first, rest;
  for (const Count& c : all)
    (!first.empty() && first.back().core == c.core && first.back().counter == c.counter ? rest : first)
        .push_back(c);
  all.swap(rest);
  return first;
}

void Counters::Relation::add(double ratio) {
  if (ratio > kBound) {
    least_above = above++ ? std::min(least_above, ratio) : ratio;
  } else {
    greatest_below = below++ ? std::max(greatest_below, ratio) : ratio;
  }
}

// The middle of an even number is the mean of the two in the middle.
bool Counters::Relation::holds() const {
  if (above != below) return above > below;
  return above > 0 && (greatest_below + least_above) / 2 > kBound;
}

void Counters::sort() {
  reported_.drain([this](const Reported& r) { sorted_.push_back(r); });
  reader_.emplace(sorted_, 0, sorted_.size());
}

// Counts that no execution has taken yet.
std::vector<Counters::Count>& Counters::counts_of(const Launch& launch) {
  if (!reader_) sort();
  if (!(current_ == launch)) {
    current_ = launch;
    counts_.clear();
    while (!reader_->done() && reader_->front().launch < launch) reader_->pop();  // of no program
    for (; !reader_->done() && reader_->front().launch == launch; reader_->pop())
      counts_.push_back(reader_->front().count);
  }
  return counts_;
}

uint64_t Counters::close(const DeviceOp& op) {
  std::vector<Count>& all = counts_of(op.launch);
  if (all.empty()) return 0;
  const std::vector<Count> counts = take_execution(all);
  Chip& chip = chips_[op.launch.chip];
  chip.totals.resize(ids_.size());
  chip.has.resize(formulas_.size());
  Program program;
  std::vector<std::vector<double>> values(formulas_.size());
  CoreCounts core;
  for (size_t begin = 0, end; begin < counts.size(); begin = end) {
    core.value.assign(ids_.size(), kNone);
    core.reference.assign(ids_.size(), kNone);
    for (end = begin; end < counts.size() && counts[end].core == counts[begin].core; ++end) {
      core.value[counts[end].counter] = counts[end].value;
      core.reference[counts[end].counter] = counts[end].reference;
      chip.totals[counts[end].counter] += counts[end].value;
    }
    for (size_t unit = 0; unit < kUnits; ++unit) {
      const double count = core.value[formulas_[unit].over.front()];
      if (std::isnan(count)) continue;
      program.sums[unit] += count;
      program.any[unit] = true;
    }
    for (size_t m = 0; m < formulas_.size(); ++m) {
      const double value = value_of(counter_metrics()[m].shape, formulas_[m].over, formulas_[m].under, core);
      if (std::isfinite(value)) values[m].push_back(value);
      if (counter_metrics()[m].related)
        if (const double ratio = sum(core.value, formulas_[m].under) / sum(core.value, formulas_[m].over);
            std::isfinite(ratio))
          chip.ratios[m].add(ratio);
    }
  }
  std::string metrics;
  for (size_t m = 0; m < values.size(); ++m) {
    std::vector<double>& v = values[m];
    if (v.empty()) continue;
    chip.has[m] = true;
    double all = 0;
    for (const double value : v) all += value;
    std::sort(v.begin(), v.end());
    const Statistics s{static_cast<uint16_t>(m), v.front(), middle_of(v), v.back(),
                       all / static_cast<double>(v.size())};
    metrics.append(reinterpret_cast<const char*>(&s), sizeof s);
    ++program.metrics;
  }
  return closed_.append(std::string(reinterpret_cast<const char*>(&program), sizeof program) + metrics) + 1;
}

bool Counters::holds(size_t metric, const Chip& chip) const {
  const CounterMetric& m = counter_metrics()[metric];
  if (!chip.has[metric]) return false;
  if (m.arch && !chip.arch.starts_with(m.arch)) return false;
  if (m.form != TableForm::either && m.form != form_) return false;
  const int alive = formulas_[metric].alive;
  if (alive >= 0 && chip.totals[static_cast<size_t>(alive)] == 0) return false;
  return !m.related || chip.ratios.at(metric).holds();
}

void Counters::end(TableForm form) {
  form_ = form;
  for (auto& [id, chip] : chips_) {
    chip.has.resize(formulas_.size());
    chip.chosen.resize(formulas_.size());
    std::string_view settled;  // the alternatives of a metric are adjacent
    for (size_t m = 0; m < formulas_.size(); ++m) {
      if (settled == counter_metrics()[m].name || !holds(m, chip)) continue;
      settled = counter_metrics()[m].name;
      chip.chosen[m] = true;
    }
  }
}

void Counters::fill(const DeviceOp& op, uint32_t worker_cores, DeviceRow& row) {
  if (op.counters == 0) return;
  Program program;
  std::memcpy(&program, closed_.at(op.counters - 1, sizeof program).data(), sizeof program);
  std::vector<Statistics> metrics(program.metrics);
  closed_.read(op.counters - 1 + sizeof program, reinterpret_cast<char*>(metrics.data()),
               metrics.size() * sizeof(Statistics));
  const Chip& chip = chips_.at(op.launch.chip);
  for (const Statistics& s : metrics) {
    if (!chip.chosen[s.metric]) continue;
    const CounterMetric& m = counter_metrics()[s.metric];
    const std::string name = m.name;
    row.counters[name + " Min" + m.unit] = s.least;
    row.counters[name + " Median" + m.unit] = s.middle;
    row.counters[name + " Max" + m.unit] = s.greatest;
    if (s.metric >= kUnits) row.counters[name + " Avg" + m.unit] = s.mean;
  }
  if (worker_cores == 0 || op.kernel.cycles() == 0) return;
  for (size_t unit = 0; unit < kUnits; ++unit)
    if (program.any[unit])
      row.counters[kFullGrid[unit]] =
          program.sums[unit] / worker_cores / static_cast<double>(op.kernel.cycles()) * 100;
}

std::vector<std::string> all_counter_columns() {
  std::vector<std::string> all;
  const char* last = "";
  size_t unit = 0;
  for (const CounterMetric& m : counter_metrics()) {
    if (std::strcmp(m.name, last) == 0) continue;  // an alternative
    last = m.name;
    for (const char* which : {" Min", " Median", " Max"}) all.push_back(std::string(m.name) + which + m.unit);
    all.push_back(unit < std::size(kFullGrid) ? kFullGrid[unit] : std::string(m.name) + " Avg" + m.unit);
    ++unit;
  }
  return all;
}

}  // namespace ttc::report
