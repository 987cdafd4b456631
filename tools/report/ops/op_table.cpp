#include "tools/report/ops/op_table.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <unordered_map>
#include <utility>

#include "tools/report/programs/device_row.hpp"

namespace ttc::report {
namespace {

// Longer than any run: a bad cell, not a duration. 2^53 keeps cycles exact.
constexpr double kMostNs = 1e15, kMostCycles = 9007199254740992.0;

}  // namespace

struct OpTableReader::TensorColumns {
  TensorColumns(const std::string& tensor, bool padded)
      : layout(tensor + "_LAYOUT"), datatype(tensor + "_DATATYPE"), memory(tensor + "_MEMORY") {
    const std::string tail = padded ? "_PAD[LOGICAL]" : "";
    w = tensor + "_W" + tail, z = tensor + "_Z" + tail, y = tensor + "_Y" + tail, x = tensor + "_X" + tail;
  }
  std::string w, z, y, x, layout, datatype, memory;
};

// The cells of the row that is being read, by the names of their columns.
class OpTableReader::Cell {
 public:
  explicit Cell(const std::vector<std::string>& header) {
    for (size_t i = 0; i < header.size(); ++i) place_.emplace(header[i], i);
  }
  bool has(const std::string& column) const { return place_.contains(column); }
  void row(const std::vector<std::string>& cells, uint64_t id) {
    cells_ = &cells;
    id_ = id;
    next_ = 0;
  }
  std::string text(std::string_view column) {
    const std::string* const cell = find(column);
    return cell ? *cell : std::string();
  }
  Number number(std::string_view column, double least, double most) {
    const std::string* const found = find(column);
    if (!found) return std::nullopt;
    std::string_view cell = *found;
    while (!cell.empty() && cell.front() == ' ') cell.remove_prefix(1);
    while (!cell.empty() && cell.back() == ' ') cell.remove_suffix(1);
    if (cell.empty() || cell == "nan" || cell == "NaN" || cell == "None") return std::nullopt;
    double value = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (error == std::errc{} && end == cell.data() + cell.size() && value >= least && value <= most)
      return value;
    if (bad_++ == 0)
      first_ = "row " + std::to_string(id_) + ", column '" + std::string(column) + "', '" +
               std::string(cell.substr(0, 40)) + "'";
    return std::nullopt;
  }
  template <class T>
  std::optional<T> whole(std::string_view column) {
    const Number n = number(column, 0, sizeof(T) == 8 ? kMostCycles : 4294967295.0);
    return n ? std::optional(static_cast<T>(*n)) : std::nullopt;
  }
  Number ns(std::string_view column) { return number(column, -kMostNs, kMostNs); }
  Number duration(std::string_view column) { return number(column, 0, kMostNs); }
  Number percent(std::string_view column) { return number(column, 0, 1e6); }

  // padded[logical] or a plain number
  Number side(std::string_view column) {
    const std::string* const found = find(column);
    if (!found || found->empty()) return std::nullopt;
    const std::string& cell = *found;
    double value = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (error == std::errc{} && value >= 0 && (end == cell.data() + cell.size() || *end == '['))
      return std::floor(value);
    if (bad_++ == 0)
      first_ = "row " + std::to_string(id_) + ", column '" + std::string(column) + "', '" +
               cell.substr(0, 40) + "'";
    return std::nullopt;
  }
  void end(OpTable& table) const {
    if (bad_ == 0) return;
    table.damaged = true;
    table.remarks.push_back(
        std::to_string(bad_) +
        " cells were left aside because they hold no plausible number, the first: " + first_);
  }

 private:
  struct Column {
    std::string name;
    std::optional<size_t> place;
  };
  // Each row is read in the same order of columns: they are found by name for the first one.
  const std::string* find(std::string_view column) {
    if (next_ == in_order_.size() || in_order_[next_].name != column) {
      in_order_.resize(next_);
      const auto known = place_.find(std::string(column));
      in_order_.push_back(
          {std::string(column), known == place_.end() ? std::nullopt : std::optional(known->second)});
    }
    const Column& found = in_order_[next_++];
    return found.place ? &(*cells_)[*found.place] : nullptr;
  }

