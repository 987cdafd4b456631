#include "tools/report/draw/core_heat.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tools/report/draw/picture.hpp"

namespace ttc::report {
namespace {

struct Extent {
  int least_x = 255, most_x = 0, least_y = 255, most_y = 0;
  uint64_t most = 0;
};

Extent extent(const std::map<HeatMap::Place, CoreHeat>& cores, HeatOf what) {
  Extent e;
  for (const auto& [place, heat] : cores) {
    e.least_x = std::min<int>(e.least_x, place.first);
    e.most_x = std::max<int>(e.most_x, place.first);
    e.least_y = std::min<int>(e.least_y, place.second);
    e.most_y = std::max<int>(e.most_y, place.second);
    e.most = std::max(e.most, HeatMap::value(heat, what));
  }
  return e;
}

// Microseconds in at most six columns.
std::string in_us(uint64_t cycles, uint32_t mhz) {
  const double us = static_cast<double>(cycles) / mhz;
  char text[32];
  if (us < 1000)
    std::snprintf(text, sizeof text, us < 10 ? "%.2f" : us < 100 ? "%.1f" : "%.0f", us);
  else if (us < 1e6)
    std::snprintf(text, sizeof text, us < 1e5 ? "%.1fm" : "%.0fm", us / 1e3);
  else
    std::snprintf(text, sizeof text, "%.1fs", us / 1e6);
  return text;
}

}  // namespace

const char* to_string(HeatOf what) {
  constexpr const char* kNames[] = {"time in kernels", "time waiting", "time behind the mean core",
                                    "start after the first core"};
  return kNames[static_cast<size_t>(what)];
}

uint64_t HeatMap::value(const CoreHeat& heat, HeatOf what) {
  switch (what) {
    case HeatOf::time:
      return heat.time;
    case HeatOf::wait:
      return heat.wait;
    case HeatOf::imbalance:
      return heat.behind;
    default:
      return heat.start;
  }
}

void HeatMap::events(const LaneEvents& batch) {
  if (only_ && batch.launch.host_id != *only_) return;
  for (const Event& e : batch.events)
    if (e.type == markers::MarkerType::zone_total &&
        (e.zone_class == ZoneClass::wait_front || e.zone_class == ZoneClass::reserve_back))
      chips_[batch.launch.chip][{batch.lane.x, batch.lane.y}].wait += e.data;
}

void HeatMap::program(const DeviceOp& op, std::span<const OpBuilder::CoreTime> cores) {
  if (only_ && op.launch.host_id != *only_) return;
  const auto mean = static_cast<uint64_t>(op.core_mean());
  for (const auto& c : cores) {
    if (c.kernel.cycles() == 0) continue;
    CoreHeat& heat = chips_[op.launch.chip][{c.x, c.y}];
    const uint64_t took = c.kernel.cycles();
    ++heat.programs;
    heat.time += took;
    heat.wait += op.kernel.cycles() - std::min(op.kernel.cycles(), took);
    heat.behind += took - std::min(took, mean);
    heat.start += c.kernel.begin - std::min(c.kernel.begin, op.kernel.begin);
  }
}

std::string heat_text(const std::map<HeatMap::Place, CoreHeat>& cores, HeatOf what, uint32_t mhz,
                      bool color) {
  const Extent e = extent(cores, what);
  constexpr int kShades[] = {17, 18, 24, 30, 36, 71, 107, 143, 179, 220};  // of the 256 colours
  char cell[64];
  std::string text = "  y\\x";
  for (int x = e.least_x; x <= e.most_x; ++x) {
    std::snprintf(cell, sizeof cell, "%8d", x);
    text += cell;
  }
  text += '\n';
  for (int y = e.least_y; y <= e.most_y; ++y) {
    std::snprintf(cell, sizeof cell, "%5d", y);
    text += cell;
    for (int x = e.least_x; x <= e.most_x; ++x) {
      const auto it = cores.find({static_cast<uint8_t>(x), static_cast<uint8_t>(y)});
      if (it == cores.end()) {
        text += "       .";
        continue;
      }
      const uint64_t value = HeatMap::value(it->second, what);
      const size_t shade = e.most ? std::min<size_t>(9, value * 10 / (e.most + 1)) : 0;
      std::snprintf(cell, sizeof cell, "%7s", in_us(value, mhz).c_str());
      text += ' ';
      if (color)
        text += "\033[48;5;" + std::to_string(kShades[shade]) + "m\033[38;5;" + (shade < 6 ? "15" : "16") +
                "m" + cell + "\033[0m";
      else
        text += cell;
    }
    text += '\n';
  }
  return text;
}

void draw_heat(const HeatMap& map, HeatOf what, const std::function<uint32_t(uint32_t)>& mhz,
               const std::string& path) {
  constexpr double kCell = 44, kAbove = 64, kBeside = 34, kBelow = 46;
  double width = kBeside, height = 0;
  for (const auto& [chip, cores] : map.chips()) {
    const Extent e = extent(cores, what);
    width += std::max(240.0, kCell * (e.most_x - e.least_x + 1)) + kBeside;
    height = std::max(height, kCell * (e.most_y - e.least_y + 1));
  }
  Picture picture(path, std::max(width, 320.0), kAbove + height + kBelow);
  double left = kBeside;
  for (const auto& [chip, cores] : map.chips()) {
    const Extent e = extent(cores, what);
    const uint32_t clock = mhz(chip);
    picture.text(left, 22, "Chip " + std::to_string(chip) + ": " + to_string(what), 13, {0, 0, 0},
                 Picture::Align::left, true);
    picture.text(left, 38, "microseconds; m milliseconds, s seconds", 9, {0.3, 0.3, 0.3});
    for (int x = e.least_x; x <= e.most_x; ++x)
      picture.text(left + kCell * (x - e.least_x + 0.5), kAbove - 6, std::to_string(x), 9, {0, 0, 0},
                   Picture::Align::middle);
    for (int y = e.least_y; y <= e.most_y; ++y)
      picture.text(left - 6, kAbove + kCell * (y - e.least_y + 0.5) + 3, std::to_string(y), 9, {0, 0, 0},
                   Picture::Align::right);
    for (const auto& [place, heat] : cores) {
      const uint64_t value = HeatMap::value(heat, what);
      const double share = e.most ? static_cast<double>(value) / static_cast<double>(e.most) : 0;
      const double x = left + kCell * (place.first - e.least_x),
                   y = kAbove + kCell * (place.second - e.least_y);
      picture.box(x, y, kCell - 2, kCell - 2, heat_color(share));
      const Rgb ink = share > 0.6 ? Rgb{0, 0, 0} : Rgb{1, 1, 1};
      picture.text(x + kCell / 2 - 1, y + kCell / 2 + 3, in_us(value, clock), 10, ink,
                   Picture::Align::middle);
    }
    const double bar = 200, at = kAbove + kCell * (e.most_y - e.least_y + 1) + 14;
    for (int i = 0; i < 100; ++i)
      picture.box(left + bar * i / 100, at, bar / 100 + 0.5, 8, heat_color(i / 99.0));
    picture.text(left, at + 20, "0", 9, {0, 0, 0});
    picture.text(left + bar, at + 20, in_us(e.most, clock), 9, {0, 0, 0}, Picture::Align::right);
    left += std::max(240.0, kCell * (e.most_x - e.least_x + 1)) + kBeside;
  }
  picture.finish();
}

}  // namespace ttc::report
