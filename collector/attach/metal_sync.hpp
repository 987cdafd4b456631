// The result of tt-metal's own host-device sync for a device, where the workload ran it: it leaves its samples
// in sync_device_info.csv beside the zone logs (tt-metal impl/profiler/tt_metal_profiler.cpp). Read from that
// file, never from the words that the sync uses on the card (FW_RESET), so that the sync is not disturbed.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace ttc::collect {

// The frequency in Hz of the file's last sample of that device. None: no such file, column or device.
std::optional<double> metal_sync_hz(const std::string& log_directory, uint32_t chip);

}  // namespace ttc::collect
