#include "tools/report/draw/core_heat.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tools/report/draw/picture.hpp"
#include "tools/report/text/time_bounds.hpp"

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

double ns_of(uint64_t cycles, uint32_t mhz) {
  return static_cast<double>(cycles) * 1000 / std::max(mhz, 1u);
}

std::string in_unit(double ns, const HeatUnit& unit) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", unit.digits, ns / unit.ns);
  return text;
}

}  // namespace

const char* to_string(HeatOf what) {
  constexpr const char* kNames[] = {"time in kernels", "time waiting", "time behind the mean core",
                                    "start after the first core"};
  return kNames[static_cast<size_t>(what)];
}

HeatUnit heat_unit(double largest_ns) {
  constexpr HeatUnit kUnits[] = {{"ns", 1, 0}, {"us", 1e3, 0}, {"ms", 1e6, 0}, {"s", 1e9, 0}};
  HeatUnit unit = kUnits[0];
  for (const HeatUnit& u : kUnits)
    if (largest_ns >= u.ns) unit = u;
  const double largest = largest_ns / unit.ns;
  if (unit.ns > 1) unit.digits = largest < 10 ? 2 : largest < 100 ? 1 : 0;
  return unit;
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
        (e.zone_class == ZoneClass::wait_front || e.zone_class == ZoneClass::reserve_back)) {
      CoreHeat& heat = chips_[batch.launch.chip][{batch.lane.x, batch.lane.y}];
      heat.wait += e.data, heat.sums += e.data;
    }
}

void HeatMap::program(const DeviceOp& op, std::span<const CoreTime> cores) {
  if (only_ && op.launch.host_id != *only_) return;
  const auto mean = static_cast<uint64_t>(op.core_mean());
  for (const auto& c : cores) {
    if (c.kernel.cycles() == 0) continue;
    CoreHeat& heat = chips_[op.launch.chip][{c.x, c.y}];
    const uint64_t took = c.kernel.cycles();
    ++heat.programs;
    constexpr auto kErisc = 1u << static_cast<unsigned>(LogRisc::erisc) | 1u << kRiscs;
    heat.ethernet = heat.ethernet || (c.riscs & kErisc);
    heat.time += took;
    heat.wait += op.kernel.cycles() - std::min(op.kernel.cycles(), took);
    heat.behind += took - std::min(took, mean);
    heat.start += c.kernel.begin - std::min(c.kernel.begin, op.kernel.begin);
  }
  if (clock_) measure(op, cores);
}

// Times of one core are of one counter, when it starts after another core is of two.
void HeatMap::measure(const DeviceOp& op, std::span<const CoreTime> cores) {
  const uint32_t chip = op.launch.chip;
  std::vector<std::optional<Measured>> took;
  Measured mean;
  size_t measured = 0, running = 0;
  for (const CoreTime& c : cores) {
    took.push_back(c.kernel.cycles()
                       ? clock_->on_tile(chip, {c.x, c.y}, c.kernel.begin, c.kernel.end, op.seen_ns)
                       : std::nullopt);
    running += c.kernel.cycles() > 0;
    if (!took.back()) continue;
    mean.ns += took.back()->ns, mean.bound_ns += took.back()->bound_ns;
    ++measured;
  }
  if (measured) mean.ns /= static_cast<double>(measured), mean.bound_ns /= static_cast<double>(measured);
  const auto add = [](Measured& sum, double ns, double bound_ns) { sum.ns += ns, sum.bound_ns += bound_ns; };
  for (size_t i = 0; i < cores.size(); ++i) {
    const CoreTime& c = cores[i];
    if (c.kernel.cycles() == 0) continue;
    CoreHeat& heat = chips_[chip][{c.x, c.y}];
    const auto start = clock_->across(chip, op.kernel.begin, c.kernel.begin, op.seen_ns);
    const auto whole = clock_->across(chip, op.kernel.begin, op.kernel.end, op.seen_ns);
    if (!took[i] || !start || !whole || measured < running) {
      ++heat.unmeasured;
      continue;
    }
    add(heat.time_measured, took[i]->ns, took[i]->bound_ns);
    add(heat.wait_measured, std::max(whole->ns - took[i]->ns, 0.0), whole->bound_ns + took[i]->bound_ns);
    add(heat.behind_measured, std::max(took[i]->ns - mean.ns, 0.0), took[i]->bound_ns + mean.bound_ns);
    add(heat.start_measured, start->ns, start->bound_ns);
  }
}

