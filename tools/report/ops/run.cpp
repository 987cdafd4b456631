#include "tools/report/ops/run.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tools/pipeline/source.hpp"
#include "tools/report/metal_files/counters.hpp"
#include "tools/report/text/csv_file.hpp"

namespace ttc::report {
namespace {

namespace fs = std::filesystem;

std::string first_line(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string line;
  if (in) std::getline(in, line);
  if (line.starts_with("\xef\xbb\xbf")) line.erase(0, 3);
  return line.substr(0, 4096);
}

// A table of ops has its columns named in the first line.
bool is_ops_results(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return false;
  const std::string line = first_line(path);
  return line.starts_with("OP CODE,") || line.find(",OP CODE,") != std::string::npos ||
         (line.starts_with("GLOBAL CALL COUNT,") && !is_cpp_report(path));
}

// A report folder stands for what lies in it: the newest joined table, or the log of the device.
std::string file_in(const std::string& directory, bool prefer_zones) {
  std::error_code ignored;
  std::vector<std::string> results, logs;
  for (const auto& entry : fs::recursive_directory_iterator(directory, ignored)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("ops_perf_results") && name.ends_with(".csv")) results.push_back(entry.path());
    if (name == "profile_log_device.csv") logs.push_back(entry.path());
  }
  std::sort(results.begin(), results.end());  // time stamps sort by time
  if (!results.empty() && !(prefer_zones && !logs.empty())) return results.back();
  return logs.empty() ? "" : logs.front();
}

std::vector<std::string> resolved(const std::vector<std::string>& from, bool prefer_zones) {
  std::vector<std::string> all;
  for (const std::string& one : from) {
    std::error_code ignored;
    if (!fs::is_directory(one, ignored) || fs::exists(fs::path(one) / "meta.json", ignored)) {
      all.push_back(one);
      continue;
    }
    const std::string file = file_in(one, prefer_zones);
    if (file.empty())
      throw InputError(one +
                       " holds neither ops_perf_results*.csv nor profile_log_device.csv, nor firmware "
                       "memory (meta.json)");
    all.push_back(file);
  }
  return all;
}

// Of the host: its ops and, beside them, its times.
struct HostFiles {
  fs::path ops, times;
};

std::optional<HostFiles> host_files(const RunOptions& options, const std::vector<std::string>& from) {
  if (options.no_host) return std::nullopt;
  std::vector<fs::path> places;
  if (!options.host.empty())
    places = {fs::path(options.host), fs::path(options.host) / ".logs"};
  else
    for (const std::string& one : from) places.push_back(fs::path(one).parent_path());
  for (const fs::path& place : places) {
    std::error_code ignored;
    HostFiles files{place / "tracy_ops_data.csv", place / "tracy_ops_times.csv"};
    if (fs::is_regular_file(place, ignored))  // named itself
      files = {place, place.parent_path() / "tracy_ops_times.csv"};
    if (fs::exists(files.ops, ignored)) return files;
  }
  return std::nullopt;
}

void read_host(const RunOptions& options, const std::vector<std::string>& from, Run& run) {
  const std::optional<HostFiles> files = host_files(options, from);
  if (!files) {
    if (options.no_host || options.host.empty()) return;
    throw InputError(options.host + " holds no tracy_ops_data.csv; csvexport of tt-metal's Tracy writes it");
  }
  std::ifstream in(files->ops, std::ios::binary);
  if (!in) throw InputError(files->ops.string() + " cannot be read: " + std::strerror(errno));
  read_ops_data(in, files->ops, run.host);
  std::ifstream zones(files->times, std::ios::binary);
  if (zones)
    read_ops_times(zones, files->times, run.host);
  else
    run.host.remarks.push_back("there is no " + files->times.string() + "; host times stay empty");
}

// One listener for all of them.
class Fan : public Listener {
 public:
  Fan(Run& run, std::vector<Listener*> ears) : run_(run), ears_(std::move(ears)) {}
  void device(const Device& d) override {
    run_.devices[d.chip] = d;
    for (Listener* ear : ears_) ear->device(d);
  }
  void events(const LaneEvents& batch) override {
    for (Listener* ear : ears_) ear->events(batch);
  }
  void meta(const Launch& l, const Lane& lane, const Event& e, std::string_view text) override {
    for (Listener* ear : ears_) ear->meta(l, lane, e, text);
  }
  void clock(uint32_t chip, const collect::ClockMap& map) override {
    for (Listener* ear : ears_) ear->clock(chip, map);
  }

