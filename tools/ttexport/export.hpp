// The exports of ttexport: a source through the pipeline into a format, or Tracy servers that are served.
#pragma once
#include <csignal>
#include <memory>
#include <string>

#include "tools/ranks/rank_captures.hpp"
#include "tools/ttexport/options.hpp"

namespace ttc::tools {

// Both give the exit code and throw SourceError; run_export() OutputError, serve_tracy() tracy::ListenError.
int run_export(const ExportOptions& options);
int serve_tracy(const ExportOptions& options);  // until a signal; a second one ends it at once
// Likewise; throws MetricsError. Its sources may appear later, within --wait.
int serve_metrics_of(const ExportOptions& options);

bool is_filtered(const ExportOptions& options, bool everything);
std::string nothing_passes(const ExportOptions& options);  // a sentence

// sqlite_export.cpp. `everything`: no marker is left out by where or when it was. `stop`: a signal came.
int run_sqlite_export(const ExportOptions& options, std::unique_ptr<Source> source, bool everything,
                      const volatile std::sig_atomic_t& stop);
// Captures of several ranks: each is one of the file, with its host and rank, all on the common time.
int run_sqlite_export_of_ranks(const ExportOptions& options, const RankCaptures& ranks, bool everything,
                               jobs::Workers* workers, const volatile std::sig_atomic_t& stop);

}  // namespace ttc::tools
