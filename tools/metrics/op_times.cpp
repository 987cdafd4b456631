#include "tools/metrics/op_times.hpp"

#include <algorithm>

#include "collector/program/printable.hpp"
#include "tools/op_messages/op_message.hpp"
#include "ttcollect/host_events.hpp"

namespace ttc::tools {
namespace {

constexpr size_t kMostLength = 80;        // of a code
constexpr size_t kMostBegunSteps = 1024;  // whose end has not come

uint64_t key_of(uint32_t chip, uint32_t host_id) {
  return uint64_t{chip} << 32 | host_id;
}

uint64_t ns_between(int64_t from, int64_t to) {
  return to > from ? static_cast<uint64_t>(to - from) : 0;
}

}  // namespace

void TimeHistogram::add(uint64_t ns) {
  const auto bucket = std::lower_bound(kBoundsNs.begin(), kBoundsNs.end(), ns) - kBoundsNs.begin();
  ++counts_[static_cast<size_t>(bucket)];
  ++count_;
  sum_ns_ += ns;
}

void OpTimes::Names::add(uint64_t key, std::string name) {
  if (young_.size() >= kMostNames && !young_.contains(key)) {
    old_ = std::move(young_);
    young_.clear();
  }
  young_[key] = std::move(name);
}

const std::string* OpTimes::Names::find(uint64_t key) {
  const auto young = young_.find(key);
  if (young != young_.end()) return &young->second;
  const auto old = old_.find(key);
  if (old == old_.end()) return nullptr;
  add(key, std::string(old->second));
  return &young_.at(key);
}

void OpTimes::begin(const Session& session) {
  Chip& chip = chips_[session.chip];
  const auto named = names_.find(session.id);
  chip.session = session;
  chip.sums = &devices_[named == names_.end() ? session.device : named->second];
  chip.sums->arch = session.arch;
  chip.sums->board = session.board;
  chip.rows = std::make_unique<Rows>();
  chip.rows->of.begin(session);
}

OpTimes::Chip* OpTimes::chip_of(uint64_t session) {
  for (auto& [number, chip] : chips_)
    if (chip.session.id == session) return &chip;
  return nullptr;
}

void OpTimes::frame(const FrameEvents& frame) {
  const auto found = chips_.find(frame.chip);
  if (found == chips_.end()) return;  // no description of its session came
  Chip& chip = found->second;
  chip.rows->of.frame(frame);
  if (!chip.rows->tables.ops.empty()) take(chip);
}

void OpTimes::names_changed() {
  for (auto& [number, chip] : chips_) chip.rows->of.names_changed();
}

void OpTimes::telemetry(uint32_t number, const shm::TelemetryRecord& record) {
  const auto found = chips_.find(number);
  if (found == chips_.end()) return;
  shm::TelemetryRecord& known = found->second.sums->telemetry;
  if (record.known & 1) known.aiclk_mhz = record.aiclk_mhz;
  if (record.known & 2) known.power_mw = record.power_mw;
  if (record.known & 4) known.temperature_mc = record.temperature_mc;
  known.known |= record.known;
}

void OpTimes::missed(uint64_t session, uint64_t read_ns) {
  Chip* const chip = chip_of(session);
  if (!chip) return;
  chip->rows = std::make_unique<Rows>();
  chip->rows->of.begin(chip->session);
  chip->not_before_ns = read_ns;
  chip->last_end_ns.reset();
  chip->replay_begin_ns.reset();
}

void OpTimes::quiet(uint64_t session) {
  Chip* const chip = chip_of(session);
  if (!chip) return;
  chip->rows->of.end();
  take(*chip);
}

void OpTimes::end() {
  for (auto& [number, chip] : chips_) {
    chip.rows->of.end();
    take(chip);
  }
}

void OpTimes::take(Chip& chip) {
  for (const ttcollect_op& op : chip.rows->tables.ops) count(chip, op);
  chip.rows->tables.clear();
}

OpSums& OpTimes::sums_of(Chip& chip, const ttcollect_op& op) {
  std::map<std::string, OpSums>& ops = chip.sums->ops;
  const std::string* const name = op_names_.find(key_of(op.chip, op.host_id));
  if (!name) return ops[kUnnamed];
  const auto known = ops.find(*name);
  if (known != ops.end()) return known->second;
  const size_t codes = ops.size() - ops.count(kOther) - ops.count(kUnnamed);
  return ops[codes < kMostCodes ? *name : kOther];
}

void OpTimes::count(Chip& chip, const ttcollect_op& op) {
  const bool kernels = op.kernel_end_ns > op.kernel_begin_ns;
  const auto begin_ns = static_cast<uint64_t>(kernels ? op.kernel_begin_ns : op.begin_ns);
  const auto end_ns = std::max(begin_ns, static_cast<uint64_t>(kernels ? op.kernel_end_ns : op.end_ns));
  if (!op.of_device_clock && static_cast<uint64_t>(op.begin_ns) < chip.not_before_ns) return;
  OpSums& sums = sums_of(chip, op);
  sums.duration.add(end_ns - begin_ns);
  uint64_t busy_from_ns = begin_ns;
  if (chip.last_end_ns) {
    const uint64_t gap_ns = begin_ns - std::min(begin_ns, *chip.last_end_ns);
    sums.gap.add(gap_ns);
    (gap_ns > DeviceSums::kIdleNs ? chip.sums->idle_ns : chip.sums->gap_ns) += gap_ns;
    busy_from_ns = std::max(begin_ns, *chip.last_end_ns);
  }
  chip.sums->busy_ns += end_ns - std::min(end_ns, busy_from_ns);
  chip.last_end_ns = std::max(end_ns, chip.last_end_ns.value_or(0));
  if (op.replay == chip.replay) return;
  chip.replay = op.replay;
  if (op.replay && chip.replay_begin_ns)
    chip.sums->replays.add(begin_ns - std::min(begin_ns, *chip.replay_begin_ns));
  chip.replay_begin_ns = op.replay ? std::optional(begin_ns) : std::nullopt;
}

void OpTimes::host(std::span<const uint64_t> chunk) {
  const shm::ChunkHeader& h = shm::header_of(chunk);
  if (h.kind != shm::ChunkKind::host_events || shm::body_of(chunk).empty()) return;
  collect::HostChunkReader reader(shm::body_of(chunk));
  for (collect::HostEvent event; reader.next(event);) {
    if (event.kind != collect::EventKind::message) continue;
    if (auto op = named_op(event.text))
      op_names_.add(key_of(op->device, op->call_count), program::printable(op->name.substr(0, kMostLength)));
    else
      mark(event.text, collect::raw_ns_of(reader.head(), event.time));
  }
}

// `TT_SIGNPOST: step_5_start`, and ..._end
void OpTimes::mark(std::string_view text, int64_t raw_ns) {
  constexpr std::string_view kBefore = "`TT_SIGNPOST: step_", kStart = "_start`", kEnd = "_end`";
  if (!text.starts_with(kBefore)) return;
  text.remove_prefix(kBefore.size());
  if (text.ends_with(kStart)) {
    if (begun_steps_.size() >= kMostBegunSteps) begun_steps_.clear();
    begun_steps_[std::string(text.substr(0, text.size() - kStart.size()))] = raw_ns;
  } else if (text.ends_with(kEnd)) {
    const auto begun = begun_steps_.find(std::string(text.substr(0, text.size() - kEnd.size())));
    if (begun == begun_steps_.end()) return;
    marked_steps_.add(ns_between(begun->second, raw_ns));
    begun_steps_.erase(begun);
  }
}

}  // namespace ttc::tools
