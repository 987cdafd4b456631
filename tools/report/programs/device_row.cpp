#include "tools/report/programs/device_row.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <limits>
#include <tuple>
#include <type_traits>

#include "tools/report/input/device_input.hpp"
#include "tools/report/text/csv_file.hpp"
#include "tools/report/text/record_sort.hpp"

namespace ttc::report {
namespace {

// Column and member, in the order of tools/tracy/cpp_device_analyses.json@92651f8 and profiler_analysis.cpp.
struct NumberColumn {
  const char* name;
  Cycles DeviceRow::*member;
};
constexpr NumberColumn kAnalyses[] = {
    {"DEVICE TRACE FIRMWARE DURATION [ns]", &DeviceRow::trace_firmware_ns},
    {"DEVICE TRACE KERNEL DURATION [ns]", &DeviceRow::trace_kernel_ns},
    {"DEVICE KERNEL FIRST TO LAST START [ns]", &DeviceRow::first_to_last_ns},
    {"DEVICE FW DURATION [ns]", &DeviceRow::firmware_ns},
    {"DEVICE FW START CYCLE", &DeviceRow::firmware_start},
    {"DEVICE FW END CYCLE", &DeviceRow::firmware_end},
    {"DEVICE KERNEL DURATION [ns]", &DeviceRow::kernel_ns},
    {"DEVICE KERNEL START CYCLE", &DeviceRow::kernel_start},
    {"DEVICE KERNEL END CYCLE", &DeviceRow::kernel_end},
    {"DEVICE KERNEL DURATION DM START [ns]", &DeviceRow::dm_ns},
    {"DEVICE KERNEL DM START CYCLE", &DeviceRow::dm_start},
    {"DEVICE KERNEL DM END CYCLE", &DeviceRow::dm_end},
};
constexpr const char* kFirst =
    "GLOBAL CALL COUNT,METAL TRACE ID,METAL TRACE REPLAY SESSION ID,DEVICE ID,DEVICE ARCH,OP NAME,CORE COUNT,"
    "AVAILABLE WORKER CORE COUNT";
constexpr const char* kGap = "OP TO OP LATENCY [ns]";
constexpr const char* kDmGap = "OP TO OP LATENCY BR/NRISC START [ns]";

// A row's place in the report; an absent trace or session comes first.
struct ReportPlace {
  uint32_t program;
  uint64_t trace, session;
  size_t row;
};
struct ReportOrder {
  bool operator()(const ReportPlace& a, const ReportPlace& b) const {
    return std::tie(a.program, a.trace, a.session, a.row) < std::tie(b.program, b.trace, b.session, b.row);
  }
};

template <class T>
void add(std::string& row, const std::optional<T>& value) {
  row += ',';
  if (value) row += std::to_string(*value);
}

// Plain, without a comma that would break a row of a file that has no quotes.
std::string plain(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == ',' || c == '\n' || c == '\r'; }, ';');
  return text;
}

template <class T>
std::optional<T> whole(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{} && end == text.data() + text.size()) return value;
  double real = 0;  // tt-metal's own reader takes 12.0 as well
  const auto [stop, bad] = std::from_chars(text.data(), text.data() + text.size(), real);
  const double least = std::is_signed_v<T> ? -9e15 : 0;
  const double most = std::min(9e15, static_cast<double>(std::numeric_limits<T>::max()));
  if (bad != std::errc{} || stop != text.data() + text.size() || !(real >= least && real <= most))
    return std::nullopt;
  return static_cast<T>(real);
}

}  // namespace

namespace {

// The durations of one op in ns.
class OpTimes {
 public:
  OpTimes(const DeviceOp& op, uint32_t mhz, const DurationClock* clock, TimeOf time)
      : op_(op), mhz_(mhz), clock_(clock) {
    host_ = time == TimeOf::host && measured(op.kernel);
    if (host_ && op.kernel.cycles())
      ns_per_cycle_ = measured(op.kernel)->ns / static_cast<double>(op.kernel.cycles());
  }

