// Names of ops of live workloads, from the segments of their host side.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "shm/reader.hpp"
#include "tools/viewers/host/host_tracks.hpp"

namespace ttc::tools {

// A segment of a workload's host side, and of no card.
bool is_host_side(const shm::SegmentInfo& segment);

class LiveOpNames {
 public:
  // Reads what came since the last call, at most so many bytes of each segment, and attaches to what is new.
  void look(uint64_t budget_bytes);
  const OpNames& names() const { return tracks_.names(); }

 private:
  void attach_new();

  std::map<uint64_t, shm::Reader> readers_;  // by session
  std::vector<uint64_t> chunk_;
  HostTracks tracks_;
  HostWriter nowhere_;  // only names are wanted
};

}  // namespace ttc::tools
