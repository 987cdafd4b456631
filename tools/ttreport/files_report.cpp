// ttreport files: the folder that `python -m tracy -r` leaves, written from what was collected.
//
//   ROOT/.logs/                    profile_log_device.csv (beside it profile_log_device.losses.csv, when
//                                  markers may be missing), cpp_device_perf_report.csv, noc_trace_*.json, and
//                                  what lay beside the input: tracy_ops_*.csv, *.tracy, topology.json, ...
//   ROOT/reports/[NAME/][TIME/]    ops_perf_results[_NAME][_TIME].csv, per_core_op_to_op_times[...].csv,
//                                  profile_log_device.csv (and its losses), tracy_profile_log_host.tracy,
//                                  npe_viz
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <set>

#include "collector/program/option_names.hpp"
#include "collector/program/output_guard.hpp"
#include "tools/formats/device_csv.hpp"
#include "tools/formats/loss_csv.hpp"
#include "tools/formats/losses_beside.hpp"
#include "tools/report/noc/noc_traces.hpp"
#include "tools/report/noc/npe.hpp"
#include "tools/report/programs/core_gaps.hpp"
#include "tools/ttreport/options.hpp"

namespace ttc::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLog = "profile_log_device.csv";
constexpr const char* kTracy = "tracy_profile_log_host.tracy";

std::string time_stamp() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y_%m_%d_%H_%M_%S", &parts);
  return text;
}

// A device log of 15 columns as one of 13, which has no trace id and counter. False when it has others.
bool place_without_traces(const fs::path& from, const fs::path& to) {
  std::ifstream in(from, std::ios::binary);
  std::string line;
  if (!std::getline(in, line)) return false;
  Output out(to.string(), false);
  out.append(line + "\n");
  if (!std::getline(in, line) || std::count(line.begin(), line.end(), ',') != 14) return false;
  out.append(
      "PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, run host "
      "ID,  "
      "zone name, type, source line, source file, meta data\n");
  constexpr int kKept = 8;  // columns in front of the two
  while (std::getline(in, line)) {
    size_t begin = 0;
    for (int i = 0; i < kKept && begin != line.npos; ++i) begin = line.find(',', begin + (i > 0));
    const size_t middle = begin == line.npos ? begin : line.find(',', begin + 1);
    const size_t end = middle == line.npos ? middle : line.find(',', middle + 1);
    if (end != line.npos) line.erase(begin, end - begin);
    out.append(line + "\n");
  }
  out.commit();
  return true;
}

// A device log whose first line names the session, as ttnn-visualizer pairs it with a memory report (2026).
void place_with_session(const fs::path& from, const fs::path& to, const std::string& id) {
  std::ifstream in(from, std::ios::binary);
  std::string line;
  std::getline(in, line);
  constexpr const char* kKey = ", SESSION_ID: ";
  Output out(to.string(), false);
  out.append(line.find(kKey) == line.npos ? line + kKey + id + "\n" : line + "\n");
  while (std::getline(in, line)) out.append(line + "\n");
  out.commit();
}

// A copy, not a second name: tt-metal appends to logs that it finds.
void place(const fs::path& from, const fs::path& to) {
  std::error_code error;
  if (fs::equivalent(from, to, error)) return;
  std::ifstream in(from, std::ios::binary);
  Output out(to.string(), false);
  constexpr std::streamsize kAtOnce = 1 << 18;
  while (in.good()) {
    in.read(out.room(kAtOnce), kAtOnce);
    out.advance(static_cast<size_t>(in.gcount()));
  }
  if (!in.eof()) throw SourceError(from.string() + " cannot be read");
  out.commit();
}

// Part of a folder's path and of file names: one name, or the report would leave its folder.
std::string one_name(const std::string& text) {
  if (text != "." && text != ".." && text.find('/') == text.npos) return {};
  return "'" + text +
         "' is not one name: it is a folder's below reports/ and part of file names, so that it has no '/' "
         "and is neither '.' nor '..'";
}

void make_directory(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw OutputError("directory " + path.string() + " cannot be made: " + error.message());
}

// A file and the place of its copy.
struct Copy {
  fs::path from, to;
};

// The files below a folder, listed before any is copied: the copy may lie in the folder, by a link.
std::vector<Copy> copies_of_folder(const fs::path& from, const fs::path& to) {
  std::vector<Copy> copies;
  std::error_code ignored;
  if (!fs::is_directory(from, ignored)) return copies;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(from))
    if (entry.is_regular_file()) copies.push_back({entry.path(), to / entry.path().lexically_relative(from)});
  return copies;
}

