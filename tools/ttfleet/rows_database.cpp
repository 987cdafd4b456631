#include "tools/ttfleet/rows_database.hpp"

#include <cstring>
#include <optional>
#include <string_view>

#include "collector/program/pending_file.hpp"
#include "tools/fleet/judge/late_bound.hpp"
#include "tools/output/output.hpp"
#include "tools/sql/database.hpp"

namespace ttc::embedded {
extern const std::string_view fleet_schema_sql;
}

namespace ttc::fleet {
namespace {

using tools::Database;
using tools::OutputError;
using tools::SqlError;
using tools::Statement;

constexpr int64_t kApplication = 0x74746366;  // "ttcf"
constexpr uint8_t kOfDeviceAlone = 255;
constexpr uint32_t kCommitRows = 1 << 20;

template <class T>
Statement& add_known(Statement& to, const std::optional<T>& value) {
  return value ? to.add(*value) : to.add_null();
}

}  // namespace

struct RowsDatabase::Tables {
  explicit Tables(const std::string& to) : path(to), pending(to) {
    if (pending.error()) throw OutputError(to + " cannot be written: " + std::strerror(pending.error()));
    guarded([&] {
      database.emplace(pending.name(), Database::Use::create);
      database->run("PRAGMA application_id = " + std::to_string(kApplication) +
                    "; PRAGMA user_version = 2; BEGIN");
      database->run(embedded::fleet_schema_sql);
      ops.emplace(
          database->prepare("INSERT INTO ops VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
      losses.emplace(database->prepare("INSERT INTO losses VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
      clocks.emplace(database->prepare("INSERT INTO clocks VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)"));
      telemetry.emplace(database->prepare("INSERT INTO telemetry VALUES(?, ?, ?, ?, ?, ?)"));
      steps.emplace(
          database->prepare("INSERT INTO held_steps VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    });
  }
  template <class Do>
  void guarded(const Do& what) const {
    try {
      what();
    } catch (const SqlError& e) {
      throw OutputError(path + " cannot be written: " + e.what());
    }
  }
  // A transaction holds its changes in memory; the file has no name before its end.
  void count_row() {
    if (++rows % kCommitRows == 0) database->run("COMMIT; BEGIN");
  }

  const std::string path;
  program::PendingFile pending;
  std::optional<Database> database;
  std::optional<Statement> ops, losses, clocks, telemetry, steps;
  uint64_t rows = 0;
};

RowsDatabase::RowsDatabase(const std::string& path) : tables_(std::make_unique<Tables>(path)) {}
RowsDatabase::~RowsDatabase() = default;

void RowsDatabase::add(uint32_t rank, const OpRow& row, const ClockOffset& offset) {
  Tables& t = *tables_;
  const bool of_device = row.flags & OpRow::kDeviceClock;
  const bool dated = offset.known() && !of_device;
  const bool bounded = dated && row.bound_ns != kUnknownBoundNs;
  t.guarded([&] {
    const bool marked = row.flags & OpRow::kMarkedStep;
    t.ops->add(rank + 1).add(row.chip).add(row.host_id).add(static_cast<int64_t>(op_of(row)));
    t.ops->add_unless(row.replay == 0 || marked, row.replay).add_unless(!marked, row.replay);
    t.ops->add(static_cast<int64_t>(row.begin_ns)).add(row.duration_ns);
    t.ops->add_unless(!dated, static_cast<int64_t>(row.begin_ns + static_cast<uint64_t>(offset.offset_ns)));
    t.ops->add_unless(!bounded, static_cast<int64_t>(offset.bound_ns + row.bound_ns));
    t.ops->add(row.cores)
        .add(row.core_mean_ns())
        .add(row.core_most_ns)
        .add(row.most_x)
        .add(row.most_y)
        .add(row.open);
    t.ops->add(of_device ? 1 : 0).run();
    t.count_row();
  });
}

void RowsDatabase::add(uint32_t rank, const LossRow& row) {
  Tables& t = *tables_;
  t.guarded([&] {
    t.losses->add(rank + 1).add(row.chip).add(row.x).add(row.y).add(row.risc).add(
        std::string_view(cause_name(row.cause)));
    row.of_kind ? t.losses->add(std::string_view(name_of(static_cast<RowKind>(row.of_kind))))
                : t.losses->add_null();
    t.losses->add_unless(row.from_ns == 0, static_cast<int64_t>(row.from_ns));
    t.losses->add_unless(row.to_ns == 0, static_cast<int64_t>(row.to_ns));
    t.losses->add(row.count).add(row.position).run();
    t.count_row();
  });
}

void RowsDatabase::add(uint32_t rank, const ClockRow& row) {
  Tables& t = *tables_;
  const bool of_device = row.how == kOfDeviceAlone;
  t.guarded([&] {
    t.clocks->add(rank + 1).add(static_cast<int64_t>(row.raw_ns)).add_unless(of_device, row.offset_ns);
    t.clocks->add_unless(of_device, static_cast<int64_t>(row.bound_ns));
    of_device ? t.clocks->add_null() : t.clocks->add(std::string_view(std::to_string(row.reference)));
    of_device ? t.clocks->add_null()
              : t.clocks->add(std::string_view(name_of(static_cast<ClockSource>(row.how))));
    t.clocks->add_unless(!of_device, row.chip)
        .add_unless(!of_device, row.device_bound_ns)
        .add_unless(!of_device, row.mhz)
        .run();
    t.count_row();
  });
}

void RowsDatabase::add(uint32_t rank, const TelemetryRow& row) {
  Tables& t = *tables_;
  t.guarded([&] {
    t.telemetry->add(rank + 1)
        .add(row.chip)
        .add(static_cast<int64_t>(row.raw_ns))
        .add_unless(!(row.known & 1), row.aiclk_mhz);
    t.telemetry->add_unless(!(row.known & 2), row.power_mw)
        .add_unless(!(row.known & 4), row.temperature_mc)
        .run();
    t.count_row();
  });
}

void RowsDatabase::add(const Stragglers::Step& step) {
  Tables& t = *tables_;
  t.guarded([&] {
    t.steps->add(static_cast<int64_t>(step.number)).add_unless(step.replay == 0, step.replay).add(step.ns);
    t.steps->add_unless(step.end_common_ns == 0, static_cast<int64_t>(step.end_common_ns));
    t.steps->add(step.by.rank + 1).add(step.by.chip).add(step.late_ns);
    add_known(*t.steps, written_bound_ns(step.late_bound_ns)).add(static_cast<int64_t>(step.op));
    t.steps->add(step.in_gap ? 1 : 0).add(step.most_x).add(step.most_y);
    add_known(*t.steps, step.p_value).run();
    t.count_row();
  });
}

void RowsDatabase::commit(const JobReport& report) {
  Tables& t = *tables_;
  t.guarded([&] {
    Statement rank = t.database->prepare("INSERT INTO ranks VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)");
    int64_t id = 0;
    for (const Ingest::Rank& r : report.ingest().ranks()) {
      uint64_t rows = 0, missing = 0, declared = 0;
      for (const auto& [key, account] : r.accounts)
        rows += account.rows(), missing += account.missing(), declared += account.declared();
      const std::string name = r.who.name();
      rank.add(++id)
          .add(std::string_view(r.who.cluster))
          .add(std::string_view(r.who.job))
          .add(std::string_view(r.who.host));
      rank.add(r.who.rank).add(std::string_view(name)).add(rows).add(missing).add(declared).run();
    }
    Statement straggler =
        t.database->prepare("INSERT INTO stragglers VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    for (const Straggler& s : report.stragglers().named()) {
      const std::string op = report.op_name(s.op);
      straggler.add(s.card.rank + 1)
          .add_unless(s.whole_rank, s.card.chip)
          .add(s.steps)
          .add_unless(s.whole_rank, s.late_steps);
      add_known(straggler.add(s.late_ns), written_bound_ns(s.late_bound_ns))
          .add(std::string_view(op))
          .add(s.in_gaps ? 1 : 0)
          .add(s.most_x)
          .add(s.most_y)
          .add(s.p_value)
          .run();
    }
    Statement name = t.database->prepare("INSERT INTO op_names VALUES(?, ?)");
    for (const auto& [code, text] : report.ingest().op_codes().all())
      name.add(static_cast<int64_t>(uint64_t{1} << 32 | code)).add(std::string_view(text)).run();
    t.database->run("CREATE INDEX ops_rank ON ops(rank, chip, begin_ns); COMMIT");
    t.ops.reset(), t.losses.reset(), t.clocks.reset(), t.telemetry.reset(), t.steps.reset();
  });
  t.database.reset();
  if (const int error = t.pending.written() ? t.pending.written() : t.pending.put_in_place())
    throw OutputError(t.path + " cannot be written: " + std::strerror(error));
}

}  // namespace ttc::fleet
