// The cells of a row of ops_perf_results*.csv by the names of their columns, for one row after another: a column is found by its name once, where
// rows are put together in the same order.
#pragma once
#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ttc::report {

class NamedCells {
 public:
  // The cell, empty where the row has none yet. Valid until the next call.
  std::string& operator[](std::string_view column) {
    if (next_ == cells_.size() || cells_[next_].column != column) next_ = place_of(column);
    Cell& cell = cells_[next_++];
    if (!std::exchange(cell.is_there, true)) cell.text.clear();
    return cell.text;
  }
  const std::string* find(const std::string& column) const {
    const auto known = places_.find(column);
    return known != places_.end() && cells_[known->second].is_there ? &cells_[known->second].text : nullptr;
  }
  bool contains(const std::string& column) const { return find(column) != nullptr; }
  void erase(std::string_view column) { cells_[place_of(column)].is_there = false; }
  void clear() {
    for (Cell& cell : cells_) cell.is_there = false;
    next_ = 0;
  }

  // The cells below `header`, which is the same in every call, in place of what `line` had.
  void below(const std::vector<std::string>& header, std::vector<std::string>& line) {
    while (below_.size() < header.size()) below_.push_back(place_of(header[below_.size()]));
    line.resize(header.size());
    for (size_t i = 0; i < line.size(); ++i) show(cells_[below_[i]], line[i]);
  }

 private:
  struct Cell {
    std::string column, text;
    bool is_there = false;
  };
  // Without commas, but in columns of tt-mlir, whose writer does not replace them.
  static void show(const Cell& cell, std::string& text) {
    text.clear();
    if (!cell.is_there) return;
    text = cell.text;
    if (cell.column != "LOC" && cell.column != "PROGRAM_METADATA")
      std::replace(text.begin(), text.end(), ',', ';');
  }
  size_t place_of(std::string_view column) {
    const auto [known, fresh] = places_.try_emplace(std::string(column), cells_.size());
    if (fresh) cells_.push_back({known->first, {}, false});
    return known->second;
  }

  std::vector<Cell> cells_;  // in the order in which their columns were named first
  std::unordered_map<std::string, size_t> places_;
  size_t next_ = 0;
  std::vector<size_t> below_;  // of the header, by column
};

}  // namespace ttc::report
