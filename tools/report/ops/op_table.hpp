// Rows of ops_perf_results*.csv of any year, typed. What a cell does not hold is absent. A cell that holds
// something else than a plausible number is absent and damage; the remarks count such cells and name the first. Columns are found by name (tt-metal
// tools/tracy/process_ops_logs.py).
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tools/report/metal_files/ops_results.hpp"
#include "tools/report/ops/op_rows.hpp"
#include "tools/report/programs/device_row.hpp"

namespace ttc::report {

struct OpTable {
  OpRows rows;
  std::shared_ptr<const DurationClock> clock;       // of the captures that it was made of; null: none
  TimeOf time = TimeOf::device;                     // what durations in it are
  bool has_arch = false, has_worker_cores = false;  // columns of 2025 and later
  bool padded_names = false;                        // columns W_PAD[LOGICAL] instead of W
  bool damaged = false;                             // cells of numbers hold something else
  std::vector<std::string> remarks;
};

// The name of an op that no host named.
std::string program_name(uint64_t call_count);

// Rows one after the other, as they are read, into a table.
class OpTableReader {
 public:
  // `device_offset` is added to every device id.
  OpTableReader(OpTable& table, const std::vector<std::string>& header, uint32_t device_offset = 0);
  ~OpTableReader();
  // `cells` must be as many as the header has. `id`: of the row in its file.
  OpRow row(const std::vector<std::string>& cells, uint64_t id);
  // Must be called after the last row: notes in the table whether cells were ignored, and where the first is.
  void end() const;

 private:
  class Cell;
  struct TensorColumns;
  OpTable& table_;
  std::unique_ptr<Cell> cell_;
  uint32_t device_offset_;
  bool device_only_;
  std::vector<TensorColumns> tensors_;
};

// The typed rows of a run's table, from its cells and from what only the rows of the device have: the slowest core, and times that were measured.
class TypedRows {
 public:
  // `clock`, which may be null, and `time`: the table's.
  TypedRows(const std::vector<std::string>& header, std::shared_ptr<const DurationClock> clock, TimeOf time);
  ~TypedRows();
  // `device`: what the row has of the device's side.
  void add(const std::vector<std::string>& cells, const std::optional<DeviceRow>& device);
  // Once, behind the last row.
  OpTable end();

 private:
  class OffNominal;
  OpTable table_;
  OpTableReader reader_;
  std::unique_ptr<OffNominal> off_nominal_;
};

// `lines`: IDs of the rows; empty: numbered from 2.
OpTable op_table(const Cells& cells, const std::vector<uint64_t>& lines, uint32_t device_offset = 0);

}  // namespace ttc::report