  std::unordered_map<std::string, size_t> place_;
  std::vector<Column> in_order_;  // of requests
  size_t next_ = 0;
  const std::vector<std::string>* cells_ = nullptr;
  uint64_t id_ = 0, bad_ = 0;
  std::string first_;
};

namespace {

template <class Reader, class Columns>
Tensor tensor(Reader& r, const Columns& names) {
  Tensor t;
  t.w = r.side(names.w);
  t.z = r.side(names.z);
  t.y = r.side(names.y);
  t.x = r.side(names.x);
  t.layout = r.text(names.layout);
  t.datatype = r.text(names.datatype);
  t.memory = r.text(names.memory);
  return t;
}

template <class Reader>
void times(Reader& r, OpRow& op) {
  op.host_start = r.ns("HOST START TS");
  op.host_end = r.ns("HOST END TS");
  op.host_duration = r.duration("HOST DURATION [ns]");
  op.firmware_start = r.number("DEVICE FW START CYCLE", 0, 2e19);
  op.firmware_end = r.number("DEVICE FW END CYCLE", 0, 2e19);
  op.gap = r.ns("OP TO OP LATENCY [ns]");
  op.dm_gap = r.ns("OP TO OP LATENCY BR/NRISC START [ns]");
  op.firmware = r.duration("DEVICE FW DURATION [ns]");
  op.kernel = r.duration("DEVICE KERNEL DURATION [ns]");
  op.dm_kernel = r.duration("DEVICE KERNEL DURATION DM START [ns]");
  op.core_min = r.duration("DEVICE KERNEL DURATION PER CORE MIN [ns]");
  op.core_max = r.duration("DEVICE KERNEL DURATION PER CORE MAX [ns]");
  op.core_mean = r.duration("DEVICE KERNEL DURATION PER CORE AVG [ns]");
  op.first_to_last = r.duration("DEVICE KERNEL FIRST TO LAST START [ns]");
  for (size_t i = 0; i < op.risc.size(); ++i) op.risc[i] = r.duration(kRiscColumns[i]);
  op.wait_front = r.duration("DEVICE COMPUTE CB WAIT FRONT [ns]");
  op.reserve_back = r.duration("DEVICE COMPUTE CB RESERVE BACK [ns]");
  op.dispatch = r.duration("DISPATCH TOTAL CQ CMD OP TIME [ns]");
  op.go_signal = r.duration("DISPATCH GO SEND WAIT TIME [ns]");
}

}  // namespace

std::string program_name(uint64_t call_count) {
  return "program " + std::to_string(call_count >= 1024 ? call_count >> 10 : call_count);
}

OpTableReader::OpTableReader(OpTable& table, const std::vector<std::string>& header, uint32_t device_offset)
    : table_(table), cell_(std::make_unique<Cell>(header)), device_offset_(device_offset) {
  table.has_arch = table.has_arch || cell_->has("DEVICE ARCH");
  table.has_worker_cores = table.has_worker_cores || cell_->has("AVAILABLE WORKER CORE COUNT");
  table.padded_names = false;
  for (const std::string& name : header)
    table.padded_names = table.padded_names || name.find("_PAD[LOGICAL]") != std::string::npos;
  device_only_ = !cell_->has("OP CODE");
  for (const char* name : {"INPUT_0", "INPUT_1", "OUTPUT_0"}) tensors_.emplace_back(name, table.padded_names);
}

OpTableReader::~OpTableReader() = default;

void OpTableReader::end() const {
  cell_->end(table_);
}

OpRow OpTableReader::row(const std::vector<std::string>& cells, uint64_t id) {
  Cell& r = *cell_;
  OpRow op;
  op.id = id;
  r.row(cells, op.id);
  op.code = r.text("OP CODE");
  op.type = device_only_ ? "tt_dnn_device" : r.text("OP TYPE");
  op.attributes = r.text("ATTRIBUTES");
  op.fidelity = r.text("MATH FIDELITY");
  op.arch = r.text("DEVICE ARCH");
  op.data_source = r.text(kSourceColumn);
  op.process = r.text(kProcessColumn);
  op.call_count = r.whole<uint64_t>("GLOBAL CALL COUNT");
  op.device = r.whole<uint32_t>("DEVICE ID");
  if (!op.device && device_only_) op.device = 0;
  if (op.device) *op.device += device_offset_;
  op.trace_id = r.whole<uint32_t>("METAL TRACE ID");
  op.session = r.whole<uint32_t>("METAL TRACE REPLAY SESSION ID");
  op.cores = r.number("CORE COUNT", 0, 1e5);
  op.available_cores = r.number("AVAILABLE WORKER CORE COUNT", 0, 1e5);
  times(r, op);
  op.input0 = tensor(r, tensors_[0]);
  op.input1 = tensor(r, tensors_[1]);
  op.output0 = tensor(r, tensors_[2]);
  op.compute_sources = r.text("COMPUTE KERNEL SOURCE");
  op.data_sources = r.text("DATA MOVEMENT KERNEL SOURCE");
  op.compute_hash = r.text("COMPUTE KERNEL HASH");
  op.data_hash = r.text("DATA MOVEMENT KERNEL HASH");
  op.program_hash = r.text("PROGRAM HASH");
  op.cache_hit = r.text("PROGRAM CACHE HIT");
  op.location = r.text("LOC");
  op.pm_ideal = r.duration("PM IDEAL [ns]");
  op.pm_compute = r.duration("PM COMPUTE [ns]");
  op.pm_bandwidth = r.duration("PM BANDWIDTH [ns]");
  op.fpu_util = r.percent("PM FPU UTIL (%)");
  op.noc_util = r.percent("NOC UTIL (%)");
  op.dram_util = r.percent("DRAM BW UTIL (%)");
  op.congestion = r.number("NPE CONG IMPACT (%)", -1e6, 1e6);
  op.fpu_counter = r.percent("Avg FPU util on full grid (%)");
  op.sfpu_counter = r.percent("Avg SFPU util on full grid (%)");
  op.math_counter = r.percent("Avg Math util on full grid (%)");
  // The name of an op is not known without the host; its program number distinguishes it.
  if (device_only_ || (op.code.empty() && !op.signpost()))
    op.code = op.call_count ? program_name(*op.call_count) : "program";
  return op;
}

OpTable op_table(const Cells& cells, const std::vector<uint64_t>& lines, uint32_t device_offset) {
  OpTable table;
  OpTableReader reader(table, cells.header, device_offset);
  for (size_t i = 0; i < cells.rows.size(); ++i)
    table.rows.push_back(reader.row(cells.rows[i], i < lines.size() ? lines[i] : i + 2));
  reader.end();
  return table;
}

// Ops whose cycles at the card's nominal rate are another time than the host's clock measured.
class TypedRows::OffNominal {
 public:
  void add(const OpRow& op) {
    if (!op.kernel) return;
    unmeasured_ += !op.kernel_measured;
    if (!op.kernel_measured || !op.kernel_measured_bound) return;
    ++ops_;
    const double off = std::abs(*op.kernel - *op.kernel_measured);
    if (off <= kShare * *op.kernel_measured || off <= *op.kernel_measured_bound + 1) return;
    ++off_;
    most_us_ = std::max(most_us_, off / 1000);
  }
  // Empty: none is.
  std::string sentence(TimeOf time) const {
    if (time == TimeOf::host)
      return unmeasured_ ? std::to_string(unmeasured_) +
                               " ops keep the time of their cycles at the card's nominal rate, because no "
                               "clock model "
                               "covers them"
                         : std::string();
    if (off_ == 0) return "";
    char text[240];
    std::snprintf(text, sizeof text,
                  "the card's clock moved: %zu of %zu ops took another time than their cycles at its nominal "
                  "rate, by up "
                  "to %.3g \u03bcs, which their bounds cover; --time host shows times by the host's clock",
                  off_, ops_, most_us_);
    return text;
  }

