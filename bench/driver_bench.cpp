// The cost of a sweep in the kernel driver: loads over the link and system calls, counted on the model of the
// driver (driver_iface/model), and what that makes of a sweep where a load takes 1 us. The model answers
// calls by moving mappings about, which the driver does not do: the drain's own work is measured on an
// emulated card instead, and what a call costs at least on the cheapest one there is. Of a sweep of the emulated card, what the
// same reads take without the drain is the card's share, and the rest the drain's own work.
#include <sys/ioctl.h>
#include <unistd.h>

#include <filesystem>
#include <numeric>

#include "bench/access_log.hpp"
#include "bench/emulated_rig.hpp"
#include "driver_iface/model/driver_model.hpp"

namespace {

using namespace ttc;
using namespace ttc::bench;
using card::kmd::Request;

// Counts calls of the driver.
class CountedDriver : public card::kmd::DriverModel {
 public:
  int ioctl(int fd, Request request, void* argument) override {
    (request == Request::configure_window ? configures : others) += 1;
    return DriverModel::ioctl(fd, request, argument);
  }
  void* map(int fd, uint64_t offset, size_t bytes, int& error) override {
    ++maps;
    return DriverModel::map(fd, offset, bytes, error);
  }

  uint64_t configures = 0, others = 0, maps = 0;
};

struct Cost {
  double loads = 0, configures = 0, others = 0;  // a sweep, on average
  double own_us = 0, card_us = 0;                // medians of sweeps
};

// The least a system call costs: the driver's own work, two or three posted register writes, comes on top.
double call_us() {
  int pipes[2];
  if (pipe(pipes) != 0) return 0;
  const int calls = once() ? 100 : 200'000;
  const uint64_t begin = now_ns();
  for (int i = 0, ready = 0; i < calls; ++i) ::ioctl(pipes[0], FIONREAD, &ready);
  const double us = static_cast<double>(now_ns() - begin) / 1e3 / calls;
  close(pipes[0]);
  close(pipes[1]);
  return us;
}

constexpr int kSweeps = 200;  // their launches fit into a log

// The first lap of ring and logs has a page fault for every 4 KiB, which is no work of a sweep.
void lap(Rig& rig) {
  for (int i = 0; i < (once() ? 3 : kSweeps); ++i) {
    rig.launch_all(4, false);
    rig.sweep_all();
  }
  rig.reset_all();
}

// Of an emulated card, which calls no driver. `log` is the rig's card.
Cost times_of(Rig& rig, AccessLog& log, bool busy) {
  Samples own, card;
  if (busy) lap(rig);
  for (int i = 0; i < (once() ? 3 : kSweeps); ++i) {
    if (busy) rig.launch_all(4, false);
    rig.move_to(rig.at_ns() + 1'000'000);
    log.begin();
    const uint64_t begin = now_ns();
    rig.sweep_now();
    const uint64_t whole = now_ns() - begin, again = log.repeat_ns();
    card.add(again);
    own.add(whole - std::min(whole, again));
  }
  return {.own_us = own.us(50), .card_us = card.us(50)};
}

Cost cost_of(Rig& rig, const CountedDriver& driver, bool busy) {
  const int sweeps = once() ? 3 : kSweeps;
  Cost sum;
  for (int i = 0; i < sweeps; ++i) {
    if (busy) rig.launch_all(4, false);
    const uint64_t loads = rig.observer->transactions().round_trips;
    const uint64_t configures = driver.configures, others = driver.others;
    rig.sweep_all();
    sum.loads += static_cast<double>(rig.observer->transactions().round_trips - loads) / sweeps;
    sum.configures += static_cast<double>(driver.configures - configures) / sweeps;
    sum.others += static_cast<double>(driver.others - others) / sweeps;
  }
  return sum;
}

void print_cost(const char* what, const Cost& c, size_t cores, double call) {
  const double link_us = c.loads, calls_us = (c.configures + c.others) * call;
  const double sweep_us = link_us + calls_us + c.own_us;
  result("  %s: %.1f loads and %.2f calls a core (%.2f re-aims; %.3f other calls a sweep)", what,
         c.loads / static_cast<double>(cores), (c.configures + c.others) / static_cast<double>(cores),
         c.configures / static_cast<double>(cores), c.others);
  result("    fastest sweep at 1 us a load: %.0f us, of it link %.0f, calls %.0f, own work %.1f; %.1f kHz",
         sweep_us, link_us, calls_us, c.own_us, 1e3 / sweep_us);
  result(
      "    own work is what a sweep takes beyond the same reads without the drain, %.1f us on the emulated "
      "card",
      c.card_us);
  result("    at 1 kHz: %.1f %% of a CPU where loads wait for the link, %.1f %% without them", sweep_us / 10,
         (calls_us + c.own_us) / 10);
}

void measure(const char* generation, const char* arch, const char* board) {
  RigOptions o;
  o.generation = generation;
  o.arch = arch;
  o.board = board;
  o.cores = 64;
  o.simulated = true;
  o.ring_bytes = size_t{8} << 20;
  Cost times[2];
  {
    RigOptions logged = o;
    AccessLog* log = nullptr;
    logged.open = [&](const std::string& name) {
      auto card = std::make_unique<AccessLog>(card::open_card("emu:" + name));
      log = card.get();
      return card;
    };
    Rig emulated(logged);
    emulated.warm_up(4, false);
    for (const bool busy : {false, true}) times[busy] = times_of(emulated, *log, busy);
  }
  CountedDriver driver;
  const std::string notices =
      std::filesystem::temp_directory_path() / ("ttc-driver-bench-" + std::to_string(getpid()));
  driver.set_notice_directory(notices);
  card::kmd::use_system(driver);
  {
    o.open = [&](const std::string& name) {
      card::kmd::ModelNode node;
      node.card = name;
      driver.add(node);
      return card::open_card("0");
    };
    Rig rig(o);
    rig.warm_up(4, false);
    const double call = call_us();
    result("%s, %s, %zu cores; a call costs at least %.3f us here; %llu mappings in all", generation, board,
           rig.cores.size(), call, static_cast<unsigned long long>(driver.maps));
    for (const bool busy : {false, true}) {
      Cost cost = cost_of(rig, driver, busy);
      cost.own_us = times[busy].own_us, cost.card_us = times[busy].card_us;
      print_cost(busy ? "busy, 4 zones a RISC" : "idle", cost, rig.cores.size(), call);
    }
    rig.observer.reset();
  }
  card::kmd::use_system(card::kmd::linux_system());
  rmdir(notices.c_str());
}

}  // namespace

int main() {
  print_machine("driver_bench");
  measure("G3", "wormhole_b0", "n150");
  measure("G4", "wormhole_b0", "n150");
  measure("G4", "blackhole", "p150");
}
