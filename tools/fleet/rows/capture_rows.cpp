#include "tools/fleet/rows/capture_rows.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>

#include "tools/fleet/clock/common_clock.hpp"
#include "tools/fleet/rows/row_maker.hpp"
#include "tools/fleet/wire/control.hpp"
#include "tools/pipeline/source.hpp"
#include "tools/ranks/rank_captures.hpp"
#include "tools/reader/table_reader.hpp"
#include "ttcollect/capture_reader.hpp"

namespace ttc::fleet {
namespace {

namespace fs = std::filesystem;
using tools::SourceError;

constexpr uint32_t kBatchRows = 1 << 14;

std::vector<std::string> files_of(const std::vector<std::string>& given) {
  std::vector<std::string> files;
  for (const std::string& one : given) {
    std::error_code error;
    if (!fs::is_directory(one, error)) {
      files.push_back(one);
      continue;
    }
    const std::vector<std::string> captures = tools::captures_in(one);
    if (captures.empty()) throw SourceError(one + " holds no capture (.ttc)");
    files.insert(files.end(), captures.begin(), captures.end());
  }
  return files;
}

// A capture that is named after no rank is one by its place, of the host that its name is made into.
Identity rank_of(const std::string& file, uint32_t number) {
  Identity who;
  who.job = "captures";
  const auto name = tools::rank_of_capture(file);
  who.host = token_of(name ? name->host : fs::path(file).stem().string());
  who.rank = name ? name->rank : number;
  return who;
}

// Rows that wall clocks alone relate are left out: rows have bounds, or no common time.
std::vector<ClockRow> clock_rows_of(const tools::RankCapture& rank) {
  std::vector<ClockRow> rows;
  if (rank.basis != tools::ClockBasis::related) return rows;
  ClockRow row;
  row.reference = rank.clock.reference;
  row.how =
      static_cast<uint8_t>(rank.clock.points.exact() ? ClockSource::same_host : ClockSource::round_trips);
  if (rank.clock.points.exact()) rows.push_back(row);
  for (const tools::ClockPoint& p : rank.clock.points.all()) {
    row.raw_ns = p.raw_ns, row.offset_ns = p.offset_ns, row.bound_ns = p.bound_ns;
    rows.push_back(row);
  }
  return rows;
}

// Names and marked steps of the workload's host side: the capture's facts alone are read.
void read_host_side(const std::string& file, HostSide& host) {
  collect::Wanted facts;
  facts.read_from_ns = ~uint64_t{0};
  try {
    collect::CaptureReader reader(file, facts);
    for (std::vector<uint64_t> chunk; reader.next(chunk);) host.take(chunk);
  } catch (const collect::CaptureError& e) {
    throw SourceError(e.what());
  }
}

using Take = std::function<void(const std::string& subject, const std::string& data)>;

class CaptureRows {
 public:
  // `number`: distinguishes the captures of one rank.
  CaptureRows(const std::string& file, uint64_t number, Identity who, const std::vector<ClockRow>& clocks,
              const Take& take)
      : file_(file),
        number_(number),
        who_(std::move(who)),
        take_(take),
        reader_(file, options()),
        rows_(host_) {
    read_host_side(file, host_);
    AgentState state;
    state.who = who_, state.op_names = host_.codes().lines();
    take_(rows_subject(who_, "state"), to_text(state));
    give(RowKind::clock, clocks);
  }
  // False: it has ended.
  bool next() {
    if (over_) return false;
    const int status = reader_.next(0);
    rows_.take(reader_.tables(), *this, [this](const OpRow& row) {
      if (!first_ns_) first_ns_ = row.begin_ns;
      into_ns_ = std::max(into_ns_, row.begin_ns - std::min(row.begin_ns, first_ns_));
    });
    flush();
    over_ = status == TTCOLLECT_END || status == TTCOLLECT_INCOMPLETE;
    return true;
  }
  bool over() const { return over_; }
  uint64_t into_ns() const { return into_ns_; }  // how far in time it has been read
  const std::string& file() const { return file_; }
  const std::vector<std::string>& remarks() const { return reader_.remarks(); }

  void add(const OpRow& row) { ops_.push_back(row); }
  void add(const LossRow& row) { losses_.push_back(row); }
  void add(const ClockRow& row) { clocks_.push_back(row); }
  void add(const TelemetryRow& row) { telemetry_.push_back(row); }

 private:
  static ttcollect_options options() {
    ttcollect_options o{};
    o.struct_bytes = sizeof o;
    o.tables = TTCOLLECT_OPS, o.host_times = 1, o.batch_rows = kBatchRows;
    return o;
  }
  template <class Row>
  void give(RowKind kind, const std::vector<Row>& rows) {
    for (size_t i = 0; i < rows.size(); i += kMostBatchRows) {
      const std::vector<Row> some(
          rows.begin() + static_cast<ptrdiff_t>(i),
          rows.begin() + static_cast<ptrdiff_t>(std::min<size_t>(rows.size(), i + kMostBatchRows)));
      uint64_t& at = positions_[kind];
      take_(rows_subject(who_, name_of(kind)), encode_batch(kind, number_, 0, at, some));
      at += some.size();
    }
  }
  template <class Row>
  void flush(RowKind kind, std::vector<Row>& rows) {
    give(kind, rows);
    rows.clear();
  }
  void flush() {
    flush(RowKind::clock, clocks_), flush(RowKind::ops, ops_), flush(RowKind::loss, losses_);
    flush(RowKind::telemetry, telemetry_);
  }

  const std::string file_;
  const uint64_t number_;
  const Identity who_;
  const Take& take_;
  tools::TableReader reader_;
  HostSide host_;
  RowMaker rows_;
  std::map<RowKind, uint64_t> positions_;
  std::vector<OpRow> ops_;
  std::vector<LossRow> losses_;
  std::vector<ClockRow> clocks_;
  std::vector<TelemetryRow> telemetry_;
  uint64_t first_ns_ = 0, into_ns_ = 0;
  bool over_ = false;
};

}  // namespace

void read_captures(const std::vector<std::string>& given, const Take& take,
                   std::vector<std::string>& remarks) {
  const std::vector<std::string> files = files_of(given);
  const tools::RankCaptures ranks = tools::rank_captures(files);
  for (const std::string& remark : ranks.remarks) remarks.push_back(remark);
  std::vector<std::unique_ptr<CaptureRows>> all;
  for (const std::string& file : files) {
    const tools::RankCapture* const rank = ranks.find(file);
    all.push_back(std::make_unique<CaptureRows>(file, all.size() + 1,
                                                rank_of(file, static_cast<uint32_t>(all.size())),
                                                rank ? clock_rows_of(*rank) : std::vector<ClockRow>(), take));
  }
  const auto behind = [](const auto& a, const auto& b) {
    return std::pair(a->over(), a->into_ns()) < std::pair(b->over(), b->into_ns());
  };
  while (!all.empty() && (*std::min_element(all.begin(), all.end(), behind))->next()) {
  }
  for (const auto& one : all)
    for (const std::string& remark : one->remarks()) remarks.push_back(one->file() + ": " + remark);
}

}  // namespace ttc::fleet
