// A table of ops in a file: whether it is one, whether it is whole, and its rows.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "tools/report/ops/op_table.hpp"

namespace ttc::report {

// Columns of ops_perf_results*.csv in the first line, or enough of them to name the missing one.
bool is_ops_results(const std::string& path);

struct TableRead {
  bool damaged = false;      // rows or cells were left out, or the end was cut off
  uint64_t last_id = 1;      // of the last row: the head is 1, whatever lines a row's fields take
  uint32_t next_device = 0;  // one more than the largest device
};
// Adds the rows of a file, and sentences on what was left out, to `table`; `id_offset` and `device_offset` are
// added to every id and device. Throws InputError: no table, or one without a column that a report cannot do
// without.
TableRead read_table(const std::string& path, OpTable& table, uint64_t id_offset = 0,
                     uint32_t device_offset = 0);

}  // namespace ttc::report
