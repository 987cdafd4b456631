// The telemetry of cards while they were collected from, ten times a second: a row a record, a cell empty
// if the card does not report it. Host time is CLOCK_MONOTONIC_RAW, as `device-csv --time host` has it, so that
// a slow op can be compared with it.
#pragma once
#include "tools/pipeline/format.hpp"

namespace ttc::tools {

class TelemetryCsv : public Format {
 public:
  TelemetryCsv(Output& out, const FormatOptions&) : out_(out) {}

  void begin(const Session&) override;
  void frame(const FrameEvents&) override {}
  void loss(const shm::LossRecord&) override {}
  void names_changed() override {}
  void telemetry(uint32_t chip, const shm::TelemetryRecord& record) override;
  void end() override {}

 private:
  Output& out_;
  bool head_written_ = false;
};

}  // namespace ttc::tools
