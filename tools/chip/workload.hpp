// A chip-like workload as a value: ops one after another, each with the pattern in which its cores work together, what its
// blocks cost, and the host's messages about it. Read from TOML; some are built in (`ttemu --workload help` prints them).
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tools/chip/machine.hpp"

namespace ttc::chip {

enum class Pattern : uint8_t {
  stream,     // each core reads its blocks from DRAM, computes, writes them back
  multicast,  // a grid multiplies matrices: the first core of a row and of a column reads a block and sends it to the others
  pipeline,   // each core takes blocks from the core before it and gives them to the next
  ring,       // the cores of each row pass partial sums round in a ring
};
inline constexpr size_t kPatterns = 4;
std::string_view to_string(Pattern pattern);

struct Tensor {
  uint32_t w = 1, z = 1, y = 32, x = 32;
};

// A mistake in a program's synchronisation, between BRISC of two of its cores while its kernels begin. Both read a parameter from DRAM
// first. What is right by `slack` cycles without delays goes wrong when the one of the two that must be first is later by more;
// Timeline::races has the margin of each run.
struct Mistake {
  unsigned from = 0, to = 1;  // of the op's cores
  Cycles slack = 0;           // 0: there is none
};

struct ChipOp {
  std::string code = "UnaryDeviceOperation";
  Pattern pattern = Pattern::stream;
  unsigned cores = 0;                           // 0: all of the shape
  unsigned blocks = 12;                         // a core's RISCs handle one after another
  unsigned out_blocks = 4;                      // multicast: blocks of the result
  unsigned tiles = 4;                           // of a block
  unsigned tile_bytes = 2048;                   // BFLOAT16
  unsigned buffer_blocks = 2;                   // an input buffer holds
  Cycles unpack = 300, math = 900, pack = 250;  // a block
  double imbalance = 0;  // some cores have up to so many times more blocks than the others
  double host_us = 12;   // the host takes to enqueue it
  double gap_us = 0;     // and does other things before
  unsigned repeat = 1;   // so often in a row
  std::string fidelity = "HiFi4";
  std::vector<Tensor> inputs{Tensor{}}, outputs{Tensor{}};
  uint64_t flops = 0;  // of all cores
  // `from` posts a block to `to`, which takes it `slack` cycles later without having waited for it: the output depends on the order.
  Mistake race;
  // `from` wakes `to` after `slack` cycles; `to` sets its semaphore to 0 before it waits: a wake-up before that is lost, and the
  // program never ends.
  Mistake hang;
};

struct ChipWorkload {
  std::string name = "workload";
  double jitter = 0.05;  // of what RISCs compute
  std::vector<ChipOp> ops;
};

// An error in a file: "NAME:LINE: ...".
struct WorkloadError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// `name` is for sentences. Throws WorkloadError.
ChipWorkload read_workload(std::string_view toml, const std::string& name);
// Null: there is none of that name. Names: matmul, pipeline, allreduce, imbalanced.
const char* builtin_workload(std::string_view name);
std::string builtin_names();

// Zones that kernels record; a Step's zone is one of these.
enum class ZoneOf : uint8_t {
  read_block,
  multicast_in0,
  receive_in0,
  multicast_in1,
  receive_in1,
  receive_block,
  wait_front,
  unpack_block,
  math_block,
  reserve_back,
  pack_block,
  write_block,
  send_block,
  exchange,
  count
};
// A kernel's file and zone as a compiler's note would name them; empty: this pattern's kernels have no such zone.
struct ZonePlace {
  std::string name, file;
  unsigned line;
};
ZonePlace zone_place(Pattern pattern, ZoneOf zone);

// The program of the cores of `shape` for `op`. `seed` selects the cores with more work. Throws WorkloadError if the cores of a mistake
// are not among those that run.
ChipProgram program_of(const ChipOp& op, const Shape& shape, double jitter, uint64_t seed);

}  // namespace ttc::chip
