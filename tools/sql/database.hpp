// A SQLite database and its statements; what fails is an exception with SQLite's own sentence.
#pragma once
#include <concepts>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;
struct sqlite3_module;

namespace ttc::tools {

struct SqlError : std::runtime_error {
  explicit SqlError(const std::string& what, bool of_statement = false)
      : std::runtime_error(what), wrong_statement(of_statement) {}
  bool wrong_statement;  // the statement is at fault, and neither the file nor the machine
};

class Statement {
 public:
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}
  Statement(Statement&& other) noexcept;
  Statement(const Statement&) = delete;
  ~Statement();

  // Values of the parameters from the first on. run() ends the row.
  template <std::integral T>
  Statement& add(T value) {
    return add_integer(static_cast<int64_t>(value));
  }
  Statement& add(double value);
  Statement& add(std::string_view text);  // kept until the next run()
  Statement& add_null();
  Statement& add_unless(bool unknown, int64_t value) { return unknown ? add_null() : add(value); }
  // A statement without rows. Throws SqlError.
  void run();

  // A row of an answer; false: there is no further one. Throws SqlError.
  bool next();
  int columns() const;
  std::string name(int column) const;
  bool is_null(int column) const;
  bool is_text(int column) const;
  int64_t integer(int column) const;
  std::string text(int column) const;

 private:
  Statement& add_integer(int64_t value);
  [[noreturn]] void fail() const;
  sqlite3_stmt* statement_;
  int at_ = 0;
};

class Database {
 public:
  enum class Use : uint8_t { create, append, read };
  // `create`: `path` is an empty file that no other process uses, under a name of /proc as well; nothing protects it from a crash.
  // `append`: one that is there, and is left as it was unless commit() is reached. `read`: no statement can write.
  Database(const std::string& path, Use use);
  Database(const Database&) = delete;
  ~Database();

  void run(std::string_view sql);  // statements without rows
  // Runs statements that sort whole tables. What does not fit a core's cache waits in unnamed files of `directory`: one list in memory
  // takes more than twice the time, each step of its merge being a cache miss. `directory` holds for the process from now on.
  void run_sorts(std::string_view sql, const std::string& directory);
  // `rest`: the text after the first statement.
  Statement prepare(std::string_view sql, std::string* rest = nullptr);
  int64_t last_id() const;
  // A virtual table; `functions` and `of`, which they are given, live as long as the database.
  void add_module(const std::string& name, const sqlite3_module* functions, void* of);

 private:
  sqlite3* database_ = nullptr;
};

}  // namespace ttc::tools
