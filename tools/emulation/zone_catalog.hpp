// The zones an emulated workload uses, and the logs its "compiler" would have written.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "firmware_markers/layout.hpp"
#include "tools/chip/workload.hpp"
#include "tools/emulation/workload_faults.hpp"

namespace ttc::emulation {

struct Zone {
  std::string zone_string;  // NAME,FILE,LINE,KERNEL_PROFILER
  uint16_t id;              // its hash
};

struct CatalogOptions {
  unsigned generation = device::kG4.generation;  // some firmware zones were renamed
  std::string_view arch = "wormhole_b0";
  bool ethernet = false;  // zones of Ethernet cores are compiled too
};

class ZoneCatalog {
 public:
  using Kind = markers::CoreKind;
  explicit ZoneCatalog(unsigned kernel_zones, const CatalogOptions& options = {});

  const Zone& fw(uint32_t risc, Kind kind = Kind::tensix) const { return of(risc, kind).fw; }
  const Zone& kernel(uint32_t risc, Kind kind = Kind::tensix) const { return of(risc, kind).kernel; }
  const Zone& custom(uint32_t risc, uint32_t index, Kind kind = Kind::tensix) const {
    const auto& custom = of(risc, kind).custom;
    return custom[index % custom.size()];
  }
  const Zone& data(uint32_t risc, Kind kind = Kind::tensix) const { return of(risc, kind).data; }
  const Zone& sum(uint32_t risc, uint32_t slot, Kind kind = Kind::tensix) const {
    return of(risc, kind).sums[slot];
  }
  const Zone& quick_push() const { return quick_push_; }
  const Zone& dram_push() const { return dram_push_; }  // accumulate mode
  const Zone& noc_flush() const { return noc_flush_; }
  unsigned kernel_zones() const { return static_cast<unsigned>(processors_[0].custom.size()); }

  std::vector<const Zone*> firmware_zones() const;                 // compiled before the workload starts
  std::vector<const Zone*> kernel_zones_of(uint32_t index) const;  // compiled when first used

 private:
  std::vector<const Zone*> fixed_zones() const;  // all but the numbered ones
  // The zones one processor's binary has.
  struct Processor {
    Zone fw, kernel, data, sums[2];
    std::vector<Zone> custom;
  };
  // Five RISCs of a Tensix, then two of an active and two of an idle Ethernet core.
  static size_t place(uint32_t risc, Kind kind) {
    return kind == Kind::tensix ? risc : 3 + 2 * static_cast<size_t>(kind) + risc;
  }
  const Processor& of(uint32_t risc, Kind kind) const { return processors_[place(risc, kind)]; }
  std::array<Processor, device::kMaxRiscs + 4> processors_;
  size_t used_;  // how many of them the workload compiles for
  Zone quick_push_, dram_push_, noc_flush_;
};

// Another zone string with the hash of `zone`: of another name, file and line.
std::string colliding_note(const Zone& zone);

// Appends compiler notes to DIR/new_zone_src_locations.log, DIR being <profiler dir>/.logs.
class ZoneLog {
 public:
  // Empty directory: writes nothing.
  explicit ZoneLog(const std::string& directory, const WorkloadFaults::Names& faults = {});
  void compiled(const std::vector<const Zone*>& zones);

 private:
  std::string path_;
  WorkloadFaults::Names faults_;
  unsigned collisions_ = 0;  // written so far
};

// The zones that kernels of the patterns record, and those of dispatch cores, with no hash twice and none of `catalog`'s.
class ChipZones {
 public:
  explicit ChipZones(const ZoneCatalog& catalog);
  const Zone& of(chip::Pattern pattern, uint8_t zone) const {
    return zones_[static_cast<size_t>(pattern)][zone];
  }
  const Zone& dispatch(unsigned which) const { return dispatch_[which]; }
  std::vector<const Zone*> of(chip::Pattern pattern) const;
  std::vector<const Zone*> all() const;
  std::vector<const Zone*> dispatch() const { return {&dispatch_[0], &dispatch_[1]}; }

 private:
  std::array<std::array<Zone, static_cast<size_t>(chip::ZoneOf::count)>, chip::kPatterns> zones_;
  Zone dispatch_[2];
};

}  // namespace ttc::emulation