class FilesReport : public Report {
 public:
  void options(CLI::App& command) override {
    add_input_options(command, run_options_);
    command.add_option("-o,--output-folder", root_, "artifacts root, as tt-metal's generated/profiler")
        ->required();
    command.add_option("-n,--name-append", name_, "sub-folder of reports/, and part of the file names")
        ->check(one_name);
    command.add_option("--date", date_, "time stamp of the report (default: now)")->check(one_name);
    command.add_flag("--no-date", no_date_, "no time stamp in folder and names");
    command
        .add_option("--log-columns", log_columns_,
                    "of the report's profile_log_device.csv: 15, or 13 for ttnn-visualizer up to July 2026")
        ->check(CLI::IsMember({13u, 15u}))
        ->capture_default_str();
    command.add_flag("--noc-traces", noc_, "also noc_trace_dev*_ID*.json, which tt-npe reads");
    npe_ = command
               .add_option("--npe", npe_command_,
                           "run tt-npe on them and fill NOC UTIL, DRAM BW UTIL and NPE CONG IMPACT; its "
                           "npe_analyze_noc_trace_dir.py, or none for the one in TTC_TOOLS or on the PATH")
               ->expected(0, 1)
               ->type_name("[CMD]");
    command.add_flag("--every-column", run_options_.every_column,
                     "without host data: all columns, ops named by their program; tt-perf-report and "
                     "ttnn-visualizer read no table that lacks them");
    command
        .add_option("--columns-of", columns_of_,
                    "2025-06: the joined table with that year's columns, INPUT_0_W and BRISC MAX KERNEL SIZE "
                    "[B]")
        ->check(program::one_of({"2025-06"}));
    command.add_flag("--tt-torch", torch_,
                     "also results/perf/device_ops_perf_trace.csv with LOC, CONST_EVAL_OP, PROGRAM_METADATA");
  }

  int run() override {
    const fs::path root(root_), logs = root / ".logs";
    if (*npe_) {
      noc_ = true;
      npe_program_ = report::find_npe(npe_command_);
      if (npe_program_.empty() && !npe_command_.empty())
        return say(ReportExit::kUsage,
                   "--npe: there is no program " + npe_command_ +
                       "; give the path of tt-npe's npe_analyze_noc_trace_dir.py, which must be executable");
    }
    run_options_.mlir = torch_;
    run_options_.prefer_zones = true;
    const bool from_log = run_options_.from.size() == 1 && report::is_device_log(run_options_.from[0]);
    name_outputs(root, logs);
    refuse_inputs(logs, from_log);
    make_directory(logs);
    Output device_log((logs / (from_log ? ".unused" : kLog)).string(), false);
    DeviceCsv device_csv(device_log, {});
    run_options_.also = &device_csv;
    report::CoreGaps gaps;
    std::vector<report::Zone> zones;
    report::RunListeners listeners;
    listeners.programs.push_back([&](const auto& op, auto cores) { gaps.program(op, cores); });
    std::optional<LateNoc> noc;
    if (noc_) {
      noc.emplace(run_options_.metal_date);
      listeners.zones.push_back(&*noc);
    }
    report::Run run = read_with_progress(run_options_, noc ? noc->with(listeners) : listeners);
    if (run.kind == report::InputKind::ops_results)
      return say(ReportExit::kUsage,
                 run_options_.from[0] + " is a finished table of ops; `ttreport files` makes one from zones");
    if (from_log)
      bring({run_options_.from[0], logs / kLog});
    else if (run.kind == report::InputKind::device)
      finish_log(run, device_log);
    losses_beside(logs / kLog, from_log, run, device_csv);
    if (run.host.session_ids.size() > 1)
      say(ReportExit::kOk, "the host's messages name several session ids; none is written into the log");

    Output cpp((logs / "cpp_device_perf_report.csv").string(), false);
    report::write_cpp_report(run.rows, cpp);
    cpp.commit();
    for (const Copy& side : sides_) bring(side);
    int code = ReportExit::kOk;
    if (noc) {
      const size_t written = noc->write(logs, run, [this](const std::string& path) { refuse_input(path); });
      say(ReportExit::kOk, std::to_string(written) + " NoC traces were written");
      for (const std::string& n : noc->remarks()) say(ReportExit::kOk, n);
      code = fill_from_npe(logs, written, run);
    }
    if (columns_of_ == "2025-06") run.table = report::columns_of_mid_2025(run.table);
    write_reports(logs, run, gaps);
    losses_beside(folder_ / kLog, from_log, run, device_csv);
    for (const std::string& n : device_csv.remarks()) say(ReportExit::kOk, n);
    const int reported = report_remarks(run);
    return code == ReportExit::kOk ? reported : code;
  }

