#include "tools/report/metal_files/counter_metrics.hpp"

namespace ttc::report {
namespace {

using enum MetricShape;
constexpr const char* kPercent = " (%)";

constexpr CounterMetric kMetrics[] = {
    {"SFPU Util", kPercent, share, "SFPU_COUNTER", ""},
    {"FPU Util", kPercent, share, "FPU_COUNTER", ""},
    {"MATH Util", kPercent, share, "MATH_COUNTER", ""},
    {"Unpacker0 Write Efficiency", kPercent, percentage, "SRCA_WRITE_ACTUAL", "UNPACK0_BUSY_THREAD0"},
    {"Unpacker0 Write Efficiency", kPercent, percentage, "SRCA_WRITE", "UNPACK0_BUSY_THREAD0"},
    {"Unpacker1 Write Efficiency", kPercent, percentage, "SRCB_WRITE_NOT_BLOCKED_PORT",
     "UNPACK1_BUSY_THREAD0", nullptr, false, nullptr, TableForm::joined},
    {"Unpacker1 Write Efficiency", kPercent, percentage, "SRCB_WRITE_ACTUAL", "UNPACK1_BUSY_THREAD0", nullptr,
     false, nullptr, TableForm::device_only},
    {"Unpacker1 Write Efficiency", kPercent, percentage, "SRCB_WRITE", "UNPACK1_BUSY_THREAD0"},
    {"Unpacker Write Efficiency", kPercent, mean_share, "SRCA_WRITE_ACTUAL SRCB_WRITE_NOT_BLOCKED_PORT",
     "UNPACK0_BUSY_THREAD0 UNPACK1_BUSY_THREAD0", nullptr, false, nullptr, TableForm::joined},
    {"Unpacker Write Efficiency", kPercent, mean_share, "SRCA_WRITE_ACTUAL SRCB_WRITE_ACTUAL",
     "UNPACK0_BUSY_THREAD0 UNPACK1_BUSY_THREAD0", nullptr, false, nullptr, TableForm::device_only},
    {"Unpacker Write Efficiency", kPercent, mean_share, "SRCA_WRITE SRCB_WRITE",
     "UNPACK0_BUSY_THREAD0 UNPACK1_BUSY_THREAD0"},
    {"Packer Efficiency", kPercent, percentage, "PACKER_DEST_READ_AVAILABLE", "PACKER_BUSY"},
    {"Packer Efficiency", kPercent, percentage, "DEST_READ_GRANTED_0", "PACKER_DEST_READ_AVAILABLE"},
    {"FPU Execution Efficiency", kPercent, percentage, "FPU_COUNTER", "FPU_INSTRN_AVAILABLE_1"},
    {"Math Pipeline Utilization", kPercent, percentage, "MATH_INSTRN_STARTED", "MATH_INSTRN_AVAILABLE",
     "MATH_INSTRN_STARTED"},
    {"Math Pipeline Utilization", kPercent, share, "FIDELITY_PHASE_STALLS", ""},
    {"Math-to-Pack Handoff Efficiency", kPercent, percentage, "AVAILABLE_MATH", "PACKER_BUSY"},
    {"Math-to-Pack Handoff Efficiency", kPercent, share, "AVAILABLE_MATH", ""},
    {"Unpacker-to-Math Data Flow", kPercent, percentage, "SRCA_WRITE_AVAILABLE SRCB_WRITE_AVAILABLE",
     "UNPACK0_BUSY_THREAD0 UNPACK1_BUSY_THREAD0"},
    {"Thread 0 Stall Rate", kPercent, share, "THREAD_STALLS_0", ""},
    {"Thread 1 Stall Rate", kPercent, share, "THREAD_STALLS_1", ""},
    {"Thread 2 Stall Rate", kPercent, share, "THREAD_STALLS_2", ""},
    {"SrcA Valid Wait", kPercent, share, "WAITING_FOR_SRCA_VALID", ""},
    {"SrcB Valid Wait", kPercent, share, "WAITING_FOR_SRCB_VALID", ""},
    {"SrcA Clear Wait", kPercent, share, "WAITING_FOR_SRCA_CLEAR", ""},
    {"SrcB Clear Wait", kPercent, share, "WAITING_FOR_SRCB_CLEAR", ""},
    {"Math Idle Wait T1", kPercent, share, "WAITING_FOR_MATH_IDLE_1", ""},
    {"Pack Idle Wait T2", kPercent, share, "WAITING_FOR_PACK_IDLE_2", ""},
    {"Unpack Idle Wait T0", kPercent, share, "WAITING_FOR_UNPACK_IDLE_0", ""},
    {"Semaphore Zero Wait T0", kPercent, share, "WAITING_FOR_NONZERO_SEM_0", ""},
    {"Semaphore Zero Wait T1", kPercent, share, "WAITING_FOR_NONZERO_SEM_1", ""},
    {"Semaphore Zero Wait T2", kPercent, share, "WAITING_FOR_NONZERO_SEM_2", ""},
    {"Semaphore Full Wait T0", kPercent, share, "WAITING_FOR_NONFULL_SEM_0", ""},
    {"Semaphore Full Wait T1", kPercent, share, "WAITING_FOR_NONFULL_SEM_1", ""},
    {"Semaphore Full Wait T2", kPercent, share, "WAITING_FOR_NONFULL_SEM_2", ""},
    {"Data Hazard Stall Rate", kPercent, blocked, "MATH_INSTRN_AVAILABLE", "DATA_HAZARD_STALLS_MOVD2A"},
    {"Fidelity Stall Rate", kPercent, percentage, "MATH_FIDELITY_STALL", "MATH_INSTRN_AVAILABLE"},
    {"HiFi Fraction", kPercent, percentage, "MATH_INSTRN_HF_2_CYCLE MATH_INSTRN_HF_4_CYCLE",
     "MATH_INSTRN_HF_1_CYCLE MATH_INSTRN_HF_2_CYCLE MATH_INSTRN_HF_4_CYCLE"},
    {"Avg HF Cycles Per Instrn", "", quotient,
     "MATH_INSTRN_HF_1_CYCLE MATH_INSTRN_HF_2_CYCLE MATH_INSTRN_HF_2_CYCLE MATH_INSTRN_HF_4_CYCLE "
     "MATH_INSTRN_HF_4_CYCLE MATH_INSTRN_HF_4_CYCLE MATH_INSTRN_HF_4_CYCLE",
     "MATH_INSTRN_HF_1_CYCLE MATH_INSTRN_HF_2_CYCLE MATH_INSTRN_HF_4_CYCLE"},
    {"L1 Unpacker Port Util", kPercent, share, "L1_0_UNPACKER_0", ""},
    {"L1 TDMA Bundle Util", kPercent, share, "L1_0_TDMA_BUNDLE_0_RISC L1_0_TDMA_BUNDLE_1_TRISC", ""},
    {"NOC Ring 0 Outgoing Util", kPercent, share, "L1_0_NOC_RING0_OUTGOING_0 L1_0_NOC_RING0_OUTGOING_1", ""},
    {"NOC Ring 0 Incoming Util", kPercent, share, "L1_0_NOC_RING0_INCOMING_0 L1_0_NOC_RING0_INCOMING_1", ""},
    {"NOC Ring 1 Outgoing Util", kPercent, share, "L1_1_NOC_RING1_OUTGOING_0 L1_1_NOC_RING1_OUTGOING_1", ""},
    {"NOC Ring 1 Incoming Util", kPercent, share, "L1_1_NOC_RING1_INCOMING_0 L1_1_NOC_RING1_INCOMING_1", ""},
    {"L1 Packer Port Util", kPercent, share, "L1_0_UNIFIED_PACKER", ""},
    {"L1 Packer Port Util", kPercent, share, "L1_0_UNPACKER_1_ECC_PACK1", ""},
    {"NOC Ring 0 Outgoing Backpressure", kPercent, blocked,
     "L1_0_NOC_RING0_OUTGOING_0 L1_0_NOC_RING0_OUTGOING_1",
     "L1_0_NOC_RING0_OUTGOING_0_GRANT L1_0_NOC_RING0_OUTGOING_1_GRANT"},
    {"NOC Ring 0 Incoming Backpressure", kPercent, blocked,
     "L1_0_NOC_RING0_INCOMING_0 L1_0_NOC_RING0_INCOMING_1",
     "L1_0_NOC_RING0_INCOMING_0_GRANT L1_0_NOC_RING0_INCOMING_1_GRANT"},
    {"NOC Ring 1 Outgoing Backpressure", kPercent, blocked,
     "L1_1_NOC_RING1_OUTGOING_0 L1_1_NOC_RING1_OUTGOING_1",
     "L1_1_NOC_RING1_OUTGOING_0_GRANT L1_1_NOC_RING1_OUTGOING_1_GRANT"},
    {"NOC Ring 1 Incoming Backpressure", kPercent, blocked,
     "L1_1_NOC_RING1_INCOMING_0 L1_1_NOC_RING1_INCOMING_1",
     "L1_1_NOC_RING1_INCOMING_0_GRANT L1_1_NOC_RING1_INCOMING_1_GRANT"},
    {"L1 Unpacker Backpressure", kPercent, blocked, "L1_0_UNPACKER_0", "L1_0_UNPACKER_0_GRANT", nullptr,
     true},
    {"L1 Packer Port Backpressure", kPercent, blocked, "L1_0_UNIFIED_PACKER", "L1_0_PORT1_GRANT"},
    {"L1 Packer Port Backpressure", kPercent, blocked, "L1_0_UNPACKER_1_ECC_PACK1", "L1_0_PORT1_GRANT"},
    {"HiFi2 Instrn Rate", kPercent, percentage, "INSTRN_2_HF_CYCLES", "MATH_INSTRN_STARTED"},
    {"LoFi Instrn Rate", kPercent, percentage, "INSTRN_1_HF_CYCLE", "MATH_INSTRN_STARTED"},
    {"Math Src Data Ready Rate", kPercent, percentage, "MATH_INSTRN_NOT_BLOCKED_SRC", "MATH_INSTRN_AVAILABLE",
     nullptr, false, "blackhole"},
    {"SrcA Write Port Blocked Rate", kPercent, blocked, "SRCA_WRITE_AVAILABLE", "SRCA_WRITE_ACTUAL"},
    {"SrcA Write Overwrite Blocked Rate", kPercent, blocked, "SRCA_WRITE_AVAILABLE",
     "SRCA_WRITE_NOT_BLOCKED_OVR"},
    {"SrcB Write Overwrite Blocked Rate", kPercent, blocked, "SRCB_WRITE_AVAILABLE", "SRCB_WRITE_ACTUAL"},
    {"Dest Read Backpressure", kPercent, blocked, "PACKER_DEST_READ_AVAILABLE", "DEST_READ_GRANTED_0"},
    {"Math Dest Write Port Stall Rate", kPercent, blocked, "MATH_INSTRN_AVAILABLE",
     "MATH_NOT_STALLED_DEST_WR_PORT", "MATH_NOT_STALLED_DEST_WR_PORT"},
    {"Math Scoreboard Stall Rate", kPercent, blocked, "MATH_INSTRN_AVAILABLE", "AVAILABLE_MATH"},
    {"T0 Instrn Issue Rate", "", rate, "THREAD_INSTRUCTIONS_0", ""},
    {"T1 Instrn Issue Rate", "", rate, "THREAD_INSTRUCTIONS_1", ""},
    {"T2 Instrn Issue Rate", "", rate, "THREAD_INSTRUCTIONS_2", ""},
    {"Unpack Instrn Issue Rate T0", "", rate, "UNPACK_INSTRN_ISSUED_0", ""},
    {"Math Instrn Issue Rate T1", "", rate, "FPU_INSTRN_ISSUED_1", ""},
    {"Pack Instrn Issue Rate T2", "", rate, "PACK_INSTRN_ISSUED_2", ""},
    {"CFG Instrn Avail Rate T0", kPercent, share, "CFG_INSTRN_AVAILABLE_0", ""},
    {"SYNC Instrn Avail Rate T0", kPercent, share, "SYNC_INSTRN_AVAILABLE_0", ""},
    {"THCON Instrn Avail Rate T0", kPercent, share, "THCON_INSTRN_AVAILABLE_0", ""},
    {"MOVE Instrn Avail Rate T0", kPercent, share, "MOVE_INSTRN_AVAILABLE_0", ""},
    {"MATH Instrn Avail Rate T1", kPercent, share, "FPU_INSTRN_AVAILABLE_1", ""},
    {"UNPACK Instrn Avail Rate T0", kPercent, share, "UNPACK_INSTRN_AVAILABLE_0", ""},
    {"PACK Instrn Avail Rate T2", kPercent, share, "PACK_INSTRN_AVAILABLE_2", ""},
    {"SrcB Write Port Blocked Rate", kPercent, blocked, "SRCB_WRITE_AVAILABLE",
     "SRCB_WRITE_NOT_BLOCKED_PORT"},
    {"SrcA Write Actual Efficiency", kPercent, percentage, "SRCA_WRITE_ACTUAL", "SRCA_WRITE_AVAILABLE"},
    {"SrcB Write Actual Efficiency", kPercent, percentage, "SRCB_WRITE_NOT_BLOCKED_PORT",
     "SRCB_WRITE_AVAILABLE"},
    {"HiFi4 Instrn Rate", kPercent, percentage, "MATH_INSTRN_NOT_BLOCKED_SRC", "MATH_INSTRN_STARTED",
     "MATH_INSTRN_NOT_BLOCKED_SRC", false, "wormhole"},
    {"HiFi4 Instrn Rate", kPercent, blocked, "MATH_INSTRN_STARTED", "INSTRN_2_HF_CYCLES INSTRN_1_HF_CYCLE",
     "MATH_INSTRN_STARTED"},
    {"Fidelity Phase Overhead", kPercent, share, "FIDELITY_PHASE_STALLS", ""},
    {"Packer Engine 0 Util", kPercent, share, "PACKER_BUSY_0", ""},
    {"Packer Engine 1 Util", kPercent, share, "PACKER_BUSY_1", ""},
    {"Packer Engine 2 Util", kPercent, share, "PACKER_BUSY_2", ""},
    {"MMIO Idle Wait T0", kPercent, share, "WAITING_FOR_MMIO_IDLE_0", ""},
    {"SFPU Idle Wait T1", kPercent, share, "WAITING_FOR_SFPU_IDLE_1", ""},
    {"THCON Idle Wait T0", kPercent, share, "WAITING_FOR_THCON_IDLE_0", ""},
    {"MOVE Idle Wait T0", kPercent, share, "WAITING_FOR_MOVE_IDLE_0", ""},
    {"RISC Core L1 Util", kPercent, share, "L1_1_RISC_CORE", ""},
    {"L1 Total Bandwidth Util", kPercent, share,
     "L1_0_UNPACKER_0 L1_0_UNIFIED_PACKER L1_0_TDMA_BUNDLE_0_RISC L1_0_TDMA_BUNDLE_1_TRISC "
     "L1_0_NOC_RING0_OUTGOING_0 L1_0_NOC_RING0_OUTGOING_1 L1_0_NOC_RING0_INCOMING_0 "
     "L1_0_NOC_RING0_INCOMING_1",
     ""},
    {"L1 Total Bandwidth Util", kPercent, share,
     "L1_0_UNPACKER_0 L1_0_UNPACKER_1_ECC_PACK1 L1_0_TDMA_BUNDLE_0_RISC L1_0_TDMA_BUNDLE_1_TRISC "
     "L1_0_NOC_RING0_OUTGOING_0 L1_0_NOC_RING0_OUTGOING_1 L1_0_NOC_RING0_INCOMING_0 "
     "L1_0_NOC_RING0_INCOMING_1",
     ""},
    {"L1 Read vs Write Ratio", kPercent, percentage,
     "L1_0_UNPACKER_0 L1_0_NOC_RING0_OUTGOING_0 L1_0_NOC_RING0_OUTGOING_1",
     "L1_0_UNPACKER_0 L1_0_NOC_RING0_OUTGOING_0 L1_0_NOC_RING0_OUTGOING_1 L1_0_UNIFIED_PACKER "
     "L1_0_NOC_RING0_INCOMING_0 L1_0_NOC_RING0_INCOMING_1"},
    {"L1 Read vs Write Ratio", kPercent, percentage,
     "L1_0_UNPACKER_0 L1_0_NOC_RING0_OUTGOING_0 L1_0_NOC_RING0_OUTGOING_1",
     "L1_0_UNPACKER_0 L1_0_NOC_RING0_OUTGOING_0 L1_0_NOC_RING0_OUTGOING_1 L1_0_UNPACKER_1_ECC_PACK1 "
     "L1_0_NOC_RING0_INCOMING_0 L1_0_NOC_RING0_INCOMING_1"},
    {"NOC Ring 0 Asymmetry", kPercent, percentage, "L1_0_NOC_RING0_OUTGOING_0 L1_0_NOC_RING0_OUTGOING_1",
     "L1_0_NOC_RING0_OUTGOING_0 L1_0_NOC_RING0_OUTGOING_1 L1_0_NOC_RING0_INCOMING_0 "
     "L1_0_NOC_RING0_INCOMING_1"},
    {"L1 Contention Index", kPercent, mean_blocked,
     "L1_0_UNPACKER_0 L1_0_NOC_RING0_OUTGOING_0 L1_0_NOC_RING0_OUTGOING_1 L1_0_NOC_RING0_INCOMING_0 "
     "L1_0_NOC_RING0_INCOMING_1",
     "L1_0_UNPACKER_0_GRANT L1_0_NOC_RING0_OUTGOING_0_GRANT L1_0_NOC_RING0_OUTGOING_1_GRANT "
     "L1_0_NOC_RING0_INCOMING_0_GRANT L1_0_NOC_RING0_INCOMING_1_GRANT"},
    {"Unpacker L1 Efficiency", kPercent, percentage, "L1_0_UNPACKER_0_GRANT", "UNPACK0_BUSY_THREAD0"},
    {"Packer L1 Efficiency", kPercent, percentage, "L1_0_PORT1_GRANT", "PACKER_BUSY"},
    {"NOC vs Compute Balance", kPercent, percentage,
     "L1_0_NOC_RING0_OUTGOING_0 L1_0_NOC_RING0_OUTGOING_1 L1_0_NOC_RING0_INCOMING_0 "
     "L1_0_NOC_RING0_INCOMING_1",
     "FPU_COUNTER L1_0_NOC_RING0_OUTGOING_0 L1_0_NOC_RING0_OUTGOING_1 L1_0_NOC_RING0_INCOMING_0 "
     "L1_0_NOC_RING0_INCOMING_1"},
    {"TDMA vs NOC L1 Share", kPercent, percentage, "L1_0_TDMA_BUNDLE_0_RISC L1_0_TDMA_BUNDLE_1_TRISC",
     "L1_0_TDMA_BUNDLE_0_RISC L1_0_TDMA_BUNDLE_1_TRISC L1_0_NOC_RING0_OUTGOING_0 L1_0_NOC_RING0_OUTGOING_1 "
     "L1_0_NOC_RING0_INCOMING_0 L1_0_NOC_RING0_INCOMING_1"},
    {"Stall Overlap T0", " (ratio)", quotient,
     "WAITING_FOR_THCON_IDLE_0 WAITING_FOR_UNPACK_IDLE_0 WAITING_FOR_PACK_IDLE_0 WAITING_FOR_MATH_IDLE_0 "
     "WAITING_FOR_NONZERO_SEM_0 WAITING_FOR_NONFULL_SEM_0 WAITING_FOR_MOVE_IDLE_0 WAITING_FOR_MMIO_IDLE_0 "
     "WAITING_FOR_SFPU_IDLE_0",
     "THREAD_STALLS_0"},
    {"Stall Overlap T1", " (ratio)", quotient,
     "WAITING_FOR_THCON_IDLE_1 WAITING_FOR_UNPACK_IDLE_1 WAITING_FOR_PACK_IDLE_1 WAITING_FOR_MATH_IDLE_1 "
     "WAITING_FOR_NONZERO_SEM_1 WAITING_FOR_NONFULL_SEM_1 WAITING_FOR_MOVE_IDLE_1 WAITING_FOR_MMIO_IDLE_1 "
     "WAITING_FOR_SFPU_IDLE_1",
     "THREAD_STALLS_1"},
    {"Stall Overlap T2", " (ratio)", quotient,
     "WAITING_FOR_THCON_IDLE_2 WAITING_FOR_UNPACK_IDLE_2 WAITING_FOR_PACK_IDLE_2 WAITING_FOR_MATH_IDLE_2 "
     "WAITING_FOR_NONZERO_SEM_2 WAITING_FOR_NONFULL_SEM_2 WAITING_FOR_MOVE_IDLE_2 WAITING_FOR_MMIO_IDLE_2 "
     "WAITING_FOR_SFPU_IDLE_2",
     "THREAD_STALLS_2"},
    {"Packer Load Imbalance", kPercent, spread, "PACKER_BUSY_0 PACKER_BUSY_1 PACKER_BUSY_2 PACKER_BUSY", ""},
    {"Compute-to-Unpack Ratio", kPercent, percentage, "MATH_COUNTER",
     "UNPACK0_BUSY_THREAD0 UNPACK1_BUSY_THREAD0"},
};

}  // namespace

std::span<const CounterMetric> counter_metrics() {
  return kMetrics;
}

}  // namespace ttc::report
