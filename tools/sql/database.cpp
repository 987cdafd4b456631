#include "tools/sql/database.hpp"

#include <fcntl.h>
#include <sqlite3.h>

#include <cstring>

namespace ttc::tools {
namespace {

constexpr int kWaitForOthersMs = 10'000;  // that hold the file's lock
constexpr std::string_view kDescriptors = "/proc/self/fd/";

// SQLite refuses symbolic links. Links of descriptors are safe: they lead to the file that this process has opened itself.
int open_pending(const char* path, int flags, int mode) {
  if (std::string_view(path).starts_with(kDescriptors)) flags &= ~O_NOFOLLOW;
  return open(path, flags, mode);
}

// SQLite follows a path to the file's name, which a pending file does not have. Otherwise its own file system without locks.
int path_as_it_is(sqlite3_vfs*, const char* path, int most, char* out) {
  if (std::strlen(path) >= static_cast<size_t>(most)) return SQLITE_CANTOPEN;
  std::strcpy(out, path);
  return SQLITE_OK;
}

SqlError error_of(sqlite3* database) {
  const int code = sqlite3_errcode(database) & 0xff;
  return SqlError(sqlite3_errmsg(database), code == SQLITE_ERROR || code == SQLITE_READONLY);
}

const char* pending_files() {
  static const char* const kName = [] {
    static sqlite3_vfs vfs;
    vfs = *sqlite3_vfs_find("unix-none");
    vfs.pNext = nullptr;
    vfs.zName = "ttcollect-pending";
    vfs.xFullPathname = path_as_it_is;
    vfs.xSetSystemCall(&vfs, "open", reinterpret_cast<sqlite3_syscall_ptr>(open_pending));
    sqlite3_vfs_register(&vfs, 0);
    return vfs.zName;
  }();
  return kName;
}

}  // namespace

Statement::Statement(Statement&& other) noexcept : statement_(other.statement_), at_(other.at_) {
  other.statement_ = nullptr;
}

Statement::~Statement() {
  sqlite3_finalize(statement_);
}

void Statement::fail() const {
  throw error_of(sqlite3_db_handle(statement_));
}

Statement& Statement::add_integer(int64_t value) {
  if (sqlite3_bind_int64(statement_, ++at_, value) != SQLITE_OK) fail();
  return *this;
}

Statement& Statement::add(double value) {
  if (sqlite3_bind_double(statement_, ++at_, value) != SQLITE_OK) fail();
  return *this;
}

Statement& Statement::add(std::string_view text) {
  if (sqlite3_bind_text(statement_, ++at_, text.data(), static_cast<int>(text.size()), SQLITE_STATIC) !=
      SQLITE_OK)
    fail();
  return *this;
}

Statement& Statement::add_null() {
  if (sqlite3_bind_null(statement_, ++at_) != SQLITE_OK) fail();
  return *this;
}

void Statement::run() {
  at_ = 0;
  const int result = sqlite3_step(statement_);
  if (sqlite3_reset(statement_) != SQLITE_OK || result != SQLITE_DONE) fail();
}

bool Statement::next() {
  const int result = sqlite3_step(statement_);
  if (result != SQLITE_ROW && result != SQLITE_DONE) fail();
  return result == SQLITE_ROW;
}

int Statement::columns() const {
  return sqlite3_column_count(statement_);
}
std::string Statement::name(int column) const {
  return sqlite3_column_name(statement_, column);
}
bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}
bool Statement::is_text(int column) const {
  const int type = sqlite3_column_type(statement_, column);
  return type == SQLITE_TEXT || type == SQLITE_BLOB;
}
int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_, column);
}
std::string Statement::text(int column) const {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  return bytes ? std::string(bytes, static_cast<size_t>(sqlite3_column_bytes(statement_, column)))
               : std::string();
}

Database::Database(const std::string& path, Use use) {
  const int flags = use == Use::read ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
  const char* vfs = use == Use::create ? pending_files() : nullptr;
  // A name that begins with "file:" would be a URI if SQLite was built to take them.
  const std::string name = path.starts_with("file:") ? "./" + path : path;
  const int opened = sqlite3_open_v2(name.c_str(), &database_, flags | SQLITE_OPEN_NOMUTEX, vfs);
  if (opened != SQLITE_OK) {
    const std::string why = database_ ? sqlite3_errmsg(database_) : "not enough memory";
    sqlite3_close(database_);
    throw SqlError(why);
  }
  if (use != Use::create) sqlite3_busy_timeout(database_, kWaitForOthersMs);
  if (use == Use::create)
    run("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE; PRAGMA "
        "page_size = 16384; "
        "PRAGMA cache_size = -65536");
  if (use == Use::read) {
    sqlite3_limit(database_, SQLITE_LIMIT_ATTACHED, 0);  // no other file, neither to read nor to make
    run("PRAGMA query_only = ON; PRAGMA trusted_schema = OFF");
  }
}

Database::~Database() {
  sqlite3_close(database_);
}

void Database::run(std::string_view sql) {
  if (sqlite3_exec(database_, std::string(sql).c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    throw SqlError(sqlite3_errmsg(database_));
}

void Database::run_sorts(std::string_view sql, const std::string& directory) {
  sqlite3_free(sqlite3_temp_directory);
  sqlite3_temp_directory = sqlite3_mprintf("%s", directory.c_str());
  run("PRAGMA temp_store = FILE; PRAGMA cache_size = -4000");  // KiB: also what a sort keeps before it writes
  run(sql);
}

Statement Database::prepare(std::string_view sql, std::string* rest) {
  sqlite3_stmt* statement = nullptr;
  const char* tail = nullptr;
  if (sqlite3_prepare_v2(database_, sql.data(), static_cast<int>(sql.size()), &statement, &tail) != SQLITE_OK)
    throw error_of(database_);
  if (rest) *rest = std::string(tail, sql.data() + sql.size());
  return Statement(statement);
}

void Database::add_module(const std::string& name, const sqlite3_module* functions, void* of) {
  if (sqlite3_create_module_v2(database_, name.c_str(), functions, of, nullptr) != SQLITE_OK)
    throw error_of(database_);
}

int64_t Database::last_id() const {
  return sqlite3_last_insert_rowid(database_);
}

}  // namespace ttc::tools
