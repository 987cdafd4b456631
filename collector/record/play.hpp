// A capture back into live rings, one for each device it holds, so that readers and monitors can be tried on
// it: the same chunks, at the pace at which they were read or as fast as it goes.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ttc::collect {

struct PlayOptions {
  double speed = 1;              // times the original pace; 0: as fast as it goes
  std::string prefix = "play-";  // of the live names, before the device's
  uint64_t ring_bytes = 32u << 20;
  std::function<bool()> stop;  // called between chunks; true: stop
};

struct PlayResult {
  std::vector<std::string> live_names;
  uint64_t chunks = 0, bytes = 0, skipped_chunks = 0;  // skipped: larger than the ring takes
  uint64_t untold_losses = 0;  // more intervals than a segment keeps for readers that come late
  double seconds = 0;
  std::string damage;
};

// `opened` is called once for each ring, before anything is in it but its session. Throws CaptureError,
// shm::SegmentError.
PlayResult play(const std::string& path, const PlayOptions& options,
                const std::function<void(const std::string& live_name)>& opened);

}  // namespace ttc::collect
