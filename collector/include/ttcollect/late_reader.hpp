// What a reader that came late cannot have any more.
#pragma once
#include <string>

#include "shm/reader.hpp"

namespace ttc::collect {

// One sentence on what had been overwritten in the ring before `reader` took its first chunk: the amount, since
// when the ring is intact, and what prevents such a loss. Empty if nothing was overwritten, or no chunk came yet.
std::string late_reader(const shm::Reader& reader);

}  // namespace ttc::collect
