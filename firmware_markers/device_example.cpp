// A bare-metal kernel that profiles itself without tt-metal: compiled for rv32im in the check, where the
// instructions of `one_zone` are counted. See firmware_markers/README.md for the surroundings it needs.
#include "firmware_markers/device/profiler.hpp"
#include "firmware_markers/device/wormhole_port.hpp"

using ttc::device::kG4;
using ttc::device::WormholePort;
using Profiler = ttc::device::Profiler<WormholePort, kG4>;

extern "C" {

// One complete zone: start marker, end marker, both with room check and clock. The work goes in between.
void one_zone(Profiler& profiler) {
  ttc::device::Scope zone(profiler, ttc::device::zone_id("EXAMPLE,device_example.cpp,15,KERNEL_PROFILER"));
}

void one_data(Profiler& profiler, uint64_t value) {
  profiler.data(ttc::device::zone_id("EXAMPLE-DATA,device_example.cpp,19,KERNEL_PROFILER"), value);
}

void whole_launch(Profiler& brisc, uint32_t host_id) {
  const uint32_t fw = ttc::device::zone_id("BRISC-FW,device_example.cpp,23,KERNEL_PROFILER");
  const uint32_t kernel = ttc::device::zone_id("BRISC-KERNEL,device_example.cpp,24,KERNEL_PROFILER");
  brisc.open_launch();
  brisc.fw_start(fw);
  brisc.take_launch(true, host_id);
  brisc.kernel_start(kernel);
  one_zone(brisc);
  one_data(brisc, host_id);
  brisc.kernel_end(kernel);
  brisc.fw_end(fw);
  brisc.finish_launch();
}

void dispatch_push(Profiler& ncrisc) {
  ncrisc.quick_push(ttc::device::zone_id("PROFILER-NOC-QUICK-PUSH,device_example.cpp,37,KERNEL_PROFILER"));
}
}
