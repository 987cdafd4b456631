// The typed rows of a run's table, from its cells and from what only the rows of the device have: the slowest core, and times that were measured.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/report/ops/op_table.hpp"

namespace ttc::report {

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

}  // namespace ttc::report
