// A figure as one self-contained SVG document: elements with escaped text on a white background.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace ttc::draw {

struct Point {
  double x, y;
};

struct Area {
  double x, y, width, height;
  double right() const { return x + width; }
  double bottom() const { return y + height; }
};

// A number with at most two decimals; one that is not finite is 0.
std::string svg_number(double value);

// name="value" of an element. Values are escaped, names are not.
struct Attribute {
  Attribute(std::string_view name, std::string_view value);
  Attribute(std::string_view name, double value);
  std::string text;
};
using Attributes = std::vector<Attribute>;

class Svg {
 public:
  // `inherited` applies to all elements, for example the font.
  Svg(double width, double height, const Attributes& inherited);

  // `tip` is shown where the pointer rests on the element.
  void rect(const Area& area, const Attributes& more, std::string_view tip = {});
  void line(Point from, Point to, const Attributes& more);
  void lines(const std::vector<Point>& points, const Attributes& more);  // connected, not filled
  void circle(Point centre, double radius, const Attributes& more);
  void text(Point at, std::string_view text, const Attributes& more = {});

  std::string finish() &&;

 private:
  void open(std::string_view name, const Attributes& own, const Attributes& more);
  std::string out_;
};

}  // namespace ttc::draw
