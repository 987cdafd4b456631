// Evaluates an op from its row alone: the figures of tt-perf-report (bytes, FLOPs, shares of the
// card's peaks), and what bounds it.
//
// Peaks and formulas: tt-perf-report src/tt_perf_report/perf_report.py@00b7324 (HiFi3
// as its later versions have it). Block exponents of BFLOAT8_B and BFLOAT4_B are not counted, there as here.
#pragma once
#include <optional>
#include <string>

#include "tools/report/ops/op_table.hpp"

namespace ttc::report {

struct Architecture {
  std::string name;
  double worker_cores, dram_gb_s;
  double hifi4, hifi3, hifi2, lofi;  // TFLOPs per core
  // 0 for a fidelity that is not known.
  double tflops_per_core(const std::string& fidelity) const;
};
const Architecture* architecture(
    const std::string& name);  // wormhole, wormhole_b0, blackhole, bh20, n1; or null

struct Figures {
  std::string text;                       // name and size, as tt-perf-report shows it
  Number cores, dram_gb_s, dram_percent;  // cores: as used for the peak
  Number tflops, flops_percent;
  std::string fidelity;  // "HiFi2 BF16 x BFP8 => BF16"
  bool dram_sharded = false;
  Number block_w, subblock_h, subblock_w;
};
Figures figures(const OpRow& op, const Architecture& arch);

bool is_matmul(const std::string& code);

// Compute, DM (data movement), TM (tensor manipulation), Host, Other.
std::string category(const std::string& code);

constexpr double kBoundPercent = 65;  // of a peak: what reaches it is what bounds the op

// The bound of an op, and the rule that found it.
struct Bound {
  std::string
      what;         // compute, dram, noc, ethernet, reader, writer, imbalance, launch, latency, host, unknown
  std::string why;  // the figures the rule examined
};
Bound bound(const OpRow& op, const Figures& f);

// Which processor an op waits for.
struct Bottleneck {
  int risc = -1;    // index into OpRow::risc; -1: not known
  std::string who;  // "NCRISC"
  std::string why;  // "NCRISC 100 %, BRISC 83 %, math 12 % of the kernel"
};
Bottleneck bottleneck(const OpRow& op);

enum class Fidelity { fine, too_high, too_low, not_applicable, unknown };
struct FidelityAdvice {
  Fidelity verdict = Fidelity::unknown;
  std::string advice;
};
FidelityAdvice judge_fidelity(const OpRow& op);

}  // namespace ttc::report
