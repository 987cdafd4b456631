#include <utility>

#include "tools/chip/machine.hpp"

namespace ttc::chip {

Shape wormhole_shape(std::vector<Place> cores) {
  Shape s;
  s.cores = std::move(cores);
  return s;
}

Shape blackhole_shape(std::vector<Place> cores) {
  Shape s;
  s.cores = std::move(cores);
  s.channels = 8;
  s.channel_bytes_a_cycle = 47;
  s.port_bytes_a_cycle = 64;
  return s;
}

}  // namespace ttc::chip
