// What programs take of frames, found by the thread that decoded them, for a format that wants nothing else of a frame with host times.
#pragma once
#include <vector>

#include "tools/viewers/zones/launch_ends.hpp"

namespace ttc::tools {

class FoundLaunches : public FrameWork {
 public:
  struct Frame {
    LaunchEnds launch;
    uint64_t last_ns = 0;
  };
  void begin(unsigned) override { count_ = 0; }
  bool frame(const FrameEvents& f) override {
    if (count_ == frames_.size()) frames_.emplace_back();
    Frame& found = frames_[count_++];
    if (f.host_times.empty()) return false;
    const HostNs ns{f.host_times};
    found.launch.set(f, ns);
    found.last_ns = ns[f.markers.size() - 1];
    return true;
  }
  bool is_small() const override { return true; }
  const Frame& of(uint32_t number) const { return frames_[number]; }

 private:
  struct HostNs {
    std::span<const MarkerHostTime> times;
    uint64_t operator[](size_t marker) const { return times[marker].at / collect::kHostTicksPerNs; }
  };
  std::vector<Frame> frames_;  // by number; of them `count_`
  size_t count_ = 0;
};

}  // namespace ttc::tools
