// The output of a run: the live line, the closing sentences, the JSON object.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "collector/ttcollect/device_run.hpp"
#include "collector/ttcollect/run.hpp"

namespace ttc::collect {

// A line on the terminal that is rewritten a few times a second, the sums of all devices; no output if
// stderr is no terminal.
class LiveLine {
 public:
  explicit LiveLine(bool wanted);
  bool on() const { return on_; }
  void show(std::span<const LiveFigures> devices, uint64_t now_ns);
  void clear();

 private:
  bool on_;
  uint64_t last_ns_;
  LiveFigures last_;
};

std::string to_json(const RunResult& result);
// The JSON of a run that collected no data.
std::string refusal_json(int exit_code, const std::string& why);
// The report as text: what was collected, cost and losses; `verbose` adds details. The first line is followed by
// indented ones.
std::string to_text(const DeviceResult& result, bool verbose);
std::string to_text(const CaptureResult& capture, bool verbose);
std::string to_text(const FlightRecording& recording);

}  // namespace ttc::collect
