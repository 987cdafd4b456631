// What tests of the emulated card itself begin with: options under a name of this process, and the host's clock.
#pragma once
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "driver_iface/emulated_card.hpp"

namespace ttc::card {

inline EmulatedCardOptions options(const std::string& tag) {
  EmulatedCardOptions o;
  o.name = "own-" + std::to_string(getpid()) + "-" + tag;
  o.virtual_time = true;
  return o;
}

inline uint64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

}  // namespace ttc::card
