// Reports on a job's stream: accounts of ranks, cards that hold steps up, and all rows as one SQLite file.
#include <cstdio>
#include <memory>

#include "collector/program/json_text.hpp"
#include "tools/fleet/judge/straggler_report.hpp"
#include "tools/fleet/rows/capture_rows.hpp"
#include "tools/pipeline/source.hpp"
#include "tools/ttfleet/commands.hpp"
#include "tools/ttfleet/rows_database.hpp"
#include "ttcollect/host_time.hpp"

namespace ttc::fleet {
namespace {

using Exit = program::FleetExit;

constexpr size_t kShownCards = 16, kShownOps = 6;  // of the table of lateness

JobReport::Ears into(RowsDatabase* database) {
  if (!database) return {};
  return {
      [database](uint32_t rank, const OpRow& row, const ClockOffset& at) { database->add(rank, row, at); },
      [database](uint32_t rank, const LossRow& row) { database->add(rank, row); },
      [database](uint32_t rank, const ClockRow& row) { database->add(rank, row); },
      [database](uint32_t rank, const TelemetryRow& row) { database->add(rank, row); },
      [database](const Stragglers::Step& step) { database->add(step); }};
}

void read_bus(const Options& o, const Identity& who, JobReport& report,
              const volatile std::sig_atomic_t& stop) {
  Bus bus(o.bus);
  const std::string stream = stream_of(who.cluster);
  const uint64_t since = o.since_ns ? collect::before(collect::host_clock_ns(CLOCK_REALTIME), o.since_ns) : 0;
  if (since || !bus.holds_its_beginning(stream)) report.from_middle();
  bus.read_stream(stream, "tt." + who.cluster + "." + who.job + ".>", since, [&](const Message& m) {
    report.message(m.subject, m.data);
    return !stop;
  });
}

}  // namespace

int report_command(const Options& o, const volatile std::sig_atomic_t& stop) {
  const std::unique_ptr<RowsDatabase> database =
      o.output.empty() ? nullptr : std::make_unique<RowsDatabase>(o.output);
  JobReport report(into(database.get()));
  const Identity who = identity_of(o);
  std::vector<std::string> remarks;
  try {
    if (o.captures.empty())
      read_bus(o, who, report, stop);
    else
      read_captures(
          o.captures,
          [&](const std::string& subject, const std::string& data) { report.message(subject, data); },
          remarks);
  } catch (const tools::SourceError& e) {
    return program::say(kTtfleet, Exit::kNoSource, e.what());
  }
  for (const std::string& remark : remarks) program::say(kTtfleet, Exit::kOk, remark);
  if (report.empty())
    return program::say(kTtfleet, Exit::kIncomplete, "job " + who.job + " has no rows on the bus");
  report.end();
  if (database) database->commit(report);
  const JobReport::Json facts = report.facts();
  if (o.json)
    std::printf("%s\n", program::json_text(facts).c_str());
  else
    std::printf("%s\n%s\n%s", text_of_ranks(facts).c_str(), text_of_stragglers(facts).c_str(),
                text_of_lateness(report, kShownCards, kShownOps).c_str());
  if (stop)
    return program::say(kTtfleet, Exit::kIncomplete,
                        "stopped by a signal; what was read until then is above");
  if (!report.whole())
    return program::say(kTtfleet, Exit::kIncomplete, "rows are missing that no interval of loss reports");
  return Exit::kOk;
}

}  // namespace ttc::fleet
