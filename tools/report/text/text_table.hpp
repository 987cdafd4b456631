// Tables for terminals: columns as wide as they must be, colours where they are welcome, less important
// columns left out where the terminal is narrow.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/report/text/cell_rows.hpp"

namespace ttc::report {

enum class Ink : uint8_t { plain, grey, red, green, yellow, blue, magenta, cyan, orange, bold };

// True if output to this descriptor is coloured: by --color, --no-color, NO_COLOR, or whether it is a terminal.
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

using TextSink = std::function<void(std::string_view)>;

// Rows are kept as cell_rows.hpp keeps them: memory does not grow with them.
class TextTable {
 public:
  explicit TextTable(std::vector<TextColumn> columns);
  // Cells are shown printable (collector/program/printable.hpp).
  void row(std::vector<TextCell> cells);
  void rule() { rules_.push_back(rows_.size()); }  // a line before the next row
  // Lines with their ends, one after the other; `width` 0: as wide as it gets.
  void write(size_t width, bool color, const TextSink& sink) const;
  std::string text(size_t width, bool color) const;

 private:
  struct Layout {
    std::vector<size_t> widths;
    std::vector<bool> shown;
    size_t total() const;
  };
  Layout layout(size_t width) const;
  std::string line(const std::vector<TextCell>& cells, const Layout& layout, bool color) const;

  std::vector<TextColumn> columns_;
  std::vector<size_t> widths_;  // of the widest cell so far
  CellRows rows_;               // of a cell its ink, then its text
  std::vector<size_t> rules_;
};

}  // namespace ttc::report
