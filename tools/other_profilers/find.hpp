// Finds profilers on a card that ttcollect does not collect from, by the content of its L1. Only reads.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "driver_iface/card.hpp"
#include "tools/other_profilers/real_time.hpp"
#include "tools/other_profilers/residents.hpp"
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
struct ResidentPlace {
  card::Coord at;
  uint32_t address = 0;
};
struct Found {
  std::vector<StreamingTile> streaming;    // of the layout that is read
  std::optional<RealTimePlace> real_time;  // searched for from the last tile on
  // The profilers and modes that are there (markers::Discovery::known_as), each with the evidence of one tile and what it
  // excludes.
  struct Named {
    std::string name, evidence, excludes;
  };
  std::vector<Named> named;
};

// Some loads of each Tensix tile, and, until the real-time profiler's ring is found, all of each tile's L1 (1.5 MB; `search` false: none;
// none where the streaming profiler is there). Tiles that cannot be read are left out.
Found find_other_profilers(card::Card& card, bool search);

// Examines cores on which the streaming profiler stays.
class ResidentSearch {
 public:
  // Copies 64 KiB of each Ethernet tile. What has become of the blocks since the copy before shows which are control blocks.
  std::vector<ResidentPlace> copy_and_compare(card::Card& card);

 private:
  std::map<card::Coord, std::vector<uint64_t>> before_;
};

// Copies a tile's L1, for RealTimeRing.
ReadL1 l1_reader(card::Card& card, card::Coord tile);
std::optional<StreamControl> look_at(card::Card& card, const StreamingTile& tile);
std::optional<ResidentControl> look_at(card::Card& card, const ResidentPlace& place);

}  // namespace ttc::other_profilers
