// The monitor's model as cells: a screen of a given size for a terminal, or a page of text. Pure.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/terminal/canvas.hpp"
#include "tools/ttmon/monitor_model.hpp"

namespace ttc::tools {

using Cards = std::map<std::string, CardView>;

struct ScreenState {
  std::string chosen;  // live name of the card whose details are shown; of none: the first
  Sorting sorting = Sorting::time;
  bool paused = false;
  bool help = false;
  bool unicode = true;                                        // block characters; false: ASCII
  std::string time_of_day;                                    // shown as it is
  std::map<std::string, std::vector<std::string>> profilers;  // lines about other profilers, by live name
  std::string message;                                        // instead of the line of keys; empty: none
};

// `width` x `height` cells at most, both at least 1; nothing is drawn outside of them.
Canvas screen(const Cards& cards, const ScreenState& state, int width, int height);

// The same of every card, one below the other, as long as it gets. `breaks_lines` false: sentences stay one line each.
Canvas text_page(const Cards& cards, const ScreenState& state, int width, bool breaks_lines);

// Parts, for their own tests.
std::string quantity(double value);              // 0, 12, 1,203, 45.0k, 1.2M
std::string duration_text(double ns);            // 45 ns, 1.20 us, 3.40 ms, 2.00 s
std::string series_value(const Series& series);  // of its newest value, with the unit; -: none
std::string sparkline(const Series& series, int width, bool unicode);  // the newest at the right edge
Canvas core_grid(const std::vector<CoreBusy>& cores, int width);

}  // namespace ttc::tools
