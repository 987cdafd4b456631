// Any bytes as a table of ops: refused in a sentence, or a report whose numbers are finite.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

#include "tools/report/diff/run_diff.hpp"
#include "tools/report/input/device_input.hpp"
#include "tools/report/ops/op_report.hpp"
#include "tools/report/text/csv_file.hpp"

using namespace ttc::report;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::istringstream in(std::string(reinterpret_cast<const char*>(data), size));
  CsvFile file(in);
  Cells cells;
  if (!file.next(cells.header)) return 0;
  for (std::vector<std::string> fields; file.next(fields);)
    if (fields.size() == cells.header.size()) cells.rows.push_back(fields);
  const OpTable table = op_table(cells, {});
  if (table.rows.size() != cells.rows.size()) std::abort();
  try {
    for (const bool merge : {false, true}) {
      ReportOptions options;
      options.merge_devices = merge;
      const OpReport report = make_report(table, options);
      for (const ReportRow& r : report.rows)
        for (const Number& n : {r.total_percent, r.device_us, r.gap_us})
          if (n && !std::isfinite(*n)) std::abort();
      stacked(report, GroupBy::memory, merge, false);
      const ReportColumns columns{true, true, true};
      for (const ReportRow& r : report.rows)
        if (report_line(r, columns).size() != report_header(columns).size()) std::abort();
    }
    StepOptions steps;
    find_steps(table, steps);
    compare(table, table);
  } catch (const InputError& e) {
    if (std::string(e.what()).find('\n') != std::string::npos && table.rows.empty()) std::abort();
  }
  return 0;
}
