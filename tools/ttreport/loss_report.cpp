// ttreport loss: every interval in which markers of a lane may be missing, lost by any of: the card, the
// collector, a disk, a damaged file, or this reader.
#include <CLI/CLI.hpp>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "collector/program/json_text.hpp"
#include "collector/program/output_guard.hpp"
#include "collector/program/printable.hpp"
#include "tools/output/output.hpp"
#include "tools/pipeline/source.hpp"
#include "tools/ttreport/report.hpp"
#include "ttcollect/loss_view.hpp"

namespace ttc::tools {
namespace {

using json = nlohmann::ordered_json;

// State of one collector's run on one device.
struct SessionLosses {
  std::string device;
  uint32_t chip = 0;
  collect::LossView::Intervals lost;
  std::vector<shm::LossTotal> before;  // when the first of these files was begun
};

struct LossTotals {
  uint64_t intervals = 0, words = 0, launches = 0, unknown = 0;
  void add(shm::LossPrecision precision, uint64_t of, uint64_t words_more, uint64_t runs_more) {
    intervals += of;
    if (precision == shm::LossPrecision::exact_words)
      words += words_more;
    else if (precision == shm::LossPrecision::bounded_launches)
      launches += runs_more;
    else
      unknown += of;
  }
};

LossTotals totals_of(const SessionLosses& run) {
  LossTotals t;
  for (const auto& [id, r] : run.lost) t.add(r.precision, 1, r.words, r.launches);
  return t;
}
LossTotals totals_before(const SessionLosses& run) {
  LossTotals t;
  for (const shm::LossTotal& b : run.before) t.add(b.precision, b.intervals, b.words, b.launches);
  return t;
}

std::string in_words(const LossTotals& t) {
  return std::to_string(t.intervals) + " intervals: " + std::to_string(t.words) + " words exactly, at most " +
         std::to_string(t.launches) + " launches, " + std::to_string(t.unknown) + " of unknown size\n";
}

std::string until(const shm::LossRecord& r) {
  return r.to_cycles == shm::kOpenEnd ? "the end" : std::to_string(r.to_cycles);
}

std::string amount(const shm::LossRecord& r) {
  switch (r.precision) {
    case shm::LossPrecision::exact_words:
      return std::to_string(r.words) + " words";
    case shm::LossPrecision::bounded_launches:
      return "at most " + std::to_string(r.launches) + " launches";
    default:
      return "not known";
  }
}

std::string table_of(uint64_t session, const SessionLosses& run) {
  char line[200];
  std::string text = program::printable(run.device) + ", chip " + std::to_string(run.chip) + ", session " +
                     std::to_string(session) + "\n";
  if (!run.before.empty())
    text += "  until this file was begun, by the whole run: " + in_words(totals_before(run));
  if (run.lost.empty()) return text + "  nothing lost\n";
  std::snprintf(line, sizeof line, "  %5s %4s  %-24s %-8s %5s %16s %16s  %s\n", "core", "risc", "cause",
                "precise", "epoch", "from [cycles]", "to [cycles]", "how much");
  text += line;
  for (const auto& [id, r] : run.lost) {
    const std::string core = std::to_string(r.core_x) + "," + std::to_string(r.core_y);
    std::snprintf(line, sizeof line, "  %5s %4u  %-24s %-8s %5u %16llu %16s  %s\n", core.c_str(), r.risc,
                  to_string(r.cause), to_string(r.precision), r.epoch,
                  static_cast<unsigned long long>(r.from_cycles), until(r).c_str(), amount(r).c_str());
    text += line;
  }
  return text + "  " + in_words(totals_of(run));
}

json to_json(const shm::LossRecord& r) {
  json j{{"x", r.core_x},
         {"y", r.core_y},
         {"risc", r.risc},
         {"cause", to_string(r.cause)},
         {"precision", to_string(r.precision)},
         {"epoch", r.epoch},
         {"from_cycles", r.from_cycles},
         {"to_cycles", r.to_cycles == shm::kOpenEnd ? json() : json(r.to_cycles)}};
  if (r.precision == shm::LossPrecision::exact_words) j["words"] = r.words;
  if (r.precision == shm::LossPrecision::bounded_launches) j["launches"] = r.launches;
  return j;
}

json to_json(uint64_t session, const SessionLosses& run) {
  json lost = json::array();
  for (const auto& [id, r] : run.lost) lost.push_back(to_json(r));
  const LossTotals t = totals_of(run);
  json j{{"device", run.device},
         {"chip", run.chip},
         {"session", session},
         {"lost", std::move(lost)},
         {"words", t.words},
         {"launches_at_most", t.launches},
         {"intervals_of_unknown_size", t.unknown}};
  if (run.before.empty()) return j;
  const LossTotals before = totals_before(run);
  j["before"] = {{"intervals", before.intervals},
                 {"words", before.words},
                 {"launches_at_most", before.launches},
                 {"intervals_of_unknown_size", before.unknown}};
  return j;
}

class LossReport : public Report {
 public:
  void options(CLI::App& command) override {
    command
        .add_option("--from,input", from_,
                    "live:NAME, FILE.ttc or a directory of firmware memory; comma lists")
        ->required()
        ->expected(1)
        ->take_all();
    command.add_flag("--json", as_json_, "as one JSON object");
    command.add_option("--output,-o", output_, "file, complete or absent; - is standard output")
        ->capture_default_str();
    command.footer(
        "Markers of the lane with from < time < to may be missing, no others. Precision: exact (words), "
        "bounded\n(launches, at most), unknown. An interval that is still open at the end of the run has no "
        "end.");
  }

