// Draws measurements as one self-contained SVG: a grid of panels over the same x axis, both axes logarithmic,
// on a light background. A row shares its y range, so that its panels can be compared by eye.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

namespace ttc::bench {

struct Stroke {
  enum class Kind { measured, tail, bound };  // full, thin, dashed
  Kind kind = Kind::measured;
  std::string colour;
  struct Point {
    double x, y;
  };
  std::vector<Point> points;  // what is not positive is left out
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

class SvgWriter {
 public:
  explicit SvgWriter(const Figure& figure) : f_(figure) {}

  std::string text() {
    const double width = kLeft + kStep * static_cast<double>(f_.columns.size());
    top_ = 48 + 16 * static_cast<double>(f_.remarks.size()) + 20 * static_cast<double>(f_.legend.size()) + 26;
    const double height = top_ + kRowStep * static_cast<double>(f_.rows.size()) + 8;
    put("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" "
        "font-family=\"Helvetica,Arial,sans-serif\" font-size=\"11\" fill=\"#222\">\n"
        "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
        width, height, width, height);
    head();
    for (size_t row = 0; row < f_.rows.size(); ++row) draw_row(row);
    out_ += "</svg>\n";
    return out_;
  }

 private:
  static constexpr double kLeft = 18, kStep = 372, kRowStep = 226;
  static constexpr double kPlotX = 58, kPlotW = 300, kPlotH = 164;

  // y in decades.
  struct Box {
    double x, y, x_low, x_high, y_low, y_high;
    double at_x(double v) const { return x + kPlotW * (std::log10(v) - x_low) / (x_high - x_low); }
    double at_y(double v) const { return y + kPlotH * (1 - (std::log10(v) - y_low) / (y_high - y_low)); }
  };

  template <class... A>
  void put(const char* format, A... a) {
    char text[1024];
    std::snprintf(text, sizeof text, format, a...);
    out_ += text;
  }
  void write(double x, double y, const char* attributes, const std::string& text) {
    put("<text x=\"%.1f\" y=\"%.1f\" %s>%s</text>\n", x, y, attributes, escaped(text).c_str());
  }
  static std::string escaped(const std::string& text) {
    std::string out;
    for (const char c : text) out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : std::string(1, c);
    return out;
  }

  void head() {
    write(kLeft, 26, "font-size=\"17\" font-weight=\"bold\"", f_.title);
    double y = 44;
    for (const std::string& note : f_.remarks) write(kLeft, y, "fill=\"#555\"", note), y += 16;
    y += 6;
    for (const auto& line : f_.legend) {
      double x = kLeft;
      for (const Figure::Key& key : line) {
        style(key.kind, key.colour);
        put(" d=\"M%.0f %.0fh26\"/>\n", x, y - 4);
        if (key.kind == Stroke::Kind::measured) dot(x + 13, y - 4, key.colour);
        write(x + 32, y, "", key.text);
        x += 56 + 6.1 * static_cast<double>(key.text.size());
      }
      y += 20;
    }
  }

  void draw_row(size_t row) {
    double low = 1e300, high = 0, x_low = f_.x_ticks.front(), x_high = f_.x_ticks.back();
    for (const auto& panel : f_.rows[row].panels)
      for (const Stroke& stroke : panel)
        for (const auto& p : stroke.points)
          if (p.y > 0) low = std::min(low, p.y), high = std::max(high, p.y);
    if (high == 0) return;
    for (size_t column = 0; column < f_.rows[row].panels.size(); ++column) {
      const Box box{kLeft + kStep * static_cast<double>(column) + kPlotX,
                    top_ + kRowStep * static_cast<double>(row),
                    std::log10(x_low) - 0.06,
                    std::log10(x_high) + 0.06,
                    std::log10(low) - 0.12,
                    std::log10(high) + 0.12};
      axes(box, f_.rows[row].y_label);
      write(box.x + kPlotW / 2, box.y - 7, "text-anchor=\"middle\" font-weight=\"bold\"", f_.columns[column]);
      for (const Stroke& stroke : f_.rows[row].panels[column]) draw(box, stroke);
    }
  }

