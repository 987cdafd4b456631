// Draws measurements as one self-contained SVG: a grid of panels over the same x axis, both axes logarithmic,
// on a light background. A row shares its y range, so that its panels can be compared by eye.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "collector/draw/axis.hpp"

namespace ttc::bench {

struct Stroke {
  enum class Kind { measured, tail, bound };  // full, thin, dashed
  Kind kind = Kind::measured;
  std::string colour;
  std::vector<draw::Point> points;  // what is not positive is left out
};

struct PanelRow {
  std::string y_label;
  std::vector<std::vector<Stroke>> panels;  // one a column
};

struct Figure {
  struct Key {
    Stroke::Kind kind;
    std::string colour, text;
  };
  std::string title;
  std::vector<std::string> remarks;  // lines below the title
  std::vector<std::string> columns;
  std::string x_label;
  std::vector<double> x_ticks;
  std::vector<std::vector<Key>> legend;  // by line
  std::vector<PanelRow> rows;
};

class PanelWriter {
 public:
  explicit PanelWriter(const Figure& figure)
      : f_(figure),
        top_(48 + 16 * static_cast<double>(f_.remarks.size()) + 20 * static_cast<double>(f_.legend.size()) +
             26),
        svg_(kLeft + kStep * static_cast<double>(f_.columns.size()),
             top_ + kRowStep * static_cast<double>(f_.rows.size()) + 8,
             {{"font-family", "Helvetica,Arial,sans-serif"}, {"font-size", 11}, {"fill", draw::kInk}}) {}

  std::string text() && {
    head();
    for (size_t row = 0; row < f_.rows.size(); ++row) draw_row(row);
    return std::move(svg_).finish();
  }

 private:
  static constexpr double kLeft = 18, kStep = 372, kRowStep = 226;
  static constexpr double kPlotX = 58, kPlotW = 300, kPlotH = 164;
  static constexpr double kMargin = 1.15, kMarginY = 1.32;  // factors, from the outermost values to the frame

  void head() {
    svg_.text({kLeft, 26}, f_.title, {{"font-size", 17}, {"font-weight", "bold"}});
    double y = 44;
    for (const std::string& note : f_.remarks)
      svg_.text({kLeft, y}, note, {{"fill", draw::kDimInk}}), y += 16;
    y += 6;
    for (const auto& line : f_.legend) {
      double x = kLeft;
      for (const Figure::Key& key : line) {
        stroke(key.kind, key.colour, {{x, y - 4}, {x + 26, y - 4}});
        if (key.kind == Stroke::Kind::measured) svg_.circle({x + 13, y - 4}, 3, {{"fill", key.colour}});
        svg_.text({x + 32, y}, key.text);
        x += 56 + 6.1 * static_cast<double>(key.text.size());
      }
      y += 20;
    }
  }

  void draw_row(size_t row) {
    double low = 1e300, high = 0;
    for (const auto& panel : f_.rows[row].panels)
      for (const Stroke& one : panel)
        for (const draw::Point& p : one.points)
          if (p.y > 0) low = std::min(low, p.y), high = std::max(high, p.y);
    if (high == 0) return;
    const draw::Range x = {f_.x_ticks.front() / kMargin, f_.x_ticks.back() * kMargin,
                           draw::Scale::logarithmic};
    const draw::Range y = {low / kMarginY, high * kMarginY, draw::Scale::logarithmic};
    for (size_t column = 0; column < f_.rows[row].panels.size(); ++column) {
      const draw::Area area = {kLeft + kStep * static_cast<double>(column) + kPlotX,
                               top_ + kRowStep * static_cast<double>(row), kPlotW, kPlotH};
      const draw::Plot plot(area, x, y);
      axes(plot, f_.rows[row].y_label);
      svg_.text({area.x + kPlotW / 2, area.y - 7}, f_.columns[column],
                {{"text-anchor", "middle"}, {"font-weight", "bold"}});
      for (const Stroke& one : f_.rows[row].panels[column]) draw_stroke(plot, one);
    }
  }

  void axes(const draw::Plot& plot, const std::string& y_label) {
    std::vector<draw::Tick> below;
    for (const double v : f_.x_ticks) below.push_back({v, draw::svg_number(v)});
    plot.draw(svg_, below, draw::log_number_ticks(plot.y.low(), plot.y.high(), 8));
    const draw::Area& area = plot.area;
    const double middle_y = area.y + kPlotH / 2, label_x = area.x - 50;
    svg_.text({area.x + kPlotW / 2, area.bottom() + 32}, f_.x_label,
              {{"text-anchor", "middle"}, {"fill", draw::kDimInk}});
    svg_.text(
        {label_x, middle_y}, y_label,
        {{"text-anchor", "middle"},
         {"fill", draw::kDimInk},
         {"transform", "rotate(-90 " + draw::svg_number(label_x) + " " + draw::svg_number(middle_y) + ")"}});
  }

  void stroke(Stroke::Kind kind, const std::string& colour, const std::vector<draw::Point>& points) {
    draw::Attributes look = {{"stroke", colour}, {"stroke-width", 2}};
    if (kind == Stroke::Kind::bound)
      look = {{"stroke", colour}, {"stroke-width", 1.4}, {"stroke-dasharray", "5 4"}};
    if (kind == Stroke::Kind::tail)
      look = {{"stroke", colour}, {"stroke-width", 0.9}, {"stroke-opacity", 0.75}};
    svg_.lines(points, look);
  }

  void draw_stroke(const draw::Plot& plot, const Stroke& one) {
    std::vector<draw::Point> points;
    for (const draw::Point& p : one.points)
      if (p.y > 0) points.push_back(plot.at(p.x, p.y));
    if (points.empty()) return;
    stroke(one.kind, one.colour, points);
    if (one.kind != Stroke::Kind::measured) return;
    for (const draw::Point& p : points) svg_.circle(p, 3, {{"fill", one.colour}});
  }

  const Figure& f_;
  const double top_;
  draw::Svg svg_;
};

// False when the file could not be written; errno has the reason.
inline bool write_svg(const std::string& path, const Figure& figure) {
  FILE* file = std::fopen(path.c_str(), "w");
  if (!file) return false;
  const std::string text = PanelWriter(figure).text();
  const bool whole = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  return std::fclose(file) == 0 && whole;
}

}  // namespace ttc::bench
