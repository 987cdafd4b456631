// Opening: from a spec to a descriptor that works, two windows, their mappings and the health page; each way
// in which that fails is one sentence. Remarks of opening are in `notes`.
#pragma once
#include <string>
#include <vector>

#include "driver_iface/arch.hpp"
#include "driver_iface/card.hpp"
#include "driver_iface/kmd/kmd_device.hpp"
#include "driver_iface/kmd/kmd_node.hpp"

namespace ttc::card::kmd {

struct Version {
  unsigned major = 0, minor = 0, patch = 0;
  bool at_least(unsigned a, unsigned b) const { return major > a || (major == a && minor >= b); }
};
std::string to_string(const Version& version);

struct MappedWindow {
  uint32_t id = 0;
  const volatile uint8_t* uncached = nullptr;   // registers, flags, single lines
  const volatile uint8_t* combining = nullptr;  // payload only: nullptr in the control window
};

struct Opened {
  explicit Opened(System& system) : device(system) {}
  Device device;
  Node node;
  Version version;
  DeviceInfo info;
  const Arch* arch = nullptr;
  MappedWindow window[kWindows];
  const volatile uint8_t* node_id_page = nullptr;  // 4 KiB of BAR0 around Arch::bar0_node_id
  std::vector<std::string> remarks;
};

inline constexpr size_t kPageBytes = 4096;

// Throws OpenError.
std::unique_ptr<Opened> open_windows(System& system, const std::string& spec, const OpenOptions& options);

}  // namespace ttc::card::kmd
