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

void TextTable::row(std::vector<TextCell> cells) {
  for (TextCell& cell : cells) cell.text = program::printable(cell.text);
  rows_.push_back(std::move(cells));
}

std::string TextTable::text(size_t width, bool color) const {
  std::vector<size_t> widths(columns_.size());
  for (size_t c = 0; c < columns_.size(); ++c) {
    widths[c] = shown_width(columns_[c].name);
    for (const auto& row : rows_)
      if (c < row.size()) widths[c] = std::max(widths[c], shown_width(row[c].text));
  }
  std::vector<bool> shown(columns_.size(), true);
  const auto total = [&] {
    size_t sum = 0, count = 0;
    for (size_t c = 0; c < widths.size(); ++c)
      if (shown[c]) sum += widths[c], ++count;
    return sum + (count ? 2 * (count - 1) : 0);
  };
  if (width > 0) {
    for (size_t c = 0; c < widths.size(); ++c)
      if (columns_[c].least_width && total() > width)
        widths[c] = std::max(std::min(widths[c], columns_[c].least_width),
                             widths[c] - std::min(widths[c], total() - width));
    std::vector<size_t> order(columns_.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return columns_[a].weight > columns_[b].weight; });
    for (const size_t c : order)
      if (columns_[c].weight > 0 && total() > width) shown[c] = false;
  }
  std::string out;
  const auto put = [&](const std::string& cell, size_t c, Ink ink, bool first) {
    const std::string text = shortened(cell, widths[c]);
    const std::string pad(widths[c] - shown_width(text), ' ');
    if (!first) out += "  ";
    out += columns_[c].left ? inked(text, ink, color) + pad : pad + inked(text, ink, color);
  };
  const auto end_line = [&] {
    while (!out.empty() && out.back() == ' ') out.pop_back();
    out += '\n';
  };
  const auto put_rule = [&] { out += std::string(total(), '-') + '\n'; };
  bool first = true;
  for (size_t c = 0; c < columns_.size(); ++c)
    if (shown[c]) put(columns_[c].name, c, Ink::bold, first), first = false;
  end_line();
  put_rule();
  size_t rule = 0;
  for (size_t r = 0; r < rows_.size(); ++r) {
    for (; rule < rules_.size() && rules_[rule] == r; ++rule) put_rule();
    first = true;
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (!shown[c]) continue;
      const TextCell& cell = c < rows_[r].size() ? rows_[r][c] : TextCell();
      put(cell.text, c, cell.ink, first);
      first = false;
    }
    end_line();
  }
  return out;
}

}  // namespace ttc::report
