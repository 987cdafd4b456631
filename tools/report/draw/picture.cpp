#include "tools/report/draw/picture.hpp"

#include <cairo-svg.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tools/output/output.hpp"

namespace ttc::report {
namespace {

bool ends_with(const std::string& path, const char* tail) {
  return path.ends_with(tail);
}

}  // namespace

Picture::Picture(const std::string& path, double width, double height, double scale)
    : path_(path), png_(ends_with(path, ".png")) {
  if (!png_ && !ends_with(path, ".svg"))
    throw tools::OutputError("output " + path + " is neither .png nor .svg, which pictures are written as");
  file_ = std::make_unique<program::PendingFile>(path);
  if (file_->error())
    throw tools::OutputError("output " + path + " cannot be written: " + std::strerror(file_->error()));
  if (png_)
    surface_.reset(cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(std::ceil(width * scale)),
                                              static_cast<int>(std::ceil(height * scale))));
  else
    surface_.reset(cairo_svg_surface_create(file_->name().c_str(), width, height));
  cairo_.reset(cairo_create(surface_.get()));
  if (cairo_status(cairo_.get()) != CAIRO_STATUS_SUCCESS)
    throw tools::OutputError("output " + path +
                             " cannot be drawn: " + cairo_status_to_string(cairo_status(cairo_.get())));
  if (png_) cairo_scale(cairo_.get(), scale, scale);
  box(0, 0, width, height, {1, 1, 1});
}

void Picture::box(double x, double y, double w, double h, Rgb fill) {
  cairo_rectangle(cairo_.get(), x, y, w, h);
  cairo_set_source_rgb(cairo_.get(), fill.r, fill.g, fill.b);
  cairo_fill(cairo_.get());
}

void Picture::frame(double x, double y, double w, double h, Rgb ink, double line) {
  cairo_rectangle(cairo_.get(), x, y, w, h);
  cairo_set_line_width(cairo_.get(), line);
  cairo_set_source_rgb(cairo_.get(), ink.r, ink.g, ink.b);
  cairo_stroke(cairo_.get());
}

double Picture::text_width(const std::string& text, double size, bool bold) {
  cairo_select_font_face(cairo_.get(), "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                         bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size(cairo_.get(), size);
  cairo_text_extents_t extents{};
  cairo_text_extents(cairo_.get(), text.c_str(), &extents);
  return extents.x_advance;
}

void Picture::text(double x, double y, const std::string& text, double size, Rgb ink, Align align,
                   bool bold) {
  const double width = text_width(text, size, bold);
  cairo_move_to(cairo_.get(),
                align == Align::left     ? x
                : align == Align::middle ? x - width / 2
                                         : x - width,
                y);
  cairo_set_source_rgb(cairo_.get(), ink.r, ink.g, ink.b);
  cairo_show_text(cairo_.get(), text.c_str());
}

void Picture::finish() {
  cairo_status_t status = cairo_status(cairo_.get());
  cairo_.reset();
  if (status == CAIRO_STATUS_SUCCESS && png_)
    status = cairo_surface_write_to_png(surface_.get(), file_->name().c_str());
  cairo_surface_finish(surface_.get());
  if (status == CAIRO_STATUS_SUCCESS) status = cairo_surface_status(surface_.get());
  if (status != CAIRO_STATUS_SUCCESS)
    throw tools::OutputError("output " + path_ + " cannot be written: " + cairo_status_to_string(status));
  if (const int error = file_->put_in_place())
    throw tools::OutputError("output " + path_ + " cannot be put in place: " + std::strerror(error));
}

Rgb heat_color(double share) {
  constexpr Rgb kSteps[] = {{0.267, 0.005, 0.329},
                            {0.230, 0.322, 0.546},
                            {0.128, 0.567, 0.551},
                            {0.369, 0.789, 0.383},
                            {0.993, 0.906, 0.144}};
  const double at = std::clamp(share, 0.0, 1.0) * 4;
  const auto low = std::min<size_t>(3, static_cast<size_t>(at));
  const double part = at - static_cast<double>(low);
  const Rgb &a = kSteps[low], &b = kSteps[low + 1];
  return {a.r + (b.r - a.r) * part, a.g + (b.g - a.g) * part, a.b + (b.b - a.b) * part};
}

Rgb palette(size_t index) {
  constexpr Rgb kColors[] = {{0.122, 0.467, 0.706}, {0.839, 0.373, 0.055}, {0.173, 0.559, 0.173},
                             {0.739, 0.153, 0.157}, {0.490, 0.353, 0.690}, {0.499, 0.300, 0.260},
                             {0.790, 0.390, 0.660}, {0.420, 0.420, 0.420}, {0.560, 0.560, 0.110},
                             {0.060, 0.580, 0.640}};
  return kColors[index % std::size(kColors)];
}

}  // namespace ttc::report
