#include "tools/report/ops/run.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "tools/pipeline/source.hpp"
#include "tools/pipeline/sync_lines.hpp"
#include "tools/report/host/host_log_reader.hpp"
#include "tools/report/input/common_time.hpp"
#include "tools/report/metal_files/counters.hpp"
#include "tools/report/ops/table_file.hpp"
#include "tools/report/text/make_ahead.hpp"

namespace ttc::report {
namespace {

namespace fs = std::filesystem;

// The last YYYY_MM_DD_HH_MM_SS in a path, as tt-metal names folders and files of reports; empty: none.
std::string stamp_in(const std::string& path) {
  constexpr std::string_view kForm = "0000_00_00_00_00_00";
  const auto fits = [&](size_t at) {
    for (size_t i = 0; i < kForm.size(); ++i)
      if (kForm[i] == '_' ? path[at + i] != '_' : path[at + i] < '0' || path[at + i] > '9') return false;
    return true;
  };
  if (path.size() < kForm.size()) return "";
  for (size_t at = path.size() - kForm.size() + 1; at-- > 0;)
    if (fits(at)) return path.substr(at, kForm.size());
  return "";
}

// The newest by their stamps if all have one, else by the time of their last change.
std::string newest(const std::vector<std::string>& paths) {
  const bool stamped = std::all_of(paths.begin(), paths.end(),
                                   [](const std::string& path) { return !stamp_in(path).empty(); });
  return *std::max_element(paths.begin(), paths.end(), [&](const std::string& a, const std::string& b) {
    std::error_code ignored;
    if (!stamped) return fs::last_write_time(a, ignored) < fs::last_write_time(b, ignored);
    return stamp_in(a) < stamp_in(b);
  });
}

// A folder means the newest report below it: its joined table, or its log of the device.
std::string file_in(const std::string& directory, bool prefer_zones) {
  std::error_code ignored;
  std::vector<std::string> results, logs;
  for (const auto& entry : fs::recursive_directory_iterator(directory, ignored)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("ops_perf_results") && name.ends_with(".csv")) results.push_back(entry.path());
    if (name == "profile_log_device.csv") logs.push_back(entry.path());
  }
  if (!results.empty() && !(prefer_zones && !logs.empty())) return newest(results);
  return logs.empty() ? "" : newest(logs);
}

std::vector<std::string> resolved(const std::vector<std::string>& from, bool prefer_zones) {
  std::vector<std::string> all;
  for (const std::string& one : from) {
    std::error_code ignored;
    if (!fs::is_directory(one, ignored) || fs::exists(fs::path(one) / "meta.json", ignored)) {
      all.push_back(one);
      continue;
    }
    if (const auto captures = tools::captures_in(one); !captures.empty()) {
      all.insert(all.end(), captures.begin(), captures.end());
      continue;
    }
    const std::string file = file_in(one, prefer_zones);
    if (file.empty())
      throw InputError(
          one +
          " holds neither captures (.ttc), nor ops_perf_results*.csv, nor profile_log_device.csv, nor "
          "firmware memory (meta.json)");
    all.push_back(file);
  }
  return all;
}

// The files of the host: its ops and, beside them, its times.
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

// Signposts of files that were made of a capture have the times that `captured` has: they come in the same order.
void place_signposts(const HostLog& captured, HostLog& host) {
  if (captured.signposts.size() != host.signposts.size()) return;
  for (size_t i = 0; i < host.signposts.size(); ++i) host.signposts[i].raw_ns = captured.signposts[i].raw_ns;
}

// Numbers of processes and chips of the `i`th of several hosts.
HostNumbers numbers_of(size_t i, uint32_t first_chip) {
  constexpr unsigned kProcessBits = 16;
  return {static_cast<uint32_t>(i) << kProcessBits, first_chip};
}

void read_host_files(const HostFiles& files, const HostNumbers& from, Run& run) {
  std::ifstream in(files.ops, std::ios::binary);
  if (!in) throw InputError(files.ops.string() + " cannot be read: " + std::strerror(errno));
  read_ops_data(in, files.ops, run.host, from);
  std::ifstream zones(files.times, std::ios::binary);
  if (zones)
    read_ops_times(zones, files.times, run.host, from);
  else
    run.host.remarks.push_back("there is no " + files.times.string() + "; host times stay empty");
}

std::set<std::string> children_of(const RunOptions& options) {
  return {options.children.begin(), options.children.end()};
}

// Each rank's host numbers its own devices from 0. Files of a host are in the folder of its rank.
void read_hosts_of_ranks(const RunOptions& options, const tools::RankCaptures& ranks, Run& run) {
  std::set<fs::path> read;
  for (size_t i = 0; i < ranks.all.size(); ++i) {
    const tools::RankCapture& rank = ranks.all[i];
    const fs::path place = fs::path(rank.path).parent_path();
    const HostFiles files{place / "tracy_ops_data.csv", place / "tracy_ops_times.csv"};
    const HostNumbers from = numbers_of(i, rank.first_chip);
    std::error_code ignored;
    if (!tools::parse_rank_name(place.filename().string()) || !fs::exists(files.ops, ignored))
      HostLogReader(rank.path, run.host, children_of(options), from).read(rank);
    else if (read.insert(files.ops).second)
      read_host_files(files, from, run);
  }
}

// `captured`: what `ttcollect run` recorded of the workload's processes in the only source, if that was streamed. It replaces the
// files if there are none.
void read_host(const RunOptions& options, const std::vector<std::string>& from, HostLog* captured, Run& run) {
  if (options.no_host) return;
  if (const auto ranks = tools::rank_captures(from); options.host.empty() && !ranks.all.empty())
    return read_hosts_of_ranks(options, ranks, run);
  const std::optional<HostFiles> files = host_files(options, from);
  if (files) {
    read_host_files(*files, {}, run);
    // If there are no ops of the host, signposts are rows by their own time.
    if (run.host.ops.empty() && captured) place_signposts(*captured, run.host);
    return;
  }
  if (!options.host.empty())
    throw InputError(options.host + " holds no tracy_ops_data.csv; csvexport of tt-metal's Tracy writes it");
  if (captured) {
    run.host = std::move(*captured);
    return;
  }
  for (size_t i = 0; i < from.size(); ++i)
    if (fs::path(from[i]).extension() == ".ttc")
      HostLogReader(from[i], run.host, children_of(options), numbers_of(i, 0)).read(from[i]);
}

// One listener for all of them.
class Fan : public Listener {
 public:
  Fan(Run& run, CommonTime& time, std::vector<Listener*> ears)
      : run_(run), time_(time), ears_(std::move(ears)) {}
  void device(const Device& d) override {
    run_.devices[d.chip] = d;
    for (Listener* ear : ears_) ear->device(d);
  }
  void events(const LaneEvents& batch) override {
    for (Listener* ear : ears_) ear->events(batch);
  }
  bool wants_all_events() const override {
    return std::any_of(ears_.begin(), ears_.end(),
                       [](const Listener* ear) { return ear->wants_all_events(); });
  }
  void meta(const Launch& l, const Lane& lane, const Event& e, std::string_view text) override {
    for (Listener* ear : ears_) ear->meta(l, lane, e, text);
  }
  void clock(uint32_t chip, const collect::ClockMap& map) override {
    time_.clock(chip, map);
    for (Listener* ear : ears_) ear->clock(chip, map);
  }

