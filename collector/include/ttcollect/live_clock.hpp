// The clock table of a live segment as clock models, one a domain: what is known now, final or not.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "ttcollect/clock_map.hpp"

namespace ttc::collect {

// `words` as shm::Reader::clock() gives them. Foreign bytes: what makes no sense ends the list.
std::vector<ClockMap> live_clock(std::span<const uint64_t> words);

}  // namespace ttc::collect
