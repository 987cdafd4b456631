// Round trips to the card: histograms of single loads by width and mapping, whether loads through the write-combined mapping
// overlap, what a re-aim costs, and whether every core can be polled in time.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "collector/sampling/link_probe.hpp"
#include "collector/selftest/tally.hpp"

namespace ttc::collect::selftest {

// Upper edges of the histogram's bins, ns; a last bin is for what is longer.
inline constexpr std::array<uint32_t, 11> kBinEdges = {100,    200,    500,    1'000,   2'000,    5'000,
                                                       10'000, 20'000, 50'000, 100'000, 1'000'000};

struct LoadHistogram {
  card::Memory memory = card::Memory::uncached;
  uint32_t bytes = 0, samples = 0;
  uint32_t min = 0, p50 = 0, p99 = 0, max = 0;  // ns
  std::array<uint32_t, kBinEdges.size() + 1> bins{};
};

struct LinkFigures {
  std::vector<LoadHistogram> loads;
  LinkProbe bulk;  // streams, re-aims, wall clocks
  double overlap =
      0;  // lines under way at once in a write-combined copy: time of a line alone by that in bulk; 0: not measured
  double overlap_uc = 0;  // likewise uncached
};

// Some `samples` loads of each kind on a tile's unused L1, `budget_ns` at most.
LinkFigures measure_link(card::Card& card, card::Coord tile, uint32_t samples, uint64_t budget_ns);

// Every width through both mappings.
bool is_whole(const LinkFigures& link);

// `cores`: that a collector would poll.
void judge_link(const LinkFigures& link, size_t cores, Tallies& tallies);

}  // namespace ttc::collect::selftest
