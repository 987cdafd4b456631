// The place of a card in this machine: its function on the PCI bus, if it has one.
#pragma once
#include <optional>
#include <span>

#include "driver_iface/card.hpp"
#include "driver_iface/pci_functions.hpp"

namespace ttc::collect {

// The function behind an open card; no value for an emulated one.
std::optional<card::PciFunction> function_of(const card::Identity& identity,
                                             std::span<const card::PciFunction> functions);

// What the link can carry in one direction, bytes a second, after line coding; 0 when sysfs does not report it.
double bytes_per_s_of(const card::Link& link);

}  // namespace ttc::collect
