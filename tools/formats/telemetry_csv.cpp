#include "tools/formats/telemetry_csv.hpp"

namespace ttc::tools {

void TelemetryCsv::begin(const Session&) {
  if (!head_written_)
    out_.append(
        "chip,host time [ns],AICLK [MHz],power [mW],temperature [mC],link share [ppm],log fill [ppm]\n");
  head_written_ = true;
}

void TelemetryCsv::telemetry(uint32_t chip, const shm::TelemetryRecord& r) {
  const auto field = [&](unsigned bit, int64_t value) {
    return r.known >> bit & 1 ? "," + std::to_string(value) : std::string(",");
  };
  out_.append(std::to_string(chip) + "," + std::to_string(r.host_ns) + field(0, r.aiclk_mhz) +
              field(1, r.power_mw) + field(2, r.temperature_mc) + field(3, r.link_share_ppm) +
              field(4, r.log_fill_ppm) + "\n");
}

}  // namespace ttc::tools
