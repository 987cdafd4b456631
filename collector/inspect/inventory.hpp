// `ttcollect list` and `ttcollect clean`: cards and segments that are there.
#pragma once
#include "driver_iface/pci_functions.hpp"

namespace ttc::collect {

// Prints the list on stdout. Throws card::InventoryError.
void list(bool as_json, const card::SystemRoots& roots);
void clean();  // removes what no running collector holds, and prints what it removed

}  // namespace ttc::collect
