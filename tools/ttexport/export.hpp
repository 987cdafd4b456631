// What ttexport does: a source through the pipeline into a format, or Tracy servers that are served.
#pragma once
#include "tools/ttexport/options.hpp"

namespace ttc::tools {

// Both give the exit code and throw SourceError; run_export() OutputError, serve_tracy() tracy::ListenError.
int run_export(const ExportOptions& options);
int serve_tracy(const ExportOptions& options);  // until a signal; a second one ends it at once

}  // namespace ttc::tools