std::optional<double> HeatMap::bound_ns(const CoreHeat& heat, HeatOf what, double shown_ns) {
  if (heat.unmeasured || heat.time_measured.bound_ns == 0) return std::nullopt;
  if (what == HeatOf::wait && heat.sums) return std::nullopt;
  const Measured& measured = what == HeatOf::time        ? heat.time_measured
                             : what == HeatOf::wait      ? heat.wait_measured
                             : what == HeatOf::imbalance ? heat.behind_measured
                                                         : heat.start_measured;
  return measured.bound_of(shown_ns);
}

std::string heat_bounds_text(const std::map<HeatMap::Place, CoreHeat>& cores, HeatOf what, uint32_t mhz) {
  double widest = 0, most = 0, most_bound = 0;
  for (const auto& [place, heat] : cores) {
    const double ns = ns_of(HeatMap::value(heat, what), mhz);
    const auto bound = HeatMap::bound_ns(heat, what, ns);
    if (!bound) return "";
    widest = std::max(widest, *bound);
    if (ns >= most) most = ns, most_bound = *bound;
  }
  size_t alike = 0;
  for (const auto& [place, heat] : cores) {
    const double ns = ns_of(HeatMap::value(heat, what), mhz);
    alike += ns + HeatMap::bound_ns(heat, what, ns).value_or(0) >= most - most_bound;
  }
  const size_t others = alike ? alike - 1 : 0;
  return "each within " + written_bound(widest / 1000) + " of the true time; " + std::to_string(others) +
         " of " + std::to_string(cores.size() - std::min<size_t>(cores.size(), 1)) +
         " other cores differ from the one with the most by no more than the bounds of both";
}

std::string heat_text(const std::string& title, const std::map<HeatMap::Place, CoreHeat>& cores, HeatOf what,
                      uint32_t mhz, bool color) {
  const Extent e = extent(cores, what);
  const HeatUnit unit = heat_unit(ns_of(e.most, mhz));
  bool ethernet = false;
  constexpr int kShades[] = {17, 18, 24, 30, 36, 71, 107, 143, 179, 220};  // of the 256 colours
  char cell[64];
  std::string text =
      title + ": " + to_string(what) + " of each core in " + unit.name + ", NOC0 physical\n  y\\x";
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
      ethernet = ethernet || it->second.ethernet;
      std::snprintf(cell, sizeof cell, "%6s%c", in_unit(ns_of(value, mhz), unit).c_str(),
                    it->second.ethernet ? 'e' : ' ');
      text += ' ';
      if (color)
        text += "\033[48;5;" + std::to_string(kShades[shade]) + "m\033[38;5;" + (shade < 6 ? "15" : "16") +
                "m" + cell + "\033[0m";
      else
        text += cell;
    }
    text += '\n';
  }
  const std::string bounds = heat_bounds_text(cores, what, mhz);
  return text + "  . no kernel ran there, or there is no such core" +
         (ethernet ? "; e an Ethernet tile\n" : "\n") + (bounds.empty() ? "" : "  " + bounds + "\n");
}

