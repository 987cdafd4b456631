// What the kernel says of its own clock, and which boot this is.
#pragma once
#include <cstdint>

#include "tools/fleet/clock/common_clock.hpp"

namespace ttc::fleet {

// By adjtimex(2), which chrony, ntpd, systemd-timesyncd and ptp4l keep true where they discipline the clock.
KernelClock read_kernel_clock();
// Of this boot of this machine: processes of one value share CLOCK_MONOTONIC_RAW. Never 0.
uint64_t boot_number();

}  // namespace ttc::fleet
