// The differences between the modes of firmware that concern the drain.
#pragma once
#include "firmware_markers/device/format.hpp"

namespace ttc::collect {

struct FirmwareKind {
  // A launch pushes one frame of each RISC, RUN_COUNTER counts launches, and L1 shows the last one.
  bool counts_launches;
  // Markers stay in L1 behind the end of a launch, and are valid there until a push takes them.
  bool keeps_l1;
  // L1 holds the markers of many launches: a host reset takes them without moving an index.
  bool accumulates;
};

constexpr FirmwareKind kind_of(device::Mode mode) {
  return {mode == device::Mode::normal, mode != device::Mode::normal, mode == device::Mode::accumulate};
}

}  // namespace ttc::collect
