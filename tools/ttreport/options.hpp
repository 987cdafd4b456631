// The options that all reports on a run share, and reading it with a progress bar.
#pragma once
#include <initializer_list>
#include <string>

#include "tools/report/ops/run.hpp"
#include "tools/ttreport/report.hpp"

namespace ttc::tools {

void add_input_options(CLI::App& command, report::RunOptions& options);
// --time: what durations are; the clock models of captures are read.
void add_time_option(CLI::App& command, report::RunOptions& options);
void add_arch_option(CLI::App& command, std::string& arch);
// Must be called before any of them is opened; empty ones count as none. Throws program::UsageError, InputError.
void refuse_outputs_over_inputs(const report::RunOptions& options,
                                std::initializer_list<std::string> outputs);
report::Run read_with_progress(report::RunOptions& options, const report::RunListeners& listeners = {});
// Prints the run's remarks on stderr; returns the exit code for the source.
int report_remarks(const report::Run& run);
// `e`: of a damaged source the name may be gone, else the command line is wrong.
int refuse_name(int code, const report::UnknownName& e);
// Does what report_remarks(run) does, with what the run's table leaves aside.
int report_remarks(const report::Run& run, const report::OpTable& table);

}  // namespace ttc::tools
