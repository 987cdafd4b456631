#include "tools/terminal/canvas.hpp"

#include <algorithm>

#include "collector/program/printable.hpp"
#include "collector/program/utf8.hpp"
#include "tools/report/text/text_table.hpp"

namespace ttc::tools {
namespace {

// The colours of a Style; `eight` is for terminals of eight colours.
struct Ink {
  const char *many, *eight, *none;
};
constexpr Ink kStyleInks[] = {
    {"", "", ""},                              // plain
    {"\033[38;5;245m", "\033[2m", ""},         // dim
    {"\033[1m", "\033[1m", "\033[1m"},         // bold
    {"\033[7m", "\033[7m", "\033[7m"},         // bar
    {"\033[38;5;71m", "\033[32m", ""},         // good
    {"\033[38;5;178m", "\033[33m", ""},        // warn
    {"\033[1;38;5;203m", "\033[1;31m", ""},    // bad
    {"\033[38;5;75m", "\033[36m", ""},         // accent
    {"\033[38;5;245m", "\033[2m", ""},         // heat0
    {"\033[30;48;5;67m", "\033[30;44m", ""},   // heat1
    {"\033[30;48;5;72m", "\033[30;42m", ""},   // heat2
    {"\033[30;48;5;179m", "\033[30;43m", ""},  // heat3
    {"\033[30;48;5;173m", "\033[30;41m", ""},  // heat4
};

const char* ink_of(Style style, Colours colours) {
  if (colours == Colours::text) return "";
  const Ink& ink = kStyleInks[static_cast<size_t>(style)];
  return colours == Colours::many ? ink.many : colours == Colours::eight ? ink.eight : ink.none;
}

void append_utf8(std::string& text, char32_t c) {
  const auto byte = [&](char32_t value) { text += static_cast<char>(value); };
  if (c < 0x80) return byte(c);
  if (c < 0x800) {
    byte(0xc0 | c >> 6);
  } else if (c < 0x10000) {
    byte(0xe0 | c >> 12);
    byte(0x80 | (c >> 6 & 0x3f));
  } else {
    byte(0xf0 | c >> 18);
    byte(0x80 | (c >> 12 & 0x3f));
    byte(0x80 | (c >> 6 & 0x3f));
  }
  byte(0x80 | (c & 0x3f));
}

}  // namespace

std::vector<Cell>& Canvas::row(int y) {
  while (height() <= y) rows_.emplace_back(static_cast<size_t>(std::max(0, width_)));
  return rows_[static_cast<size_t>(y)];
}

int Canvas::put(int x, int y, std::string_view text, Style style, int width) {
  std::vector<Cell>& cells = row(y);
  const auto columns_here = static_cast<int>(cells.size());
  const int edge = width > columns_here - x ? columns_here : x + width;
  const std::string shown = program::printable(text);
  for (size_t at = 0; at < shown.size();) {
    const size_t length = std::max<size_t>(1, program::utf8_length(shown, at));
    const std::string one = shown.substr(at, length);
    const int columns = static_cast<int>(report::shown_width(one));
    if (x + columns > edge) break;
    if (columns > 0 && x >= 0) {
      cells[static_cast<size_t>(x)] = {program::utf8_point(shown, at, length), style};
      if (columns == 2) cells[static_cast<size_t>(x) + 1] = {0, style};
    }
    x += columns;
    at += length;
  }
  return x;
}

void Canvas::put_right(int x, int y, std::string_view text, Style style) {
  put(std::max(0, x - static_cast<int>(report::shown_width(std::string(text)))), y, text, style);
}

void Canvas::wrap(std::string_view text, Style style) {
  int x = 0, y = height();
  if (!breaks_lines_) {
    row(y).resize(report::shown_width(program::printable(text)));
    put(0, y, text, style);
    return;
  }
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string word(text.substr(at, end - at));
    const auto columns = static_cast<int>(report::shown_width(program::printable(word)));
    if (x > 0 && x + 1 + columns > width_) x = 0, ++y;
    x = put(x > 0 ? x + 1 : 0, y, word, style);
    at = end + 1;
  }
}

void Canvas::fill(int y, Style style) {
  for (Cell& cell : row(y)) cell.style = style;
}

void Canvas::cut(int height) {
  if (this->height() > height) rows_.resize(static_cast<size_t>(std::max(0, height)));
}

void Canvas::append(const Canvas& below) {
  lay(0, height(), below);
}

void Canvas::lay(int x, int y, const Canvas& other) {
  for (int r = 0; r < other.height(); ++r) {
    std::vector<Cell>& cells = row(y + r);
    const std::vector<Cell>& from = other.rows_[static_cast<size_t>(r)];
    for (int c = 0; c < other.width() && x + c < width_; ++c)
      cells[static_cast<size_t>(x) + static_cast<size_t>(c)] = from[static_cast<size_t>(c)];
  }
}

std::string Canvas::row_text(int y, Colours colours) const {
  std::string text;
  const std::vector<Cell>& cells = rows_[static_cast<size_t>(y)];
  size_t end = cells.size();
  while (end > 0 && cells[end - 1].point == U' ' && !*ink_of(cells[end - 1].style, colours)) --end;
  Style style = Style::plain;
  for (size_t x = 0; x < end; ++x) {
    if (cells[x].point == 0) continue;
    if (cells[x].style != style) {
      const std::string before = ink_of(style, colours), now = ink_of(cells[x].style, colours);
      if (!before.empty()) text += "\033[0m";
      text += now;
      style = cells[x].style;
    }
    append_utf8(text, cells[x].point);
  }
  if (*ink_of(style, colours)) text += "\033[0m";
  return text;
}

}  // namespace ttc::tools
