// A run as reports use it: its devices, its programs, the host's side, and the joined table. Read from any
// of the inputs a report takes.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tools/report/input/device_input.hpp"
#include "tools/report/metal_files/ops_results.hpp"
#include "tools/report/ops/op_table.hpp"
#include "tools/report/programs/op_builder.hpp"
#include "tools/report/programs/op_order.hpp"

namespace ttc::report {

// What is made of the joined table: its cells, its typed rows, for which no cells are kept, or Run::plan alone.
enum class TableAs : uint8_t { cells, typed, none };

struct RunOptions {
  std::vector<std::string> from;
  std::string host;      // directory with tracy_ops_data.csv and tracy_ops_times.csv; empty: beside `from`
  bool no_host = false;  // device side only
  std::vector<std::string>
      children;  // of captures: named zones within ops, beyond those that tt-metal always exports
  unsigned wait_ms = 0;
  std::optional<double> for_seconds;
  std::optional<markers::MetalDate> metal_date;
  unsigned threads = 1;      // InputOptions::threads
  size_t budget = 64 << 20;  // bytes: a quarter of it for open programs
  bool mlir = false;
  bool every_column = false;     // ResultOptions::every_column
  bool prefer_zones = false;     // of a report folder its device log, not its table of ops
  bool follow_files = false;     // captures that are still written are read to their end
  bool want_clock = false;       // durations are measured by the captures' clock models, with a bound
  TimeOf time = TimeOf::device;  // of the durations in rows and table
  TableAs table = TableAs::cells;
  tools::Format* also = nullptr;
  std::function<void(double)> progress;
};

enum class InputKind { device, ops_results, cpp_report };

struct Run {
  InputKind kind = InputKind::device;
  std::vector<std::string> taken;  // sentences: which file of a folder was taken
  std::map<uint32_t, Device> devices;
  std::vector<Zone> zones;
  DeviceOps ops;    // in order of chip and start; empty unless zones were read
  DeviceRows rows;  // of ops, or of a cpp report
  HostLog host;
  RowPlan plan;           // which rows the table has; refers to `host`
  Cells table;            // as in ops_perf_results; empty where `is_typed`
  OpTable typed;          // of an input that is a table of ops, and where TableAs::typed was wanted
  bool is_typed = false;  // `table` is empty, and `typed` is there
  InputAccount account;
  std::shared_ptr<const DurationClock> clock;  // null: not wanted, or no capture has a clock model
  TimeOf time = TimeOf::device;
  std::set<uint32_t> synced;     // chips that sync_device_info.csv relates to another one
  uint64_t without_program = 0;  // markers whose run host ID is 0, or absent (logs of 6 columns)

  // "Chip 3", or "node1_rank_1 chip 0" of a job of several ranks.
  std::string title(uint32_t chip) const {
    const auto it = devices.find(chip);
    const bool of_rank = it != devices.end() && !it->second.rank.empty();
    return of_rank ? it->second.rank + " chip " + std::to_string(it->second.chip_of_rank)
                   : "Chip " + std::to_string(chip);
  }
  uint32_t mhz(uint32_t chip) const {
    const auto it = devices.find(chip);
    return it == devices.end() || it->second.clock_mhz == 0 ? 1000 : it->second.clock_mhz;
  }
};

// Further ears for the zones of a run, and for its programs with their cores as they are closed.
struct RunListeners {
  std::vector<Listener*> zones;
  std::vector<OpBuilder::Done> programs;
  std::function<void(std::shared_ptr<const DurationClock>)> on_clock;  // before the first event
  std::function<void(const std::vector<Zone>&)>
      on_zones;  // before the first event; stays there while reading
};

// The files, directories and live names that read_run() reads: of a report folder the file in it that is
// taken. Throws InputError.
std::vector<std::string> input_files(const RunOptions& options);

// Throws InputError.
Run read_run(const RunOptions& options, const RunListeners& listeners = {});

// The typed rows of the table, with what only zones show (the slowest core).
OpTable table_of(const Run& run);

// Sentences on everything that was lost or left out.
std::vector<std::string> notices(const Run& run);

}  // namespace ttc::report
