// Rows of all ranks as one SQLite file (docs/fleet.md), which appears whole or not at all.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tools/fleet/judge/straggler_report.hpp"

namespace ttc::fleet {

class RowsDatabase {
 public:
  explicit RowsDatabase(const std::string& path);  // throws tools::OutputError, as all of it
  ~RowsDatabase();
  RowsDatabase(const RowsDatabase&) = delete;
  RowsDatabase& operator=(const RowsDatabase&) = delete;

  void add(uint32_t rank, const OpRow& row, const ClockOffset& offset);
  void add(uint32_t rank, const LossRow& row);
  void add(uint32_t rank, const ClockRow& row);
  void add(uint32_t rank, const TelemetryRow& row);
  void add(const Stragglers::Step& step);
  void commit(const JobReport& report);

 private:
  struct Tables;
  std::unique_ptr<Tables> tables_;
};

}  // namespace ttc::fleet
