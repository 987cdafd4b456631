#include "tools/replay/replay_plan.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "firmware_markers/frame.hpp"
#include "tools/replay/replay_meta.hpp"

namespace ttc::emulation {
namespace {

using markers::MarkerType;
using tools::DeviceLogReader;
using tools::DeviceLogRow;
using tools::LogColumn;
using tools::LogRisc;

constexpr uint16_t kMain2023 = 1, kKernel2023 = 2;  // zones of a log without names

SlotHint hint_of(const DeviceLogRow& row, bool named_file) {
  if (!named_file)
    return row.id == kMain2023 ? SlotHint::fw : row.id == kKernel2023 ? SlotHint::kernel : SlotHint::none;
  if (row.zone_name.ends_with("-FW")) return SlotHint::fw;
  if (row.zone_name.ends_with("-KERNEL")) return SlotHint::kernel;
  return SlotHint::none;
}

bool is_quick_push(std::string_view zone) {
  return zone == "PROFILER-NOC-QUICK-PUSH" || zone == "PROFILER-NOC-QUICK-SEND";
}

struct LaneKey {
  card::Coord core;
  card::TileKind kind;
  uint8_t risc;
  auto operator<=>(const LaneKey&) const = default;  // NOLINT(modernize-use-nullptr): of clang-tidy 14
};

// One launch on one RISC, ready to be put together with those of the core's other RISCs.
struct LaneLaunch {
  uint32_t host_id;
  uint16_t trace_counter;
  uint64_t begin, end;
  uint64_t first_line;
  uint64_t rows;
  ReplayLane lane;
};

// Rows of one lane in the order of the file, cut into launches.
class LaneLog {
 public:
  LaneLog(uint8_t risc, ReplayAccount& account) : risc_(risc), account_(account) {}

  void add(const ReplayRow& row, std::optional<uint32_t> host_id, uint16_t trace_counter) {
    const bool fresh =
        rows_.empty() || opens(row) || (host_id && *host_id != host_id_) || trace_counter != trace_counter_;
    if (fresh) {
      finish();
      // A log without launches counts them, so that the RISCs of one launch find each other.
      host_id_ = host_id ? *host_id : ++counted_;
      trace_counter_ = trace_counter;
    }
    rows_.push_back(row);
  }

  bool open() const { return !rows_.empty(); }
  std::optional<uint32_t> host_id() const { return host_id_; }

  void finish() {
    if (rows_.empty()) return;
    FramesOfLaunch built = frames_of(rows_);
    account_.repeated += built.repeated;
    for (const ReplayRow* r : built.moved_totals) account_.add(NotCarried::time_of_total, r->line);
    for (const ReplayRow* r : built.early) account_.add(Unplayed::no_launch, r->line);
    if (!built.frames.empty())
      launches_.push_back({host_id_,
                           trace_counter_,
                           unwrapped(built.first_time),
                           unwrapped(built.last_time),
                           rows_.front().line,
                           built.rows,
                           {risc_, std::move(built.frames), built.finished}});
    rows_.clear();
  }

  // In the order of time; what begins before the launch before it has ended is taken out.
  std::vector<LaneLaunch> take() {
    finish();
    std::stable_sort(launches_.begin(), launches_.end(),
                     [](const auto& a, const auto& b) { return a.begin < b.begin; });
    std::vector<LaneLaunch> kept;
    for (LaneLaunch& l : launches_) {
      if (!kept.empty() && l.begin <= kept.back().end)
        account_.add(Unplayed::overlapping, l.first_line, l.rows);
      else
        kept.push_back(std::move(l));
    }
    launches_.clear();
    return kept;
  }

 private:
  // A start of the FW zone that is not the one this launch began with. Where zones have no names: a second
  // start of the launch's first zone, after its end.
  bool opens(const ReplayRow& row) const {
    if (row.type != device::kZoneStart || rows_.empty()) return false;
    const ReplayRow& first = rows_.front();
    if (row.time == first.time && row.id == first.id) return false;
    if (row.hint == SlotHint::fw) return true;
    return row.hint == SlotHint::none && first.hint == SlotHint::none && row.id == first.id &&
           first.type == device::kZoneStart && markers::clock_difference(row.time, rows_.back().time) > 0 &&
           rows_.back().id == first.id && rows_.back().type == device::kZoneEnd;
  }

  // The 44-bit clock comes round every few hours; a step back of more than half of it is that.
  uint64_t unwrapped(uint64_t time) {
    const uint64_t seen = last_ & markers::kClockMask;
    uint64_t rounds = last_ - seen;
    if (seen > time && seen - time > markers::kClockMask / 2) rounds += markers::kClockMask + 1;
    return last_ = rounds + time;
  }

  uint8_t risc_;
  ReplayAccount& account_;
  std::vector<ReplayRow> rows_;
  uint32_t host_id_ = 0;
  uint32_t counted_ = 0;
  uint16_t trace_counter_ = 0;
  uint64_t last_ = 0;
  std::vector<LaneLaunch> launches_;
};

class Planner {
 public:
  Planner(std::istream& in, const std::string& name, std::optional<uint32_t> chip)
      : reader_(in, name), chip_(chip), named_(reader_.head().has(LogColumn::zone_name)) {}

