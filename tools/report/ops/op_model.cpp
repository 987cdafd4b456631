#include "tools/report/ops/op_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <set>
#include <vector>

namespace ttc::report {
namespace {

constexpr double kBlackholeLofi = 4096 * 1.35 / 1000, kN1Lofi = 4096 * 0.65 / 1000;
const Architecture kArchitectures[] = {
    {"wormhole", 64, 288, 74.0 / 72, 74.0 * 4 / 3 / 72, 148.0 / 72, 262.0 / 72},
    {"blackhole", 130, 512, kBlackholeLofi / 4, kBlackholeLofi / 3, kBlackholeLofi / 2, kBlackholeLofi},
    {"bh20", 20, 512, kBlackholeLofi / 4, kBlackholeLofi / 3, kBlackholeLofi / 2, kBlackholeLofi},
    {"n1", 20, 120, kN1Lofi / 4, kN1Lofi / 3, kN1Lofi / 2, kN1Lofi},
};
constexpr double kDramShardedCores = 12;

// Kinds of ops by name, with or without DeviceOperation behind it.
const std::set<std::string> kCompute = {"AllGatherMatmul",
                                        "ScaledDotProductAttentionDecode",
                                        "RotaryEmbeddingLlama",
                                        "SDPAOperation",
                                        "OptimizedConvNew",
                                        "Conv2d",
                                        "Matmul",
                                        "BinaryNg",
                                        "Binary",
                                        "Unary",
                                        "Pool2D",
                                        "UpSample",
                                        "UpsampleOperation",
                                        "GroupNorm",
                                        "GridSample",
                                        "Accumulation",
                                        "LayerNorm",
                                        "ScaledDotProductAttention",
                                        "Reduce",
                                        "Softmax",
                                        "Embeddings",
                                        "MinimalMatmulOp",
                                        "IntImg",
                                        "GridSampleOperation"};
const std::set<std::string> kDataMovement = {"PagedUpdateCacheDeviceOperation",
                                             "Move",
                                             "Copy",
                                             "InterleavedToSharded",
                                             "ShardedToInterleaved",
                                             "InterleavedToShardedPartial",
                                             "ShardedToInterleavedPartial",
                                             "Halo",
                                             "Where",
                                             "CloneOperation",
                                             "Reshard",
                                             "PaddedSlice",
                                             "SliceWrite",
                                             "ReduceScatter"};
const std::set<std::string> kTensorManipulation = {"NLPCreateHeadsDecodeDeviceOperation",
                                                   "NLPConcatHeadsDecodeDeviceOperation",
                                                   "Fold",
                                                   "CreateQKVHeadsDeviceOperation",
                                                   "ConcatenateHeads",
                                                   "Reshape",
                                                   "Transpose",
                                                   "Permute",
                                                   "Slice",
                                                   "Concat",
                                                   "Split",
                                                   "TilizeWithValPadding",
                                                   "Tilize",
                                                   "UntilizeWithUnpadding",
                                                   "Untilize",
                                                   "Typecast",
                                                   "NLPConcatHeads",
                                                   "NlpCreateHeads",
                                                   "Ternary",
                                                   "FillPad",
                                                   "PadDeviceOperation"};

bool in(const std::set<std::string>& kind, const std::string& name) {
  constexpr std::string_view kTail = "DeviceOperation";
  return kind.contains(name) ||
         (name.ends_with(kTail) && kind.contains(name.substr(0, name.size() - kTail.size())));
}

bool has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

std::string short_name(const std::string& datatype) {
  if (datatype == "FLOAT32") return "FP32";
  if (datatype == "BFLOAT16") return "BF16";
  if (datatype == "BFLOAT8_B") return "BFP8";
  if (datatype == "BFLOAT4_B") return "BFP4";
  return datatype;
}

// The first number in the name is the size in bits; 4 bytes where there is none.
double element_bytes(const std::string& datatype) {
  const size_t digit = datatype.find_first_of("0123456789");
  return digit == std::string::npos ? 4 : std::atof(datatype.c_str() + digit) / 8;
}

Number elements(const Tensor& t) {
  if (!t.w || !t.z || !t.y || !t.x) return std::nullopt;
  return *t.w * *t.z * *t.y * *t.x;
}

std::string whole(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f", value);
  return text;
}

std::string percent(double value) {
  return whole(value) + " %";
}

// The text after `key` in the attributes, up to `end`.
std::string after(const std::string& text, const std::string& key, const char* end) {
  const size_t at = text.find(key);
  if (at == std::string::npos) return "";
  const size_t from = at + key.size();
  return text.substr(from, text.find(end, from) - from);
}

// The first `count` pieces behind `key`, which semicolons part, with commas between them; "x" without the
// key.
std::string pieces(const std::string& text, const char* key, int count) {
  const size_t at = text.find(key);
  if (at == std::string::npos) return "x";
  std::string out;
  size_t from = at + std::string_view(key).size();
  for (int i = 0; i < count; ++i) {
    const size_t end = text.find(';', from);
    if (i) out += ',';
    out += text.substr(from, end - from);
    if (end == std::string::npos) break;
    from = end + 1;
  }
  return out;
}

Number number_after(const std::string& text, const std::string& key) {
  const size_t at = text.find(key);
  if (at == std::string::npos) return std::nullopt;
  size_t from = at + key.size();
  while (from < text.size() && (text[from] == '=' || text[from] == ' ')) ++from;
  if (from >= text.size() || !std::isdigit(static_cast<unsigned char>(text[from]))) return std::nullopt;
  return std::atof(text.c_str() + from);
}

std::string precision(const OpRow& op) {
  return op.fidelity + " " + short_name(op.input0.datatype) + " x " + short_name(op.input1.datatype) +
         " => " + short_name(op.output0.datatype);
}

void matmul(const OpRow& op, const Architecture& arch, Figures& f) {
  f.dram_sharded = has(op.attributes, "MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig");
  if (f.dram_sharded) f.cores = kDramShardedCores;
  if (!op.fidelity.empty()) f.fidelity = precision(op);
  const Tensor &a = op.input0, &b = op.input1;
  if (!elements(a) || !elements(b)) return;
  const double m = *a.y, k = *a.x, n = *b.x, batch = std::max(*a.w, *b.w) * std::max(*a.z, *b.z);
  f.text += batch > 1 ? " b={" + whole(batch) + "} x " : " ";
  f.text += whole(m) + " x " + whole(k) + " x " + whole(n);
  if (!op.kernel || *op.kernel <= 0) return;
  double bytes = 0;
  for (const Tensor* t : {&a, &b, &op.output0})
    if (has(t->memory, "DRAM") && elements(*t)) bytes += *elements(*t) * element_bytes(t->datatype);
  if (bytes > 0) {
    f.dram_gb_s = bytes / *op.kernel;
    f.dram_percent = *f.dram_gb_s / arch.dram_gb_s * 100;
  }
  f.tflops = m * k * n * batch * 2 / *op.kernel / 1000;
  const double peak = arch.tflops_per_core(op.fidelity);
  if (peak > 0 && f.cores && *f.cores > 0) f.flops_percent = *f.tflops / (peak * *f.cores) * 100;
}

void convolution(const OpRow& op, const Architecture& arch, Figures& f) {
  if (!op.fidelity.empty()) f.fidelity = precision(op);
  const auto count = [&](const char* key) {
    const Number n = number_after(op.attributes, key);
    return n ? whole(*n) : std::string("x");
  };
  const auto flag = [&](const char* key) {  // not known counts as set, as in tt-perf-report
    const std::string quoted = std::string(key) + "': '";
    return !has(op.attributes, quoted.c_str()) || after(op.attributes, quoted, "'") == "true";
  };
  const size_t window = op.attributes.find("window_hw");
  double h = 0, w = 0;
  const bool sized = window != std::string::npos &&
                     std::sscanf(op.attributes.c_str() + window, "window_hw%*[= (]%lf;%lf", &h, &w) == 2;
  if (sized && op.output0.y && op.input0.x && op.input1.x) {
    const double m = *op.output0.y, k = *op.input0.x * h * w, n = *op.input1.x;
    f.text += " " + whole(m) + " x " + whole(k) + " x " + whole(n);
    if (op.kernel && *op.kernel > 0) {
      f.tflops = m * k * n * 2 / *op.kernel / 1000;
      const double own = op.available_cores.value_or(0);  // of the sub-device, if the table has it
      const double peak = arch.tflops_per_core(op.fidelity) * (own > 0 ? own : arch.worker_cores);
      if (peak > 0) f.flops_percent = *f.tflops / peak * 100;
    }
  }
  f.text += " [ABH=" + count("per_core_out_matrix_height_ntile") + "|" + count("act_block_h_ntiles");
  if (flag("enable_act_double_buffer")) f.text += " ADB";
  if (flag("enable_split_reader")) f.text += " SR";
  f.text += "]";
}

void halo(const OpRow& op, Figures& f) {
  std::string layout = after(op.attributes, "memory_layout=", ";");
  const size_t scope = layout.find("::");
  layout =
      scope == std::string::npos ? "x" : layout.substr(scope + 2, layout.find("::", scope + 2) - scope - 2);
  f.text += " w=" + pieces(op.attributes, "window_hw=", 2) + " s=" + pieces(op.attributes, "stride_hw=", 2) +
            " p=" + pieces(op.attributes, "padding=", 4) + " d=" + pieces(op.attributes, "dilation_hw=", 2) +
            " | " + layout;
}

}  // namespace

double Architecture::tflops_per_core(const std::string& fidelity) const {
  return fidelity == "HiFi4"   ? hifi4
         : fidelity == "HiFi3" ? hifi3
         : fidelity == "HiFi2" ? hifi2
         : fidelity == "LoFi"  ? lofi
                               : 0;
}

const Architecture* architecture(const std::string& name) {
  std::string lower;
  for (const char c : name) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (lower == "wormhole_b0") lower = "wormhole";
  for (const Architecture& a : kArchitectures)
    if (a.name == lower) return &a;
  return nullptr;
}

bool is_matmul(const std::string& code) {
  return has(code, "Matmul");
}

std::string category(const std::string& code) {
  const std::string name = code.substr(0, code.find(' '));
  if (in(kCompute, name)) return "Compute";
  if (in(kDataMovement, name)) return "DM";
  if (in(kTensorManipulation, name)) return "TM";
  return name == "(torch)" || name == "(torch)DeviceOperation" ? "Host" : "Other";
}

Figures figures(const OpRow& op, const Architecture& arch) {
  Figures f;
  f.text = op.code;
  f.cores = op.cores;
  if (!op.input0.datatype.empty()) f.fidelity = short_name(op.input0.datatype);
  if (!op.input1.datatype.empty()) f.fidelity += ", " + short_name(op.input1.datatype);
  if (!op.output0.datatype.empty()) f.fidelity += " => " + short_name(op.output0.datatype);
  if (f.fidelity.starts_with(" ")) f.fidelity.erase(0, 1);
  if (is_matmul(op.code))
    matmul(op, arch, f);
  else if (has(op.code, "OptimizedConvNew") || has(op.code, "Conv2d"))
    convolution(op, arch, f);
  else if (has(op.code, "HaloDeviceOperation"))
    halo(op, f);
  if (has(op.attributes, "program_config")) {
    f.block_w = number_after(op.attributes, "in0_block_w=");
    f.subblock_h = number_after(op.attributes, "out_subblock_h=");
    f.subblock_w = number_after(op.attributes, "out_subblock_w=");
  }
  return f;
}

// --- what bounds an op -------------------------------------------------------------------------------------

Bound bound(const OpRow& op, const Figures& f) {
  if (op.host() || (!op.type.empty() && op.type != "tt_dnn_device")) return {"host", "it runs on the host"};
  if (!op.kernel || *op.kernel <= 0) return {"unknown", "no kernel time"};
  const double kernel = *op.kernel;
  if (f.dram_percent && *f.dram_percent >= kBoundPercent)
    return {f.flops_percent && *f.flops_percent >= kBoundPercent ? "compute and dram" : "dram",
            "DRAM at " + percent(*f.dram_percent) + " of peak by its tensors"};
  if (op.dram_util && *op.dram_util >= kBoundPercent)
    return {"dram", "DRAM at " + percent(*op.dram_util) + " by NoC traces"};
  if (f.flops_percent && *f.flops_percent >= kBoundPercent)
    return {"compute", "FLOPs at " + percent(*f.flops_percent) + " of peak"};
  for (const auto& [name, value] : {std::pair{"FPU", op.fpu_counter}, std::pair{"SFPU", op.sfpu_counter},
                                    std::pair{"math", op.math_counter}})
    if (value && *value >= kBoundPercent)
      return {"compute", std::string(name) + " counter at " + percent(*value)};
  if (op.noc_util && *op.noc_util >= kBoundPercent) return {"noc", "NoC links at " + percent(*op.noc_util)};
  if (op.congestion && *op.congestion >= 25) return {"noc", "congestion costs " + percent(*op.congestion)};
  if (op.pm_ideal && *op.pm_ideal > 1 && *op.pm_ideal / kernel >= kBoundPercent / 100)
    return {op.pm_compute.value_or(0) >= op.pm_bandwidth.value_or(0) ? "compute" : "dram",
            "the op's model needs " + percent(*op.pm_ideal / kernel * 100) + " of this time"};
  if (op.risc[5] && *op.risc[5] >= 0.9 * kernel)
    return {"ethernet", "ERISC runs " + percent(*op.risc[5] / kernel * 100) + " of it"};
  const double cores = op.cores.value_or(1) > 0 ? op.cores.value_or(1) : 1;
  if (op.wait_front && *op.wait_front / cores >= 0.3 * kernel)
    return {"reader", "compute waits " + percent(*op.wait_front / cores / kernel * 100) + " of it for input"};
  if (op.reserve_back && *op.reserve_back / cores >= 0.3 * kernel)
    return {"writer",
            "compute waits " + percent(*op.reserve_back / cores / kernel * 100) + " of it for room"};
  if (op.core_mean && *op.core_mean > 0 && op.core_max && *op.core_max >= 1.5 * *op.core_mean)
    return {"imbalance",
            "the slowest core takes " + percent(*op.core_max / *op.core_mean * 100) + " of the mean"};
  if (op.first_to_last && *op.first_to_last >= 0.3 * kernel)
    return {"launch", "cores start within " + percent(*op.first_to_last / kernel * 100) + " of it"};
  const double movers = std::max(op.risc[0].value_or(0), op.risc[1].value_or(0));
  const double math = op.risc[3].value_or(0);
  if (movers > 0 && math < 0.5 * movers)
    return {"data movement", "math runs " + percent(math / kernel * 100) + ", data movement " +
                                 percent(movers / kernel * 100) + " of it"};
  if (kernel < 2000) return {"latency", "shorter than 2 us, which starting and ending takes"};
  if (f.dram_percent || f.flops_percent)
    return {"latency", "neither DRAM (" + percent(f.dram_percent.value_or(0)) + ") nor FLOPs (" +
                           percent(f.flops_percent.value_or(0)) + ") are near their peak"};
  return {"unknown", "no counter, model or wait shows it"};
}

Bottleneck bottleneck(const OpRow& op) {
  constexpr const char* kNames[] = {"BRISC", "NCRISC", "unpack", "math", "pack", "ERISC"};
  Bottleneck b;
  if (!op.kernel || *op.kernel <= 0) return b;
  std::vector<std::pair<double, int>> shares;
  for (size_t i = 0; i < op.risc.size(); ++i)
    if (op.risc[i]) shares.emplace_back(*op.risc[i] / *op.kernel * 100, static_cast<int>(i));
  if (shares.empty()) return b;
  std::stable_sort(shares.begin(), shares.end(),
                   [](const auto& x, const auto& y) { return x.first > y.first; });
  b.risc = shares.front().second;
  for (const auto& [share, risc] : shares)  // who ends with the last
    if (share >= shares.front().first - 3) b.who += (b.who.empty() ? "" : ", ") + std::string(kNames[risc]);
  for (const auto& [share, risc] : shares)
    b.why += (b.why.empty() ? "" : ", ") + std::string(kNames[risc]) + " " + percent(share);
  b.why += " of the kernel";
  // If all run to the end together, sums of waits show which processor held up which.
  const double cores = op.cores.value_or(1) > 0 ? op.cores.value_or(1) : 1;
  if (op.wait_front && *op.wait_front / cores > 0.1 * *op.kernel &&
      op.wait_front.value_or(0) >= op.reserve_back.value_or(0)) {
    b.risc = 1;
    b.who = "reader";
    b.why += "; unpack waits " + percent(*op.wait_front / cores / *op.kernel * 100) + " for input";
  } else if (op.reserve_back && *op.reserve_back / cores > 0.1 * *op.kernel) {
    b.risc = 0;
    b.who = "writer";
    b.why += "; pack waits " + percent(*op.reserve_back / cores / *op.kernel * 100) + " for room";
  }
  return b;
}

// --- fidelity ----------------------------------------------------------------------------------------------

FidelityAdvice judge_fidelity(const OpRow& op) {
  const auto bits = [](const std::string& type) {
    return type == "FLOAT32"     ? 23
           : type == "BFLOAT16"  ? 8
           : type == "BFLOAT8_B" ? 7
           : type == "BFLOAT4_B" ? 3
                                 : 0;
  };
  const std::string &a = op.input0.datatype, &b = op.input1.datatype, &out = op.output0.datatype;
  for (const std::string* type : {&a, &b, &out})
    if (*type == "UINT8" || *type == "UINT16" || *type == "INT32" || *type == "UINT32")
      return {Fidelity::not_applicable, ""};
  const int in0 = bits(a), in1 = bits(b), to = bits(out);
  if (!in0 || !in1 || !to) return {Fidelity::unknown, ""};
  const std::string& f = op.fidelity;
  const int level = f == "HiFi4" ? 4 : f == "HiFi3" ? 3 : f == "HiFi2" ? 2 : f == "LoFi" ? 1 : 0;
  if (level == 0) return {Fidelity::unknown, ""};
  if (in0 == 8 && to >= 7) {
    if (level == 4)
      return {Fidelity::fine, "HiFi2 drops one bit of the activations for twice the rate; it may do"};
    if (level == 3) return {Fidelity::fine, ""};
    return {Fidelity::too_low,
            level == 2 ? "where FLOPs are not the limit, HiFi4 keeps every bit of BF16 activations"
                       : "HiFi2 or HiFi4 keeps more of BF16 activations"};
  }
  if (in0 == 8 && to == 3) {
    if (level >= 3) return {Fidelity::too_high, "HiFi2 should do for so coarse an output, at twice the rate"};
    if (level == 2) return {Fidelity::fine, "LoFi may do for BFP4 output, at almost twice the rate"};
    return {Fidelity::too_low, "HiFi2 may be more exact where many products are added up"};
  }
  if (in1 >= 7) {
    if (level >= 3) return {Fidelity::too_high, "HiFi2 is exact for BFP8 factors, at twice the rate"};
    if (level == 2)
      return {Fidelity::fine, to == 3 ? "LoFi may do for BFP4 output, at almost twice the rate" : ""};
    return {Fidelity::too_low, to == 3 ? "HiFi2 may be slightly more exact where many products are added up"
                                       : "LoFi drops two bits of the weights; HiFi2 keeps them"};
  }
  if (level == 1) return {Fidelity::fine, ""};
  return {Fidelity::too_high, "LoFi is exact for BFP4 weights and much faster"};
}

}  // namespace ttc::report
