// The command line of captures: bounds, rotation, memory; what contradicts itself; the arithmetic behind the
// defaults, in words.
#pragma once
#include <string>

#include "collector/program/option_units.hpp"
#include "collector/record/capture_writer.hpp"
#include "collector/record/flight_recorder.hpp"

namespace CLI {
class App;
}

namespace ttc::collect {

struct TypedCapture {
  program::SizeOrDuration rotate;
  std::string keep = "oldest";
  CaptureOptions options;
  FlightOptions flight;
  std::vector<std::string> triggers;
};

void add_capture_options(CLI::App& app, TypedCapture& typed);
void add_flight_options(CLI::App& app, TypedCapture& typed);

// Completes typed.options. Returns the error as a sentence, or an empty string.
std::string resolve_capture_options(TypedCapture& typed, const std::string& output);

// Does the same for a flight recorder, which takes `output` for the name of its recordings; `ring_bytes` becomes
// large enough for it.
std::string resolve_flight_options(TypedCapture& typed, const std::string& output, uint64_t& ring_bytes);

// How long a stall the memory covers: rate times stall.
std::string flight_arithmetic(const FlightOptions& options, uint64_t ring_bytes);
std::string capture_arithmetic(const CaptureOptions& options, uint64_t ring_bytes);

}  // namespace ttc::collect