 private:
  Run& run_;
  CommonTime& time_;
  std::vector<Listener*> ears_;
};

// Only a collector names its devices.
bool from_log(const Device& device) {
  return device.name.empty();
}

// True if there are chips of a capture beside chips of a log.
bool mixed(const Run& run) {
  const auto logged = [](const auto& of) { return from_log(of.second); };
  return std::any_of(run.devices.begin(), run.devices.end(), logged) &&
         !std::all_of(run.devices.begin(), run.devices.end(), logged);
}

// Reads the sync of the chips that only a log has, for those that its own sync relates to another chip.
void read_sync(const RunOptions& options, const std::vector<std::string>& from, Run& run) {
  std::set<fs::path> places;
  for (const std::string& one : from) places.insert(fs::path(one).parent_path());
  if (!options.host.empty()) places.insert({fs::path(options.host), fs::path(options.host) / ".logs"});
  tools::SyncLines sync;
  for (const fs::path& place : places) {
    std::string bad = sync.read(place / "sync_device_info.csv");
    if (bad.empty()) continue;
    run.account.damaged = true;
    run.account.remarks.push_back(std::move(bad));
  }
  if (!mixed(run) || !sync.root()) return;
  for (const auto& [chip, device] : run.devices)
    if (sync.known(chip)) run.synced.insert(chip);
}

// The destination of zones until the host was read, too.
struct Zones {
  OpOrder ops;
  CommonTime time;
  std::shared_ptr<Counters> counters = std::make_shared<Counters>();
};

void read_zones(const RunOptions& options, const std::vector<std::string>& from,
                const RunListeners& listeners, HostLogReader* host, Run& run, Zones& zones) {
  Counters& counters = *zones.counters;
  OpBuilder builder(
      [&](const DeviceOp& closed, std::span<const CoreTime> cores) {
        DeviceOp op = closed;
        op.counters = counters.close(op);
        // The clock model of the reference tile's domain has nothing to say of an op that ran on a tile of another.
        if (run.clock && std::any_of(cores.begin(), cores.end(), [&](const CoreTime& core) {
              return run.clock->apart(op.launch.chip, {core.x, core.y});
            }))
          op.seen_ns = 0;
        zones.ops.add(op);
        for (const auto& done : listeners.programs) done(op, cores);
      },
      options.budget / 4);
  std::vector<Listener*> ears{&builder, &counters};
  ears.insert(ears.end(), listeners.zones.begin(), listeners.zones.end());
  Fan fan(run, zones.time, ears);
  InputOptions input;
  input.from = from;
  input.wait_ms = options.wait_ms;
  input.for_seconds = options.for_seconds;
  input.metal_date = options.metal_date;
  input.want_meta = true;
  input.also = options.also;
  input.progress = options.progress;
  input.threads = options.threads;
  input.budget = options.budget;
  input.follow_files = options.follow_files;
  if (host) input.chunk = [host](std::span<const uint64_t> chunk) { host->push(chunk); };
  if (run.zones.empty()) run.zones.emplace_back();
  if (listeners.on_zones) listeners.on_zones(run.zones);
  if (options.want_clock && !options.follow_files)
    input.clock = [&](DurationClock&& clock) {
      if (clock.empty()) return;
      run.clock = std::make_shared<const DurationClock>(std::move(clock));
      if (listeners.on_clock) listeners.on_clock(run.clock);
    };
  run.account = read_device(input, run.zones, fan);
  builder.end();
  run.without_program = builder.without_id();
  if (counters.unreadable()) {
    run.account.damaged = true;
    run.account.remarks.push_back(std::to_string(counters.unreadable()) +
                                  " records of hardware counters hold no number and are left out");
  }
}

// The programs in order, and their rows.
void settle(Zones& zones, Run& run) {
  zones.counters->end(run.host.ops.empty() ? TableForm::device_only : TableForm::joined);
  run.ops = zones.ops.ordered([&](uint32_t chip) { return run.mhz(chip); });
  run.rows = DeviceRows(run.ops.size(), [ops = run.ops, devices = run.devices, counters = zones.counters,
                                         clock = run.clock, time = run.time](size_t i) {
    const DeviceOp op = ops[i];
    const auto known = devices.find(op.launch.chip);
    const Device device = known == devices.end() ? Device() : known->second;
    DeviceRow row = device_row(op, device, clock.get(), time);
    counters->fill(op, device.worker_cores, row);
    return row;
  });
}

// The rows of run.plan in the form that was requested.
void make_table(const RunOptions& options, const ResultOptions& results, Run& run) {
  run.is_typed = options.table == TableAs::typed && !mixed(run);
  if (run.is_typed) {
    const CellLines lines(run.plan, run.rows, run.host, results);
    TypedRows typed(lines.header(), run.clock, run.time);
    make_ahead<CellLine>(
        options.threads, [&](const auto& put) { lines.each(put); },
        [&](const CellLine& line) { typed.add(line.cells, line.device); });
    run.typed = typed.end();
    return;
  }
  run.table = cells_of(run.plan, run.rows, run.host, results);
  if (!mixed(run)) return;
  run.table = with_source(run.table, [&](size_t row) {
    return from_log(run.devices.at(run.rows[row].device)) ? kFromLog : kFromCapture;
  });
}

}  // namespace

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
  run.time = options.time;
  const std::vector<std::string> from = resolved(options.from, options.prefer_zones);
  if (from.empty()) throw InputError("no input was named");
  for (size_t i = 0; i < from.size() && from.size() == options.from.size(); ++i)
    if (from[i] != options.from[i]) run.taken.push_back(options.from[i] + ": " + from[i] + " is taken");
  if (is_ops_results(from.front())) {
    run.kind = InputKind::ops_results;
    if (from.size() > 1) throw InputError("several tables of ops are taken by `ttreport ops` only");
    run.is_typed = true;
    run.account.damaged = read_table(from.front(), run.typed).damaged;
    run.account.remarks.swap(run.typed.remarks);
    return run;
  }
  std::error_code ignored;
  std::optional<Zones> zones;
  // The host's side of one source is taken from its chunks as they come; of several, each is read by itself.
  const bool streamed = !options.no_host && tools::named_sources(from).size() == 1;
  HostLog captured;
  captured.keeps_infos = run.host.keeps_infos = options.table != TableAs::none;
  if (fs::is_regular_file(from.front(), ignored) && is_cpp_report(from.front())) {
    run.kind = InputKind::cpp_report;
    std::ifstream in(from.front(), std::ios::binary);
    CppReport report = read_cpp_report(in, from.front());
    run.rows = std::move(report.rows);
    run.account.remarks = std::move(report.remarks);
    run.account.damaged = report.damaged;
  } else {
    HostLogReader host(from.front(), captured, children_of(options));
    read_zones(options, from, listeners, streamed ? &host : nullptr, run, zones.emplace());
    host.end();
  }
  read_host(options, tools::named_sources(from), zones && streamed ? &captured : nullptr, run);
  if (zones) settle(*zones, run);
  run.account.damaged = run.account.damaged || run.host.damaged;
  ResultOptions results{options.mlir, options.every_column, {}};
  if (zones)
    results.raw_ns = [&](uint32_t chip, uint64_t cycles) { return zones->time.raw_ns(chip, cycles); };
  run.plan = plan_rows(run.rows, run.host, results.raw_ns);
  read_sync(options, from, run);
  if (options.table != TableAs::none) make_table(options, results, run);
  return run;
}

