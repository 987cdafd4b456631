// Rows of text cells, kept packed, and beyond some megabytes in a file (spill.hpp).
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tools/report/text/records.hpp"
#include "tools/report/text/row_iterator.hpp"
#include "tools/report/text/spill.hpp"

namespace ttc::report {

class CellRows {
 public:
  using Row = std::vector<std::string>;
  CellRows() : bytes_(std::make_shared<Spill>()) {}

  void push_back(const Row& row);
  size_t size() const { return places_.size(); }
  bool empty() const { return places_.empty(); }
  Row operator[](size_t i) const;
  RowIterator<CellRows, Row> begin() const { return {this, 0}; }
  RowIterator<CellRows, Row> end() const { return {this, size()}; }

 private:
  struct Place {
    uint64_t at;
    uint32_t size, cells;
  };
  std::shared_ptr<Spill> bytes_;  // copies share what they have in common
  Records<Place> places_;
};

}  // namespace ttc::report
