// The programs of a workload's ops: which RISC does what, as tt-metal's kernels share the work (reader on NCRISC, writer on
// BRISC, unpack, math and pack on the TRISCs).
#include <algorithm>
#include <cmath>
#include <random>

#include "tools/chip/mistakes.hpp"

namespace ttc::chip {
namespace {

enum Buffers : uint8_t { in0, in1, source, destination, out };
enum Semaphores : uint8_t { in0_ready, in0_valid, in1_ready, in1_valid };
enum Groups : uint8_t { row, column, next, previous };

class Kernel {
 public:
  Kernel& zone(ZoneOf z) {
    open_.push_back(z);
    return add({Do::zone_begin, static_cast<uint8_t>(z), 0, 0});
  }
  Kernel& end() {
    const ZoneOf z = open_.back();
    open_.pop_back();
    return add({Do::zone_end, static_cast<uint8_t>(z), 0, 0});
  }
  Kernel& spin(Cycles n) { return add({Do::spin, 0, 0, static_cast<uint32_t>(n)}); }
  Kernel& read(const ChipOp& op) { return tiles(op, Do::read); }
  Kernel& write(const ChipOp& op) { return tiles(op, Do::write); }
  Kernel& send(Groups g, const ChipOp& op) { return add({Do::send, g, 0, op.tiles * op.tile_bytes}); }
  Kernel& barrier() { return add({Do::barrier, 0, 0, 0}); }
  Kernel& signal(Groups g, Semaphores s) { return add({Do::signal, g, s, 1}); }
  Kernel& await(Semaphores s, uint32_t n) { return add({Do::await, s, 0, n}); }
  Kernel& reserve(Buffers b) { return add({Do::reserve, b, 0, 0}); }
  Kernel& push(Buffers b) { return add({Do::push, b, 0, 0}); }
  Kernel& front(Buffers b) { return add({Do::front, b, 0, 0}); }
  Kernel& pop(Buffers b) { return add({Do::pop, b, 0, 0}); }
  Kernel& times(uint32_t n) { return add({Do::loop, 0, 0, n}); }
  Kernel& each_of_the_core() { return add({Do::loop, 1, 0, 0}); }
  Kernel& again() { return add({Do::loop_end, 0, 0, 0}); }
  Code code;

