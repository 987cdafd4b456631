// The options that all reports on a run share, and reading it with a progress bar.
#pragma once
#include "tools/report/ops/run.hpp"
#include "tools/ttreport/report.hpp"

namespace ttc::tools {

void add_input_options(CLI::App& command, report::RunOptions& options);
report::Run read_with_progress(report::RunOptions& options, const report::RunListeners& listeners = {});
// Tells on stderr what a person should know; the exit code that the source deserves.
int tell(const report::Run& run);
// Bytes out of "64MiB", "1G", "1000000".
bool parse_size(const std::string& text, size_t& bytes);

}  // namespace ttc::tools
