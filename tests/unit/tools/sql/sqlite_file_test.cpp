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
