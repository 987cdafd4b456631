#include "tools/report/programs/op_builder.hpp"

#include <algorithm>
#include <map>

namespace ttc::report {

using markers::MarkerType;

namespace {
// One bit a processor of a core; an Ethernet core's second one has the bit behind the others.
uint8_t bit_of(const Lane& lane) {
  return static_cast<uint8_t>(1u << (lane.twin ? kRiscs : static_cast<size_t>(lane.risc)));
}
}  // namespace

// What one batch brings for one processor.
struct OpBuilder::Piece {
  Range firmware, kernel, starts, seen;  // seen: any marker of a *-KERNEL zone
  uint32_t firmware_starts = 0, start_count = 0;
  bool has_firmware = false;
  uint64_t wait_front = 0, reserve_back = 0;
  Range span;  // of everything, to tell executions apart

  bool empty() const { return !has_firmware && start_count == 0 && !seen.whole(); }

  // False when the marker begins the next execution: the piece has to be folded first.
  bool add(const Event& e) {
    const bool start = e.type == MarkerType::zone_start, stop = e.type == MarkerType::zone_end;
    switch (e.zone_class) {
      case ZoneClass::firmware:
        if (start && firmware_starts > 0) return false;
        has_firmware = true;
        firmware_starts += start;
        if (start) firmware.begin = std::min(firmware.begin, e.time);
        if (stop) firmware.end = std::max(firmware.end, e.time);
        break;
      case ZoneClass::kernel:
        if (start) {
          kernel.begin = std::min(kernel.begin, e.time);
          starts.add({e.time, e.time});
          ++start_count;
        }
        if (stop) kernel.end = std::max(kernel.end, e.time);
        if (start || stop) seen.add({e.time, e.time});
        break;
      case ZoneClass::wait_front:
        if (e.type == MarkerType::zone_total) wait_front += e.data;
        return true;
      case ZoneClass::reserve_back:
        if (e.type == MarkerType::zone_total) reserve_back += e.data;
        return true;
      default:
        return true;
    }
    span.add({e.time, e.time});
    return true;
  }
};

OpBuilder::Open& OpBuilder::open(const Launch& launch) {
  const auto [it, fresh] = open_.try_emplace(launch);
  if (fresh) {
    it->second.op.launch = launch;
    it->second.opened_after = closed_until_[launch.chip];
    order_.push_back(launch);
    bytes_ += sizeof(Open) + 96;  // with what the map adds
    while (bytes_ > budget_ && order_.size() > 1) close_oldest();
  }
  return it->second;
}

OpBuilder::CoreTime& OpBuilder::core_of(Open& o, const Lane& lane) {
  const size_t place = (lane.y & 15u) << 4 | (lane.x & 15u);
  if (o.met.test(place))
    for (auto it = o.cores.rbegin(); it != o.cores.rend(); ++it)
      if (it->x == lane.x && it->y == lane.y) return *it;
  o.met.set(place);
  o.cores.emplace_back();
  o.cores.back().x = lane.x;
  o.cores.back().y = lane.y;
  return o.cores.back();
}

// Among the executions of a launch the nearest in time in which this processor has not begun yet.
OpBuilder::Open& OpBuilder::execution_of(Open& first, const Lane& lane, const Piece& piece) {
  constexpr uint64_t kFar = 1'000'000;  // cycles; replays of one program are no nearer than its length
  const uint8_t bit = bit_of(lane);
  Open* best = nullptr;
  uint64_t nearest = kFar;
  uint32_t count = 0;
  Open* last = &first;
  for (Open* o = &first; o; last = o, o = o->next.get()) {
    ++count;
    Range whole = o->op.firmware;
    whole.add(o->op.kernel);
    if (!whole.whole()) whole = piece.span;  // nothing in it yet
    if (piece.firmware_starts > 0) {
      const auto core = std::find_if(o->cores.begin(), o->cores.end(),
                                     [&](const CoreTime& c) { return c.x == lane.x && c.y == lane.y; });
      if (core != o->cores.end() && (core->riscs & bit)) continue;
    }
    const uint64_t distance = piece.span.begin > whole.end   ? piece.span.begin - whole.end
                              : whole.begin > piece.span.end ? whole.begin - piece.span.end
                                                             : 0;
    if (distance < nearest) {
      nearest = distance;
      best = o;
    }
  }
  if (best) return *best;
  last->next = std::make_unique<Open>();
  last->next->op.launch = first.op.launch;
  last->next->op.execution = count;
  return *last->next;
}

void OpBuilder::fold(const Launch& launch, const Lane& lane, const Piece& p) {
  Open& first = open(launch);
  Open* chosen = &first;
  const uint8_t bit = bit_of(lane);
  CoreTime* core = nullptr;
  if (!p.empty()) {
    const size_t before = first.cores.capacity();
    core = &core_of(first, lane);
    bytes_ += (first.cores.capacity() - before) * sizeof(CoreTime);
    if (first.next || (p.firmware_starts > 0 && (core->riscs & bit))) {
      chosen = &execution_of(first, lane, p);
      if (chosen->cores.empty()) bytes_ += sizeof(Open);
      const size_t had = chosen->cores.capacity();
      core = &core_of(*chosen, lane);
      bytes_ += (chosen->cores.capacity() - had) * sizeof(CoreTime);
    }
  }
  DeviceOp& op = chosen->op;
  op.wait_front += lane.risc == LogRisc::trisc_0 ? p.wait_front : 0;
  op.reserve_back += lane.risc == LogRisc::trisc_2 ? p.reserve_back : 0;
  if (!core) return;
  core->firmware |= p.has_firmware;
  if (p.firmware_starts) core->riscs |= bit;
  op.firmware.add(p.firmware);
  if (lane.risc == LogRisc::aggregate) op.trace_firmware.add(p.firmware), op.trace_kernel.add(p.kernel);
  if (!p.seen.whole()) return;
  op.kernel.add(p.kernel);
  op.kernel_starts.add(p.starts);
  op.kernel_start_count += p.start_count;
  core->kernel.add(p.seen);
  core->last_end = std::max(core->last_end, p.kernel.end);
  const bool moves_data =
      lane.risc == LogRisc::brisc || lane.risc == LogRisc::ncrisc || lane.risc == LogRisc::erisc;
  if (moves_data) op.dm_start = std::min(op.dm_start, p.kernel.begin);
  if (moves_data && lane.risc != LogRisc::erisc) core->dm_start = std::min(core->dm_start, p.kernel.begin);
  if (lane.risc == LogRisc::aggregate) return;
  RiscTimes& risc = op.riscs[static_cast<size_t>(lane.risc)];
  risc.kernel.add(p.kernel);
  risc.sum_cycles += p.seen.cycles();
  if (!(core->kernels & bit)) ++risc.cores;
  core->kernels |= bit;
}

void OpBuilder::events(const LaneEvents& batch) {
  Piece piece;
  bool dispatches = false;
  for (const Event& e : batch.events) {
    dispatches |= e.zone_class == ZoneClass::dispatch || e.zone_class == ZoneClass::go_signal;
    if (batch.launch.host_id == 0) continue;
    if (!piece.add(e)) {
      fold(batch.launch, batch.lane, piece);
      piece = {};
      piece.add(e);
    }
  }
  if (batch.launch.host_id == 0)
    without_id_ += batch.events.size();
  else if (!piece.empty() || piece.wait_front || piece.reserve_back)
    fold(batch.launch, batch.lane, piece);
  if (dispatches) dispatch(batch);
}

// The START of a dispatch core's zone carries the launch of the workers as its own; END belongs to what
// began.
void OpBuilder::dispatch(const LaneEvents& batch) {
  for (const Event& e : batch.events) {
    if (e.zone_class != ZoneClass::dispatch && e.zone_class != ZoneClass::go_signal) continue;
    Launch& served = serving_[lane_key(batch.launch.chip, batch.lane)];
    if (e.type == MarkerType::zone_start) served = batch.launch;
    if (served.host_id == 0) continue;
    DeviceOp& op = open(served).op;
    if (batch.lane.risc == LogRisc::brisc) op.dispatch.add({e.time, e.time});
    if (batch.lane.risc == LogRisc::ncrisc && e.zone_class == ZoneClass::go_signal)
      op.go_signal.add({e.time, e.time});
  }
}

void OpBuilder::close(Open& first) {
  uint64_t& until = closed_until_[first.op.launch.chip];
  for (Open* o = &first; o; o = o->next.get()) {
    DeviceOp& op = o->op;
    uint64_t least = ~0ull;
    for (const CoreTime& c : o->cores) {
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
    const uint64_t begin = std::min(op.kernel.begin, op.firmware.begin);
    if (begin == ~0ull && op.cores == 0)
      continue;  // only dispatch zones, or sums: no execution of it was seen
    op.late = begin < first.opened_after;
    late_ += op.late;
    if (!ended_ && begin != ~0ull) until = std::max(until, begin);
    done_(op, o->cores);
  }
}

void OpBuilder::close_oldest() {
  const auto it = open_.find(order_.front());
  order_.pop_front();
  size_t freed = 96;
  for (const Open* o = &it->second; o; o = o->next.get())
    freed += sizeof(Open) + o->cores.capacity() * sizeof(CoreTime);
  bytes_ -= std::min(bytes_, freed);
  close(it->second);
  open_.erase(it);
}

void OpBuilder::end() {
  ended_ = true;
  while (!order_.empty()) close_oldest();
  bytes_ = 0;
}

}  // namespace ttc::report