 private:
  static constexpr double kShare = 0.005;  // no crystal is off by as much
  size_t ops_ = 0, off_ = 0, unmeasured_ = 0;
  double most_us_ = 0;
};

namespace {

// What the cells have no columns for.
void add_measured(OpRow& op, const DeviceRow& d) {
  if (d.kernel_measured) {
    op.kernel_measured = d.kernel_measured->ns;
    op.kernel_measured_bound = d.kernel_measured->bound_ns;
    op.kernel_cycles = d.kernel_end.value_or(0) - d.kernel_start.value_or(0);
    op.seen_ns = d.seen_ns;
    op.hard_bound = d.kernel_measured->hard;
  }
  if (d.gap_measured) {
    op.gap_measured = d.gap_measured->ns;
    op.gap_measured_bound = d.gap_measured->bound_ns;
  }
  if (d.first_to_last_measured) {
    op.first_to_last_measured = d.first_to_last_measured->ns;
    op.first_to_last_measured_bound = d.first_to_last_measured->bound_ns;
  }
  if (d.dispatch_measured) {
    op.dispatch_measured = d.dispatch_measured->ns;
    op.dispatch_measured_bound = d.dispatch_measured->bound_ns;
  }
  op.slowest_x = d.slowest_x;
  op.slowest_y = d.slowest_y;
  // Data for which the device-only form of the table has no columns.
  if (!op.cores && d.cores) op.cores = *d.cores;
  if (!op.available_cores && d.available_cores) op.available_cores = *d.available_cores;
  if (op.arch.empty()) op.arch = d.arch;
}

}  // namespace

TypedRows::TypedRows(const std::vector<std::string>& header, std::shared_ptr<const DurationClock> clock,
                     TimeOf time)
    : reader_(table_, header), off_nominal_(std::make_unique<OffNominal>()) {
  table_.clock = std::move(clock);
  table_.time = time;
}

TypedRows::~TypedRows() = default;

void TypedRows::add(const std::vector<std::string>& cells, const std::optional<DeviceRow>& device) {
  OpRow op = reader_.row(cells, table_.rows.size() + 2);
  if (device) add_measured(op, *device);
  off_nominal_->add(op);
  table_.rows.push_back(op);
}

OpTable TypedRows::end() {
  reader_.end();
  if (std::string sentence = off_nominal_->sentence(table_.time); !sentence.empty())
    table_.remarks.push_back(std::move(sentence));
  return std::move(table_);
}

}  // namespace ttc::report
