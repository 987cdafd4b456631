// Intervals in as few rows as keep them apart, first come, first row that is free.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

namespace ttc::tools {

class RowPacker {
 public:
  static constexpr size_t kMostRows = 8;

  // The row of an interval, from 0. None: it overlaps one in every row.
  std::optional<uint32_t> place(uint64_t begin_ns, uint64_t end_ns) {
    for (uint32_t row = 0; row < kMostRows; ++row) {
      if (row == until_.size()) until_.push_back(0);
      if (begin_ns < until_[row]) continue;
      until_[row] = end_ns;
      return row;
    }
    return std::nullopt;
  }

 private:
  std::vector<uint64_t> until_;
};

}  // namespace ttc::tools