  std::optional<Measured> measured(const Range& range) const {
    if (!clock_ || !range.whole()) return std::nullopt;
    return clock_->across(op_.launch.chip, range.begin, range.end, op_.seen_ns);
  }
  Cycles of(const Range& range) const {
    if (!range.whole()) return std::nullopt;
    const auto by_clock = host_ ? measured(range) : std::nullopt;
    return by_clock ? whole_ns(by_clock->ns) : to_ns(range.cycles(), mhz_);
  }
  // Converts cycles whose begin and end are not known, such as a sum over cores, or that are of another tile's clock: at the pace
  // of the op.
  uint64_t of_cycles(uint64_t cycles) const {
    return ns_per_cycle_ > 0 ? whole_ns(static_cast<double>(cycles) * ns_per_cycle_) : to_ns(cycles, mhz_);
  }
  uint64_t nearest(double cycles) const {
    const double ns = ns_per_cycle_ > 0 ? cycles * ns_per_cycle_ : cycles * 1000 / mhz_;
    return static_cast<uint64_t>(std::nearbyint(ns));
  }
  std::optional<int64_t> gap(int64_t nominal_ns, uint64_t from, uint64_t to) const {
    if (nominal_ns < 0) return std::nullopt;
    const auto by_clock = host_ && from ? measured({from, to}) : std::nullopt;
    return by_clock ? static_cast<int64_t>(whole_ns(by_clock->ns)) : nominal_ns;
  }

 private:
  static uint64_t whole_ns(double ns) { return static_cast<uint64_t>(std::llround(std::max(0.0, ns))); }

  const DeviceOp& op_;
  uint32_t mhz_;
  const DurationClock* clock_;
  bool host_ = false;
  double ns_per_cycle_ = 0;
};

}  // namespace

DeviceRow device_row(const DeviceOp& op, const Device& device, const DurationClock* clock, TimeOf time) {
  DeviceRow r;
  const uint32_t mhz = device.clock_mhz ? device.clock_mhz : 1000;
  const OpTimes times(op, mhz, clock, time);
  const auto ns = [&](const Range& range) { return times.of(range); };
  r.call_count = op.launch.host_id;
  if (op.launch.trace_id >= 0) r.trace_id = static_cast<uint32_t>(op.launch.trace_id);
  if (op.session) r.session = op.session;
  r.device = op.launch.chip;
  r.arch = device.arch;
  r.cores = op.cores;
  if (device.worker_cores) r.available_cores = device.worker_cores;
  r.trace_firmware_ns = ns(op.trace_firmware);
  r.trace_kernel_ns = ns(op.trace_kernel);
  if (op.kernel_start_count > 1) r.first_to_last_ns = ns(op.kernel_starts);
  r.firmware_ns = ns(op.firmware);
  if (op.firmware.has_begin()) r.firmware_start = op.firmware.begin;
  if (op.firmware.end) r.firmware_end = op.firmware.end;
  if (op.kernel.whole()) {
    r.kernel_ns = ns(op.kernel);
    r.kernel_start = op.kernel.begin;
    r.kernel_end = op.kernel.end;
  }
  if (op.dm().whole()) {
    r.dm_ns = ns(op.dm());
    r.dm_start = op.dm_start;
    r.dm_end = op.kernel.end;
  }
  for (size_t i = 0; i < r.risc_ns.size(); ++i) {
    const RiscTimes& risc = op.riscs[i];
    r.risc_ns[i] = ns(risc.kernel);
    if (risc.cores) r.risc_mean_ns[i] = times.of_cycles(risc.sum_cycles / risc.cores);
  }
  r.gap_ns = times.gap(op.gap_ns, op.gap_from, op.kernel.begin);
  r.dm_gap_ns = times.gap(op.dm_gap_ns, op.dm_gap_from, op.dm_start);
  r.kernel_measured = times.measured(op.kernel);
  if (op.gap_from) r.gap_measured = times.measured({op.gap_from, op.kernel.begin});
  if (op.kernel_start_count > 1) r.first_to_last_measured = times.measured(op.kernel_starts);
  if (clock && op.dispatch.whole() && op.dispatch_on == DeviceOp::On::one)
    r.dispatch_measured = clock->on_tile(op.launch.chip, {op.dispatch_x, op.dispatch_y}, op.dispatch.begin,
                                         op.dispatch.end, op.dispatch_seen_ns);
  if (r.kernel_measured) r.seen_ns = op.seen_ns;
  if (op.kernel_cores) {
    r.core_min_ns = times.nearest(static_cast<double>(op.core_min));
    r.core_max_ns = times.nearest(static_cast<double>(op.core_max));
    r.core_mean_ns = times.nearest(op.core_mean());
    r.slowest_x = op.slowest_x;
    r.slowest_y = op.slowest_y;
  }
  if (op.wait_front) r.wait_front_ns = times.of_cycles(op.wait_front);
  if (op.reserve_back) r.reserve_back_ns = times.of_cycles(op.reserve_back);
  if (op.dispatch.whole()) r.dispatch_ns = times.of_cycles(op.dispatch.cycles());
  if (op.go_signal.whole()) r.go_signal_ns = times.of_cycles(op.go_signal.cycles());
  return r;
}

