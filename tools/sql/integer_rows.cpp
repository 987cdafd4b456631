#include "tools/sql/integer_rows.hpp"

#include <sqlite3.h>

#include <new>
#include <string>

namespace ttc::tools {

// The virtual table of a batch. SQLite makes and frees table and cursor by these functions, none of which throws.
struct RowsModule {
  struct Table : sqlite3_vtab {
    explicit Table(const IntegerRows* of) : sqlite3_vtab{}, rows(of) {}
    const IntegerRows* rows;
  };
  struct Cursor : sqlite3_vtab_cursor {
    explicit Cursor(const IntegerRows* of) : sqlite3_vtab_cursor{}, rows(of) {}
    const IntegerRows* rows;
    size_t row = 0;
  };

  static int connect(sqlite3* database, void* rows, int, const char* const*, sqlite3_vtab** out, char**) {
    const auto* of = static_cast<const IntegerRows*>(rows);
    if (const int result = sqlite3_declare_vtab(database, of->declaration_.c_str()); result != SQLITE_OK)
      return result;
    *out = new (std::nothrow) Table(of);
    return *out ? SQLITE_OK : SQLITE_NOMEM;
  }
  static int disconnect(sqlite3_vtab* table) {
    delete static_cast<Table*>(table);
    return SQLITE_OK;
  }
  static int best_index(sqlite3_vtab*, sqlite3_index_info*) { return SQLITE_OK; }
  static int open(sqlite3_vtab* table, sqlite3_vtab_cursor** out) {
    *out = new (std::nothrow) Cursor(static_cast<Table*>(table)->rows);
    return *out ? SQLITE_OK : SQLITE_NOMEM;
  }
  static int close(sqlite3_vtab_cursor* cursor) {
    delete static_cast<Cursor*>(cursor);
    return SQLITE_OK;
  }
  static int filter(sqlite3_vtab_cursor* cursor, int, const char*, int, sqlite3_value**) {
    static_cast<Cursor*>(cursor)->row = 0;
    return SQLITE_OK;
  }
  static int next(sqlite3_vtab_cursor* cursor) {
    ++static_cast<Cursor*>(cursor)->row;
    return SQLITE_OK;
  }
  static int eof(sqlite3_vtab_cursor* cursor) {
    const auto* c = static_cast<Cursor*>(cursor);
    return (c->row + 1) * c->rows->columns_ > c->rows->row_;
  }
  static int column(sqlite3_vtab_cursor* cursor, sqlite3_context* context, int number) {
    const auto* c = static_cast<Cursor*>(cursor);
    if (!(c->rows->nulls_[c->row] >> number & 1))  // a value that is not set is null
      sqlite3_result_int64(context,
                           c->rows->values_[c->row * c->rows->columns_ + static_cast<size_t>(number)]);
    return SQLITE_OK;
  }
  static int row_id(sqlite3_vtab_cursor* cursor, sqlite3_int64* out) {
    *out = static_cast<sqlite3_int64>(static_cast<Cursor*>(cursor)->row);
    return SQLITE_OK;
  }
  static const sqlite3_module* functions() {
    static const sqlite3_module module = [] {
      sqlite3_module
          m{};  // without xCreate: the table is there under the module's name, and nothing else can make one
      m.xConnect = connect, m.xDisconnect = disconnect, m.xBestIndex = best_index;
      m.xOpen = open, m.xClose = close, m.xFilter = filter, m.xNext = next, m.xEof = eof;
      m.xColumn = column, m.xRowid = row_id;
      return m;
    }();
    return &module;
  }
};

IntegerRows::IntegerRows(Database& database, std::string_view table, unsigned columns)
    : columns_(columns), values_(kBatchRows * columns) {
  declaration_ = "CREATE TABLE batch(c0";
  for (unsigned i = 1; i < columns; ++i) declaration_ += ", c" + std::to_string(i);
  declaration_ += ")";
  const std::string into(table), batch = "batch_of_" + into;
  database.add_module(batch, RowsModule::functions(), this);
  insert_.emplace(database.prepare("INSERT INTO " + into + " SELECT * FROM " + batch));
  begin();
}

void IntegerRows::begin() {
  at_ = row_ = 0;
  nulls_.assign(1, 0);
}

void IntegerRows::end_row() {
  row_ = at_;
  if (row_ == values_.size()) return flush();
  nulls_.push_back(0);
}

void IntegerRows::flush() {
  if (row_) insert_->run();
  begin();
}

}  // namespace ttc::tools
