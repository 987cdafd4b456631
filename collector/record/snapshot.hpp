// The last of what live collectors have in their rings, as a capture file, while they go on.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "ttcollect/host_time.hpp"

namespace ttc::collect {

struct SnapshotOptions {
  uint64_t last_bytes = ~uint64_t{0};  // of each ring; whole chunks
  uint64_t last_ns = ~uint64_t{0};     // of words: read within so long before the cut
  uint64_t at_ns = 0;                  // the instant of the cut, which is waited for; 0: now
  bool plain = false;
  bool redact = false;
  HostClock clock = raw_now_ns;  // of the cut, as chunks are dated
};

struct SnapshotResult {
  std::string path;
  uint64_t cut_ns = 0;    // between deciding and knowing where every ring is cut
  uint64_t total_ns = 0;  // until the file was complete
  uint64_t ring_bytes = 0, file_bytes = 0, chunks = 0, markers = 0;
  uint64_t lapped_bytes = 0;      // overwritten before they were read: the ring is too small for its rate
  std::vector<std::string> late;  // where no bound was given: sentences on what the rings held no more
};

// Takes a snapshot of collectors that are running or have left their rings. Throws shm::SegmentError, CaptureError.
SnapshotResult take_snapshot(const std::vector<std::string>& live_names, const std::string& path,
                             const SnapshotOptions& options);

}  // namespace ttc::collect
