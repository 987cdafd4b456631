// PCI functions as `ttcollect list` shows them.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "driver_iface/pci_functions.hpp"

namespace ttc::collect {

nlohmann::ordered_json to_json(const card::PciFunction& function);
std::string to_text(const card::PciFunction& function);  // several lines

}  // namespace ttc::collect
