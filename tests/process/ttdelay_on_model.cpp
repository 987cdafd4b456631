// ttdelay with the model of the kernel driver in place of Linux, for process tests. Not installed.
//
//   ttdelay_on_model PREFIX ASIC_ID NOTICE_DIRECTORY -- ttdelay's arguments
//
// Node 0 of the driver is the latest emulated card whose name begins with PREFIX: each run of an experiment brings its own,
// and the one before goes when it appears, as a card does that is reset.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "driver_iface/card.hpp"
#include "driver_iface/model/driver_model.hpp"

int ttdelay_main(int argc, char** argv);  // tools/ttdelay/main.cpp

namespace {

using ttc::card::kmd::DriverModel;
using ttc::card::kmd::ModelNode;

constexpr auto kPoll = std::chrono::milliseconds(3);

void follow(DriverModel& model, ModelNode node, const std::string& prefix, const std::atomic<bool>& over) {
  std::set<std::string> seen;
  for (bool plugged = false; !over; std::this_thread::sleep_for(kPoll))
    for (const std::string& spec : ttc::card::present_cards()) {
      if (!spec.starts_with("emu:" + prefix) || seen.contains(spec)) continue;
      if (std::exchange(plugged, false)) model.unplug(0);
      node.card = spec.substr(4);
      try {
        model.add(node);
        plugged = seen.insert(spec).second;
      } catch (const ttc::card::OpenError&) {
        // It has gone meanwhile, or does not answer yet: then the next poll finds it again.
      }
    }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  static DriverModel model;
  ModelNode node;
  node.asic_id = argv[2];
  model.set_notice_directory(argv[3]);
  ttc::card::kmd::use_system(model);
  std::atomic<bool> over{false};
  std::thread follower(follow, std::ref(model), node, std::string(argv[1]), std::cref(over));
  argv[4] = argv[0];
  const int code = ttdelay_main(argc - 4, argv + 4);
  over = true;
  follower.join();
  const auto s = model.state(0);
  std::fflush(stdout);
  if (s.windows_taken.empty() && !s.descriptors && !s.mappings && s.hazards.empty()) std::_Exit(code);
  std::fprintf(stderr, "left with the driver: %zu windows, %zu descriptors, %zu mappings; hazards %zu\n",
               s.windows_taken.size(), s.descriptors, s.mappings, s.hazards.size());
  std::_Exit(99);
}
