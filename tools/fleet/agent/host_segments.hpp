// The workload's host side beside the cards that a collector reads (ttcollect run): segments of the same collector that are of no device.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "shm/reader.hpp"
#include "tools/fleet/rows/host_side.hpp"

namespace ttc::fleet {

class HostSegments {
 public:
  HostSegments(std::vector<std::string> live_names, HostSide& to)
      : live_names_(std::move(live_names)), to_(to) {}

  // Attaches to those that are there by now.
  void find();
  // Reads the chunks that have come since the last call.
  void read();

 private:
  const std::vector<std::string> live_names_;  // of cards
  HostSide& to_;
  std::map<uint64_t, shm::Reader> readers_;  // by session
  std::vector<uint64_t> chunk_;
};

}  // namespace ttc::fleet
