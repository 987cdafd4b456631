// The typed rows of a table, in the order in which they were added. They are kept packed, and beyond some
// megabytes in a file (text/spill.hpp).
#pragma once
#include <memory>

#include "tools/report/ops/op_row.hpp"
#include "tools/report/text/records.hpp"
#include "tools/report/text/row_iterator.hpp"
#include "tools/report/text/spill.hpp"

namespace ttc::report {

class OpRows {
 public:
  OpRows() : bytes_(std::make_shared<Spill>()) {}

  void push_back(const OpRow& row);
  size_t size() const { return places_.size(); }
  bool empty() const { return places_.empty(); }
  OpRow operator[](size_t i) const;
  RowIterator<OpRows, OpRow> begin() const { return {this, 0}; }
  RowIterator<OpRows, OpRow> end() const { return {this, size()}; }

 private:
  struct Place {
    uint64_t at;
    uint32_t size;
  };
  std::shared_ptr<Spill> bytes_;  // copies share what they have in common
  Records<Place> places_;
};

}  // namespace ttc::report
