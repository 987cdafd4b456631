#include "tools/report/programs/program_parts.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <tuple>
#include <type_traits>

namespace ttc::report {
namespace {

// In front of the cores of an execution in the spill.
struct Head {
  DeviceOp op;
  uint32_t cores;
};
static_assert(std::is_trivially_copyable_v<Head> && std::is_trivially_copyable_v<CoreTime>);

size_t bit_place(uint8_t x, uint8_t y) {
  return (y & 15u) << 4 | (x & 15u);
}

// Firmware and kernel zones.
Range whole_of(const Execution& execution) {
  Range whole = execution.op.firmware;
  whole.add(execution.op.kernel);
  return whole;
}

// A processor of a core that both parts name is one core of that kind of processor, not two.
void count_cores_once(DeviceOp& op, uint8_t in_both) {
  for (size_t risc = 0; risc < kRiscs - 1; ++risc)
    if (in_both & 1u << risc) --op.riscs[risc].cores;
  if (in_both & 1u << kRiscs) --op.riscs[static_cast<size_t>(LogRisc::erisc)].cores;
}

void add_times(DeviceOp& op, const DeviceOp& part) {
  op.firmware.add(part.firmware);
  op.kernel.add(part.kernel);
  op.kernel_starts.add(part.kernel_starts);
  op.trace_firmware.add(part.trace_firmware);
  op.trace_kernel.add(part.trace_kernel);
  op.dm_start = std::min(op.dm_start, part.dm_start);
  op.kernel_start_count += part.kernel_start_count;
  for (size_t i = 0; i < op.riscs.size(); ++i) {
    op.riscs[i].kernel.add(part.riscs[i].kernel);
    op.riscs[i].sum_cycles += part.riscs[i].sum_cycles;
    op.riscs[i].cores += part.riscs[i].cores;
  }
  op.seen_ns = std::max(op.seen_ns, part.seen_ns);
  op.wait_front += part.wait_front;
  op.reserve_back += part.reserve_back;
  if (part.dispatch_on != DeviceOp::On::none) {
    op.add_dispatch(part.dispatch_x, part.dispatch_y, part.dispatch, part.dispatch_seen_ns);
    if (part.dispatch_on == DeviceOp::On::several) op.dispatch_on = part.dispatch_on;
  }
  op.go_signal.add(part.go_signal);
}

}  // namespace

void CoreTime::add(const CoreTime& other) {
  firmware |= other.firmware;
  riscs |= other.riscs;
  kernels |= other.kernels;
  kernel.add(other.kernel);
  dm_start = std::min(dm_start, other.dm_start);
  last_end = std::max(last_end, other.last_end);
}

CoreTime* Execution::find(uint8_t x, uint8_t y) {
  if (!met.test(bit_place(x, y))) return nullptr;
  const auto it =
      std::find_if(cores.rbegin(), cores.rend(), [&](const CoreTime& c) { return c.x == x && c.y == y; });
  return it == cores.rend() ? nullptr : &*it;
}

CoreTime& Execution::core(uint8_t x, uint8_t y) {
  if (CoreTime* known = find(x, y)) return *known;
  met.set(bit_place(x, y));
  CoreTime& core = cores.emplace_back();
  core.x = x;
  core.y = y;
  return core;
}

void Execution::add(const Execution& other) {
  add_times(op, other.op);
  for (const CoreTime& part : other.cores) {
    CoreTime& mine = core(part.x, part.y);
    count_cores_once(op, mine.kernels & part.kernels);
    mine.add(part);
  }
}

uint64_t Execution::distance(const Range& span) const {
  const Range whole = whole_of(*this);
  if (!whole.whole()) return 0;
  if (span.begin > whole.end) return span.begin - whole.end;
  return whole.begin > span.end ? whole.begin - span.end : 0;
}

Execution& Program::begin_execution() {
  const Launch launch = executions.front().op.launch;
  const auto number = static_cast<uint32_t>(executions.size());
  Execution& fresh = executions.emplace_back();
  fresh.op.launch = launch;
  fresh.op.execution = number;
  return fresh;
}

void Program::add(const Program& part) {
  for (const Execution& piece : part.executions) {
    const auto begun = [&](Execution& e) {
      return std::any_of(piece.cores.begin(), piece.cores.end(), [&](const CoreTime& c) {
        const CoreTime* mine = e.find(c.x, c.y);
        return mine && mine->riscs & c.riscs;
      });
    };
    execution_at(whole_of(piece), begun).add(piece);
  }
}

size_t Program::bytes() const {
  size_t all = (executions.capacity() - executions.size()) * sizeof(Execution);
  for (const Execution& e : executions) all += e.bytes();
  return all;
}

bool ProgramParts::InOrder::operator()(const Part& a, const Part& b) const {
  return std::tie(a.launch, a.number) < std::tie(b.launch, b.number);
}

void ProgramParts::put(const Program& part) {
  const uint64_t place = bytes_.size();
  for (const Execution& e : part.executions) {
    const Head head{e.op, static_cast<uint32_t>(e.cores.size())};
    bytes_.append({reinterpret_cast<const char*>(&head), sizeof head});
    bytes_.append({reinterpret_cast<const char*>(e.cores.data()), e.cores.size() * sizeof(CoreTime)});
  }
  parts_.add(
      {part.executions.front().op.launch, number_++, place, static_cast<uint32_t>(part.executions.size())});
}

Program ProgramParts::read(const Part& part) {
  Program program;
  uint64_t place = part.place;
  for (uint32_t i = 0; i < part.executions; ++i) {
    Head head;
    std::memcpy(&head, bytes_.at(place, sizeof head).data(), sizeof head);
    place += sizeof head;
    Execution& e = program.executions.emplace_back();
    e.op = head.op;
    e.cores.resize(head.cores);
    const size_t size = head.cores * sizeof(CoreTime);
    std::memcpy(e.cores.data(), bytes_.at(place, size).data(), size);
    place += size;
    for (const CoreTime& c : e.cores) e.met.set(bit_place(c.x, c.y));
  }
  return program;
}

void ProgramParts::drain(const std::function<void(Program&)>& take) {
  std::optional<Program> program;
  parts_.drain([&](const Part& part) {
    Program next = read(part);
    if (program && program->executions.front().op.launch == part.launch) {
      program->add(next);
      return;
    }
    if (program) take(*program);
    program = std::move(next);
  });
  if (program) take(*program);
}

}  // namespace ttc::report
