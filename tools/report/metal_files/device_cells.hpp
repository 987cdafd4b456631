// The cells of the device's side of a row of ops_perf_results*.csv, and which of those columns any row has.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "tools/report/metal_files/named_cells.hpp"
#include "tools/report/programs/device_row.hpp"

namespace ttc::report {

void put_device(NamedCells& row, const DeviceRow& d);
// Gaps as device-only mode has them: in order of time, negative where programs overlap. `previous`: the row before of the same device; may be null.
void put_signed_gaps(NamedCells& row, const DeviceRow& d, const DeviceRow* previous);

// The columns for which put_device() and put_signed_gaps() have a cell in any of the rows that were added; counters excepted.
class PresentColumns {
 public:
  void add(const DeviceRow& d);
  bool has(const std::string& column) const { return names_.contains(column); }

 private:
  void add(size_t place, const char* column);
  std::set<std::string> names_;
  std::vector<bool> seen_;  // by their places: each is compared by name once
};

}  // namespace ttc::report
