// Pictures as PNG or SVG, drawn with cairo: by the name's ending. Sizes are in points; a PNG has `scale`
// pixels to each.
#pragma once
#include <cairo.h>

#include <memory>
#include <string>

#include "collector/program/pending_file.hpp"

namespace ttc::report {

struct Rgb {
  double r, g, b;
};

class Picture {
 public:
  // Throws tools::OutputError when the file cannot be written or its name ends in neither .png nor .svg.
  Picture(const std::string& path, double width, double height, double scale = 2);
  void box(double x, double y, double w, double h, Rgb fill);
  void frame(double x, double y, double w, double h, Rgb ink, double line = 1);
  enum class Align { left, middle, right };
  void text(double x, double y, const std::string& text, double size, Rgb ink, Align align = Align::left,
            bool bold = false);
  double text_width(const std::string& text, double size, bool bold = false);
  void finish();  // writes the file

 private:
  struct Free {
    void operator()(cairo_surface_t* s) const { cairo_surface_destroy(s); }
    void operator()(cairo_t* c) const { cairo_destroy(c); }
  };
  std::string path_;
  std::unique_ptr<program::PendingFile> file_;
  bool png_;
  std::unique_ptr<cairo_surface_t, Free> surface_;
  std::unique_ptr<cairo_t, Free> cairo_;
};

// 0..1 as a colour from dark blue over green to yellow: even steps look even, also without colour vision.
Rgb heat_color(double share);
Rgb palette(size_t index);

}  // namespace ttc::report
