// One report is one file and one row of the table in reports.cpp: `ttreport NAME ...`.
#pragma once
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <span>
#include <string>

namespace ttc::tools {

enum ReportExit { kOk = 0, kUsage = 2, kNoSource = 3, kSourceDamaged = 4, kOutput = 5 };

inline int say(ReportExit code, const std::string& what) {
  std::fprintf(stderr, "ttreport: %s\n", what.c_str());
  return code;
}

class Report {
 public:
  virtual ~Report() = default;
  // Adds the report's options to its subcommand. What they are bound to lives as long as the report.
  virtual void options(CLI::App& command) = 0;
  // After the command line was read; the exit code. May throw SourceError and OutputError.
  virtual int run() = 0;
};

struct ReportEntry {
  const char* name;
  const char* what;  // for --help, one line
  std::unique_ptr<Report> (*make)();
};
std::span<const ReportEntry> reports();

// Each in the file of its name.
std::unique_ptr<Report> make_ops_report();
std::unique_ptr<Report> make_kernels_report();
std::unique_ptr<Report> make_heatmap_report();
std::unique_ptr<Report> make_steps_report();
std::unique_ptr<Report> make_diff_report();
std::unique_ptr<Report> make_html_report();
std::unique_ptr<Report> make_files_report();

}  // namespace ttc::tools
