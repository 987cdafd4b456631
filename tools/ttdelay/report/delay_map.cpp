#include "tools/ttdelay/report/delay_map.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "collector/draw/svg.hpp"
#include "tools/report/draw/picture.hpp"

namespace ttc::delay {
namespace {

constexpr double kCell = 46, kLeft = 40, kTop = 58, kBelow = 46;

struct Cell {
  double shift = 0;  // at the largest delay
  bool found = false;
  std::string label;
};
using Place = std::pair<unsigned, unsigned>;
using Grid = std::map<Place, Cell>;

Place place_of(const LogicalCore& core, const JournalContent& journal) {
  if (journal.trial)
    if (const auto at = journal.trial->cores.find(std::to_string(core.x) + "," + std::to_string(core.y));
        at != journal.trial->cores.end()) {
      Place place;
      if (std::sscanf(at->second.c_str(), "%u,%u", &place.first, &place.second) == 2) return place;
    }
  return {core.x, core.y};
}

std::map<watcher::Transaction, Grid> grids_of(const Experiment& experiment, const JournalContent& journal,
                                              const Analysis& a, const std::string& observable) {
  std::map<watcher::Transaction, Grid> grids;
  for (const Unit& unit : units_of(experiment)) {
    const auto effect = std::find_if(a.effects.begin(), a.effects.end(), [&](const Effect& e) {
      return e.observable == observable && e.unit == unit.label();
    });
    if (effect == a.effects.end()) continue;
    const double shift = effect->doses.back().shift.value;
    for (const LogicalCore& core : unit.cores.cores) {
      Cell& cell = grids[unit.kind][place_of(core, journal)];
      if (!cell.label.empty() && std::abs(cell.shift) >= std::abs(shift)) continue;
      cell = {shift, effect->found, unit.label()};
    }
  }
  return grids;
}

std::string rgb(const report::Rgb& c) {
  char text[16];
  std::snprintf(text, sizeof text, "#%02x%02x%02x", static_cast<unsigned>(c.r * 255),
                static_cast<unsigned>(c.g * 255), static_cast<unsigned>(c.b * 255));
  return text;
}

std::string short_number(double us) {
  char text[32];
  std::snprintf(text, sizeof text, std::abs(us) < 10 ? "%+.2f" : std::abs(us) < 1000 ? "%+.1f" : "%+.0f", us);
  return text;
}

struct Extent {
  Place least{255, 255}, most{0, 0};
  double largest = 0;
};

void draw_grid(draw::Svg& svg, const Grid& grid, const Extent& extent, double left) {
  using draw::Attributes;
  for (unsigned x = extent.least.first; x <= extent.most.first; ++x)
    svg.text({left + kCell * (x - extent.least.first + 0.5), kTop - 6}, std::to_string(x),
             {{"text-anchor", "middle"}});
  for (unsigned y = extent.least.second; y <= extent.most.second; ++y)
    svg.text({left - 6, kTop + kCell * (y - extent.least.second + 0.5) + 4}, std::to_string(y),
             {{"text-anchor", "end"}});
  for (unsigned y = extent.least.second; y <= extent.most.second; ++y)
    for (unsigned x = extent.least.first; x <= extent.most.first; ++x) {
      const draw::Area area{left + kCell * (x - extent.least.first), kTop + kCell * (y - extent.least.second),
                            kCell - 2, kCell - 2};
      const auto cell = grid.find({x, y});
      if (cell == grid.end()) {
        svg.rect(area, {{"fill", "#eeeeee"}});
        continue;
      }
      const double share = extent.largest > 0 ? std::abs(cell->second.shift) / extent.largest : 0;
      const bool found = cell->second.found;
      const std::string number = short_number(cell->second.shift);
      svg.rect(area, {{"fill", found ? rgb(report::heat_color(share)) : "#dfe3ea"}},
               cell->second.label + ": " + number + " us" + (found ? "" : ", no effect found"));
      svg.text({area.x + area.width / 2, area.y + area.height / 2 + 4}, number,
               {{"text-anchor", "middle"},
                {"fill", !found        ? "#8a8f99"
                         : share > 0.6 ? "#000000"
                                       : "#ffffff"}});
    }
}

}  // namespace

std::string delay_map(const Experiment& experiment, const JournalContent& journal, const Analysis& analysis,
                      const std::string& observable) {
  const auto grids = grids_of(experiment, journal, analysis, observable);
  if (grids.empty()) return "";
  Extent extent;
  for (const auto& [kind, grid] : grids)
    for (const auto& [place, cell] : grid) {
      extent.least = {std::min(extent.least.first, place.first), std::min(extent.least.second, place.second)};
      extent.most = {std::max(extent.most.first, place.first), std::max(extent.most.second, place.second)};
      if (cell.found) extent.largest = std::max(extent.largest, std::abs(cell.shift));
    }
  const double across = std::max(320.0, kCell * (extent.most.first - extent.least.first + 1));
  const double down = kCell * (extent.most.second - extent.least.second + 1);
  draw::Svg svg((across + kLeft) * static_cast<double>(grids.size()) + kLeft, kTop + down + kBelow,
                {{"font-family", "sans-serif"}, {"font-size", "11"}});
  const bool physical = journal.trial && !journal.trial->cores.empty();
  double left = kLeft;
  for (const auto& [kind, grid] : grids) {
    constexpr const char* kKinds[] = {"reads", "writes", "atomics"};
    svg.text(
        {left, 18},
        std::string("Delayed ") + kKinds[static_cast<size_t>(kind)] + ": shift of '" + observable + "' in us",
        {{"font-size", "13"}, {"font-weight", "bold"}});
    svg.text({left, 34}, "by " + std::to_string(experiment.vary.cycles.back()) +
                             " cycles a transaction; x, y: " + (physical ? "NOC0" : "logical"));
    draw_grid(svg, grid, extent, left);
    svg.text({left, kTop + down + 16}, "pale: no effect found; grey: not delayed, or no such core",
             {{"fill", "#555555"}});
    left += across + kLeft;
  }
  return std::move(svg).finish();
}

}  // namespace ttc::delay
