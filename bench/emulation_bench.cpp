// How many launches of a core the emulated chip makes a second of one CPU's time: the simulation alone, and with the firmware that
// writes its markers into the card's memory. 140 cores of a Blackhole in virtual time; no collector is attached.
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>

#include "bench/machine.hpp"
#include "driver_iface/emulated_card.hpp"
#include "firmware_markers/layout.hpp"
#include "tools/emulation/chip_player.hpp"

namespace {

using namespace ttc;
using namespace ttc::bench;

constexpr unsigned kCores = 140;

chip::Shape whole_grid() {
  std::vector<chip::Place> places;
  for (uint8_t y = 0; y < 10; ++y)
    for (uint8_t x = 0; x < 14; ++x)
      places.push_back({static_cast<uint8_t>(x + 1), static_cast<uint8_t>(y + 2)});
  chip::Shape shape = chip::blackhole_shape(std::move(places));
  shape.columns = 14;
  return shape;
}

// Ops of two blocks a core, and the built-in workloads.
chip::ChipWorkload workload_of(const std::string& name) {
  if (name == "small ops") return chip::read_workload("[[op]]\nblocks = 2\ntiles = 2\nhost_us = 1\n", name);
  return chip::read_workload(chip::builtin_workload(name), name);
}

double a_second(uint64_t count, uint64_t ns) {
  return static_cast<double>(count) / static_cast<double>(ns) * 1e9;
}

void measure(const std::string& name) {
  const uint64_t programs = once() ? 2 : 100;
  chip::Schedule schedule(whole_grid(), workload_of(name), {}, 1, 1'350'000'000);
  uint64_t begun = thread_cpu_ns();
  for (uint64_t i = 0; i < programs; ++i) schedule.next();
  const double simulated = a_second(kCores * programs, thread_cpu_ns() - begun);

  card::EmulatedCardOptions options;
  options.name = "bench-" + std::to_string(getpid());
  options.arch = "blackhole";
  options.board = "p150";
  options.unharvested = true;
  options.virtual_time = true;
  card::EmulatedCard card(options);
  emulation::WorldOptions world_options;
  world_options.layout = markers::layout_by_name("G4");
  world_options.virtual_time = true;
  emulation::TruthLog truth("");
  emulation::World world(card, world_options, truth);
  const emulation::ZoneCatalog zones(12);
  emulation::ZoneLog log("");
  emulation::WorkloadOptions work;
  work.cores = kCores;
  work.programs = programs;
  work.chip = std::make_shared<const chip::ChipWorkload>(workload_of(name));
  const std::atomic<bool> stop{false};
  emulation::ChipPlayer player(world, zones, log, work, {});
  begun = thread_cpu_ns();
  player.run(stop);
  const uint64_t took = thread_cpu_ns() - begun;
  const double launches = a_second(kCores * programs, took);
  result(
      "%-10s %6.1f markers a launch; simulated %8.0f launches/s; emulated %7.0f launches/s %s, %5.2f M "
      "markers/s",
      name.c_str(), static_cast<double>(truth.count()) / static_cast<double>(kCores * programs), simulated,
      launches, judged(launches, ">=", 10'000).c_str(), a_second(truth.count(), took) / 1e6);
}

}  // namespace

int main() {
  print_machine("emulation_bench");
  for (const char* name : {"small ops", "imbalanced", "allreduce", "matmul", "pipeline"}) measure(name);
}
