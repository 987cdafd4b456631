// sync_device_info.csv of tt-metal: how the cycles of a device lie on those of the device that its sync began
// with, the root: t * ratio + shift (tt-metal impl/profiler/tt_metal_profiler.cpp). A chip without PCIe has no
// other relation to a clock of the host.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace ttc::tools {

class SyncLines {
 public:
  // Adds the file's lines, if there is one. Returns a sentence on lines that could not be read, which is damage;
  // empty if there are none.
  std::string read(const std::filesystem::path& path);

  bool known(uint32_t chip) const { return lines_.contains(chip); }
  // The device whose cycles all others are turned into; none where no single one keeps its own.
  std::optional<uint32_t> root() const;
  // Cycles of the root when `chip`, which is known, counted `cycles`; at least 0.
  uint64_t on_root(uint32_t chip, uint64_t cycles) const;

 private:
  struct Line {
    double ratio = 1, shift = 0;
    bool own() const { return ratio == 1 && shift == 0; }
  };
  std::map<uint32_t, Line> lines_;
};

}  // namespace ttc::tools
