// Names of what the kernels on dispatch cores record of themselves: they record the command they work on, its
// subtype and the runtime id of the program as TS_DATA inside their zones.
//
// Source: tt-metal tt_metal/impl/dispatch/kernels/cq_commands.hpp@001254c6, PR #36664 (18), and
// InputNamePlz/tt-metal@7bca1d2d for the rest.
#pragma once
#include <cstdint>
#include <string>

#include "firmware_markers/metal_date.hpp"

namespace ttc::markers {

// A number without a name is its decimal digits.
std::string dispatch_command_name(uint64_t data, MetalDate date);
// [0] multicast, [4:1] type. Multicast is written "MCAST;" in front.
std::string packed_write_name(uint64_t data);
std::string packed_large_write_name(uint64_t data);

}  // namespace ttc::markers
