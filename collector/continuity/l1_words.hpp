// What words of a buffer in L1 show, of firmware that keeps markers there. Pure.
#pragma once
#include <cstdint>
#include <span>

#include "firmware_markers/device/format.hpp"

namespace ttc::collect {

// The word of a buffer at which its first marker is, behind ids and slots.
inline constexpr uint32_t kFirstMarker = device::kFirstCustomWord;

bool later(uint64_t a, uint64_t b);
// What accumulating firmware stores first in a buffer, but padding: it has no payloads.
bool begins_with_marker(std::span<const uint32_t> buffer);
// `buffer` must be long enough.
uint64_t first_marker_time(std::span<const uint32_t> buffer);
bool same_first_marker(std::span<const uint32_t> a, std::span<const uint32_t> b);
// The time of the last marker in a buffer or frame, slots included.
uint64_t last_marker_time(std::span<const uint32_t> buffer);
// Returns the part of a buffer (which begins with a marker) up to its last marker in ascending order, and not beyond `latest`.
// Behind that are words of before.
std::span<const uint32_t> ascending(std::span<const uint32_t> buffer, uint64_t latest);

}  // namespace ttc::collect