void write_cpp_report(const DeviceRows& rows, tools::Output& out) {
  RecordSort<ReportPlace, ReportOrder> order;
  size_t number = 0;
  for (const DeviceRow& r : rows)
    order.add({r.call_count, r.trace_id ? *r.trace_id + uint64_t{1} : 0,
               r.session ? *r.session + uint64_t{1} : 0, number++});
  std::string text = kFirst;
  for (const NumberColumn& c : kAnalyses) text += std::string(",") + c.name;
  for (const char* name : kRiscColumns) text += std::string(",") + name;
  text += std::string(",") + kGap + "," + kDmGap + "\n";
  out.append(text);
  order.drain([&](const ReportPlace& place) {
    const DeviceRow r = rows[place.row];
    text = std::to_string(r.call_count);
    add(text, r.trace_id);
    add(text, r.session);
    text += ',' + std::to_string(r.device) + ',' + plain(r.arch) + ',' + plain(r.op_name);
    add(text, r.cores);
    add(text, r.available_cores);
    for (const NumberColumn& c : kAnalyses) add(text, r.*c.member);
    for (const Cycles& risc : r.risc_ns) add(text, risc);
    add(text, r.gap_ns);
    add(text, r.dm_gap_ns);
    text += '\n';
    out.append(text);
  });
}

bool is_cpp_report(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string line;
  return in && std::getline(in, line) && line.starts_with("GLOBAL CALL COUNT,METAL TRACE ID");
}

CppReport read_cpp_report(std::istream& in, const std::string& name) {
  CsvFile file(in);
  std::vector<std::string> fields;
  if (!file.next(fields)) throw InputError(name + " is empty; a device perf report was expected");
  std::map<std::string, size_t> place;
  for (size_t i = 0; i < fields.size(); ++i) place.emplace(fields[i], i);
  for (const char* needed : {"GLOBAL CALL COUNT", "DEVICE ID", "DEVICE KERNEL DURATION [ns]", kGap})
    if (!place.contains(needed))
      throw InputError(name + ": line 1 names no column '" + needed + "'; it is no device perf report");
  CppReport all;
  uint64_t skipped = 0, first = 0, bad_cells = 0;
  std::string first_bad;
  const size_t columns = fields.size();
  bool whole_lines = file.ended();
  while (file.next(fields)) {
    whole_lines = file.ended() && !file.unclosed();
    const auto cell = [&](const char* column) -> std::string_view {
      const auto it = place.find(column);
      return it == place.end() || it->second >= fields.size() ? std::string_view() : fields[it->second];
    };
    const auto optional = [&](const char* column, auto& out) {
      using Value = typename std::decay_t<decltype(out)>::value_type;
      const std::string_view text = cell(column);
      out = whole<Value>(text);
      if (!out && !text.empty() && bad_cells++ == 0)
        first_bad = "line " + std::to_string(file.line()) + ", column '" + column + "', '" +
                    std::string(text.substr(0, 40)) + "'";
    };
    DeviceRow r;
    const auto id = whole<uint32_t>(cell("GLOBAL CALL COUNT")), device = whole<uint32_t>(cell("DEVICE ID"));
    if (fields.size() != columns || !id || !device) {
      if (skipped++ == 0) first = file.line();
      continue;
    }
    r.call_count = *id;
    r.device = *device;
    optional("METAL TRACE ID", r.trace_id);
    optional("METAL TRACE REPLAY SESSION ID", r.session);
    r.arch = cell("DEVICE ARCH");
    r.op_name = cell("OP NAME");
    optional("CORE COUNT", r.cores);
    optional("AVAILABLE WORKER CORE COUNT", r.available_cores);
    for (const NumberColumn& c : kAnalyses) optional(c.name, r.*c.member);
    for (size_t i = 0; i < r.risc_ns.size(); ++i) optional(kRiscColumns[i], r.risc_ns[i]);
    optional(kGap, r.gap_ns);
    optional(kDmGap, r.dm_gap_ns);
    all.rows.push_back(std::move(r));
  }
  if (skipped)
    all.remarks.push_back(
        name + ": " + std::to_string(skipped) +
        " lines were skipped because they have too few columns or no program, the first is line " +
        std::to_string(first));
  if (bad_cells)
    all.remarks.push_back(
        name + ": " + std::to_string(bad_cells) +
        " cells were left aside because they hold no plausible number, the first: " + first_bad);
  if (!whole_lines) all.remarks.push_back(name + " ends in the middle of a line; it was cut");
  all.damaged = skipped > 0 || bad_cells > 0 || !whole_lines;
  return all;
}

}  // namespace ttc::report
