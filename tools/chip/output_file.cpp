#include "tools/chip/output_file.hpp"

namespace ttc::chip {
namespace {

std::string margin_of(const Launched& launched, Race::Kind kind) {
  for (const Race& race : launched.timeline.races) {
    if (race.kind != kind) continue;
    const bool both = race.arrived != Race::kNever && race.taken != Race::kNever;
    return both ? std::to_string(race.margin()) : "never";
  }
  return "";
}

}  // namespace

std::string hex_of(uint64_t checksum) {
  std::string text(16, '0');
  for (size_t i = text.size(); i-- > 0; checksum >>= 4) text[i] = "0123456789abcdef"[checksum & 15];
  return text;
}

OutputFile::OutputFile(std::string path) : file_(std::move(path)) {
  file_.write("run host ID,checksum,race margin[cycles],hang margin[cycles]\n");
}

void OutputFile::add(uint32_t host_id, const Launched& launched) {
  file_.write(std::to_string(host_id) + "," + (launched.hung.empty() ? hex_of(launched.checksum) : "") + "," +
              margin_of(launched, Race::data) + "," + margin_of(launched, Race::wake_up) + "\n");
}

}  // namespace ttc::chip
