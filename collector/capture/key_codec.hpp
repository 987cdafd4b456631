// Keys of shapes in few bytes: each distinct one once, then which of them comes when. An end that closes the
// zone opened last needs no number.
//
//   u32 n, n times u32 the distinct keys, then a u16 a key, by byte: 0, or 1 + its place among the distinct
//   ones.
//
// 0: the end of the zone latest opened and not closed. For that both sides keep sixteen starts in a circle,
// zeros at first: a key of type start is put at place p, and p is raised by one; a key 0 lowers p by one
// and is the start found there with type end. If the start found is zero, there is none.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "collector/capture/scratch.hpp"

namespace ttc::collect {

// False: not worth it, or too many distinct ones. Appends to `to` else.
bool put_keys(std::vector<uint8_t>& to, std::span<const uint32_t> keys);
// Reads section shape_keys into `to`. Throws BlockError.
std::span<const uint32_t> take_keys(std::span<const uint8_t> bytes, Scratch<uint32_t>& to);

}  // namespace ttc::collect
