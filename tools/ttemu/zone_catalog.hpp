// The zones an emulated workload uses, and the logs its "compiler" would have written.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "firmware_markers/device/format.hpp"

namespace ttc::emulation {

struct Zone {
  std::string note;  // NAME,FILE,LINE,KERNEL_PROFILER
  uint16_t id;       // its hash
};

class ZoneCatalog {
 public:
  explicit ZoneCatalog(unsigned kernel_zones, unsigned generation = device::kG4.generation);

  const Zone& fw(uint32_t risc) const { return fw_[risc]; }
  const Zone& kernel(uint32_t risc) const { return kernel_[risc]; }
  const Zone& custom(uint32_t risc, uint32_t index) const {
    return custom_[risc][index % custom_[risc].size()];
  }
  const Zone& data(uint32_t risc) const { return data_[risc]; }
  const Zone& quick_push() const { return quick_push_; }
  unsigned kernel_zones() const { return static_cast<unsigned>(custom_[0].size()); }

  std::vector<const Zone*> firmware_zones() const;                 // compiled before the workload starts
  std::vector<const Zone*> kernel_zones_of(uint32_t index) const;  // compiled when first used

 private:
  std::array<Zone, device::kMaxRiscs> fw_, kernel_, data_;
  std::array<std::vector<Zone>, device::kMaxRiscs> custom_;
  Zone quick_push_;
};

// Appends compiler notes to DIR/new_zone_src_locations.log, DIR being <profiler dir>/.logs.
class ZoneLog {
 public:
  explicit ZoneLog(const std::string& directory);  // empty: writes nothing
  void compiled(const std::vector<const Zone*>& zones);

 private:
  std::string path_;
};

}  // namespace ttc::emulation
