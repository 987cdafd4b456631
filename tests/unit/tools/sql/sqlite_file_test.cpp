// The content of the file when several programs write it.
#include "tools/sql/sqlite_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "tools/sql/database.hpp"

namespace ttc::tools {
namespace {

class OwnFile {
 public:
  explicit OwnFile(const char* name)
      : path_(std::filesystem::temp_directory_path() / (name + std::to_string(getpid()) + ".db")) {}
  OwnFile(const OwnFile&) = delete;
  ~OwnFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_; }

 private:
  std::filesystem::path path_;
};

int64_t answer(const std::string& path, const char* query) {
  Database database(path, Database::Use::read);
  Statement statement = database.prepare(query);
  EXPECT_TRUE(statement.next());
  return statement.integer(0);
}

void add(SqliteFile& out, const char* source, const Tables& tables = {}) {
  out.begin({source, "", {}});
  out.write(tables);
  out.end({}, true, {});
}

TEST(SqliteFile, two_first_appends_do_not_replace_each_other) {
  const OwnFile file("ttc-first-appends-");
  SqliteFile first(file.path(), true), second(file.path(), true);
  add(first, "first");
  add(second, "second");
  first.commit();
  EXPECT_THROW(second.commit(), OutputError);
  EXPECT_EQ(answer(file.path(), "SELECT count(*) FROM captures WHERE source = 'first'"), 1);
  EXPECT_EQ(answer(file.path(), "SELECT count(*) FROM captures"), 1);
  EXPECT_EQ(answer(file.path(), "SELECT count(*) FROM captures WHERE host IS NULL AND remarks IS NULL"), 1);
}

TEST(SqliteFile, a_file_that_is_not_appended_to_is_replaced) {
  const OwnFile file("ttc-replaced-");
  for (const char* source : {"first", "second"}) {
    SqliteFile out(file.path(), false);
    add(out, source);
    out.commit();
  }
  EXPECT_EQ(answer(file.path(), "SELECT count(*) FROM captures WHERE source = 'second'"), 1);
}

ttcollect_op op_of(uint32_t host_id, int64_t ns) {
  ttcollect_op op{};
  op.host_id = host_id;
  op.begin_ns = 1'000'000 * int64_t{host_id};
  op.end_ns = op.begin_ns + ns;
  op.core_mean_ns = 90, op.core_most_ns = 100;
  return op;
}

TEST(SqliteFile, ops_within_their_bounds_share_a_rank) {
  const OwnFile file("ttc-bounds-");
  Tables tables;
  tables.ops = {op_of(1, 1000), op_of(2, 990), op_of(3, 970), op_of(4, 960)};
  tables.op_bounds = {
      {6, 6, 2, 3}, {5, 5, 6, 6}, {5, 5, 2, 2}, {TTCOLLECT_UNBOUNDED, 5, TTCOLLECT_UNBOUNDED, 5}};
  tables.op_gaps.resize(tables.ops.size());
  ttcollect_name name{"ZONE", "", 0, 1, 0};
  tables.names = {name};
  ttcollect_zone zone{};
  zone.begin_ns = 5, zone.end_ns = 25;
  zone.bound_ns = 70;
  tables.zones = {zone, zone};
  tables.zone_bounds = {3, TTCOLLECT_UNBOUNDED};
  SqliteFile out(file.path(), false);
  add(out, "x", tables);
  out.commit();
  EXPECT_EQ(answer(file.path(), "PRAGMA user_version"), 3);
  EXPECT_EQ(answer(file.path(), "SELECT host_id FROM slowest_ops WHERE shares_rank"), 2);
  EXPECT_EQ(answer(file.path(), "SELECT count(*) FROM slowest_ops WHERE NOT shares_rank"), 1);
  EXPECT_EQ(answer(file.path(), "SELECT bound_ns IS NULL FROM top_ops"), 1);  // one of them has none
  EXPECT_EQ(answer(file.path(), "SELECT sum(duration_bound_ns) FROM op"), 16);
  EXPECT_EQ(answer(file.path(), "SELECT host_id FROM imbalance WHERE within_bound"), 2);
  EXPECT_EQ(answer(file.path(), "SELECT difference_bound_ns FROM imbalance WHERE host_id = 1"), 5);
  EXPECT_EQ(answer(file.path(), "SELECT count(*) FROM imbalance WHERE within_bound IS NULL"), 1);
  EXPECT_EQ(answer(file.path(), "SELECT count(*) FROM zone WHERE duration_bound_ns = 3 AND bound_ns = 70"),
            1);
  EXPECT_EQ(answer(file.path(), "SELECT count(*) FROM zone WHERE duration_bound_ns IS NULL"), 1);
}

// Gaps of 999000, 999010, 999030 and 999040 ns.
TEST(SqliteFile, gaps_within_their_bounds_share_a_rank) {
  const OwnFile file("ttc-gaps-");
  Tables tables;
  tables.ops = {op_of(1, 1000), op_of(2, 990), op_of(3, 970), op_of(4, 960), op_of(5, 960)};
  tables.op_bounds.resize(tables.ops.size());
  tables.op_gaps = {
      {0, TTCOLLECT_UNBOUNDED},
      {1'001'000, 4},
      {2'000'990, 7},
      {3'000'970, 3},
      {3'000'970, 3}};  // the last one is the gap behind another op than the one that ended last
  SqliteFile out(file.path(), false);
  add(out, "x", tables);
  out.commit();
  EXPECT_EQ(answer(file.path(), "SELECT count(*) FROM gaps"), 5);
  EXPECT_EQ(answer(file.path(), "SELECT gap_ns FROM gaps WHERE shares_rank"), 999'000);
  EXPECT_EQ(answer(file.path(), "SELECT count(*) FROM gaps WHERE NOT shares_rank"), 1);
  EXPECT_EQ(answer(file.path(), "SELECT bound_ns FROM gaps WHERE host_id = 3"), 7);
  EXPECT_EQ(answer(file.path(), "SELECT bound_ns IS NULL FROM gaps WHERE host_id = 5"), 1);
  EXPECT_EQ(answer(file.path(), "SELECT gap_ns IS NULL AND bound_ns IS NULL FROM gaps WHERE host_id = 1"), 1);
}

TEST(SqliteFile, losses_of_other_cores_than_tensix_have_their_own_processors) {
  const OwnFile file("ttc-losses-");
  Tables tables;
  for (const int kind : {0, 1, TTCOLLECT_UNKNOWN_KIND}) {
    ttcollect_loss loss{};
    loss.id = tables.losses.size();
    loss.core_kind = static_cast<uint8_t>(kind);
    tables.losses.push_back(loss);
  }
  SqliteFile out(file.path(), false);
  add(out, "x", tables);
  out.commit();
  EXPECT_EQ(answer(file.path(), "SELECT count(*) FROM losses"), 3);
  EXPECT_EQ(answer(file.path(), "SELECT count(*) FROM losses WHERE processor = 'BRISC'"), 1);
  EXPECT_EQ(answer(file.path(), "SELECT count(*) FROM losses WHERE processor IS NULL"), 1);
}

}  // namespace
}  // namespace ttc::tools
