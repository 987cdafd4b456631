#include "collector/draw/svg.hpp"

#include <cmath>
#include <cstdio>

#include "collector/draw/text_escape.hpp"

namespace ttc::draw {

std::string svg_number(double value) {
  if (!std::isfinite(value)) return "0";
  char text[512];  // of the largest double
  std::snprintf(text, sizeof text, "%.2f", value);
  std::string out = text;
  out.erase(out.find_last_not_of('0') + 1);
  if (out.back() == '.') out.pop_back();
  return out == "-0" ? "0" : out;
}

Attribute::Attribute(std::string_view name, std::string_view value)
    : text(" " + std::string(name) + "=\"" + for_markup(value) + "\"") {}
Attribute::Attribute(std::string_view name, double value) : Attribute(name, svg_number(value)) {}

Svg::Svg(double width, double height, const Attributes& inherited) {
  open("svg",
       {{"xmlns", "http://www.w3.org/2000/svg"},
        {"viewBox", "0 0 " + svg_number(width) + " " + svg_number(height)},
        {"width", width},
        {"height", height}},
       inherited);
  out_ += ">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
}

void Svg::open(std::string_view name, const Attributes& own, const Attributes& more) {
  (out_ += '<') += name;
  for (const Attributes* attributes : {&own, &more})
    for (const Attribute& attribute : *attributes) out_ += attribute.text;
}

void Svg::rect(const Area& area, const Attributes& more, std::string_view tip) {
  open("rect", {{"x", area.x}, {"y", area.y}, {"width", area.width}, {"height", area.height}}, more);
  out_ += tip.empty() ? "/>\n" : "><title>" + for_markup(tip) + "</title></rect>\n";
}

void Svg::line(Point from, Point to, const Attributes& more) {
  open("line", {{"x1", from.x}, {"y1", from.y}, {"x2", to.x}, {"y2", to.y}}, more);
  out_ += "/>\n";
}

void Svg::lines(const std::vector<Point>& points, const Attributes& more) {
  std::string text;
  for (const Point& p : points) text += (text.empty() ? "" : " ") + svg_number(p.x) + "," + svg_number(p.y);
  open("polyline", {{"points", text}, {"fill", "none"}}, more);
  out_ += "/>\n";
}

void Svg::circle(Point centre, double radius, const Attributes& more) {
  open("circle", {{"cx", centre.x}, {"cy", centre.y}, {"r", radius}}, more);
  out_ += "/>\n";
}

void Svg::text(Point at, std::string_view text, const Attributes& more) {
  open("text", {{"x", at.x}, {"y", at.y}}, more);
  out_ += ">" + for_markup(text) + "</text>\n";
}

std::string Svg::finish() && {
  return std::move(out_) + "</svg>\n";
}

}  // namespace ttc::draw
