// Tables for terminals: columns as wide as they must be, colours where they are welcome, less important
// columns left out where the terminal is narrow.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace ttc::report {

enum class Ink : uint8_t { plain, grey, red, green, yellow, blue, magenta, cyan, orange, bold };

// Whether colours go to this descriptor: --color, --no-color, NO_COLOR, or what it is.
bool wants_color(int fd, bool forced, bool forbidden);
// `text` made printable, in that colour.
std::string inked(const std::string& text, Ink ink, bool color);
// Columns a UTF-8 text takes; marks of width 2 (most emoji, CJK) count as 2.
size_t shown_width(const std::string& text);
// Cut to `width` columns, with an ellipsis.
std::string shortened(const std::string& text, size_t width);
std::string thousands(double value, int decimals);

struct TextCell {
  std::string text;
  Ink ink = Ink::plain;
};

struct TextColumn {
  std::string name;
  bool left = false;
  int weight = 0;          // the higher, the earlier it is left out; 0: never
  size_t least_width = 0;  // may be cut down to this many columns; 0: not at all
};

class TextTable {
 public:
  explicit TextTable(std::vector<TextColumn> columns) : columns_(std::move(columns)) {}
  // Cells are shown printable (collector/program/printable.hpp).
  void row(std::vector<TextCell> cells);
  void rule() { rules_.push_back(rows_.size()); }  // a line before the next row
  // Lines with their ends; `width` 0: as wide as it gets.
  std::string text(size_t width, bool color) const;

 private:
  std::vector<TextColumn> columns_;
  std::vector<std::vector<TextCell>> rows_;
  std::vector<size_t> rules_;
};

}  // namespace ttc::report
