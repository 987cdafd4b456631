// A rectangle of character cells, and its rows as text of a terminal.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ttc::tools {

enum class Style : uint8_t {
  plain,
  dim,
  bold,
  bar,  // title and key lines
  good,
  warn,
  bad,
  accent,
  heat0,  // five steps of a share
  heat1,
  heat2,
  heat3,
  heat4,
};

enum class Colours : uint8_t {
  text,  // no escape sequence at all: pipes, terminals that obey none
  none,  // bold and reverse only
  eight,
  many,
};

struct Cell {
  char32_t point = U' ';  // 0: the right half of the wide character before
  Style style = Style::plain;
};

class Canvas {
 public:
  // `breaks_lines` false: what wrap() writes stays one row, as long as it gets.
  explicit Canvas(int width, bool breaks_lines = true) : width_(width), breaks_lines_(breaks_lines) {}

  int width() const { return width_; }
  int height() const { return static_cast<int>(rows_.size()); }
  // Writes `text` from (x, y) on, made printable, cut at `width` columns and at the right edge; rows are added as
  // needed. Gives the column behind it.
  int put(int x, int y, std::string_view text, Style style = Style::plain, int width = 1 << 20);
  // Likewise, so that it ends before column `x`.
  void put_right(int x, int y, std::string_view text, Style style = Style::plain);
  // Adds text as new rows below, broken at spaces; a word that is longer than the canvas is wide is cut.
  void wrap(std::string_view text, Style style = Style::plain);
  void fill(int y, Style style);  // the whole row's style
  void cut(int height);           // rows from `height` on go
  void append(const Canvas& below);
  // Rows of `other` from (x, y) on.
  void lay(int x, int y, const Canvas& other);

  // The text has no trailing spaces of plain style; every style that begins ends.
  std::string row_text(int y, Colours colours) const;

 private:
  std::vector<Cell>& row(int y);
  int width_;
  bool breaks_lines_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace ttc::tools
