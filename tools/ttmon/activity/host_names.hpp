// Names of ops of live workloads, from the segments of their host side.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "shm/reader.hpp"
#include "tools/viewers/host/host_tracks.hpp"

namespace ttc::tools {

// A segment of a workload's host side, and of no card.
bool is_host_side(const shm::SegmentInfo& segment);

class LiveOpNames {
 public:
  // Attaches to segments that are new, and reads what they hold. Of the others it reads what came since the last call, at most so
  // many bytes of each, the newest.
  void look(uint64_t budget_bytes);
  const OpNames& names() const { return tracks_.names(); }

 private:
  void attach_new();

  std::map<uint64_t, shm::Reader> readers_;  // by session
  std::set<uint64_t> seen_;                  // sessions that were read
  std::vector<uint64_t> chunk_;
  HostTracks tracks_;
  HostWriter nowhere_;  // discards rows: only names are used
};

}  // namespace ttc::tools
