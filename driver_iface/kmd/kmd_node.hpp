// Finds the driver's node of a device argument, and what the system reports about the node without opening it.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "driver_iface/kmd/kmd_system.hpp"

namespace ttc::card::kmd {

struct Node {
  uint32_t ordinal = 0;
  std::string path;  // /dev/tenstorrent/N
};

// 0, /dev/tenstorrent/0, /dev/tenstorrent/by-id/..., pci:0000:01:00.0
bool names_a_node(const std::string& spec);
// Throws OpenError.
Node node_of(System& system, const std::string& spec);
// The nodes that exist, as pci:DDDD:BB:DD.F (sorted, they are in tt-metal's order of chips), or by ordinal
// where sysfs does not name a node's function.
std::vector<std::string> present_nodes(System& system);

std::string class_path(const Node& node, const char* attribute);
// Attribute of the node's class directory (tt_aiclk ...), without the line's end.
std::optional<std::string> attribute(System& system, const Node& node, const char* name);

// Directory of the function's sensors, "" where the driver has none.
std::string sensors(System& system, const Node& node);

// Processes that have the node open, newest first, this one left out. Empty also where the driver does not
// report (before 2.5.0).
std::vector<int> holders(System& system, const Node& node);
// The same as a sentence part: "pid 139 (observer), 140 (workload)"; where the reader may, with windows held.
std::string holders_text(System& system, const Node& node);

}  // namespace ttc::card::kmd
