#include <iterator>

#include "tools/chip/workload.hpp"

namespace ttc::chip {
namespace {

// A layer of a transformer by its shapes: matrices multiplied on a grid with multicasts, and the ops between them.
constexpr const char* kMatmul = R"(name = "matmul"
jitter = 0.04

[[op]]
code = "LayerNormDeviceOperation"
pattern = "stream"
blocks = 8
tiles = 4
math_cycles = 1300
host_us = 14
fidelity = "HiFi4"
inputs = [[1, 1, 1024, 2048]]
outputs = [[1, 1, 1024, 2048]]

[[op]]
code = "MatmulDeviceOperation"
pattern = "multicast"
blocks = 24
out_blocks = 4
tiles = 8
unpack_cycles = 900
math_cycles = 3600
pack_cycles = 450
host_us = 18
fidelity = "HiFi2"
inputs = [[1, 1, 1024, 2048], [1, 1, 2048, 2048]]
outputs = [[1, 1, 1024, 2048]]
flops = 8589934592

[[op]]
code = "UnaryDeviceOperation"
pattern = "stream"
blocks = 6
tiles = 4
math_cycles = 600
host_us = 9
inputs = [[1, 1, 1024, 2048]]
outputs = [[1, 1, 1024, 2048]]

[[op]]
code = "MatmulDeviceOperation"
pattern = "multicast"
blocks = 32
out_blocks = 2
tiles = 8
unpack_cycles = 500
math_cycles = 1200
pack_cycles = 450
host_us = 18
gap_us = 6
fidelity = "LoFi"
inputs = [[1, 1, 1024, 2048], [1, 1, 2048, 1024]]
outputs = [[1, 1, 1024, 1024]]
flops = 4294967296

[[op]]
code = "BinaryNgDeviceOperation"
pattern = "stream"
blocks = 5
tiles = 8
math_cycles = 500
host_us = 10
inputs = [[1, 1, 1024, 1024], [1, 1, 1024, 1024]]
outputs = [[1, 1, 1024, 1024]]
)";

// Stages on neighbouring cores, each slower or faster than the one before by chance only.
constexpr const char* kPipeline = R"(name = "pipeline"
jitter = 0.25

[[op]]
code = "GenericOpDeviceOperation"
pattern = "pipeline"
blocks = 40
tiles = 4
unpack_cycles = 350
math_cycles = 1400
pack_cycles = 300
buffer_blocks = 3
host_us = 25
inputs = [[1, 1, 1280, 128]]
outputs = [[1, 1, 1280, 128]]
)";

// Sums passed round in the rings of the rows, with some computing before.
constexpr const char* kAllreduce = R"(name = "allreduce"

[[op]]
code = "UnaryDeviceOperation"
pattern = "stream"
blocks = 6
tiles = 4
host_us = 9
inputs = [[1, 1, 512, 2048]]
outputs = [[1, 1, 512, 2048]]

[[op]]
code = "AllReduceAsync"
pattern = "ring"
tiles = 8
math_cycles = 500
host_us = 22
gap_us = 4
inputs = [[1, 1, 512, 2048]]
outputs = [[1, 1, 512, 2048]]
)";

// Some cores have several times more to do: the others wait for them at the end of each op.
constexpr const char* kImbalanced = R"(name = "imbalanced"
jitter = 0.1

[[op]]
code = "EmbeddingsDeviceOperation"
pattern = "stream"
blocks = 10
tiles = 4
imbalance = 3
math_cycles = 700
host_us = 12
inputs = [[1, 1, 512, 1024]]
outputs = [[1, 1, 512, 1024]]

[[op]]
code = "CopyDeviceOperation"
pattern = "stream"
blocks = 20
tiles = 8
unpack_cycles = 60
math_cycles = 60
pack_cycles = 60
imbalance = 0.5
host_us = 8
gap_us = 25
inputs = [[1, 1, 2048, 1024]]
outputs = [[1, 1, 2048, 1024]]
)";

struct Builtin {
  std::string_view name;
  const char* toml;
};
constexpr Builtin kBuiltins[] = {
    {"matmul", kMatmul}, {"pipeline", kPipeline}, {"allreduce", kAllreduce}, {"imbalanced", kImbalanced}};

}  // namespace

const char* builtin_workload(std::string_view name) {
  for (const Builtin& b : kBuiltins)
    if (b.name == name) return b.toml;
  return nullptr;
}

std::string builtin_names() {
  std::string names;
  for (const Builtin& b : kBuiltins) names += (names.empty() ? "" : ", ") + std::string(b.name);
  return names;
}

}  // namespace ttc::chip
