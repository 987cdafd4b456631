// Kernels that profile themselves without tt-metal, for a Wormhole Tensix core: what DEVICE.md describes,
// whole. tools/check_device_header compiles this for rv32im and counts the instructions of `one_zone`.
#include "firmware_markers/device/noc_event.hpp"
#include "firmware_markers/device/profiler.hpp"
#include "firmware_markers/device/wormhole_port.hpp"

#define ZONE_TEXT_(line) #line
#define ZONE_TEXT(line) ZONE_TEXT_(line)
// The string whose hash is in the markers. The same string must be in zone_src_locations.log (DEVICE.md).
#define ZONE(name) ttc::device::zone_id(name "," __FILE__ "," ZONE_TEXT(__LINE__) ",KERNEL_PROFILER")

namespace {

using namespace ttc::device;
constexpr const Format& kFormat = kG4;
using Risc = Profiler<WormholePort, kFormat>;

// The address that tt-metal of mid 2026 uses, so that ttcollect finds it. Keep the linker away from these 10.5 KiB.
constexpr uint32_t kControlVector = 0xB00;
constexpr uint32_t kMagicAddress = kControlVector - 16;
constexpr uint32_t kWorkerMagic = 0x50ec09a3;
constexpr uint32_t kBuffers = kControlVector + 4 * kFormat.control_words;
constexpr uint32_t kDramBase = 0x20;
constexpr uint32_t kBytesPerRisc = 48000;  // what ttcollect assumes; --region-bytes gives another size

// Two views a GDDR channel, the second 1 GiB up (NOC0 coordinates).
constexpr uint8_t kViewTiles[12][2] = {{0, 0}, {0, 1}, {0, 5}, {0, 6}, {5, 0}, {5, 1},
                                       {5, 2}, {5, 9}, {5, 3}, {5, 4}, {5, 5}, {5, 6}};
constexpr uint64_t kViewOffsets[12] = {0, 1u << 30, 0, 1u << 30, 0, 1u << 30,
                                       0, 1u << 30, 0, 1u << 30, 0, 1u << 30};

constexpr WormholePort kPort{kControlVector, kBuffers, kViewTiles, kViewOffsets, kDramBase};

// A start and its end carry the same hash, so each string is written down once.
constexpr uint32_t kBriscFw = ZONE("BRISC-FW");
constexpr uint32_t kBriscKernel = ZONE("BRISC-KERNEL");
constexpr uint32_t kNcriscFw = ZONE("NCRISC-FW");
constexpr uint32_t kNcriscKernel = ZONE("NCRISC-KERNEL");
constexpr uint32_t kPushZone = ZONE("PROFILER-NOC-QUICK-PUSH");

}  // namespace

extern "C" {

// Yours: the work, and how BRISC starts the others and waits for them.
void work();
uint32_t await_launch();
void start_others();
void await_others();

// One complete zone: start marker, end marker, both with clock, one room check.
void one_zone(Risc& risc) {
  Scope zone(risc, ZONE("EXAMPLE"));
}

// Once after power-up, by the host or by BRISC before it starts anything: the vector has the log's address.
// Number all cores of the chip from 0; `cores_per_bank` = cores / DRAM views, rounded up.
void prepare(uint32_t flat_id, uint32_t cores_per_bank) {
  for (uint32_t w = 0; w < kFormat.control_words; ++w) kPort.store(kControlVector + 4 * w, 0);
  kPort.store(kControlVector + 4 * kFormat.dram_address, kDramBase);
  kPort.store(kControlVector + 4 * kFormat.flat_id, flat_id);
  kPort.store(kControlVector + 4 * kFormat.core_count_per_dram, cores_per_bank);
  kPort.store(kMagicAddress, kWorkerMagic);
}

// BRISC: a launch is one round. Its frame and those of the others leave L1 in finish_launch().
void brisc_main() {
  WormholePort port = kPort;
  Risc risc(port, 0, kBytesPerRisc);
  for (uint32_t run_id = 1; await_launch() != 0; ++run_id) {
    risc.open_launch();
    risc.fw_start(kBriscFw);
    risc.take_launch(true, run_id);
    start_others();
    risc.kernel_start(kBriscKernel);
    work();
    risc.kernel_end(kBriscKernel);
    await_others();
    risc.fw_end(kBriscFw);
    risc.finish_launch();
  }
}

// Any other RISC, between start_others() and await_others(): zones, data, events, sums, NoC events.
void ncrisc_launch(uint32_t tiles) {
  WormholePort port = kPort;
  Risc risc(port, 1, kBytesPerRisc);
  risc.fw_start(kNcriscFw);
  risc.kernel_start(kNcriscKernel);
  for (uint32_t tile = 0; tile < tiles; ++tile) {
    Scope zone(risc, ZONE("READ-TILE"));
    record_noc_event(risc, local_noc_event(kNocRead, {0, 5}, 2048, 0), kPushZone);
    SumScope waiting(risc, 0, ZONE("WAIT-FOR-TILE"));  // only the sum leaves the core
    work();
  }
  risc.event(7);  // 16 bits, no name
  risc.data(ZONE("TILES-READ"), tiles);
  risc.data16(kNocDebugId, local_noc_event(kNocRead, {0, 5}, 2048, 0), noc_debug_trailer(0x40000, 0x20, 0));
  risc.kernel_end(kNcriscKernel);
  risc.fw_end(kNcriscFw);
}

// A kernel that never finishes: each zone keeps room for a push and pushes when the buffer is nearly full.
void endless_ncrisc() {
  WormholePort port = kPort;
  Risc risc(port, 1, kBytesPerRisc);
  risc.fw_start(kNcriscFw);
  for (;;) {
    DispatchScope zone(risc, ZONE("PROCESS-COMMAND"), kPushZone);
    work();
  }
}
}
