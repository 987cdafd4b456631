#include "tools/report/ops/stacked_picture.hpp"

#include <algorithm>
#include <cstdio>
#include <map>

#include "tools/report/draw/picture.hpp"
#include "tools/report/text/text_table.hpp"

namespace ttc::report {
namespace {

constexpr double kLeast = 2;  // per cent: what is less gets no name
constexpr double kTop = 40, kBottom = 20, kBarHeight = 520, kBarWidth = 360, kSide = 70, kBetween = 30;

int rank(const std::string& category) {
  constexpr const char* kOrder[] = {"Compute", "TM", "DM", "Host", "Other"};
  for (int i = 0; i < 5; ++i)
    if (category == kOrder[i]) return i;
  return 5;
}

// Shades of one hue for a category, darker for what takes longer.
Rgb shade(const std::string& category, size_t index) {
  constexpr Rgb kHues[] = {{0.29, 0.16, 0.52}, {0.05, 0.38, 0.20}, {0.70, 0.29, 0.03},
                           {0.60, 0.10, 0.10}, {0.25, 0.25, 0.25}, {0.25, 0.25, 0.25}};
  const Rgb hue = kHues[rank(category)];
  const double lighter = std::min(0.45, 0.06 * static_cast<double>(index));
  return {hue.r + (1 - hue.r) * lighter, hue.g + (1 - hue.g) * lighter, hue.b + (1 - hue.b) * lighter};
}

std::string label(const StackedRow& r) {
  char text[256];
  std::snprintf(text, sizeof text, "(%.1f %%) %s  %.1f \u03bcs, %zu ops", r.percent, r.name.c_str(),
                r.device_us, r.count);
  return text;
}

std::string utilisation(const StackedRow& r) {
  if (!r.flops_mean) return "";
  char text[160];
  std::snprintf(text, sizeof text, "FLOPs %.1f to %.1f %%, by time %.1f %%", *r.flops_min, *r.flops_max,
                r.flops_weighted.value_or(*r.flops_mean));
  return text;
}

}  // namespace

void draw_stacked(const std::vector<StackedRow>& rows, GroupBy by, bool merge_devices, bool classic_colors,
                  const std::string& path) {
  std::map<uint32_t, std::vector<StackedRow>> bars;
  for (const StackedRow& r : rows) bars[merge_devices ? 0 : r.device.value_or(0)].push_back(r);
  const double width = kSide * 2 + static_cast<double>(bars.size()) * (kBarWidth + kBetween) - kBetween;
  Picture picture(path, width, kTop + kBarHeight + kBottom + 20);
  double x = kSide;
  for (auto& [device, parts] : bars) {
    if (!classic_colors)
      std::stable_sort(parts.begin(), parts.end(), [&](const StackedRow& a, const StackedRow& b) {
        return rank(by == GroupBy::category ? a.name : a.category) <
               rank(by == GroupBy::category ? b.name : b.category);
      });
    double total = 0;
    for (const StackedRow& r : parts) total += r.device_us;
    char title[120];
    std::snprintf(title, sizeof title,
                  merge_devices ? "Device time by op, %.1f \u03bcs" : "Device %2$u, %1$.1f \u03bcs", total,
                  device);
    picture.text(x + kBarWidth / 2, 26, title, 13, {0, 0, 0}, Picture::Align::middle, true);
    double bottom = kTop + kBarHeight;
    std::map<std::string, size_t> of_category;
    std::map<std::string, std::pair<double, double>> extents;
    size_t index = 0;
    for (const StackedRow& r : parts) {
      const std::string kind = by == GroupBy::category ? r.name : r.category;
      const double height = total > 0 ? r.device_us / total * kBarHeight : 0;
      bottom -= height;
      const Rgb fill = classic_colors ? palette(index) : shade(kind, of_category[kind]++);
      ++index;
      picture.box(x, bottom, kBarWidth, height, fill);
      const auto [it, fresh] = extents.try_emplace(kind, bottom, bottom + height);
      it->second.first = bottom;
      if (r.percent < kLeast) continue;
      const std::string second = height > 20 ? utilisation(r) : "";
      std::string first = label(r);
      for (size_t left = shown_width(first); left > 8 && picture.text_width(first, 8) > kBarWidth - 8; --left)
        first = shortened(label(r), left);
      picture.text(x + kBarWidth / 2, bottom + height / 2 + (second.empty() ? 3 : -2), first, 8, {1, 1, 1},
                   Picture::Align::middle);
      if (!second.empty())
        picture.text(x + kBarWidth / 2, bottom + height / 2 + 8, second, 7, {1, 1, 1},
                     Picture::Align::middle);
    }
    if (!classic_colors)
      for (const auto& [kind, extent] : extents) {
        picture.frame(x, extent.first, kBarWidth, extent.second - extent.first, {0, 0, 0}, 0.8);
        if (extent.second - extent.first < 9) continue;
        char share[64];
        std::snprintf(share, sizeof share, "%s %.1f %%", kind.c_str(),
                      (extent.second - extent.first) / kBarHeight * 100);
        picture.text(x - 4, (extent.first + extent.second) / 2 + 3, share, 7, {0, 0, 0},
                     Picture::Align::right, true);
      }
    x += kBarWidth + kBetween;
  }
  picture.finish();
}

}  // namespace ttc::report
