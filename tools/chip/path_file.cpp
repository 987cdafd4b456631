#include "tools/chip/path_file.hpp"

#include <cerrno>
#include <cinttypes>
#include <cstring>
#include <stdexcept>

namespace ttc::chip {
namespace {

constexpr const char* kPathRiscs[] = {"BRISC", "NCRISC", "TRISC_0", "TRISC_1",
                                      "TRISC_2"};  // as the device CSV spells them

}  // namespace

PathFile::PathFile(std::string path) : path_(std::move(path)), file_(std::fopen(path_.c_str(), "we")) {
  if (!file_) throw std::runtime_error(path_ + " cannot be written: " + std::strerror(errno));
  std::fputs("run host ID,begin[cycles],end[cycles],core_x,core_y,RISC,what\n", file_.get());
}

void PathFile::add(uint32_t host_id, const std::vector<ProgramPart>& parts, const Shape& shape,
                   Cycles moved) {
  for (const ProgramPart& p : parts) {
    std::fprintf(file_.get(), "%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",", host_id, p.begin + moved,
                 p.end + moved);
    if (p.core == kNoCore)
      std::fputs(",,,", file_.get());
    else
      std::fprintf(file_.get(), "%u,%u,%s,", shape.cores[p.core].x, shape.cores[p.core].y,
                   kPathRiscs[p.risc]);
    std::fprintf(file_.get(), "%s\n", p.what.c_str());
  }
}

void PathFile::close() {
  if (!file_) return;
  const bool lacks = std::ferror(file_.get()) != 0;
  if (std::fclose(file_.release()) != 0 || lacks)
    throw std::runtime_error(path_ + " was not written whole: " + std::strerror(errno));
}

}  // namespace ttc::chip
