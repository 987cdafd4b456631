// ttexport --format sqlite: the tables of a reader, written as they come.
#include <algorithm>

#include "tools/reader/table_reader.hpp"
#include "tools/sql/sqlite_file.hpp"
#include "tools/ttexport/export.hpp"

namespace ttc::tools {
namespace {

constexpr uint32_t kLookForSignalsMs = 200;

ttcollect_options reader_options(const ExportOptions& o) {
  ttcollect_options options{};
  options.struct_bytes = sizeof options;
  options.tables =
      TTCOLLECT_ZONES | TTCOLLECT_OPS | TTCOLLECT_HOST | (o.markers ? uint32_t{TTCOLLECT_MARKERS} : 0u);
  options.follow = o.follow, options.host_times = 1;
  options.batch_rows = 1 << 16;
  return options;
}

std::string joined(const std::vector<std::string>& from) {
  std::string all;
  for (const std::string& one : from) all += (all.empty() ? "" : ",") + one;
  return all;
}

}  // namespace

int run_sqlite_export(const ExportOptions& o, std::unique_ptr<Source> source, bool everything,
                      const volatile std::sig_atomic_t& stop) {
  const bool live = source->loss_cause() == shm::LossCause::reader_lapped;
  SqliteFile file(o.output, o.append,
                  {joined(o.from), o.host, o.rank < 0 ? std::nullopt : std::optional<int64_t>(o.rank)});
  TableReader reader(std::move(source), reader_options(o), filter_of(o), o.format_options.metal_date,
                     everything || live);  // no chunk of a ring is left out on purpose
  int status = TTCOLLECT_OK;
  do {
    if (stop && !o.follow) throw OutputError("output " + o.output + " is not written: stopped by a signal");
    if (stop) reader.stop();
    status = reader.next(kLookForSignalsMs);
    file.write(reader.tables());
  } while (status != TTCOLLECT_END && status != TTCOLLECT_INCOMPLETE);
  const bool whole = status == TTCOLLECT_END;
  file.commit(reader.account(), whole, reader.remarks());
  for (const std::string& remark : reader.remarks()) program::say(kTtexport, ExportExit::kOk, remark);
  if (reader.account().markers == 0 && is_filtered(o, everything))
    program::say(kTtexport, ExportExit::kOk, nothing_passes(o));
  if (const uint64_t losses = reader.account().lost_intervals)
    program::say(
        kTtexport, ExportExit::kOk,
        std::to_string(losses) + " intervals in which markers may be missing are in the table losses");
  if (whole) return ExportExit::kOk;
  return live && reader.lapped() ? ExportExit::kReaderLost : ExportExit::kSourceDamaged;
}

}  // namespace ttc::tools
