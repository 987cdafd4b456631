// How far the gap in front of a program can be from the true one: of a chip's programs, in the order in which they become rows.
//
// A gap is the time from the end of what ended last before a program to its begin. On one counter a later number is a later moment, but for the
// spread of tiles at both ends, whichever of several cores or programs was the last or the first. So the bound is that of the difference of two
// markers of any two tiles. Nothing is stated next to a program on tiles with another clock, or behind one whose end did not come.
#pragma once
#include <cstdint>

#include "tools/tables/tables.hpp"
#include "tools/viewers/programs.hpp"

namespace ttc::tools {

class ProgramGaps {
 public:
  Tables::Gap before(const Program& next);

 private:
  void take(const Program& program);

  TimedMarker last_;
  uint64_t last_ns_ = 0;
  bool last_is_open_ = false, any_ = false;
  const collect::ClockMap* last_clock_ = nullptr;
  const collect::ClockMap* clock_ = nullptr;  // of the first program
  collect::HostTime elsewhere_until_ = 0;     // programs that are not of this clock alone had ended by then
};

}  // namespace ttc::tools
