// The PCI functions of a vendor, by libpci through sysfs.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace ttc::card {

struct ScannedFunction {
  unsigned domain = 0, bus = 0, device = 0, function = 0;
  uint16_t device_id = 0;
  std::string bdf() const;  // DDDD:BB:DD.F
};

// The functions in order of address. `sys` is where sysfs is mounted. Throws InventoryError.
std::vector<ScannedFunction> scan_pci(const std::string& sys, uint16_t vendor);

}  // namespace ttc::card
