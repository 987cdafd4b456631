#pragma once
#include "driver_iface/card.hpp"

namespace ttc::card {

// Card::wall_clock() of any card that can aim and load registers.
Access read_wall_clock(Card& card, Coord tile, uint64_t& cycles);

}  // namespace ttc::card