  void axes(const Box& box, const std::string& y_label) {
    const double bottom = box.y + kPlotH;
    for (int decade = static_cast<int>(std::floor(box.y_low)); decade <= box.y_high; ++decade)
      for (const int digit : {1, 2, 5}) {
        const double v = digit * std::pow(10, decade), y = box.at_y(v);
        if (std::log10(v) < box.y_low || std::log10(v) > box.y_high) continue;
        const bool wide = box.y_high - box.y_low > 2;
        if (wide && digit != 1) continue;
        put("<path d=\"M%.1f %.1fh%.0f\" stroke=\"#e2e2e2\"/>\n", box.x, y, kPlotW);
        char text[32];
        std::snprintf(text, sizeof text, "%.6g", v);
        write(box.x - 5, y + 4, "text-anchor=\"end\"", text);
      }
    for (size_t i = 0; i < f_.x_ticks.size(); ++i) {
      const double v = f_.x_ticks[i];
      put("<path d=\"M%.1f %.1fv5\" stroke=\"#888\"/>\n", box.at_x(v), bottom);
      if (i + 1 < f_.x_ticks.size() && box.at_x(f_.x_ticks[i + 1]) - box.at_x(v) < 24) continue;  // no room
      char text[32];
      std::snprintf(text, sizeof text, "%.6g", v);
      write(box.at_x(v), bottom + 17, "text-anchor=\"middle\"", text);
    }
    put("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.0f\" height=\"%.0f\" fill=\"none\" stroke=\"#888\"/>\n", box.x,
        box.y, kPlotW, kPlotH);
    write(box.x + kPlotW / 2, bottom + 32, "text-anchor=\"middle\" fill=\"#555\"", f_.x_label);
    put("<g transform=\"translate(%.1f %.1f) rotate(-90)\">", box.x - 46, box.y + kPlotH / 2);
    write(0, 0, "text-anchor=\"middle\" fill=\"#555\"", y_label);
    out_ += "</g>\n";
  }

  void style(Stroke::Kind kind, const std::string& colour) {
    const char* how = kind == Stroke::Kind::measured ? "stroke-width=\"2\""
                      : kind == Stroke::Kind::bound  ? "stroke-width=\"1.4\" stroke-dasharray=\"5 4\""
                                                     : "stroke-width=\"0.9\" stroke-opacity=\"0.75\"";
    put("<path fill=\"none\" stroke=\"%s\" %s", colour.c_str(), how);
  }
  void dot(double x, double y, const std::string& colour) {
    put("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n", x, y, colour.c_str());
  }

  void draw(const Box& box, const Stroke& stroke) {
    std::vector<Stroke::Point> there;
    for (const auto& p : stroke.points)
      if (p.y > 0) there.push_back(p);
    if (there.empty()) return;
    style(stroke.kind, stroke.colour);
    out_ += " d=\"";
    for (size_t i = 0; i < there.size(); ++i)
      put("%s%.1f %.1f", i ? "L" : "M", box.at_x(there[i].x), box.at_y(there[i].y));
    out_ += "\"/>\n";
    if (stroke.kind != Stroke::Kind::measured) return;
    for (const auto& p : there) dot(box.at_x(p.x), box.at_y(p.y), stroke.colour);
  }

  const Figure& f_;
  double top_ = 0;
  std::string out_;
};

// False when the file could not be written; errno says why.
inline bool write_svg(const std::string& path, const Figure& figure) {
  FILE* file = std::fopen(path.c_str(), "w");
  if (!file) return false;
  const std::string text = SvgWriter(figure).text();
  const bool whole = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  return std::fclose(file) == 0 && whole;
}

}  // namespace ttc::bench
