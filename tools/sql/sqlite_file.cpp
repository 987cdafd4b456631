#include "tools/sql/sqlite_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "collector/program/pending_file.hpp"
#include "firmware_markers/layout.hpp"
#include "shm/chunk.hpp"
#include "tools/sql/database.hpp"
#include "tools/sql/integer_rows.hpp"

namespace ttc::embedded {
extern const std::string_view op_names_sql, schema_sql, indexes_sql;
}

namespace ttc::tools {
namespace {

constexpr int64_t kApplication = 0x74746364;  // "ttcd"
constexpr const char* kPrecisions[] = {"exact words", "bounded launches", "unknown"};

int64_t pragma(Database& database, const char* name) {
  Statement statement = database.prepare(std::string("PRAGMA ") + name);
  return statement.next() ? statement.integer(0) : 0;
}

std::string host_in(const char* environment) {
  const std::string_view lines(environment);
  const size_t at = lines.starts_with("host=") ? 5 : lines.find("\nhost=");
  if (at == std::string_view::npos) return {};
  const size_t begin = at == 5 ? at : at + 6;
  return std::string(lines.substr(begin, lines.find('\n', begin) - begin));
}

std::string_view processor(uint8_t core_kind, uint8_t risc) {
  return markers::risc_name(static_cast<markers::CoreKind>(core_kind), risc);
}

// SQLite has integers of 64 bits with a sign. Cycles have 44 bits, or 64 that are never reached.
int64_t whole(uint64_t value) {
  return static_cast<int64_t>(value);
}

}  // namespace

struct SqliteFile::Parts {
  Parts(const std::string& path, bool append);

  int64_t session_of(uint32_t chip);
  int64_t lane_of(uint32_t chip, uint8_t x, uint8_t y, uint8_t risc, uint8_t core_kind);
  void names(const Tables& t);
  void sessions(const Tables& t);
  void zones(const Tables& t);
  void markers(const Tables& t);
  void ops(const Tables& t);
  void small_tables(const Tables& t);
  void host(const Tables& t);

