// The command line of ttexport.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "collector/program/program.hpp"
#include "tools/pipeline/pipeline.hpp"
#include "tools/viewers/tracy_feed.hpp"
#include "ttcollect/capture_reader.hpp"

namespace ttc::tools {

using program::ExportExit;
constexpr program::Program kTtexport{"ttexport", ExportExit::kOutput};

struct ExportOptions {
  std::vector<std::string> from;
  std::string format = "device-csv", output = "-";
  int end_with_parent = 0;
  bool follow = false, from_now = false, redact = false, anomalies = false, keep_duplicates = false,
       gzip = false, append = false, markers = false;
  unsigned wait_ms = 0;
  std::string order, time = "device", host_clock = "raw", cycles, between, of_66 = "0.11.0",
                     tracy_lanes = "threads", window, profilers;
  std::vector<std::string> cores, zones;
  std::vector<unsigned> riscs;
  std::vector<uint32_t> host_ids;
  int chip = -1;
  std::string host;
  int64_t rank = -1;
  unsigned threads = 2;
  FormatOptions format_options;
  TracyFeed tracy;
};

void add_options(CLI::App& app, ExportOptions& options);
// Must be called after `app` has read the command line. Throws program::UsageError.
void complete(const CLI::App& app, ExportOptions& options);

Filter filter_of(const ExportOptions& options);
// The part of a capture that must be read.
collect::Wanted wanted_of(const ExportOptions& options, const Filter& filter);

}  // namespace ttc::tools
