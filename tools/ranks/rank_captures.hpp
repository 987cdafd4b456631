// Captures of several ranks beside each other: numbers for their chips that are unique over all of them, and each host's clock points.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "tools/ranks/clock_points.hpp"
#include "tools/ranks/rank_files.hpp"

namespace ttc::tools {

// Relates a rank's times to the common time.
enum class ClockBasis : uint8_t {
  none,        // nothing: its times stay its host's own
  wall_clock,  // the hosts' wall clocks alone, as the collectors compared them: without a bound
  related,     // clocks.json: with a bound
};

struct RankCapture {
  std::string path;
  RankName name;
  uint32_t first_chip = 0;  // number of its chip 0 among all
  RankClock clock;
  ClockBasis basis = ClockBasis::none;
};

struct RankCaptures {
  std::vector<RankCapture> all;      // in the order given
  std::vector<std::string> remarks;  // on clocks that are not related
  const RankCapture* find(const std::string& path) const;
};

// Finds the captures that are named after ranks; other sources are passed over. Fewer than two ranks: none, as there is nothing to
// relate. Damaged captures count as having one chip: their reader reports the damage.
RankCaptures rank_captures(const std::vector<std::string>& sources);

}  // namespace ttc::tools
