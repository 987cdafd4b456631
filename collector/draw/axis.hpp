// Axes of figures: round ticks with labels, and a plot with two axes.
#pragma once
#include "collector/draw/svg.hpp"

namespace ttc::draw {

// "999 ns", "1.5 us", "20 ms", "3600 s"; rounded to that many significant digits.
std::string duration_label(double ns, int digits = 3);

struct Tick {
  double value;
  std::string label;
};
// Multiples of a step inside low..high. The step is 1, 2 or 5 times a power of ten, and low..high is at most
// `most` steps long. Labels of one axis have equal decimals.
std::vector<Tick> number_ticks(double low, double high, int most);
std::vector<Tick> duration_ticks(double low_ns, double high_ns, int most);  // all in the unit of the largest
// The steps of a logarithmic axis: 1, 2 and 5 times powers of ten, or powers of ten alone where those would be more
// than `most`.
std::vector<double> log_steps(double low, double high, int most);
std::vector<Tick> log_number_ticks(double low, double high, int most);
std::vector<Tick> log_duration_ticks(double low_ns, double high_ns, int most);

enum class Scale { linear, logarithmic };

// Maps values low..high to positions between two coordinates of the figure. A logarithmic axis takes positive values.
class Axis {
 public:
  Axis(double low, double high, double from, double to, Scale scale = Scale::linear);
  double at(double value) const;
  double low() const { return low_; }
  double high() const { return high_; }

 private:
  double low_, high_, from_, to_;
  Scale scale_;
};

// The colours of lines and text in all figures.
constexpr std::string_view kInk = "#1f2933", kDimInk = "#616e7c", kGrid = "#e4e7eb", kFrame = "#9aa5b1";

struct Range {
  double low, high;
  Scale scale = Scale::linear;
};

struct Plot {
  Plot(const Area& where, const Range& horizontal, const Range& vertical)
      : area(where),
        x(horizontal.low, horizontal.high, where.x, where.right(), horizontal.scale),
        y(vertical.low, vertical.high, where.bottom(), where.y, vertical.scale) {}

  Point at(double value_x, double value_y) const { return {x.at(value_x), y.at(value_y)}; }
  // Frame, grid lines, labels below and to the left. Below, a label between the first and
  // the last is left out where it would overlap another.
  void draw(Svg& to, const std::vector<Tick>& below, const std::vector<Tick>& left) const;

  Area area;
  Axis x, y;
};

}  // namespace ttc::draw