 private:
  void name_outputs(const fs::path& root, const fs::path& logs) {
    const std::string stamp = no_date_ ? "" : date_.empty() ? time_stamp() : date_;
    folder_ = root / "reports";
    std::string tail;
    for (const std::string& part : {name_, stamp})
      if (!part.empty()) {
        folder_ /= part;
        tail += "_" + part;
      }
    table_ = folder_ / ("ops_perf_results" + tail + ".csv");
    per_core_ = folder_ / ("per_core_op_to_op_times" + tail + ".csv");
    torch_table_ = root / "results" / "perf" / "device_ops_perf_trace.csv";
    sides_ = side_files(logs);
  }

  // Throws program::UsageError when `path`, which will be written, is an input.
  void refuse_input(const fs::path& path) const { program::refuse_output_over_input(path, inputs_); }

  // Before anything is written: what is read, and what is copied, is an input. A side file that is already in its
  // place is input and output at once, and stays. (NoC traces are named by what is read; they are held against
  // the inputs one by one.)
  void refuse_inputs(const fs::path& logs, bool from_log) {
    inputs_ = report::input_files(run_options_);
    std::vector<fs::path> outputs = {logs / "cpp_device_perf_report.csv", table_, per_core_, folder_ / kLog,
                                     path_beside(folder_ / kLog)};
    if (torch_) outputs.push_back(torch_table_);
    if (!from_log) outputs.push_back(logs / kLog);
    std::vector<Copy> copies = sides_;
    for (const Copy& picture : npe_pictures()) copies.push_back(picture);
    if (from_log) copies.push_back({run_options_.from[0], logs / kLog});
    const std::string losses = from_log ? path_beside(run_options_.from[0]) : std::string();
    if (from_log) copies.push_back({losses, path_beside(logs / kLog)});
    for (const Copy& copy : copies) {
      std::error_code ignored;
      inputs_.push_back(copy.from);
      if (!fs::equivalent(copy.from, copy.to, ignored)) outputs.push_back(copy.to);
    }
    // A copy by way of .logs may lead back to where it came from.
    const auto came_from = [this](const Copy& side) {
      std::error_code ignored;
      return side.to.filename() == kTracy && fs::equivalent(side.from, folder_ / kTracy, ignored);
    };
    if (std::none_of(sides_.begin(), sides_.end(), came_from)) outputs.push_back(folder_ / kTracy);
    for (const fs::path& output : outputs) refuse_input(output);
  }

  // NocTraces needs the run's table of zones, which exists once reading has begun.
  class LateNoc : public report::Listener {
   public:
    explicit LateNoc(std::optional<markers::MetalDate> date) : date_(date) { make(); }
    report::RunListeners with(report::RunListeners listeners) {
      listeners.on_zones = [this](const std::vector<report::Zone>& zones) {
        zones_ = &zones;
        make();
      };
      return listeners;
    }
    void device(const report::Device& device) override { traces_->device(device); }
    void events(const report::LaneEvents& batch) override { traces_->events(batch); }
    void clock(uint32_t chip, const collect::ClockMap& map) override { traces_->clock(chip, map); }
    size_t write(const fs::path& directory, const report::Run& run,
                 const std::function<void(const std::string&)>& may_write) {
      return traces_->write(directory, run, may_write);
    }
    std::vector<std::string> remarks() const { return traces_->remarks(); }

   private:
    void make() { traces_.emplace(zones_ ? *zones_ : none_, date_); }
    std::optional<markers::MetalDate> date_;
    std::vector<report::Zone> none_;
    const std::vector<report::Zone>* zones_ = nullptr;
    std::optional<report::NocTraces> traces_;
  };

  // The results of tt-npe on the traces, if it is installed.
  int fill_from_npe(const fs::path& logs, size_t traces, report::Run& run) const {
    if (traces == 0) return ReportExit::kOk;
    if (npe_program_.empty())
      return say(ReportExit::kOk,
                 "NOC UTIL, DRAM BW UTIL and NPE CONG IMPACT stay empty; --npe PATH runs tt-npe's "
                 "npe_analyze_noc_trace_dir.py, which fills them");
    const report::NpeRun npe = report::run_npe(npe_program_, logs, traces);
    if (!npe.failure.empty()) return say(ReportExit::kFailed, npe.failure + "; its columns stay empty");
    report::NpeFilled filled = report::fill_npe(run, npe.rows);
    run.table = std::move(filled.table);
    say(ReportExit::kOk, "tt-npe printed " + std::to_string(npe.rows.size()) + " ops; " +
                             std::to_string(filled.launches) + " rows have its figures");
    if (filled.ambiguous)
      say(ReportExit::kOk,
          std::to_string(filled.ambiguous) +
              " rows have none of tt-npe's figures, because it prints several of one name and "
              "not which device each is of");
    return ReportExit::kOk;
  }

