#include "tools/emulation/zone_catalog.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "firmware_markers/zone_names.hpp"

namespace ttc::emulation {
namespace {

// The name of each processor's binaries in the notes, in the order of ZoneCatalog's processors.
struct Source {
  const char* zones;  // NAME-FW, NAME-KERNEL
  const char* firmware;
  const char* kernel;
};
constexpr Source kSources[] = {
    {"BRISC", "emulated/firmware/brisc.cc", "emulated/kernels/writer.cpp"},
    {"NCRISC", "emulated/firmware/ncrisc.cc", "emulated/kernels/reader.cpp"},
    {"TRISC", "emulated/firmware/trisc.cc", "emulated/kernels/unpack.cpp"},
    {"TRISC", "emulated/firmware/trisc.cc", "emulated/kernels/math.cpp"},
    {"TRISC", "emulated/firmware/trisc.cc", "emulated/kernels/pack.cpp"},
    {"ERISC", "emulated/firmware/active_erisc.cc", "emulated/kernels/eth_sender.cpp"},
    {"ERISC", "emulated/firmware/subordinate_erisc.cc", "emulated/kernels/eth_receiver.cpp"},
    {"ERISC", "emulated/firmware/idle_erisc.cc", "emulated/kernels/eth_idle.cpp"},
    {"ERISC", "emulated/firmware/idle_subordinate_erisc.cc", "emulated/kernels/eth_idle_helper.cpp"},
};

Zone zone(const std::string& name, const std::string& file, unsigned line) {
  const std::string zone_string = name + "," + file + "," + std::to_string(line) + ",KERNEL_PROFILER";
  return {zone_string, markers::hash16(zone_string)};
}

Zone zone_at(const std::string& name, const std::string& file, unsigned line) {
  const std::string zone_string = name + "," + file + "," + std::to_string(line) + ",KERNEL_PROFILER";
  return {zone_string, markers::hash16(zone_string)};
}

}  // namespace

ZoneCatalog::ZoneCatalog(unsigned kernel_zones, const CatalogOptions& options)
    : used_(options.ethernet ? processors_.size() : device::kMaxRiscs),
      dram_push_(zone("PROFILER-DRAM-PUSH", "emulated/profiler.hpp", 210)),
      noc_flush_(zone("PROFILER-NOC-FLUSH", "emulated/profiler.hpp", 220)) {
  const bool renamed = options.generation == 3 || options.generation == 4;
  quick_push_ =
      zone(renamed ? "PROFILER-NOC-QUICK-PUSH" : "PROFILER-NOC-QUICK-SEND", "emulated/profiler.hpp", 200);
  for (size_t p = 0; p < processors_.size(); ++p) {
    const Source& source = kSources[p];
    Processor& own = processors_[p];
    const bool active_erisc = p == place(0, Kind::active_ethernet) || p == place(1, Kind::active_ethernet);
    const std::string active = active_erisc && options.arch == "blackhole" ? "ACTIVE-" : "";
    own.fw = zone(active + source.zones + "-FW", source.firmware, 300);
    own.kernel = zone(std::string(source.zones) + "-KERNEL", source.firmware, 320);
    own.data = zone("TILE-BYTES", source.kernel, 90);
    own.sums[0] = zone("WAIT-IN", source.kernel, 91);
    own.sums[1] = zone("WAIT-OUT", source.kernel, 92);
  }
  // Names share a hash only if that fault was requested, never by chance of having many zones.
  std::set<uint16_t> taken;
  for (const Zone* fixed : fixed_zones()) taken.insert(fixed->id);
  for (size_t p = 0; p < processors_.size(); ++p)
    for (unsigned z = 0, line = 100; z < std::max(1u, kernel_zones); ++z) {
      std::vector<Zone>& custom = processors_[p].custom;
      do custom.resize(z), custom.push_back(zone("STEP-" + std::to_string(z), kSources[p].kernel, line++));
      while (!taken.insert(custom.back().id).second);
    }
}

std::vector<const Zone*> ZoneCatalog::fixed_zones() const {
  std::vector<const Zone*> zones{&quick_push_, &dram_push_, &noc_flush_};
  for (const Processor& p : processors_)
    zones.insert(zones.end(), {&p.fw, &p.kernel, &p.data, &p.sums[0], &p.sums[1]});
  return zones;
}

std::vector<const Zone*> ZoneCatalog::firmware_zones() const {
  std::vector<const Zone*> zones{&quick_push_, &dram_push_, &noc_flush_};
  for (size_t p = 0; p < used_; ++p) zones.insert(zones.end(), {&processors_[p].fw, &processors_[p].kernel});
  return zones;
}

std::vector<const Zone*> ZoneCatalog::kernel_zones_of(uint32_t index) const {
  std::vector<const Zone*> zones;
  for (size_t p = 0; p < used_; ++p) {
    const Processor& own = processors_[p];
    zones.push_back(&own.custom[index % own.custom.size()]);
    if (index == 0) zones.insert(zones.end(), {&own.data, &own.sums[0], &own.sums[1]});
  }
  return zones;
}

std::string colliding_note(const Zone& zone) {
  for (unsigned line = 1;; ++line) {  // one of 65536 has it, so this ends soon
    std::string zone_string =
        "LOOKALIKE,emulated/kernels/other.cpp," + std::to_string(line) + ",KERNEL_PROFILER";
    if (zone_string != zone.zone_string && markers::hash16(zone_string) == zone.id) return zone_string;
  }
}

ZoneLog::ZoneLog(const std::string& directory, const WorkloadFaults::Names& faults) : faults_(faults) {
  if (directory.empty()) return;
  std::filesystem::create_directories(directory);
  path_ = directory + "/new_zone_src_locations.log";
  std::ofstream(path_, std::ios::trunc);  // "new" is what this run compiled
}

void ZoneLog::compiled(const std::vector<const Zone*>& zones) {
  if (path_.empty()) return;
  std::ofstream log(path_, std::ios::app);
  const auto write = [&](const std::string& zone_string) {
    log << "emulated/profiler.hpp:21:9: note: '#pragma message: " << zone_string << "'\n";
  };
  for (const Zone* z : zones) {
    if (std::mt19937_64(faults_.seed * 65536 + z->id)() % 100 < faults_.missing_percent) continue;
    write(z->zone_string);
    if (collisions_ == faults_.collisions) continue;
    ++collisions_;
    write(colliding_note(*z));
  }
}

ChipZones::ChipZones(const ZoneCatalog& catalog) {
  std::set<uint16_t> taken;
  for (const Zone* z : catalog.firmware_zones()) taken.insert(z->id);
  for (uint32_t i = 0; i < catalog.kernel_zones(); ++i)
    for (const Zone* z : catalog.kernel_zones_of(i)) taken.insert(z->id);
  const auto unique = [&](const std::string& name, const std::string& file, unsigned line) {
    for (;; ++line)
      if (Zone z = zone_at(name, file, line); taken.insert(z.id).second) return z;
  };
  for (const auto pattern :
       {chip::Pattern::stream, chip::Pattern::multicast, chip::Pattern::pipeline, chip::Pattern::ring})
    for (uint8_t z = 0; z < static_cast<uint8_t>(chip::ZoneOf::count); ++z) {
      const chip::ZonePlace place = chip::zone_place(pattern, static_cast<chip::ZoneOf>(z));
      zones_[static_cast<size_t>(pattern)][z] = unique(place.name, place.file, place.line);
    }
  dispatch_[0] = unique("CQ-DISPATCH-WRITE", "emulated/kernels/cq_dispatch.cpp", 400);
  dispatch_[1] = unique("CQ-DISPATCH-GO", "emulated/kernels/cq_dispatch.cpp", 430);
}

std::vector<const Zone*> ChipZones::all() const {
  std::vector<const Zone*> all = dispatch();
  for (const auto& pattern : zones_)
    for (const Zone& zone : pattern) all.push_back(&zone);
  return all;
}

std::vector<const Zone*> ChipZones::of(chip::Pattern pattern) const {
  std::vector<const Zone*> all;
  for (const Zone& zone : zones_[static_cast<size_t>(pattern)]) all.push_back(&zone);
  return all;
}

}  // namespace ttc::emulation
