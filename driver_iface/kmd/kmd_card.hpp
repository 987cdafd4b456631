// A card behind the Linux driver tt-kmd (2.0 and later), beside whatever else uses it.
#pragma once
#include <memory>
#include <string>

#include "driver_iface/card.hpp"
#include "driver_iface/kmd/kmd_system.hpp"

namespace ttc::card::kmd {

// Throws OpenError.
std::unique_ptr<Card> open_node(System& system, const std::string& spec, const OpenOptions& options);

}  // namespace ttc::card::kmd
