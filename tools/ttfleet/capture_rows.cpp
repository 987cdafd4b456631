#include "tools/ttfleet/capture_rows.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "collector/program/json_text.hpp"
#include "tools/fleet/agent/rows.hpp"
#include "tools/fleet/clock/common_clock.hpp"
#include "tools/fleet/wire/control.hpp"
#include "tools/pipeline/source.hpp"
#include "tools/reader/table_reader.hpp"

namespace ttc::fleet {
namespace {

namespace fs = std::filesystem;
using tools::SourceError;

constexpr uint32_t kBatchRows = 1 << 14;
constexpr std::string_view kRankPart = "_rank_";

std::vector<fs::path> files_of(const std::vector<std::string>& given) {
  std::vector<fs::path> files;
  for (const std::string& one : given) {
    std::error_code error;
    if (!fs::is_directory(one, error)) {
      files.emplace_back(one);
      continue;
    }
    const size_t before = files.size();
    for (const auto& entry : fs::directory_iterator(one, error))
      if (entry.path().extension() == ".ttc") files.push_back(entry.path());
    if (error) throw SourceError(one + " cannot be read: " + error.message());
    if (files.size() == before) throw SourceError(one + " holds no capture (.ttc)");
    std::sort(files.begin() + static_cast<ptrdiff_t>(before), files.end());
  }
  return files;
}

Identity rank_of(const fs::path& file, uint32_t number) {
  Identity who;
  who.job = "captures";
  const std::string name = file.stem().string();
  who.host = token_of(name), who.rank = number;
  const size_t at = name.rfind(kRankPart);
  if (at == std::string::npos || at == 0) return who;
  const char* const digits = name.data() + at + kRankPart.size();
  uint32_t rank = 0;
  const auto [end, error] = std::from_chars(digits, name.data() + name.size(), rank);
  if (error != std::errc() || end != name.data() + name.size()) return who;
  who.host = token_of(name.substr(0, at)), who.rank = rank;
  return who;
}

// The offset of a rank's clock as `ttfleet dump` wrote it; none: it is not known.
std::optional<ClockRow> clock_of(const fs::path& file) {
  std::ifstream in(file.parent_path() / "clocks.json");
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const nlohmann::json all = program::json_value(text);
  if (!all.is_object()) return std::nullopt;
  const auto it = all.find(file.filename().string());
  if (it == all.end() || !it->is_object()) return std::nullopt;
  const auto offset = it->find("offset_ns"), bound = it->find("bound_ns"), reference = it->find("reference"),
             raw = it->find("raw_ns");
  const auto end = it->end();
  if (offset == end || !offset->is_number_integer() || bound == end || !bound->is_number_unsigned() ||
      reference == end || !reference->is_number_unsigned() || raw == end || !raw->is_number_unsigned())
    return std::nullopt;
  ClockRow row;
  row.raw_ns = raw->get<uint64_t>(), row.offset_ns = offset->get<int64_t>(),
  row.bound_ns = bound->get<uint64_t>();
  row.reference = reference->get<uint64_t>();
  row.how = static_cast<uint8_t>(ClockSource::round_trips);
  return row;
}

class CaptureRows {
 public:
  CaptureRows(const fs::path& file, Identity who, const std::function<void(const Message&)>& take)
      : who_(std::move(who)), take_(take), reader_(file.string(), options()) {
    if (const auto clock = clock_of(file)) give(RowKind::clock, std::vector<ClockRow>{*clock});
  }
  std::vector<std::string> run() {
    for (;;) {
      const int status = reader_.next(0);
      rows_.take(reader_.tables(), *this, [](const OpRow&) {});
      flush();
      if (status == TTCOLLECT_END || status == TTCOLLECT_INCOMPLETE) return reader_.remarks();
    }
  }
  void add(const OpRow& row) { ops_.push_back(row); }
  void add(const LossRow& row) { losses_.push_back(row); }
  void add(const ClockRow& row) { clocks_.push_back(row); }
  void add(const TelemetryRow& row) { telemetry_.push_back(row); }

 private:
  static ttcollect_options options() {
    ttcollect_options o{};
    o.struct_bytes = sizeof o;
    o.tables = TTCOLLECT_OPS, o.host_times = 1, o.batch_rows = kBatchRows, o.threads = 1;
    return o;
  }
  template <class Row>
  void give(RowKind kind, std::vector<Row> rows) {
    for (size_t i = 0; i < rows.size(); i += kMostBatchRows) {
      const std::vector<Row> some(
          rows.begin() + static_cast<ptrdiff_t>(i),
          rows.begin() + static_cast<ptrdiff_t>(std::min<size_t>(rows.size(), i + kMostBatchRows)));
      uint64_t& at = positions_[kind];
      take_({rows_subject(who_, name_of(kind)), {}, encode_batch(kind, 1, 0, at, some), {}, 0});
      at += some.size();
    }
  }
  template <class Row>
  void flush(RowKind kind, std::vector<Row>& rows) {
    if (!rows.empty()) give(kind, rows);
    rows.clear();
  }
  void flush() {
    flush(RowKind::clock, clocks_), flush(RowKind::ops, ops_), flush(RowKind::loss, losses_);
    flush(RowKind::telemetry, telemetry_);
  }

  const Identity who_;
  const std::function<void(const Message&)>& take_;
  tools::TableReader reader_;
  RowMaker rows_;
  std::map<RowKind, uint64_t> positions_;
  std::vector<OpRow> ops_;
  std::vector<LossRow> losses_;
  std::vector<ClockRow> clocks_;
  std::vector<TelemetryRow> telemetry_;
};

}  // namespace

void read_captures(const std::vector<std::string>& given, const std::function<void(const Message&)>& take,
                   std::vector<std::string>& remarks) {
  uint32_t number = 0;
  for (const fs::path& file : files_of(given)) {
    CaptureRows rows(file, rank_of(file, number++), take);
    for (const std::string& remark : rows.run()) remarks.push_back(file.string() + ": " + remark);
  }
}

}  // namespace ttc::fleet
