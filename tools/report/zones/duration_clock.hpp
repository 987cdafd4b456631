// How long something took by the host's clock, and within what bound: from the clock models of captures, which are known
// before the first zone is read. The offset to host time is the same at both ends of a duration and no part of its bound.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "ttcollect/clock_map.hpp"

namespace ttc::report {

// The true duration lies within `bound_ns` of `ns`.
struct Measured {
  double ns = 0, bound_ns = 0;
  bool hard =
      false;  // nothing but the largest frequency limits the bound, as before the clock model's first samples
  // The bound of another figure for the same duration, such as cycles at the card's nominal rate.
  double bound_of(double shown_ns) const {
    return bound_ns + (shown_ns > ns ? shown_ns - ns : ns - shown_ns);
  }
};

class DurationClock {
 public:
  using Tile = std::pair<uint8_t, uint8_t>;

  // `map`: of the reference tile's domain. `apart`: tiles whose counter is of another domain.
  void add(uint32_t chip, collect::ClockMap map, std::set<Tile> apart);
  bool empty() const { return chips_.empty(); }
  bool apart(uint32_t chip, Tile tile) const;
  const collect::ClockMap* map_of(uint32_t chip) const;  // null: it has no model

  // The duration from one marker's time to another's, both of one tile. `seen_ns`: when the words of the later one had been
  // read for sure; 0: not known. None: the model has no bound of it, or does not cover it.
  std::optional<Measured> on_tile(uint32_t chip, Tile tile, uint64_t from, uint64_t to,
                                  uint64_t seen_ns) const;
  // The same for any two tiles of the reference tile's domain.
  std::optional<Measured> across(uint32_t chip, uint64_t from, uint64_t to, uint64_t seen_ns) const;

 private:
  struct Chip {
    collect::ClockMap map;
    std::set<Tile> apart;
  };
  std::map<uint32_t, Chip> chips_;
};

}  // namespace ttc::report
