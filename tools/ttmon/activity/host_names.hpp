// Names of ops of live workloads, from the segments of their host side.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <utility>
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
  // Names from the host side that belongs to a card: of the `ttcollect run` that started the card's collector, or of the process that
  // holds the card (0: not known). Null if there is none. Valid until the next look().
  const OpNames* of(int64_t collector_pid, uint64_t workload_pid) const;

 private:
  struct HostSide {
    explicit HostSide(shm::Reader of_segment) : reader(std::move(of_segment)) {}
    shm::Reader reader;
    bool read = false;
    std::set<uint64_t> processes;  // of the workload
    HostTracks tracks;
  };
  void attach_new();
  void read(HostSide& side);

  std::map<uint64_t, HostSide> sides_;  // by session
  std::vector<uint64_t> chunk_;
  HostWriter nowhere_;  // discards rows: only names are used
};

}  // namespace ttc::tools