 private:
  Run& run_;
  std::vector<Listener*> ears_;
};

void read_zones(const RunOptions& options, const std::vector<std::string>& from,
                const RunListeners& listeners, Run& run) {
  Counters counters;
  OpBuilder builder(
      [&](const DeviceOp& op, std::span<const OpBuilder::CoreTime> cores) {
        run.ops.push_back(op);
        counters.close(op);
        for (const auto& done : listeners.programs) done(op, cores);
      },
      options.budget);
  std::vector<Listener*> ears{&builder, &counters};
  ears.insert(ears.end(), listeners.zones.begin(), listeners.zones.end());
  Fan fan(run, ears);
  InputOptions input{from, options.wait_ms, options.for_seconds, options.metal_date,
                     true, options.also,    options.progress};
  if (run.zones.empty()) run.zones.emplace_back();
  if (listeners.on_zones) listeners.on_zones(run.zones);
  run.account = read_device(input, run.zones, fan);
  builder.end();
  counters.end();
  run.late = builder.late();
  run.without_program = builder.without_id();
  order_ops(run.ops, [&](uint32_t chip) { return run.mhz(chip); });
  run.rows.reserve(run.ops.size());
  for (const DeviceOp& op : run.ops) {
    const Device& device = run.devices[op.launch.chip];
    run.rows.push_back(device_row(op, device));
    counters.fill(op, device.worker_cores, run.rows.back());
  }
}

}  // namespace

Cells read_cells(const std::string& path, std::vector<uint64_t>& lines, std::vector<std::string>& remarks) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw InputError(path + " cannot be read: " + std::strerror(errno));
  CsvFile file(in);
  Cells cells;
  if (!file.next(cells.header)) throw InputError(path + " is empty; a table of ops was expected");
  std::vector<std::string> fields;
  uint64_t row = 1, ragged = 0, first = 0;
  while (file.next(fields)) {
    ++row;  // what tt-perf-report calls ID: the row in the table, whatever lines its fields take
    if (fields.size() != cells.header.size()) {
      if (ragged++ == 0) first = file.line();
      continue;
    }
    lines.push_back(row);
    cells.rows.push_back(fields);
  }
  if (ragged)
    remarks.push_back(path + ": " + std::to_string(ragged) +
                      " rows were skipped because they do not have the " +
                      std::to_string(cells.header.size()) + " columns of the head, the first in line " +
                      std::to_string(first));
  return cells;
}

std::vector<std::string> input_files(const RunOptions& options) {
  const std::vector<std::string> from = resolved(options.from, options.prefer_zones);
  std::vector<std::string> all = tools::named_sources(from);
  if (const auto host = host_files(options, from)) {
    all.push_back(host->ops);
    all.push_back(host->times);
  }
  return all;
}

Run read_run(const RunOptions& options, const RunListeners& listeners) {
  Run run;
  const std::vector<std::string> from = resolved(options.from, options.prefer_zones);
  if (from.empty()) throw InputError("no input was named");
  if (is_ops_results(from.front())) {
    run.kind = InputKind::ops_results;
    if (from.size() > 1) throw InputError("several tables of ops are taken by `ttreport ops` only");
    run.table = read_cells(from.front(), run.lines, run.account.remarks);
    return run;
  }
  std::error_code ignored;
  if (fs::is_regular_file(from.front(), ignored) && is_cpp_report(from.front())) {
    run.kind = InputKind::cpp_report;
    std::ifstream in(from.front(), std::ios::binary);
    CppReport report = read_cpp_report(in, from.front());
    run.rows = std::move(report.rows);
    run.account.remarks = std::move(report.remarks);
  } else {
    read_zones(options, from, listeners, run);
  }
  read_host(options, from, run);
  run.table = join_results(run.rows, run.host, {options.mlir, options.every_column}, run.summary);
  return run;
}

OpTable table_of(const Run& run) {
  OpTable table = op_table(run.table, run.lines);
  std::map<std::tuple<uint32_t, uint64_t, uint32_t>, const DeviceRow*> by_launch;
  for (const DeviceRow& d : run.rows) by_launch[{d.device, d.call_count, d.session.value_or(0)}] = &d;
  for (OpRow& op : table.rows) {
    const auto it =
        by_launch.find({op.device.value_or(0), op.call_count.value_or(0), op.session.value_or(0)});
    if (it == by_launch.end()) continue;
    const DeviceRow& d = *it->second;
    op.slowest_x = d.slowest_x;
    op.slowest_y = d.slowest_y;
    // What the device-only form of the table has no columns for.
    if (!op.cores && d.cores) op.cores = *d.cores;
    if (!op.available_cores && d.available_cores) op.available_cores = *d.available_cores;
    if (op.arch.empty()) op.arch = d.arch;
  }
  return table;
}

std::vector<std::string> notices(const Run& run) {
  std::vector<std::string> all = run.account.remarks;
  all.insert(all.end(), run.host.remarks.begin(), run.host.remarks.end());
  if (!run.account.losses.empty())
    all.push_back(std::to_string(run.account.losses.size()) +
                  " intervals of lost markers are reported in this source (`ttreport loss` lists them)");
  if (run.kind == InputKind::device && run.ops.empty())
    all.push_back(run.account.markers == 0
                      ? std::string("there is not one marker in this source")
                      : "among the " + std::to_string(run.account.markers) +
                            " markers is no firmware or kernel zone of a program (" +
                            std::to_string(run.without_program) +
                            " have the run host ID 0 or, in a log of 6 columns, none), so there are no ops; "
                            "`ttreport kernels` and `timeline` go by zones");
  if (run.late)
    all.push_back(std::to_string(run.late) +
                  " programs came in parts too far apart to be held together; give --memory a larger size");
  for (const std::string& s : sentences(run.summary)) all.push_back(s);
  return all;
}

}  // namespace ttc::report
