// An iterator over rows that are kept packed: every one is made when it is read.
#pragma once
#include <cstddef>
#include <iterator>

namespace ttc::report {

template <class Rows, class Row>
class RowIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = Row;
  using difference_type = std::ptrdiff_t;
  using pointer = const Row*;
  using reference = Row;
  RowIterator(const Rows* rows, size_t i) : rows_(rows), i_(i) {}
  Row operator*() const { return (*rows_)[i_]; }
  RowIterator& operator++() {
    ++i_;
    return *this;
  }
  RowIterator operator++(int) {
    RowIterator before = *this;
    ++i_;
    return before;
  }
  bool operator==(const RowIterator& other) const { return i_ == other.i_; }

 private:
  const Rows* rows_;
  size_t i_;
};

}  // namespace ttc::report