  std::string path;
  const bool appending;
  std::unique_ptr<program::PendingFile> pending;  // of a new file
  std::unique_ptr<Database> database;
  int64_t capture = 0;
  std::string host_name;
  std::vector<int64_t> name_ids;        // by number
  std::map<uint32_t, int64_t> by_chip;  // the session that came last
  std::map<std::tuple<int64_t, uint8_t, uint8_t, uint8_t>, int64_t> lanes;
  uint64_t last_lane = ~uint64_t{0};  // most rows are of the lane of the one before
  int64_t last_lane_id = 0;
  std::optional<IntegerRows> add_zone, add_marker;
  std::optional<Statement> add_op;
};

SqliteFile::Parts::Parts(const std::string& to, bool append) : path(to), appending(append) {
  std::error_code ignored;
  const bool there = std::filesystem::exists(to, ignored);
  if (append && there) {
    database = std::make_unique<Database>(to, Database::Use::append);
    if (pragma(*database, "application_id") != kApplication ||
        pragma(*database, "user_version") != kSchemaVersion)
      throw SqlError("it is no database of schema version " + std::to_string(kSchemaVersion) +
                     " that ttexport wrote; name a new file");
    database->run("BEGIN IMMEDIATE");
    database->run(embedded::op_names_sql);
  } else {
    pending = std::make_unique<program::PendingFile>(to);
    if (pending->error()) throw SqlError(std::strerror(pending->error()));
    database = std::make_unique<Database>(pending->name(), Database::Use::create);
    database->run("PRAGMA application_id = " + std::to_string(kApplication) +
                  "; PRAGMA user_version = " + std::to_string(kSchemaVersion) + "; BEGIN");
    database->run(embedded::op_names_sql);
    database->run(embedded::schema_sql);
  }
  add_zone.emplace(*database, "zones", 12);
  add_marker.emplace(*database, "markers", 11);
  add_op.emplace(database->prepare(
      "INSERT INTO ops VALUES(NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
}

// A chip whose session never described itself gets a row with its number.
int64_t SqliteFile::Parts::session_of(uint32_t chip) {
  const auto known = by_chip.find(chip);
  if (known != by_chip.end()) return known->second;
  database->prepare("INSERT INTO sessions(capture, session, chip) VALUES(?, '', ?)")
      .add(capture)
      .add(chip)
      .run();
  return by_chip[chip] = database->last_id();
}

int64_t SqliteFile::Parts::lane_of(uint32_t chip, uint8_t x, uint8_t y, uint8_t risc, uint8_t core_kind) {
  const uint64_t key =
      uint64_t{chip} << 32 | uint32_t{x} << 24 | uint32_t{y} << 16 | uint32_t{risc} << 8 | core_kind;
  if (key == last_lane) return last_lane_id;
  const int64_t session = session_of(chip);
  const auto [at, fresh] = lanes.try_emplace({session, x, y, risc});
  if (fresh) {
    Statement add = database->prepare(
        "INSERT INTO lanes(session, x, y, risc, processor, core_kind) VALUES(?, ?, ?, ?, ?, ?)");
    add.add(session).add(int64_t{x}).add(int64_t{y}).add(int64_t{risc});
    add.add(processor(core_kind, risc)).add(int64_t{core_kind}).run();
    at->second = database->last_id();
  }
  last_lane = key;
  return last_lane_id = at->second;
}

void SqliteFile::Parts::names(const Tables& t) {
  if (name_ids.size() == t.names.size()) return;
  Statement add = database->prepare("INSERT INTO names(name, file, line, zone_id) VALUES(?, ?, ?, ?)");
  for (size_t i = name_ids.size(); i < t.names.size(); ++i) {
    const ttcollect_name& n = t.names[i];
    const bool known = *n.file != 0;
    add.add(std::string_view(n.name));
    known ? add.add(std::string_view(n.file)) : add.add_null();
    add.add_unless(!known, n.line).add(int64_t{n.zone_id}).run();
    name_ids.push_back(database->last_id());
  }
}

void SqliteFile::Parts::sessions(const Tables& t) {
  for (const ttcollect_session& s : t.sessions) {
    char id[24];
    std::snprintf(id, sizeof id, "%016llx", static_cast<unsigned long long>(s.id));
    Statement add = database->prepare(
        "INSERT INTO sessions(capture, session, chip, device, arch, board, layout, aiclk_mhz, compute_cores, "
        "clock_model, "
        "environment) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    add.add(capture)
        .add(std::string_view(id))
        .add(s.chip)
        .add(std::string_view(s.device))
        .add(std::string_view(s.arch));
    add.add(std::string_view(s.board)).add(std::string_view(s.layout)).add(s.aiclk_mhz).add(s.compute_cores);
    add.add(s.clock_model).add(std::string_view(s.environment)).run();
    by_chip[s.chip] = database->last_id();
    last_lane = ~uint64_t{0};
    if (host_name.empty()) host_name = host_in(s.environment);
  }
}

void SqliteFile::Parts::zones(const Tables& t) {
  for (size_t i = 0; i < t.zones.size(); ++i) {
    const ttcollect_zone& z = t.zones[i];
    const bool no_ns = z.begin_ns == 0 || z.end_ns == 0;
    add_zone->add(lane_of(z.chip, z.x, z.y, z.risc, z.core_kind)).add(name_ids[z.name]).add(z.host_id);
    add_zone->add_unless(z.replay == 0, z.replay).add(int64_t{z.depth}).add(whole(z.begin_cycles));
    add_zone->add(whole(z.end_cycles - z.begin_cycles))
        .add_unless(no_ns, z.begin_ns)
        .add_unless(no_ns, z.end_ns - z.begin_ns);
    add_zone->add_unless(z.bound_ns == TTCOLLECT_UNBOUNDED, z.bound_ns)
        .add_unless(z.bound_kind == 0, z.bound_kind)
        .add_unless(t.zone_bounds[i] == TTCOLLECT_UNBOUNDED, t.zone_bounds[i]);
    add_zone->end_row();
  }
}

void SqliteFile::Parts::markers(const Tables& t) {
  for (const ttcollect_marker& m : t.markers) {
    add_marker->add(lane_of(m.chip, m.x, m.y, m.risc, m.core_kind))
        .add(name_ids[m.name])
        .add(int64_t{m.type});
    add_marker->add(m.host_id).add_unless(m.replay == 0, m.replay).add(whole(m.cycles));
    add_marker->add_unless(m.host_ns == 0, m.host_ns)
        .add_unless(m.bound_ns == TTCOLLECT_UNBOUNDED, m.bound_ns);
    const bool data = m.type == TTCOLLECT_ZONE_TOTAL || m.type >= TTCOLLECT_DATA;
    add_marker->add_unless(m.bound_kind == 0, m.bound_kind)
        .add_unless(!data || m.type == TTCOLLECT_EVENT, whole(m.data[0]));
    add_marker->add_unless(m.type != TTCOLLECT_DATA_16B, whole(m.data[1])).end_row();
  }
}

void SqliteFile::Parts::ops(const Tables& t) {
  for (size_t i = 0; i < t.ops.size(); ++i) {
    const ttcollect_op& o = t.ops[i];
    const ttcollect_op_bounds& b = t.op_bounds[i];
    const bool kernel = o.kernel_end_ns != 0, cores = o.core_most_ns != 0;
    add_op->add(session_of(o.chip)).add(o.host_id).add_unless(o.replay == 0, o.replay).add(o.begin_ns);
    add_op->add(o.end_ns - o.begin_ns).add_unless(!kernel, o.kernel_begin_ns);
    add_op->add_unless(!kernel, o.kernel_end_ns - o.kernel_begin_ns).add(o.cores);
    add_op->add_unless(!cores, whole(o.core_mean_ns)).add_unless(!cores, whole(o.core_most_ns));
    add_op->add_unless(!cores, o.most_x)
        .add_unless(!cores, o.most_y)
        .add(o.open)
        .add(int64_t{o.of_device_clock});
    for (const uint32_t bound : {b.ns, b.kernel_ns, b.core_mean_ns, b.core_most_ns})
      add_op->add_unless(bound == TTCOLLECT_UNBOUNDED, bound);
    const Tables::Gap& gap = t.op_gaps[i];
    add_op->add_unless(gap.from_ns == 0, whole(gap.from_ns));
    add_op->add_unless(gap.bound_ns == TTCOLLECT_UNBOUNDED, gap.bound_ns);
    add_op->run();
  }
}

void SqliteFile::Parts::small_tables(const Tables& t) {
  for (const ttcollect_loss& l : t.losses) {
    Statement add =
        database->prepare("INSERT OR REPLACE INTO losses VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    add.add(session_of(l.chip)).add(whole(l.id)).add(int64_t{l.x}).add(int64_t{l.y});
    l.core_kind == TTCOLLECT_UNKNOWN_KIND ? add.add_null() : add.add(processor(l.core_kind, l.risc));
    add.add(std::string_view(shm::to_string(static_cast<shm::LossCause>(l.cause))));
    add.add(std::string_view(kPrecisions[l.precision < 2 ? l.precision : 2])).add(whole(l.from_cycles));
    add.add_unless(l.to_cycles == TTCOLLECT_OPEN_END, whole(l.to_cycles))
        .add_unless(l.from_ns == 0, l.from_ns);
    add.add_unless(l.to_ns == 0, l.to_ns).add_unless(l.precision != 0, whole(l.words));
    add.add_unless(l.precision != 1, whole(l.launches)).run();
  }
  for (const ttcollect_clock& c : t.clocks) {
    Statement add = database->prepare("INSERT INTO clock VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    add.add(session_of(c.chip))
        .add(int64_t{c.domain})
        .add(c.era)
        .add(whole(c.from_cycles))
        .add(whole(c.to_cycles));
    add.add(c.from_ns).add(c.to_ns).add(c.mhz).add_unless(c.bound_ns == TTCOLLECT_UNBOUNDED, c.bound_ns);
    add.add_unless(c.hard_bound_ns == TTCOLLECT_UNBOUNDED, c.hard_bound_ns).add(int64_t{c.kind});
    add.add(c.realtime_minus_raw_ns).run();
  }
  for (const ttcollect_telemetry& r : t.telemetry) {
    Statement add = database->prepare("INSERT INTO telemetry VALUES(?, ?, ?, ?, ?)");
    add.add(session_of(r.chip)).add(r.host_ns).add_unless(!(r.known & 1), r.aiclk_mhz);
    add.add_unless(!(r.known & 2), r.power_mw).add_unless(!(r.known & 4), r.temperature_mc).run();
  }
}

void SqliteFile::Parts::host(const Tables& t) {
  if (!t.host_zones.empty()) {
    Statement add = database->prepare("INSERT INTO host_zones VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    for (const ttcollect_host_zone& z : t.host_zones) {
      add.add(capture).add(whole(z.pid)).add(z.thread).add(z.depth).add(std::string_view(z.name));
      add.add(std::string_view(z.file)).add(z.line).add(std::string_view(z.text)).add(z.begin_ns);
      add.add(z.end_ns - z.begin_ns).add(z.bound_ns).run();
    }
  }
  if (!t.op_names.empty()) {
    Statement add = database->prepare("INSERT OR REPLACE INTO op_names VALUES(?, ?, ?, ?)");
    for (const ttcollect_op_name& op : t.op_names)
      add.add(capture).add(op.chip).add(op.host_id).add(std::string_view(op.name)).run();
  }
  if (t.host_messages.empty()) return;
  Statement add = database->prepare("INSERT INTO host_messages VALUES(?, ?, ?, ?, ?, ?)");
  for (const ttcollect_host_message& m : t.host_messages)
    add.add(capture)
        .add(whole(m.pid))
        .add(m.thread)
        .add(m.at_ns)
        .add(m.bound_ns)
        .add(std::string_view(m.text))
        .run();
}

SqliteFile::SqliteFile(const std::string& path, bool append) try
    : parts_(std::make_unique<Parts>(path, append)) {
} catch (const SqlError& e) {
  throw OutputError(path + " cannot be written: " + e.what());
}

SqliteFile::~SqliteFile() = default;

void SqliteFile::begin(const Capture& of) try {
  Parts& p = *parts_;
  Statement add = p.database->prepare("INSERT INTO captures(source, host, rank, whole) VALUES(?, ?, ?, 0)");
  add.add(of.source);
  of.host.empty() ? add.add_null() : add.add(of.host);
  add.add_unless(!of.rank, of.rank.value_or(0)).run();
  p.capture = p.database->last_id();
  p.host_name = of.host;
  p.name_ids.clear(), p.by_chip.clear(), p.lanes.clear();
  p.last_lane = ~uint64_t{0};
} catch (const SqlError& e) {
  throw OutputError(parts_->path + " cannot be written: " + e.what());
}

void SqliteFile::write(const Tables& t) try {
  parts_->sessions(t);
  parts_->names(t);
  parts_->zones(t);
  parts_->markers(t);
  parts_->ops(t);
  parts_->small_tables(t);
  parts_->host(t);
} catch (const SqlError& e) {
  throw OutputError(parts_->path + " cannot be written: " + e.what());
}

void SqliteFile::end(const ttcollect_account& account, bool whole_source,
                     const std::vector<std::string>& remarks) try {
  std::string text;
  for (const std::string& remark : remarks) text += (text.empty() ? "" : "\n") + remark;
  Statement(parts_->database->prepare(
                "UPDATE captures SET whole = ?, markers = ?, unpaired = ?, without_bound = ?, "
                "remarks = nullif(?, ''), host = nullif(?, '') WHERE id = ?"))
      .add(int64_t{whole_source})
      .add(whole(account.markers))
      .add(whole(account.unpaired))
      .add(whole(account.without_bound))
      .add(std::string_view(text))
      .add(std::string_view(parts_->host_name))
      .add(parts_->capture)
      .run();
} catch (const SqlError& e) {
  throw OutputError(parts_->path + " cannot be written: " + e.what());
}

void SqliteFile::commit() try {
  parts_->add_zone->flush(), parts_->add_marker->flush();
  parts_->add_zone.reset(), parts_->add_marker.reset(), parts_->add_op.reset();
  const std::string directory = std::filesystem::path(parts_->path).parent_path().string();
  parts_->database->run_sorts(embedded::indexes_sql, directory.empty() ? "." : directory);
  parts_->database->run("COMMIT");
  parts_->database.reset();
  if (!parts_->pending) return;
  int error = parts_->pending->written();
  if (!error && parts_->appending) {
    error = parts_->pending->put_where_nothing_is();
    if (error == EEXIST) throw SqlError("another program made it meanwhile; append again");
  } else if (!error) {
    error = parts_->pending->put_in_place();
  }
  if (error) throw SqlError(std::strerror(error));
} catch (const SqlError& e) {
  throw OutputError(parts_->path + " cannot be written: " + e.what());
}

}  // namespace ttc::tools
