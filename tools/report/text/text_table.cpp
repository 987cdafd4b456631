#include "tools/report/text/text_table.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "collector/program/printable.hpp"

namespace ttc::report {
namespace {

constexpr const char* kInks[] = {"",
                                 "\033[38;5;8m",
                                 "\033[38;5;9m",
                                 "\033[38;5;10m",
                                 "\033[38;5;11m",
                                 "\033[38;5;12m",
                                 "\033[38;5;13m",
                                 "\033[38;5;14m",
                                 "\033[38;5;208m",
                                 "\033[1m"};

// One code point and its bytes.
uint32_t code_point(const std::string& text, size_t& at) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(at);
  const size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  uint32_t value = length == 1 ? first : first & (0xffu >> (length + 1));
  for (size_t i = 1; i < length; ++i) value = value << 6 | (byte(at + i) & 0x3f);
  at += length;
  return value;
}

size_t columns_of(uint32_t c) {
  if (c < 0x20 || (c >= 0x300 && c < 0x370) || c == 0x200d || (c >= 0xfe00 && c <= 0xfe0f)) return 0;
  return (c >= 0x1100 && c < 0x1160) || (c >= 0x2e80 && c < 0xa4d0) || (c >= 0xac00 && c < 0xd7a4) ||
                 (c >= 0xf900 && c < 0xfb00) || (c >= 0xff00 && c < 0xff61) || (c >= 0x1f300 && c < 0x1fb00)
             ? 2
             : 1;
}

}  // namespace

bool wants_color(int fd, bool forced, bool forbidden) {
  if (forbidden) return false;
  if (forced) return true;
  const char* no = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return !(no && *no) && isatty(fd) && !(term && std::string_view(term) == "dumb");
}

std::string inked(const std::string& text, Ink ink, bool color) {
  std::string shown = program::printable(text);
  if (!color || ink == Ink::plain || text.empty()) return shown;
  return kInks[static_cast<size_t>(ink)] + shown + "\033[0m";
}

size_t shown_width(const std::string& text) {
  size_t width = 0;
  for (size_t at = 0; at < text.size();) width += columns_of(code_point(text, at));
  return width;
}

std::string shortened(const std::string& text, size_t width) {
  if (shown_width(text) <= width) return text;
  size_t used = 0, at = 0;
  while (at < text.size()) {
    size_t next = at;
    const size_t columns = columns_of(code_point(text, next));
    if (used + columns + 1 > width) break;
    used += columns;
    at = next;
  }
  return text.substr(0, at) + "\u2026";
}

std::string thousands(double value, int decimals) {
  char digits[400];
  std::snprintf(digits, sizeof digits, "%.*f", decimals, value);
  std::string text = digits;
  if (text.find_first_not_of("-0.") == std::string::npos && text.starts_with('-')) text.erase(0, 1);
  size_t at = text.find('.');
  if (at == std::string::npos) at = text.size();
  const size_t first = text.starts_with('-') ? 1 : 0;
  while (at > first + 3) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

TextTable::TextTable(std::vector<TextColumn> columns) : columns_(std::move(columns)) {
  for (const TextColumn& column : columns_) widths_.push_back(shown_width(column.name));
}

void TextTable::row(std::vector<TextCell> cells) {
  CellRows::Row row;
  for (size_t c = 0; c < cells.size(); ++c) {
    const std::string text = program::printable(cells[c].text);
    if (c < widths_.size()) widths_[c] = std::max(widths_[c], shown_width(text));
    row.push_back(static_cast<char>(cells[c].ink) + text);
  }
  rows_.push_back(row);
}

size_t TextTable::Layout::total() const {
  size_t sum = 0, count = 0;
  for (size_t c = 0; c < widths.size(); ++c)
    if (shown[c]) sum += widths[c], ++count;
  return sum + (count ? 2 * (count - 1) : 0);
}

TextTable::Layout TextTable::layout(size_t width) const {
  Layout l{widths_, std::vector<bool>(columns_.size(), true)};
  if (width == 0) return l;
  for (size_t c = 0; c < columns_.size(); ++c)
    if (columns_[c].least_width && l.total() > width)
      l.widths[c] = std::max(std::min(l.widths[c], columns_[c].least_width),
                             l.widths[c] - std::min(l.widths[c], l.total() - width));
  std::vector<size_t> order(columns_.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return columns_[a].weight > columns_[b].weight; });
  for (const size_t c : order)
    if (columns_[c].weight > 0 && l.total() > width) l.shown[c] = false;
  return l;
}

std::string TextTable::line(const std::vector<TextCell>& cells, const Layout& l, bool color) const {
  std::string out;
  bool first = true;
  for (size_t c = 0; c < columns_.size(); ++c) {
    if (!l.shown[c]) continue;
    const TextCell cell = c < cells.size() ? cells[c] : TextCell();
    const std::string text = shortened(cell.text, l.widths[c]);
    const std::string pad(l.widths[c] - shown_width(text), ' ');
    if (!first) out += "  ";
    out += columns_[c].left ? inked(text, cell.ink, color) + pad : pad + inked(text, cell.ink, color);
    first = false;
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out + '\n';
}

void TextTable::write(size_t width, bool color, const TextSink& sink) const {
  const Layout l = layout(width);
  const std::string rule = std::string(l.total(), '-') + '\n';
  std::vector<TextCell> cells;
  for (const TextColumn& column : columns_) cells.push_back({column.name, Ink::bold});
  sink(line(cells, l, color));
  sink(rule);
  size_t next_rule = 0, r = 0;
  for (const CellRows::Row& row : rows_) {
    for (; next_rule < rules_.size() && rules_[next_rule] == r; ++next_rule) sink(rule);
    ++r;
    cells.clear();
    for (const std::string& cell : row) cells.push_back({cell.substr(1), static_cast<Ink>(cell[0])});
    sink(line(cells, l, color));
  }
}

std::string TextTable::text(size_t width, bool color) const {
  std::string all;
  write(width, color, [&](std::string_view part) { all += part; });
  return all;
}

}  // namespace ttc::report