 private:
  Kernel& add(Instruction i) {
    code.push_back(i);
    return *this;
  }
  Kernel& tiles(const ChipOp& op, Do what) {
    return times(op.tiles).add({what, 0, 0, op.tile_bytes}).again();
  }
  std::vector<ZoneOf> open_;
};

// One turn of each.
void read_one(Kernel& k, const ChipOp& op) {
  k.zone(ZoneOf::read_block).reserve(in0).read(op).barrier().push(in0).end();
}
void write_one(Kernel& k, const ChipOp& op) {
  k.front(out).zone(ZoneOf::write_block).write(op).barrier().pop(out).end();
}
void receive_one(Kernel& k) {
  k.zone(ZoneOf::receive_block).reserve(in0).signal(previous, in0_ready).await(in0_valid, 1).push(in0).end();
}
void send_one(Kernel& k, const ChipOp& op) {
  k.front(out)
      .zone(ZoneOf::send_block)
      .await(in0_ready, 1)
      .send(next, op)
      .signal(next, in0_valid)
      .barrier()
      .pop(out)
      .end();
}
void unpack_one(Kernel& k, const ChipOp& op) {
  k.zone(ZoneOf::wait_front).front(in0).end();
  k.zone(ZoneOf::unpack_block).reserve(source).spin(op.unpack).push(source).pop(in0).end();
}
void math_one(Kernel& k, const ChipOp& op) {
  k.front(source)
      .zone(ZoneOf::math_block)
      .reserve(destination)
      .spin(op.math)
      .pop(source)
      .push(destination)
      .end();
}
void pack_one(Kernel& k, const ChipOp& op) {
  k.front(destination).zone(ZoneOf::reserve_back).reserve(out).end();
  k.zone(ZoneOf::pack_block).spin(op.pack).pop(destination).push(out).end();
}

template <class One>
Code each(One one) {
  Kernel k;
  k.each_of_the_core();
  one(k);
  k.again();
  return k.code;
}

int16_t add(ChipProgram& p, Code code) {
  p.codes.push_back(std::move(code));
  return static_cast<int16_t>(p.codes.size() - 1);
}

struct Compute {
  int16_t unpack, math, pack;
};
// `first`: one block more than the core's count.
Compute compute_of(ChipProgram& p, const ChipOp& op, bool first) {
  const auto whole = [&](auto one) {
    Kernel k;
    if (first) one(k, op);
    k.each_of_the_core();
    one(k, op);
    k.again();
    return add(p, k.code);
  };
  return {whole(unpack_one), whole(math_one), whole(pack_one)};
}

void stream(ChipProgram& p, const ChipOp& op, std::mt19937_64& random) {
  const int16_t reader = add(p, each([&](Kernel& k) { read_one(k, op); }));
  const int16_t writer = add(p, each([&](Kernel& k) { write_one(k, op); }));
  const Compute compute = compute_of(p, op, false);
  for (CoreProgram& c : p.cores) {
    c.code = {writer, reader, compute.unpack, compute.math, compute.pack};
    // Few cores have much more to do, most have about the same.
    const double u = static_cast<double>(random() >> 11) / static_cast<double>(uint64_t{1} << 53);
    c.count = static_cast<uint32_t>(std::lround(op.blocks * (1 + op.imbalance * u * u * u)));
  }
}

// --- matrices

Code in0_leader(const ChipOp& op, uint32_t receivers) {
  return each([&](Kernel& k) {
    k.zone(ZoneOf::multicast_in0).reserve(in0).read(op).barrier().await(in0_ready, receivers);
    k.send(row, op).signal(row, in0_valid).push(in0).end();
  });
}
Code in0_receiver() {
  return each([&](Kernel& k) {
    k.zone(ZoneOf::receive_in0).reserve(in0).signal(row, in0_ready).await(in0_valid, 1).push(in0).end();
  });
}
Code in1_and_result(const ChipOp& op, bool leader, uint32_t receivers) {
  Kernel k;
  k.each_of_the_core();
  if (leader) {
    k.zone(ZoneOf::multicast_in1).reserve(in1).read(op).barrier().await(in1_ready, receivers);
    k.send(column, op).signal(column, in1_valid).push(in1).end();
  } else {
    k.zone(ZoneOf::receive_in1).reserve(in1).signal(column, in1_ready).await(in1_valid, 1).push(in1).end();
  }
  k.again();
  k.times(op.out_blocks);
  write_one(k, op);
  k.again();
  return k.code;
}
Compute matrix_compute(ChipProgram& p, const ChipOp& op) {
  const Code unpack_code = each([&](Kernel& k) {
    k.zone(ZoneOf::wait_front).front(in0).front(in1).end();
    k.zone(ZoneOf::unpack_block).reserve(source).spin(op.unpack).push(source).pop(in0).pop(in1).end();
  });
  Kernel m;
  m.each_of_the_core().front(source).zone(ZoneOf::math_block).spin(op.math).pop(source).end().again();
  m.times(op.out_blocks).reserve(destination).push(destination).again();
  Kernel k;
  k.times(op.out_blocks);
  pack_one(k, op);
  k.again();
  return {add(p, unpack_code), add(p, m.code), add(p, k.code)};
}

void multicast(ChipProgram& p, const ChipOp& op, unsigned columns) {
  const auto cores = static_cast<unsigned>(p.cores.size());
  const unsigned wide = std::min(columns, cores), rows = cores / wide;
  p.cores.resize(static_cast<size_t>(rows) * wide);  // a grid has no ragged row
  const int16_t in0_code[] = {add(p, in0_receiver()), add(p, in0_leader(op, wide - 1))};
  const int16_t in1_code[] = {add(p, in1_and_result(op, false, 0)),
                              add(p, in1_and_result(op, true, rows - 1))};
  const Compute compute = matrix_compute(p, op);
  for (unsigned i = 0; i < p.cores.size(); ++i) {
    CoreProgram& c = p.cores[i];
    const unsigned x = i % wide, y = i / wide;
    c.count = op.blocks;
    c.code = {in1_code[y == 0], in0_code[x == 0], compute.unpack, compute.math, compute.pack};
    if (x != 0) c.group[row] = {p.cores[y * wide].core};
    if (y != 0) c.group[column] = {p.cores[x].core};
    for (unsigned k = 1; x == 0 && k < wide; ++k) c.group[row].push_back(p.cores[y * wide + k].core);
    for (unsigned k = 1; y == 0 && k < rows; ++k) c.group[column].push_back(p.cores[k * wide + x].core);
  }
}

void pipeline(ChipProgram& p, const ChipOp& op) {
  const int16_t reader = add(p, each([&](Kernel& k) { read_one(k, op); }));
  const int16_t receiver = add(p, each([&](Kernel& k) { receive_one(k); }));
  const int16_t writer = add(p, each([&](Kernel& k) { write_one(k, op); }));
  const int16_t sender = add(p, each([&](Kernel& k) { send_one(k, op); }));
  const Compute compute = compute_of(p, op, false);
  for (size_t i = 0; i < p.cores.size(); ++i) {
    CoreProgram& c = p.cores[i];
    const bool last = i + 1 == p.cores.size();
    c.count = op.blocks;
    c.code = {last ? writer : sender, i == 0 ? reader : receiver, compute.unpack, compute.math, compute.pack};
    if (!last) c.group[next] = {p.cores[i + 1].core};
    if (i != 0) c.group[previous] = {p.cores[i - 1].core};
  }
}

// Every core begins with a block of its own and takes 2 (n - 1) more, sums and then results.
void ring(ChipProgram& p, const ChipOp& op, unsigned columns) {
  Kernel r, w;
  read_one(r, op);
  r.each_of_the_core();
  receive_one(r);
  r.again();
  w.each_of_the_core();
  send_one(w, op);
  w.again();
  write_one(w, op);
  const int16_t reader = add(p, r.code), writer = add(p, w.code);
  const Compute compute = compute_of(p, op, true);
  const auto cores = static_cast<unsigned>(p.cores.size());
  for (unsigned i = 0; i < cores; ++i) {
    CoreProgram& c = p.cores[i];
    const unsigned first = i / columns * columns, n = std::min(columns, cores - first), x = i - first;
    c.count = 2 * (n - 1);
    c.code = {writer, reader, compute.unpack, compute.math, compute.pack};
    if (n == 1) continue;
    c.group[next] = {p.cores[first + (x + 1) % n].core};
    c.group[previous] = {p.cores[first + (x + n - 1) % n].core};
  }
}

}  // namespace

ChipProgram program_of(const ChipOp& op, const Shape& shape, double jitter, uint64_t seed) {
  ChipProgram p;
  p.jitter = jitter;
  p.capacity = {op.buffer_blocks, op.buffer_blocks, 2, 2, 2};
  const auto all = static_cast<unsigned>(shape.cores.size());
  const unsigned used = op.cores == 0 ? all : std::min(op.cores, all);
  p.cores.resize(used);
  for (unsigned i = 0; i < used; ++i) p.cores[i].core = static_cast<uint16_t>(i);
  std::mt19937_64 random(seed);
  switch (op.pattern) {
    case Pattern::stream:
      stream(p, op, random);
      break;
    case Pattern::multicast:
      multicast(p, op, shape.columns);
      break;
    case Pattern::pipeline:
      pipeline(p, op);
      break;
    case Pattern::ring:
      ring(p, op, shape.columns);
      break;
  }
  add_mistakes(p, op);
  return p;
}

std::string_view to_string(Pattern pattern) {
  constexpr std::string_view kNames[] = {"stream", "multicast", "pipeline", "ring"};
  return kNames[static_cast<size_t>(pattern)];
}

ZonePlace zone_place(Pattern pattern, ZoneOf zone) {
  struct Known {
    const char *name, *file;
  };
  constexpr Known kZones[] = {{"READ-BLOCK", "reader.cpp"},
                              {"MCAST-IN0", "reader_in0_sender.cpp"},
                              {"RECEIVE-IN0", "reader_in0_receiver.cpp"},
                              {"MCAST-IN1", "reader_in1_sender_writer.cpp"},
                              {"RECEIVE-IN1", "reader_in1_receiver_writer.cpp"},
                              {"RECEIVE-BLOCK", "receiver.cpp"},
                              {"CB-COMPUTE-WAIT-FRONT", "compute.cpp"},
                              {"UNPACK-BLOCK", "compute.cpp"},
                              {"MATH-BLOCK", "compute.cpp"},
                              {"CB-COMPUTE-RESERVE-BACK", "compute.cpp"},
                              {"PACK-BLOCK", "compute.cpp"},
                              {"WRITE-BLOCK", "writer.cpp"},
                              {"SEND-BLOCK", "sender.cpp"},
                              {"EXCHANGE-PARAMETERS", "exchange.cpp"}};
  static_assert(std::size(kZones) == static_cast<size_t>(ZoneOf::count));
  const Known& known = kZones[static_cast<size_t>(zone)];
  return {known.name, "emulated/kernels/" + std::string(to_string(pattern)) + "/" + known.file,
          40 + 7 * static_cast<unsigned>(zone)};
}

}  // namespace ttc::chip
