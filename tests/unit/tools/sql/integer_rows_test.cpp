// Rows that enter a table by batches: every value and null, in order, however many rows there are.
#include "tools/sql/integer_rows.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace ttc::tools {
namespace {

class IntegerRowsTest : public testing::Test {
 protected:
  // A file of no name (https://www.sqlite.org/inmemorydb.html) is SQLite's own, and is gone with the database.
  Database database{"", Database::Use::append};

  int64_t answer(const char* query) {
    Statement statement = database.prepare(query);
    EXPECT_TRUE(statement.next());
    return statement.integer(0);
  }
};

TEST_F(IntegerRowsTest, every_number_of_rows_arrives_whole_and_in_order) {
  for (const int64_t count : {0, 1, 1023, 1024, 1025, 2048, 5000}) {
    database.run("DROP TABLE IF EXISTS t; CREATE TABLE t(a INTEGER, b INTEGER, c INTEGER)");
    {
      IntegerRows rows(database, "t", 3);
      for (int64_t i = 0; i < count; ++i) {
        rows.add(i)
            .add_unless(i % 3 == 0, -i)
            .add_unless(i % 5 == 0, std::numeric_limits<int64_t>::min() + i);
        rows.end_row();
      }
      rows.flush();
      rows.flush();  // nothing is left
    }
    EXPECT_EQ(answer("SELECT count(*) FROM t"), count);
    EXPECT_EQ(answer("SELECT count(*) FROM t WHERE a IS NOT rowid - 1"), 0) << count;
    EXPECT_EQ(answer("SELECT count(*) FROM t WHERE b IS NOT CASE WHEN a % 3 THEN -a END"), 0) << count;
    EXPECT_EQ(
        answer("SELECT count(*) FROM t WHERE c IS NOT CASE WHEN a % 5 THEN -9223372036854775807 - 1 + a END"),
        0)
        << count;
  }
}

TEST_F(IntegerRowsTest, two_tables_take_rows_in_turn) {
  database.run("CREATE TABLE one(a INTEGER); CREATE TABLE two(a INTEGER, b INTEGER)");
  IntegerRows one(database, "one", 1), two(database, "two", 2);
  for (int64_t i = 0; i < 3000; ++i) {
    one.add(i).end_row();
    two.add(i).add_unless(true, i).end_row();
  }
  one.flush(), two.flush();
  EXPECT_EQ(answer("SELECT count(*) FROM one JOIN two ON one.a = two.a WHERE two.b IS NULL"), 3000);
}

TEST_F(IntegerRowsTest, the_last_column_of_the_widest_row_can_be_null) {
  std::string columns = "c0 INTEGER";
  for (unsigned i = 1; i < IntegerRows::kMostColumns; ++i) columns += ", c" + std::to_string(i) + " INTEGER";
  database.run("CREATE TABLE wide(" + columns + ")");
  IntegerRows rows(database, "wide", IntegerRows::kMostColumns);
  for (unsigned i = 0; i < IntegerRows::kMostColumns; ++i)
    rows.add_unless(i + 1 == IntegerRows::kMostColumns, i);
  rows.end_row();
  rows.flush();
  EXPECT_EQ(answer("SELECT c31 IS NULL AND c0 = 0 AND c30 = 30 FROM wide"), 1);
}

TEST_F(IntegerRowsTest, a_batch_that_the_table_refuses_is_an_error) {
  database.run("CREATE TABLE t(a INTEGER NOT NULL)");
  IntegerRows rows(database, "t", 1);
  rows.add_unless(true, 0).end_row();
  EXPECT_THROW(rows.flush(), SqlError);
}

}  // namespace
}  // namespace ttc::tools