  int run() override {
    program::refuse_output_over_input(output_, named_sources(from_));
    const auto source = open_source(from_, false);
    collect::LossView view(source->loss_cause());
    for (std::vector<uint64_t> chunk; source->next(chunk) == Source::Next::chunk;) {
      if (source->lost_beginning()) view.lost_beginning();
      view.push(chunk);
      take(chunk);
    }
    if (source->broke_off()) view.broke_off();
    view.finish();
    for (const auto& [session, intervals] : view.all()) runs_[session].lost = intervals;
    const std::vector<std::string> complaints = source->complaints();
    Output out(output_, false);
    out.append(as_json_ ? all_as_json(view, complaints) : all_as_text(view));
    out.commit();
    for (const std::string& c : complaints) say(ReportExit::kOk, c);
    for (const std::string& r : source->remarks()) say(ReportExit::kOk, r);
    return complaints.empty() ? ReportExit::kOk : ReportExit::kSourceDamaged;
  }

 private:
  void take(std::span<const uint64_t> chunk) {
    const shm::ChunkHeader& h = shm::header_of(chunk);
    SessionLosses& run = runs_[h.session];
    const auto body = shm::body_of(chunk);
    if (h.kind == shm::ChunkKind::loss_totals && run.before.empty()) {
      run.before.resize(body.size() / sizeof(shm::LossTotal));
      if (!body.empty()) std::memcpy(static_cast<void*>(run.before.data()), body.data(), body.size());
    }
    if (h.kind != shm::ChunkKind::session) return;
    const auto j = program::json_value({body.data(), body.size()});
    if (!j.is_object()) return;
    if (j.contains("device") && j["device"].is_string()) run.device = j["device"];
    if (j.contains("chip") && j["chip"].is_number_unsigned()) run.chip = j["chip"];
  }

  std::string all_as_text(const collect::LossView& view) const {
    std::string text;
    for (const auto& [session, run] : runs_) text += table_of(session, run);
    if (runs_.empty()) text = "no device was recorded\n";
    if (view.missing_chunks()) text += std::to_string(view.missing_chunks()) + " chunks did not come\n";
    if (view.chunks_before())
      text += "this recording begins " + std::to_string(view.chunks_before()) + " chunks after its run\n";
    return text;
  }
  std::string all_as_json(const collect::LossView& view, const std::vector<std::string>& complaints) const {
    json devices = json::array();
    for (const auto& [session, run] : runs_) devices.push_back(to_json(session, run));
    return program::json_text(json{{"devices", std::move(devices)},
                                   {"missing_chunks", view.missing_chunks()},
                                   {"chunks_before", view.chunks_before()},
                                   {"complaints", complaints}}) +
           "\n";
  }

  std::vector<std::string> from_;
  bool as_json_ = false;
  std::string output_ = "-";
  std::map<uint64_t, SessionLosses> runs_;
};

}  // namespace

std::unique_ptr<Report> make_loss_report() {
  return std::make_unique<LossReport>();
}

}  // namespace ttc::tools