namespace {

constexpr double kCell = 44, kAbove = 72, kBeside = 44, kBelow = 68;
constexpr Rgb kInk{0, 0, 0}, kDim{0.3, 0.3, 0.3}, kAbsent{0.92, 0.92, 0.92}, kEthernet{0.8, 0.1, 0.6};

double width_of(const Extent& e) {
  return std::max(300.0, kCell * (e.most_x - e.least_x + 1));
}

void draw_axes(Picture& picture, const Extent& e, double left) {
  const double across = kCell * (e.most_x - e.least_x + 1), down = kCell * (e.most_y - e.least_y + 1);
  for (int x = e.least_x; x <= e.most_x; ++x)
    picture.text(left + kCell * (x - e.least_x + 0.5), kAbove - 6, std::to_string(x), 9, kInk,
                 Picture::Align::middle);
  for (int y = e.least_y; y <= e.most_y; ++y)
    picture.text(left - 6, kAbove + kCell * (y - e.least_y + 0.5) + 3, std::to_string(y), 9, kInk,
                 Picture::Align::right);
  picture.text(left + across / 2, kAbove - 18, "x (NOC0 physical)", 9, kDim, Picture::Align::middle);
  picture.text(left - 22, kAbove + down / 2 + 3, "y", 9, kDim, Picture::Align::right);
}

void draw_cells(Picture& picture, const std::map<HeatMap::Place, CoreHeat>& cores, HeatOf what,
                const Extent& e, uint32_t mhz, const HeatUnit& unit, double left) {
  for (int y = e.least_y; y <= e.most_y; ++y)
    for (int x = e.least_x; x <= e.most_x; ++x) {
      const double at_x = left + kCell * (x - e.least_x), at_y = kAbove + kCell * (y - e.least_y);
      const auto found = cores.find({static_cast<uint8_t>(x), static_cast<uint8_t>(y)});
      if (found == cores.end()) {
        picture.box(at_x, at_y, kCell - 2, kCell - 2, kAbsent);
        continue;
      }
      const uint64_t value = HeatMap::value(found->second, what);
      const double share = e.most ? static_cast<double>(value) / static_cast<double>(e.most) : 0;
      picture.box(at_x, at_y, kCell - 2, kCell - 2, heat_color(share));
      if (found->second.ethernet) picture.frame(at_x + 1.5, at_y + 1.5, kCell - 5, kCell - 5, kEthernet, 3);
      picture.text(at_x + kCell / 2 - 1, at_y + kCell / 2 + 3, in_unit(ns_of(value, mhz), unit), 10,
                   share > 0.6 ? Rgb{0, 0, 0} : Rgb{1, 1, 1}, Picture::Align::middle);
    }
}

void draw_legend(Picture& picture, const Extent& e, uint32_t mhz, const HeatUnit& unit, double left) {
  const double bar = 200, at = kAbove + kCell * (e.most_y - e.least_y + 1) + 14;
  for (int i = 0; i < 100; ++i)
    picture.box(left + bar * i / 100, at, bar / 100 + 0.5, 8, heat_color(i / 99.0));
  picture.text(left, at + 20, "0", 9, kInk);
  picture.text(left + bar, at + 20, in_unit(ns_of(e.most, mhz), unit) + " " + unit.name, 9, kInk,
               Picture::Align::right);
  picture.box(left, at + 30, 10, 10, kAbsent);
  picture.text(left + 14, at + 39, "no kernel ran, or no such core", 9, kDim);
  picture.frame(left + 180, at + 31, 8, 8, kEthernet, 3);
  picture.text(left + 194, at + 39, "Ethernet tile", 9, kDim);
}

}  // namespace

void draw_heat(const HeatMap& map, HeatOf what, const std::function<std::string(uint32_t)>& title,
               const std::function<uint32_t(uint32_t)>& mhz, const std::string& path) {
  double width = kBeside, height = 0;
  for (const auto& [chip, cores] : map.chips()) {
    const Extent e = extent(cores, what);
    width += width_of(e) + kBeside;
    height = std::max(height, kCell * (e.most_y - e.least_y + 1));
  }
  Picture picture(path, width, kAbove + height + kBelow);
  double left = kBeside;
  for (const auto& [chip, cores] : map.chips()) {
    const Extent e = extent(cores, what);
    const uint32_t clock = mhz(chip);
    const HeatUnit unit = heat_unit(ns_of(e.most, clock));
    picture.text(left, 22, title(chip) + ": " + to_string(what), 13, kInk, Picture::Align::left, true);
    picture.text(left, 38, std::string("of each core, in ") + unit.name, 9, kDim);
    draw_axes(picture, e, left);
    draw_cells(picture, cores, what, e, clock, unit, left);
    draw_legend(picture, e, clock, unit, left);
    if (const std::string bounds = heat_bounds_text(cores, what, clock); !bounds.empty())
      picture.text(left, kAbove + kCell * (e.most_y - e.least_y + 1) + 65, bounds, 7, kDim);
    left += width_of(e) + kBeside;
  }
  picture.finish();
}

}  // namespace ttc::report