OpTable table_of(const Run& run) {
  if (run.is_typed) return run.typed;
  TypedRows typed(run.table.header, run.clock, run.time);
  for (size_t i = 0; i < run.table.rows.size(); ++i) {
    const uint32_t place = run.table.device[i];
    typed.add(run.table.rows[i], place == Cells::kNoDevice ? std::optional<DeviceRow>() : run.rows[place]);
  }
  return typed.end();
}

namespace {

// Chips of a capture and chips that only the workload's own log has, in one report. Empty: all are of a kind.
std::string where_chips_are_from(const Run& run) {
  if (!mixed(run)) return "";
  std::string captured, logged;
  bool related = true;
  for (const auto& [chip, device] : run.devices) {
    std::string& list = from_log(device) ? logged : captured;
    list += (list.empty() ? "" : ", ") + std::to_string(chip);
    related = related && (!from_log(device) || run.synced.contains(chip));
  }
  return "chips " + captured + " are from the capture, chips " + logged +
         " from the workload's device log; every figure is of one chip's own clock, and " +
         (related ? "sync_device_info.csv relates the clocks for viewers and NoC traces"
                  : "there is no common time between the two");
}

}  // namespace

std::vector<std::string> notices(const Run& run) {
  std::vector<std::string> all = run.taken;
  all.insert(all.end(), run.account.remarks.begin(), run.account.remarks.end());
  all.insert(all.end(), run.host.remarks.begin(), run.host.remarks.end());
  if (!run.account.losses.empty())
    all.push_back(std::to_string(run.account.losses.size()) +
                  " intervals of lost markers are reported in this source (`ttreport loss` lists them)");
  if (std::string sentence = where_chips_are_from(run); !sentence.empty()) all.push_back(std::move(sentence));
  if (run.account.losses_beside)
    all.push_back(std::to_string(run.account.losses_beside) +
                  " intervals of lost markers are in the table of losses beside the device log");
  if (run.kind == InputKind::device && run.ops.empty())
    all.push_back(run.account.markers == 0
                      ? std::string("there is not one marker in this source")
                      : "among the " + std::to_string(run.account.markers) +
                            " markers is no firmware or kernel zone of a program (" +
                            std::to_string(run.without_program) +
                            " have the run host ID 0 or, in a log of 6 columns, none), so there are no ops; "
                            "`ttreport kernels` and `timeline` go by zones");
  for (const std::string& s : sentences(run.plan.summary)) all.push_back(s);
  return all;
}

}  // namespace ttc::report
