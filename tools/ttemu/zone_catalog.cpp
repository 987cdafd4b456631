#include "ttemu/zone_catalog.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "firmware_markers/zone_names.hpp"

namespace ttc::emulation {
namespace {

constexpr const char* kRisc[] = {"BRISC", "NCRISC", "TRISC", "TRISC", "TRISC"};
constexpr const char* kFwFile[] = {"emulated/firmware/brisc.cc", "emulated/firmware/ncrisc.cc",
                                   "emulated/firmware/trisc.cc", "emulated/firmware/trisc.cc",
                                   "emulated/firmware/trisc.cc"};
constexpr const char* kKernelFile[] = {"emulated/kernels/writer.cpp", "emulated/kernels/reader.cpp",
                                       "emulated/kernels/unpack.cpp", "emulated/kernels/math.cpp",
                                       "emulated/kernels/pack.cpp"};

Zone zone(const std::string& name, const std::string& file, unsigned line) {
  const std::string note = name + "," + file + "," + std::to_string(line) + ",KERNEL_PROFILER";
  return {note, markers::hash16(note)};
}

}  // namespace

ZoneCatalog::ZoneCatalog(unsigned kernel_zones, unsigned generation)
    : quick_push_(
          zone(generation == 3 || generation == 4 ? "PROFILER-NOC-QUICK-PUSH" : "PROFILER-NOC-QUICK-SEND",
               "emulated/profiler.hpp", 200)) {
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r) {
    fw_[r] = zone(std::string(kRisc[r]) + "-FW", kFwFile[r], 300);
    kernel_[r] = zone(std::string(kRisc[r]) + "-KERNEL", kFwFile[r], 320);
    data_[r] = zone("TILE-BYTES", kKernelFile[r], 90);
    for (unsigned z = 0; z < std::max(1u, kernel_zones); ++z)
      custom_[r].push_back(zone("STEP-" + std::to_string(z), kKernelFile[r], 20 + z));
  }
}

std::vector<const Zone*> ZoneCatalog::firmware_zones() const {
  std::vector<const Zone*> zones{&quick_push_};
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r) zones.insert(zones.end(), {&fw_[r], &kernel_[r]});
  return zones;
}

std::vector<const Zone*> ZoneCatalog::kernel_zones_of(uint32_t index) const {
  std::vector<const Zone*> zones;
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r) {
    zones.push_back(&custom(r, index));
    if (index == 0) zones.push_back(&data_[r]);
  }
  return zones;
}

ZoneLog::ZoneLog(const std::string& directory) {
  if (directory.empty()) return;
  std::filesystem::create_directories(directory);
  path_ = directory + "/new_zone_src_locations.log";
  std::ofstream(path_, std::ios::trunc);  // "new" is what this run compiled
}

void ZoneLog::compiled(const std::vector<const Zone*>& zones) {
  if (path_.empty()) return;
  std::ofstream log(path_, std::ios::app);
  for (const Zone* z : zones)
    log << "emulated/profiler.hpp:21:9: note: '#pragma message: " << z->note << "'\n";
}

}  // namespace ttc::emulation
