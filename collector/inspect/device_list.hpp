// Which devices a run is about, and which chip number each has.
#pragma once
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace ttc::collect {

// Wrong usage, as one sentence.
struct DeviceListError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct ChosenDevice {
  std::string spec;
  uint32_t chip;  // place in the list: column 1 of the device CSV
};

// What --device was given, its comma lists taken apart.
std::vector<std::string> listed_devices(std::span<const std::string> typed);
bool names_all(std::span<const std::string> given);  // "all" alone
// Refuses an empty list, an empty name, a device given twice, and "all" beside other names.
void check_device_list(std::span<const std::string> given);
// The given ones in the order given, or all that are present by name.
std::vector<ChosenDevice> choose_devices(std::span<const std::string> given,
                                         std::vector<std::string> present);

}  // namespace ttc::collect
