// ttcollect with the model of the kernel driver in place of Linux, for process tests. Not installed.
//
//   ttcollect_on_model CARD PID ASIC_ID MINOR NOTICE_DIRECTORY MEMORY -- ttcollect's arguments
//
// CARD is an emulated card; it appears as node 0 of a driver 2.MINOR. MEMORY:
// metal or simulator, whose numbering of Blackhole's channels. Lines on stdin happen to it: reset,
// post_reset, unplug, add CARD (another one takes its place), tell (whether anything is held, on stdout).
#include <fcntl.h>
#include <signal.h>

#include <atomic>
#include <cstdio>
#include <iostream>
#include <string>
#include <thread>

#include "driver_iface/model/driver_model.hpp"

int ttcollect_main(int argc, char** argv);  // collector/ttcollect/main.cpp

namespace {

using ttc::card::kmd::DriverModel;
using ttc::card::kmd::ModelNode;

std::atomic<int> workload{-1};

void put_in(DriverModel& model, ModelNode& node, const std::string& card, int pid) {
  node.card = card;
  model.add(node);
  workload = model.open_as(pid, "/dev/tenstorrent/0", O_RDWR | O_CLOEXEC);
}

void obey(DriverModel& model, ModelNode node) {
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "reset") model.reset(0);
    if (line == "post_reset") model.post_reset(0);
    if (line == "unplug") model.unplug(0);
    if (line.starts_with("add ")) {
      const size_t space = line.rfind(' ');
      put_in(model, node, line.substr(4, space - 4), std::stoi(line.substr(space + 1)));
    }
    if (line == "tell") {
      const auto s = model.state(0);
      std::printf("held: %zu windows, %zu descriptors, %zu mappings; %zu hazards\n", s.windows_taken.size(),
                  s.descriptors, s.mappings, s.hazards.size());
      std::fflush(stdout);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 8) return 2;
  static DriverModel model;
  ModelNode node;
  node.asic_id = argv[3];
  node.minor = static_cast<unsigned>(std::stoul(argv[4]));
  model.set_notice_directory(argv[5]);
  node.simulator_memory = std::string(argv[6]) == "simulator";
  put_in(model, node, argv[1], std::stoi(argv[2]));
  ttc::card::kmd::use_system(model);
  sigset_t all, before;  // signals are the collector's
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread(obey, std::ref(model), node).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  argv[7] = argv[0];
  const int code = ttcollect_main(argc - 7, argv + 7);
  model.close(workload);
  const auto s = model.state(0);
  std::fflush(stdout);
  if (!s.windows_taken.empty() || s.descriptors || s.mappings || !s.hazards.empty()) {
    std::fprintf(stderr,
                 "left with the driver: %zu windows, %zu descriptors, %zu mappings; hazards %zu, first: %s\n",
                 s.windows_taken.size(), s.descriptors, s.mappings, s.hazards.size(),
                 s.hazards.empty() ? "none" : s.hazards.front().c_str());
    std::_Exit(99);
  }
  std::_Exit(code);  // the thread above may still wait for a line
}
