#include "tools/emulation/profiler_state.hpp"

#include <chrono>
#include <thread>

namespace ttc::emulation {
namespace {

constexpr uint32_t kUnknownWord = 0x5a5a5a5a;
constexpr uint32_t kStalled = 0xffffffff;
// Discovery reads some 4 KiB of every core. Twice that: whatever else an observer reads first, one poll has
// been in vain from the first core to the last.
constexpr uint64_t kLinesOfTwoPolls = 2 * 70;

void fill(World& world, const WorldCore& core, uint32_t value) {
  for (uint32_t w = 0; w < world.format().control_words; ++w)
    world.card().store(core.at, core.control_address + 4 * w, value);
}

// Rings in use: tails that moved, armed, and the core's own place (tt-metal STREAMING_PROFILER.md).
void show_streaming(World& world, const WorldCore& core) {
  constexpr uint32_t kWords = 64, kTails = 24, kArmed = 48, kCoreXy = 49;
  const auto store = [&](uint32_t word, uint32_t value) {
    world.card().store(core.at, core.control_address + 4 * word, value);
  };
  for (uint32_t w = 0; w < kWords; ++w) store(w, 0);
  store(kTails, 40);
  store(kArmed, 1);
  store(kCoreXy, uint32_t{core.at.y} << 16 | core.at.x);
}

}  // namespace

void show_profiler_state(World& world, const std::string& state) {
  const device::Format& f = world.format();
  for (const WorldCore& core : world.cores()) {
    if (state == "off" || state == "late" || state == "not-built") fill(world, core, 0);
    if (state == "streaming") show_streaming(world, core);
    if (state == "debug-dump")
      world.card().store(core.at, core.control_address + 4u * f.risc_dram_address, kStalled);
    if (state == "unknown") {
      fill(world, core, kUnknownWord);
      world.card().store(core.at, core.control_address - 16, kUnknownWord);  // where the magic word was
    }
  }
}

void await_profiler(World& world, const std::string& state, const std::atomic<bool>& stop) {
  if (state == "on" || state == "not-built") return;
  const uint64_t looked_in_vain = kLinesOfTwoPolls * world.cores().size();
  while (!stop && !world.card().lost() &&
         (state != "late" || world.card().account().round_trips < looked_in_vain))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // observers set the pace
  if (state != "late") return;
  for (const WorldCore& core : world.cores()) world.write_initial_vector(core);
}

}  // namespace ttc::emulation
