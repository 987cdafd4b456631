// Formats that are recognised but not read. The message names what runs and what to change.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "firmware_markers/control_vector.hpp"

namespace ttc::markers {

struct Refused {
  const char* name = nullptr;  // null: none of the known ones
  std::string why;             // what shows it, and what the user can do
  explicit operator bool() const { return name != nullptr; }
};

// A vector that fits `layout` but belongs to a format which only looks like it. `buffers`: the words behind
// the vector, as many as there are.
Refused refused_variant(std::span<const uint32_t> vector, std::span<const uint32_t> buffers,
                        const Layout& layout, const ControlVector& parsed);

// A vector that fits no layout. `words`: from the control address on, up to 64. `anchored`: a magic word
// precedes it, which formats older than 2026 lack and later ones have.
Refused refused_stranger(std::span<const uint32_t> words, bool anchored);

}  // namespace ttc::markers
