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

// One capture into the file; whether it was whole.
class CaptureExport {
 public:
  CaptureExport(const ExportOptions& o, bool everything, const volatile std::sig_atomic_t& stop)
      : o_(o), everything_(everything), stop_(stop), file_(o.output, o.append) {}

  bool add(const SqliteFile::Capture& capture, std::unique_ptr<Source> source) {
    const bool live = source->loss_cause() == shm::LossCause::reader_lapped;
    file_.begin(capture);
    TableReader reader(std::move(source), reader_options(o_), filter_of(o_), o_.format_options.metal_date,
                       everything_ || live);  // no chunk of a ring is left out on purpose
    int status = TTCOLLECT_OK;
    do {
      if (stop_ && !o_.follow)
        throw OutputError("output " + o_.output + " is not written: stopped by a signal");
      if (stop_) reader.stop();
      status = reader.next(kLookForSignalsMs);
      file_.write(reader.tables());
    } while (status != TTCOLLECT_END && status != TTCOLLECT_INCOMPLETE);
    const bool whole = status == TTCOLLECT_END;
    file_.end(reader.account(), whole, reader.remarks());
    for (const std::string& remark : reader.remarks()) program::say(kTtexport, ExportExit::kOk, remark);
    markers_ += reader.account().markers, losses_ += reader.account().lost_intervals;
    lapped_ = lapped_ || (live && reader.lapped());
    return whole;
  }
  int end(bool whole) {
    file_.commit();
    if (markers_ == 0 && is_filtered(o_, everything_))
      program::say(kTtexport, ExportExit::kOk, nothing_passes(o_));
    if (losses_)
      program::say(
          kTtexport, ExportExit::kOk,
          std::to_string(losses_) + " intervals in which markers may be missing are in the table losses");
    if (whole) return ExportExit::kOk;
    return lapped_ ? ExportExit::kReaderLost : ExportExit::kSourceDamaged;
  }

 private:
  const ExportOptions& o_;
  const bool everything_;
  const volatile std::sig_atomic_t& stop_;
  SqliteFile file_;
  uint64_t markers_ = 0, losses_ = 0;
  bool lapped_ = false;
};

}  // namespace

int run_sqlite_export(const ExportOptions& o, std::unique_ptr<Source> source, bool everything,
                      const volatile std::sig_atomic_t& stop) {
  CaptureExport out(o, everything, stop);
  const std::optional<int64_t> rank = o.rank < 0 ? std::nullopt : std::optional<int64_t>(o.rank);
  return out.end(out.add({joined(o.from), o.host, rank}, std::move(source)));
}

int run_sqlite_export_of_ranks(const ExportOptions& o, const RankCaptures& ranks, bool everything,
                               jobs::Workers* workers, const volatile std::sig_atomic_t& stop) {
  CaptureExport out(o, everything, stop);
  for (const std::string& remark : ranks.remarks) program::say(kTtexport, ExportExit::kOk, remark);
  bool whole = true;
  for (const RankCapture& rank : ranks.all)
    whole = out.add({rank.path, rank.name.host, rank.name.rank},
                    open_rank(rank, wanted_of(o, filter_of(o)), workers)) &&
            whole;
  return out.end(whole);
}

}  // namespace ttc::tools
