// The clock table of a live segment as clock models, one a domain: all segments so far, final or not.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "ttcollect/clock_map.hpp"

namespace ttc::collect {

// `words` as shm::Reader::clock() returns them. They are untrusted: the list ends at the first invalid entry.
std::vector<ClockMap> live_clock(std::span<const uint64_t> words);

}  // namespace ttc::collect
