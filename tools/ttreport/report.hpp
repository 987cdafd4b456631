// One report is one file and one row of the table in reports.cpp: `ttreport NAME ...`.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "collector/program/program.hpp"

namespace ttc::tools {

using program::ReportExit;
constexpr program::Program kTtreport{"ttreport", ReportExit::kOutput};

inline int say(int code, std::string_view sentence) {
  return program::say(kTtreport, code, sentence);
}

class Report {
 public:
  virtual ~Report() = default;
  // Adds the report's options to its subcommand. The report owns the variables that they are bound to.
  virtual void options(CLI::App& command) = 0;
  // Called after the command line was read; returns the exit code. May throw SourceError and OutputError.
  virtual int run() = 0;
};

struct ReportEntry {
  const char* name;
  const char* what;  // for --help, one line
  std::unique_ptr<Report> (*make)();
};
std::span<const ReportEntry> reports();

// Each in the file of its name.
std::unique_ptr<Report> make_loss_report();
std::unique_ptr<Report> make_summary_report();
std::unique_ptr<Report> make_ops_report();
std::unique_ptr<Report> make_kernels_report();
std::unique_ptr<Report> make_heatmap_report();
std::unique_ptr<Report> make_steps_report();
std::unique_ptr<Report> make_timeline_report();
std::unique_ptr<Report> make_diff_report();
std::unique_ptr<Report> make_html_report();
std::unique_ptr<Report> make_host_report();
std::unique_ptr<Report> make_threads_report();
std::unique_ptr<Report> make_files_report();
std::unique_ptr<Report> make_sql_report();
std::unique_ptr<Report> make_stragglers_report();

}  // namespace ttc::tools
