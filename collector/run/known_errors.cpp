#include "collector/run/known_errors.hpp"

#include <algorithm>

namespace ttc::collect {
namespace {

constexpr std::string_view kKernelConfigCause =
    "kernels with the profiler's code in them are larger than the buffer that they are sent through";
constexpr std::string_view kKernelConfigFix =
    "open the device with a smaller worker_l1_size, which leaves that buffer more room; or fewer zones in "
    "kernels";

constexpr KnownError kKnownErrors[] = {
    // tt-blacksmith, performance guide
    {"ethernet-core-timeout",
     {"Timeout waiting for Ethernet core service", ""},
     "a card's Ethernet core does not answer, as after a process that was killed while it used the card",
     "end what still holds the cards (`ttcollect doctor` names it), then tt-smi -r, and start again when it "
     "is over"},
    {"chip-in-use",
     {"Waiting for lock", "CHIP_IN_USE"},
     "another process has started this chip and holds its lock",
     "`ttcollect doctor` names the process and how to end it; wait for it, or end it"},
    // tt-metal issues 37013, 19857, 20005, 53158
    {"text-overflow",
     {"region", "overflowed"},
     "firmware or a kernel has become too large for its memory; the profiler and the watcher (or debug "
     "print, or many counter "
     "groups) together seldom fit",
     "run without TT_METAL_WATCHER, or with TT_METAL_WATCHER_NOINLINE=1; with fewer groups of "
     "--profiler-capture-perf-counters"},
    {"text-overflow",
     {"will not fit in region", ""},
     "firmware or a kernel has become too large for its memory; the profiler and the watcher (or debug "
     "print, or many counter "
     "groups) together seldom fit",
     "run without TT_METAL_WATCHER, or with TT_METAL_WATCHER_NOINLINE=1; with fewer groups of "
     "--profiler-capture-perf-counters"},
    // tt-metal issue 49759
    {"kernel-config-overflow", {"KERNEL_CONFIG", "overflow"}, kKernelConfigCause, kKernelConfigFix},
    {"kernel-config-overflow", {"KERNEL_CONFIG", "exceeds"}, kKernelConfigCause, kKernelConfigFix},
    {"kernel-config-overflow", {"KERNEL_CONFIG", "full"}, kKernelConfigCause, kKernelConfigFix},
    // tt-train, profiler guide
    {"profiler-unavailable",
     {"Profiler unavailable", ""},
     "this build has no profiler: it was built outside of tt-metal's tree, or without Tracy",
     "build tt-metal with ./build_metal.sh (Tracy is its default since 2025; before: --enable-profiler), and "
     "the program against it"},
    // tt-metal llrt/rtoptions.cpp
    {"profiler-and-print",
     {"Cannot enable both debug printing and profiling", ""},
     "debug print and the profiler use the same memory and exclude each other",
     "start it without TT_METAL_DPRINT_CORES, or with ttcollect run --no-device"},
    // tt-blacksmith, performance guide
    {"tracy-package",
     {"ImportError", "setup_tt_metal_home"},
     "the package `tracy` and the package `ttnn` are of different tt-metal versions, or another `tracy` "
     "comes first in PYTHONPATH",
     "python3 -c 'import tracy; print(tracy.__file__)' shows which one is loaded; PYTHONPATH must begin with "
     "this tt-metal's tools"},
};

}  // namespace

std::span<const KnownError> known_errors() {
  return kKnownErrors;
}

const KnownError* known_error(std::string_view line) {
  const auto* const it =
      std::find_if(std::begin(kKnownErrors), std::end(kKnownErrors), [&](const KnownError& e) {
        return std::all_of(std::begin(e.all_of), std::end(e.all_of),
                           [&](std::string_view part) { return line.find(part) != std::string_view::npos; });
      });
  return it == std::end(kKnownErrors) ? nullptr : it;
}

}  // namespace ttc::collect