  ReplayPlan plan() {
    DeviceLogRow row;
    for (;;) {
      const DeviceLogReader::Next next = reader_.next(row);
      if (next == DeviceLogReader::Next::end) break;
      if (next == DeviceLogReader::Next::row) take(row);
    }
    plan_.head = reader_.head();
    plan_.chip = chip_.value_or(0);
    for (size_t i = 0; i < plan_.skipped.size(); ++i)
      plan_.skipped[i] = reader_.skipped(static_cast<tools::LogSkip>(i));
    plan_.names = names_.finish();
    put_together();
    return std::move(plan_);
  }

 private:
  std::optional<Unplayed> why_not(const DeviceLogRow& row) const {
    if (row.chip != *chip_) return Unplayed::other_chip;
    if (row.risc == LogRisc::aggregate) return Unplayed::aggregate;
    if (row.time_cycles > markers::kClockMask) return Unplayed::beyond_clock;
    const auto type = static_cast<uint32_t>(row.type);
    if (row.type == MarkerType::zone_total) {
      if (row.data > ~0u) return Unplayed::too_large;
    } else if (markers::is_blank(
                   device::marker_high(type, row.id, static_cast<uint32_t>(row.time_cycles >> 32)))) {
      return Unplayed::blank;
    }
    return std::nullopt;
  }

  void take(const DeviceLogRow& row) {
    ++plan_.account.rows;
    if (!chip_) chip_ = row.chip;
    if (const auto reason = why_not(row)) return plan_.account.add(*reason, row.line);
    const bool is_event = row.type == MarkerType::ts_event;
    const bool renamed = names_.add(row);
    const RowMeta meta = meta_of(row);
    note_not_carried(row, meta);
    const ReplayRow marker{row.time_cycles,
                           {row.data, meta.second_half.value_or(0)},
                           row.line,
                           row.id,
                           static_cast<device::PacketType>(row.type),
                           is_event ? SlotHint::none : hint_of(row, named_),
                           row.type == MarkerType::zone_end && is_quick_push(row.zone_name)};
    const bool ethernet = row.risc == LogRisc::erisc;
    const LaneKey key{{row.core_x, row.core_y},
                      ethernet ? card::TileKind::ethernet : card::TileKind::tensix,
                      ethernet ? uint8_t{0} : static_cast<uint8_t>(row.risc)};
    const auto it = lanes_.try_emplace(key, key.risc, plan_.account).first;
    LaneLog& lane = it->second;
    // The host gave this row the id of the launch its command belongs to; the card had that of its own.
    const auto host_id = renamed && lane.open() ? lane.host_id() : row.run_host_id;
    lane.add(marker, host_id, static_cast<uint16_t>(row.trace_counter.value_or(0)));
  }

  void note_not_carried(const DeviceLogRow& row, const RowMeta& meta) {
    ReplayAccount& a = plan_.account;
    const bool is_data = row.type == MarkerType::ts_data || row.type == MarkerType::ts_data_16b;
    if (row.trace_id) a.add(NotCarried::trace_id, row.line);
    if (row.trace_counter.value_or(0) >> 16) a.add(NotCarried::trace_counter, row.line);
    if (!meta.comes_back) a.add(NotCarried::meta, row.line);
    if (row.data && !is_data && row.type != MarkerType::zone_total) a.add(NotCarried::data_of_zone, row.line);
  }

  // The launches of a core's RISCs that belong together: same id, and begun before BRISC closed its own.
  void put_together() {
    std::map<std::pair<card::Coord, card::TileKind>, std::vector<LaneLaunch>> by_core;
    for (auto& [key, log] : lanes_) {
      auto launches = log.take();
      std::move(launches.begin(), launches.end(), std::back_inserter(by_core[{key.core, key.kind}]));
    }
    lanes_.clear();
    for (auto& [core, lane_launches] : by_core) put_together(core.first, core.second, lane_launches);
    std::stable_sort(plan_.launches.begin(), plan_.launches.end(),
                     [](const auto& a, const auto& b) { return a.end < b.end; });
  }

  void put_together(card::Coord core, card::TileKind kind, std::vector<LaneLaunch>& lane_launches) {
    std::stable_sort(lane_launches.begin(), lane_launches.end(),
                     [](const auto& a, const auto& b) { return a.begin < b.begin; });
    const size_t first = plan_.launches.size();
    uint64_t brisc_end = 0;
    for (LaneLaunch& l : lane_launches) {
      ReplayLaunch* open = plan_.launches.size() > first ? &plan_.launches.back() : nullptr;
      const bool joins = open && open->host_id == l.host_id && open->trace_counter == l.trace_counter &&
                         (brisc_end == 0 || l.begin <= brisc_end) &&
                         std::none_of(open->lanes.begin(), open->lanes.end(),
                                      [&](const ReplayLane& lane) { return lane.risc == l.lane.risc; });
      if (!joins) {
        const uint64_t not_before = open ? open->end : 0;  // a core's launches are played in their order
        plan_.launches.push_back(
            {core, kind, l.host_id, l.trace_counter, l.begin, std::max(l.end, not_before), {}});
        open = &plan_.launches.back();
        open->first_line = l.first_line;
        brisc_end = 0;
      }
      if (l.lane.risc == 0) brisc_end = l.end;
      open->end = std::max(open->end, l.end);
      open->first_line = std::min(open->first_line, l.first_line);
      open->rows += l.rows;
      open->lanes.push_back(std::move(l.lane));
    }
  }