  // Rows of tt-metal's own log for chips that were not collected go behind ours.
  void finish_log(const report::Run& run, Output& log) {
    std::set<uint32_t> ours;
    for (const auto& [chip, device] : run.devices)
      if (!device.name.empty()) ours.insert(chip);
    for (const std::string& path : run_options_.from) {
      if (!report::is_device_log(path)) continue;
      std::ifstream in(path, std::ios::binary);
      std::string line;
      std::getline(in, line);
      std::getline(in, line);
      if (std::count(line.begin(), line.end(), ',') != 14) {
        say(ReportExit::kOk,
            path + " does not have the 15 columns of " + kLog + "; its rows are in the tables only");
        continue;
      }
      while (std::getline(in, line))
        if (!line.empty() && !ours.contains(static_cast<uint32_t>(std::strtoul(line.c_str(), nullptr, 10))))
          log.append(line + "\n");
    }
    log.commit();
  }

  // Writes the losses as ttexport leaves them beside a device log. A log that is only copied has its own beside it.
  // One that an earlier report left is removed, because it would be taken for this one's.
  void losses_beside(const fs::path& log, bool copied, const report::Run& run, const DeviceCsv& csv) const {
    if (!copied) {
      put_losses_beside(log, csv, run.account.losses);
      return;
    }
    const std::string from = path_beside(run_options_.from[0]), to = path_beside(log);
    std::error_code ignored;
    if (from.empty() || to.empty() || fs::equivalent(from, to, ignored)) return;
    if (fs::is_regular_file(from, ignored))
      place(from, to);
    else
      fs::remove(to, ignored);
  }

  std::vector<Copy> npe_pictures() const {
    return copies_of_folder(fs::path(root_) / "npe_viz", folder_ / "npe_viz");
  }

  static void bring(const Copy& copy) {
    std::error_code ignored;
    if (fs::equivalent(copy.from, copy.to, ignored)) return;
    make_directory(copy.to.parent_path());
    place(copy.from, copy.to);
  }

  std::vector<Copy> side_files(const fs::path& logs) const {
    std::vector<fs::path> places;
    if (!run_options_.host.empty())
      places = {fs::path(run_options_.host), fs::path(run_options_.host) / ".logs"};
    for (const std::string& one : run_options_.from) places.push_back(fs::path(one).parent_path());
    std::vector<Copy> sides;
    for (const char* name : {"tracy_ops_data.csv", "tracy_ops_times.csv", kTracy, "topology.json",
                             "cluster_coordinates.json", "sync_device_info.csv"})
      for (const fs::path& from : places) {
        std::error_code ignored;
        if (!fs::is_regular_file(from / name, ignored)) continue;
        sides.push_back({from / name, logs / name});
        break;
      }
    return sides;
  }

  void write_reports(const fs::path& logs, const report::Run& run, report::CoreGaps& gaps) {
    make_directory(folder_);
    Output results(table_.string(), false);
    report::write_cells(run.table, results);
    results.commit();
    if (!run.ops.empty()) {
      Output per_core(per_core_.string(), false);
      gaps.write(per_core);
      per_core.commit();
    }
    std::error_code ignored;
    if (fs::exists(logs / kLog, ignored)) {
      if (log_columns_ == 15 && run.host.session_ids.size() == 1)
        place_with_session(logs / kLog, folder_ / kLog, *run.host.session_ids.begin());
      else if (log_columns_ == 15)
        place(logs / kLog, folder_ / kLog);
      else if (!place_without_traces(logs / kLog, folder_ / kLog))
        say(ReportExit::kOk,
            (logs / kLog).string() + " does not have 15 columns; the report has it as it is"),
            place(logs / kLog, folder_ / kLog);
    }
    // ttnn-visualizer requires a file of this name and does not read it.
    if (!fs::exists(logs / kTracy, ignored)) Output(logs / kTracy, false).commit();
    bring({logs / kTracy, folder_ / kTracy});
    for (const Copy& picture : npe_pictures()) bring(picture);  // of an earlier run, or of this one
    if (torch_) {
      make_directory(torch_table_.parent_path());
      Output trace(torch_table_.string(), false);
      report::write_cells(run.table, trace);
      trace.commit();
    }
    say(ReportExit::kOk, std::to_string(run.table.rows.size()) + " rows are in " + table_.string());
  }

  report::RunOptions run_options_;
  std::vector<std::string> inputs_;
  fs::path folder_, table_, per_core_, torch_table_;  // of the report
  std::vector<Copy> sides_;                           // what lay beside the input
  std::string root_, name_, date_, columns_of_, npe_command_, npe_program_;
  CLI::Option* npe_ = nullptr;
  unsigned log_columns_ = 15;
  bool no_date_ = false, noc_ = false, torch_ = false;
};

}  // namespace

std::unique_ptr<Report> make_files_report() {
  return std::make_unique<FilesReport>();
}

}  // namespace ttc::tools
