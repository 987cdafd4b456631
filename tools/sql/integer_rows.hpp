// Rows of integers and nulls on their way into a table. They enter it by batches, each by one statement that reads them as a virtual
// table (https://www.sqlite.org/vtab.html): a statement a row opens its cursors, and takes and gives back memory, for every one.
#pragma once
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/sql/database.hpp"

namespace ttc::tools {

class IntegerRows {
 public:
  static constexpr unsigned kMostColumns = 32;

  // `table` has `columns` columns, and no other IntegerRows of this database writes to it. Throws SqlError.
  IntegerRows(Database& database, std::string_view table, unsigned columns);
  IntegerRows(const IntegerRows&) = delete;

  // The values of a row in the order of the columns. end_row() takes it, and throws SqlError where a batch could not be written.
  template <std::integral T>
  IntegerRows& add(T value) {
    values_[at_++] = static_cast<int64_t>(value);
    return *this;
  }
  IntegerRows& add_unless(bool unknown, int64_t value) {
    nulls_.back() |= uint32_t{unknown} << (at_ - row_);
    return add(value);
  }
  void end_row();
  void flush();  // what was taken and is not yet in the table; must be called before the end

 private:
  friend struct RowsModule;
  static constexpr size_t kBatchRows = 1024;  // its values stay in the cache of a core

  void begin();

  const unsigned columns_;
  std::string declaration_;
  std::vector<int64_t> values_;  // by row, then column
  std::vector<uint32_t> nulls_;  // by row: a bit a column; the last one is of the row that is under way
  size_t at_ = 0, row_ = 0;      // in values_: the next value, and the first of the row under way
  std::optional<Statement> insert_;
};

}  // namespace ttc::tools
