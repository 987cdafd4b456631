// Cells of rows by the names of their columns.
#include "tools/report/metal_files/named_cells.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace ttc::report {
namespace {

using Line = std::vector<std::string>;

Line below(NamedCells& row, const Line& header) {
  Line line{"of the row before", "and more", "and more", "and more", "and more"};
  row.below(header, line);
  return line;
}

TEST(NamedCells, rows_do_not_keep_what_the_row_before_had) {
  const Line header{"A", "B", "C"};
  NamedCells row;
  row["A"] = "1", row["B"] = "2", row["further"] = "not shown";
  EXPECT_EQ(below(row, header), (Line{"1", "2", ""}));
  row.clear();
  row["B"] = "3";
  EXPECT_FALSE(row.contains("A"));
  EXPECT_EQ(row.find("A"), nullptr);
  row["A"] += "4";
  EXPECT_EQ(below(row, header), (Line{"4", "3", ""}));
  row.erase("B");
  row.erase("never there");
  EXPECT_EQ(below(row, header), (Line{"4", "", ""}));
}

TEST(NamedCells, commas_stay_in_columns_of_tt_mlir_alone) {
  NamedCells row;
  row["A"] = "1,2", row["LOC"] = "3,4";
  EXPECT_EQ(below(row, {"LOC", "A"}), (Line{"3,4", "1;2"}));
}

TEST(NamedCells, columns_are_found_in_any_order) {
  const Line header{"c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"};
  std::mt19937 dice(3);
  NamedCells row;
  for (int i = 0; i < 300; ++i) {
    row.clear();
    std::map<std::string, std::string> expected;
    for (auto n = dice() % 12; n-- > 0;) {
      const std::string& column = header[dice() % header.size()];
      row[column] = expected[column] = std::to_string(dice());
    }
    const Line line = below(row, header);
    for (size_t c = 0; c < header.size(); ++c) ASSERT_EQ(line[c], expected[header[c]]) << i;
  }
}

}  // namespace
}  // namespace ttc::report
