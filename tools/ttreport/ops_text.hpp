// The tables that `ttreport ops` prints: ops, advice, summary.
#pragma once
#include <string>
#include <vector>

#include "tools/report/ops/op_report.hpp"
#include "tools/report/text/text_table.hpp"

namespace ttc::tools {

struct OpsLook {
  bool color = false;
  size_t width = 0;            // columns of the terminal; 0: any
  double least_percent = 0.5;  // of the total: what takes less is grey
  bool hide = false;           // and left out
  size_t rows = 0;             // of each table, those that take longest; 0: all
  size_t page = 0;             // lines of the terminal, for ops_page()
  size_t top_slow = 10;
  bool advice = true;
};

// Line by line: the text of a run of any length is never one object in memory.
void ops_text(const report::OpReport& report, const OpsLook& look, const report::TextSink& put);
std::string summary_text(const std::vector<report::StackedRow>& rows, report::GroupBy by, bool by_device,
                         const OpsLook& look);

struct OpsSummary {
  std::vector<report::StackedRow> rows;  // empty: not requested
  report::GroupBy by = report::GroupBy::memory;
  bool by_device = false;
};
// Used on a terminal: prints all of it if it fits on `look.page` lines, else the ops that take longest, the verdict,
// the front of the summary, and what is left out.
void ops_page(const report::OpReport& report, const OpsSummary& summary, const OpsLook& look,
              const report::TextSink& put);

}  // namespace ttc::tools