  DeviceLogReader reader_;
  std::optional<uint32_t> chip_;
  bool named_;
  ReplayPlan plan_;
  ReplayNames names_;
  std::map<LaneKey, LaneLog> lanes_;
};

}  // namespace

std::string_view to_string(Unplayed reason) {
  constexpr std::string_view kWords[] = {
      "are of other chips",
      "are of trace-only mode, which is not emulated here",
      "are on tiles the card does not have",
      "have times that do not fit the 44-bit clock",
      "have the words of an unset slot (id 0, time below 2^32)",
      "are totals that do not fit 32 bits",
      "come before the first zone start of their launch, or far out of its order",
      "are of launches that overlap the one before on the same RISC"};
  return kWords[static_cast<size_t>(reason)];
}

std::string_view to_string(NotCarried what) {
  constexpr std::string_view kWords[] = {
      "have a trace id, which is the host's knowledge and comes back empty",
      "have meta data that no marker carries and that do not come back",
      "have data on a marker without payload, which comes back as 0",
      "are totals with a time other than the start of their launch, which comes back",
      "have a trace id counter beyond 16 bits, which comes back cut"};
  return kWords[static_cast<size_t>(what)];
}

bool ReplayLaunch::finished() const {
  return std::any_of(lanes.begin(), lanes.end(),
                     [](const ReplayLane& l) { return l.risc == 0 && l.finished; });
}

void ReplayAccount::add(Unplayed reason, uint64_t line, uint64_t count) {
  unplayed[static_cast<size_t>(reason)].add(line, count);
}

void ReplayAccount::add(NotCarried what, uint64_t line) {
  not_carried[static_cast<size_t>(what)].add(line);
}

uint64_t ReplayAccount::unplayed_rows() const {
  uint64_t sum = 0;
  for (const Trouble& t : unplayed) sum += t.rows;
  return sum;
}

uint64_t ReplayPlan::begin() const {
  uint64_t first = launches.empty() ? 0 : launches.front().begin;
  for (const ReplayLaunch& l : launches) first = std::min(first, l.begin);
  return first;
}

uint64_t ReplayPlan::skipped_lines() const {
  uint64_t sum = 0;
  for (const auto& s : skipped) sum += s.lines;
  return sum;
}

bool ReplayPlan::has_finished_launch() const {
  return std::any_of(launches.begin(), launches.end(), [](const auto& l) { return l.finished(); });
}

size_t ReplayPlan::lanes() const {
  std::set<LaneKey> all;
  for (const ReplayLaunch& l : launches)
    for (const ReplayLane& lane : l.lanes) all.insert({l.core, l.kind, lane.risc});
  return all.size();
}

bool ReplayPlan::has_ethernet() const {
  return std::any_of(launches.begin(), launches.end(),
                     [](const ReplayLaunch& l) { return l.kind == card::TileKind::ethernet; });
}

void ReplayPlan::drop_cores_not_in(std::span<const card::Tile> tiles) {
  const auto gone = std::stable_partition(launches.begin(), launches.end(), [&](const ReplayLaunch& l) {
    return std::any_of(tiles.begin(), tiles.end(), [&](const card::Tile& t) {
      return t.at == l.core && t.kind == l.kind && !t.harvested;
    });
  });
  for (auto l = gone; l != launches.end(); ++l) account.add(Unplayed::absent_core, l->first_line, l->rows);
  launches.erase(gone, launches.end());
}

ReplayPlan plan_replay(std::istream& in, const std::string& name, std::optional<uint32_t> chip) {
  return Planner(in, name, chip).plan();
}

std::vector<uint8_t> unused_rows(const ReplayPlan& plan, const card::Board& board) {
  const card::Arch& arch = *card::arch_by_name(board.arch);
  const bool by_row = board.harvested_rows > 0;
  const uint8_t wanted = by_row ? board.harvested_rows : board.harvested_columns;
  std::set<uint8_t> used;
  for (const ReplayLaunch& l : plan.launches)
    if (l.kind == card::TileKind::tensix) used.insert(by_row ? l.core.y : l.core.x);
  std::vector<uint8_t> unused;
  for (int v = (by_row ? arch.grid_y : arch.grid_x) - 1; v >= 0 && unused.size() < wanted; --v) {
    const auto at = static_cast<uint8_t>(v);
    const card::Coord tile = by_row ? card::Coord{1, at} : card::Coord{at, 2};
    if (arch.kind_at(tile) == card::TileKind::tensix && !used.contains(at)) unused.push_back(at);
  }
  return unused;
}

}  // namespace ttc::emulation
