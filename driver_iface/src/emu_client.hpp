#pragma once
#include "driver_iface/card.hpp"

namespace ttc::card::emu {
// Connects to a running emulated card. Throws OpenError.
std::unique_ptr<Card> open_emulated(const std::string& name);
std::vector<std::string> running_cards();
}  // namespace ttc::card::emu
