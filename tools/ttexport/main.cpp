// ttexport: chunks from a live collector or a capture, as a file that other tools read.
#include "tools/metrics/metrics_server.hpp"
#include "tools/output/output.hpp"
#include "tools/pipeline/source.hpp"
#include "tools/tracy/listener.hpp"
#include "tools/ttexport/export.hpp"

namespace {

using namespace ttc;
using tools::kTtexport;

int run(int argc, char** argv) {
  const auto app = program::command_line_of(kTtexport, "Exports what ttcollect collected.");
  tools::ExportOptions options;
  tools::add_options(*app, options);
  if (const auto ended = program::parse_command_line(kTtexport, *app, argc, argv)) return *ended;
  tools::complete(*app, options);
  try {
    if (options.format == "tracy") return tools::serve_tracy(options);
    return options.format == "prometheus" ? tools::serve_metrics_of(options) : tools::run_export(options);
  } catch (const tools::SourceError& e) {
    return program::say(kTtexport, tools::ExportExit::kNoSource, e.what());
  } catch (const tools::MetricsError& e) {
    return program::say(kTtexport, tools::ExportExit::kOutput, e.what());
  } catch (const tracy::ListenError& e) {
    return program::say(kTtexport, tools::ExportExit::kOutput, e.what());
  } catch (const tools::OutputError& e) {
    return program::say(kTtexport, tools::ExportExit::kOutput, e.what());
  }
}

}  // namespace

int main(int argc, char** argv) {
  ttc::program::heap_of_large_pages();
  return ttc::program::run_program(kTtexport, [&] { return run(argc, argv); });
}
