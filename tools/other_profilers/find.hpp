// Which profilers that ttcollect does not read are on a card, by what stands in its L1. Only reads.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "driver_iface/card.hpp"
#include "tools/other_profilers/real_time.hpp"
#include "tools/other_profilers/streaming.hpp"

namespace ttc::other_profilers {

struct StreamingTile {
  card::Coord at;
  uint32_t control_address = 0;
};
struct RealTimePlace {
  card::Coord at;
  uint32_t address = 0;
};
struct Found {
  std::vector<StreamingTile> streaming;    // of the layout that is read
  std::optional<RealTimePlace> real_time;  // searched for from the last tile on
  // Of profilers and modes that are there (markers::Discovery::known_as), each with the evidence of one tile and what it excludes.
  struct Named {
    std::string name, evidence, excludes;
  };
  std::vector<Named> named;
};

// Some loads of each Tensix tile, and, until the real-time profiler's ring is found, all of each tile's L1 (1.5 MB; `search` false: none).
// Tiles that cannot be read are left out.
Found find_other_profilers(card::Card& card, bool search);

// Copies a tile's L1, for RealTimeRing.
ReadL1 l1_reader(card::Card& card, card::Coord tile);
std::optional<StreamControl> look_at(card::Card& card, const StreamingTile& tile);

}  // namespace ttc::other_profilers
