#include "tools/chip/path_file.hpp"

namespace ttc::chip {
namespace {

constexpr const char* kPathRiscs[] = {"BRISC", "NCRISC", "TRISC_0", "TRISC_1",
                                      "TRISC_2"};  // as the device CSV spells them

}  // namespace

PathFile::PathFile(std::string path) : file_(std::move(path)) {
  file_.write("run host ID,begin[cycles],end[cycles],core_x,core_y,RISC,what\n");
}

void PathFile::add(uint32_t host_id, const std::vector<ProgramPart>& parts, const Shape& shape,
                   Cycles moved) {
  for (const ProgramPart& p : parts) {
    std::string where = ",,";
    if (p.core != kNoCore) {
      const Place& at = shape.cores[p.core];
      where = std::to_string(at.x) + "," + std::to_string(at.y) + "," + kPathRiscs[p.risc];
    }
    file_.write(std::to_string(host_id) + "," + std::to_string(p.begin + moved) + "," +
                std::to_string(p.end + moved) + "," + where + "," + p.what + "\n");
  }
}

}  // namespace ttc::chip
