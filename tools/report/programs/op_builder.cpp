#include "tools/report/programs/op_builder.hpp"

#include <algorithm>

namespace ttc::report {

using markers::MarkerType;

namespace {
constexpr size_t kBeside = 128;  // bytes a program that the map, the order and the allocator add

// One bit a processor of a core; an Ethernet core's second one has the bit behind the others.
uint8_t bit_of(const Lane& lane) {
  return static_cast<uint8_t>(1u << (lane.twin ? kRiscs : static_cast<size_t>(lane.risc)));
}
}  // namespace

Program& OpBuilder::open(const Launch& launch) {
  if (latest_ && latest_->first == launch) return latest_->second;
  const auto [it, fresh] = open_.try_emplace(launch);
  latest_ = &*it;
  if (!fresh) return it->second;
  it->second.executions.resize(1);
  it->second.executions.front().op.launch = launch;
  order_.push_back(launch);
  bytes_ += it->second.bytes() + kBeside;
  while (bytes_ > budget_ && order_.size() > 1) put_aside_oldest();
  return it->second;  // of a node-based map: stays while others go
}

void OpBuilder::fold(const LaneEvents& batch, const LanePiece& p) {
  const Lane& lane = batch.lane;
  Program& program = open(batch.launch);
  const size_t before = program.bytes();
  const uint8_t bit = bit_of(lane);
  Execution* chosen = &program.executions.front();
  if (!p.empty())
    chosen = &program.execution_at(p.span, [&](Execution& e) {
      const CoreTime* core = p.firmware_starts > 0 ? e.find(lane.x, lane.y) : nullptr;
      return core && core->riscs & bit;
    });
  DeviceOp& op = chosen->op;
  op.seen_ns = std::max(op.seen_ns, batch.seen_ns);
  op.wait_front += lane.risc == LogRisc::trisc_0 ? p.wait_front : 0;
  op.reserve_back += lane.risc == LogRisc::trisc_2 ? p.reserve_back : 0;
  if (!p.empty()) fold_times(*chosen, lane, p);
  bytes_ += program.bytes() - before;
}

void OpBuilder::fold_times(Execution& execution, const Lane& lane, const LanePiece& p) {
  DeviceOp& op = execution.op;
  CoreTime& core = execution.core(lane.x, lane.y);
  const uint8_t bit = bit_of(lane);
  core.firmware |= p.has_firmware;
  if (p.firmware_starts) core.riscs |= bit;
  op.firmware.add(p.firmware);
  if (lane.risc == LogRisc::aggregate) op.trace_firmware.add(p.firmware), op.trace_kernel.add(p.kernel);
  if (!p.seen.whole()) return;
  op.kernel.add(p.kernel);
  op.kernel_starts.add(p.starts);
  op.kernel_start_count += p.start_count;
  core.kernel.add(p.seen);
  core.last_end = std::max(core.last_end, p.kernel.end);
  const bool moves_data =
      lane.risc == LogRisc::brisc || lane.risc == LogRisc::ncrisc || lane.risc == LogRisc::erisc;
  if (moves_data) op.dm_start = std::min(op.dm_start, p.kernel.begin);
  if (moves_data && lane.risc != LogRisc::erisc) core.dm_start = std::min(core.dm_start, p.kernel.begin);
  if (lane.risc == LogRisc::aggregate) return;
  RiscTimes& risc = op.riscs[static_cast<size_t>(lane.risc)];
  risc.kernel.add(p.kernel);
  risc.sum_cycles += p.seen.cycles();
  if (!(core.kernels & bit)) ++risc.cores;
  core.kernels |= bit;
}

void OpBuilder::events(const LaneEvents& batch) {
  if (batch.launch.host_id == 0)
    without_id_ += batch.events.size() + batch.left_out;
  else
    for (const LanePiece& piece : batch.pieces) fold(batch, piece);
  if (batch.dispatches) dispatch(batch);
}

// The START of a dispatch core's zone carries the launch of the workers as its own; END belongs to what
// began.
void OpBuilder::dispatch(const LaneEvents& batch) {
  for (const Event& e : batch.events) {
    if (!is_dispatch(e.zone_class)) continue;
    Launch& served = serving_[lane_key(batch.launch.chip, batch.lane)];
    if (e.type == MarkerType::zone_start) served = batch.launch;
    if (served.host_id == 0) continue;
    DeviceOp& op = open(served).executions.front().op;
    if (batch.lane.risc == LogRisc::brisc)
      op.add_dispatch(batch.lane.x, batch.lane.y, {e.time, e.time}, batch.seen_ns);
    if (batch.lane.risc == LogRisc::ncrisc && e.zone_class == ZoneClass::go_signal)
      op.go_signal.add({e.time, e.time});
  }
}

// The sums over single cores.
void OpBuilder::close(Execution& execution) {
  DeviceOp& op = execution.op;
  uint64_t least = ~0ull;
  for (const CoreTime& c : execution.cores) {
    op.cores = static_cast<uint16_t>(op.cores + c.firmware);
    if (c.kernel.cycles() == 0) continue;  // one marker is no duration
    const uint64_t took = c.kernel.cycles();
    ++op.kernel_cores;
    op.core_sum += took;
    least = std::min(least, took);
    if (took >= op.core_max) {
      op.core_max = took;
      op.slowest_x = c.x;
      op.slowest_y = c.y;
    }
  }
  op.core_min = op.kernel_cores ? least : 0;
  const bool seen = op.kernel.has_begin() || op.firmware.has_begin() || op.cores > 0;
  if (seen) done_(op, execution.cores);  // else only dispatch zones, or sums: there is no execution of it
}

void OpBuilder::put_aside_oldest() {
  const auto it = open_.find(order_.front());
  order_.pop_front();
  bytes_ -= it->second.bytes() + kBeside;
  if (latest_ == &*it) latest_ = nullptr;
  aside_.put(it->second);
  open_.erase(it);
}

void OpBuilder::end() {
  latest_ = nullptr;
  const auto close_all = [this](Program& program) {
    for (Execution& e : program.executions) close(e);
  };
  if (!aside_.empty()) {
    while (!order_.empty()) put_aside_oldest();
    return aside_.drain(close_all);
  }
  // All of it is in memory: in the same order without a way through the spill.
  std::sort(order_.begin(), order_.end());
  for (const Launch& launch : order_) {
    const auto it = open_.find(launch);
    close_all(it->second);
    open_.erase(it);
  }
  order_.clear();
}

}  // namespace ttc::report
