// sync_device_info.csv (tt-metal impl/profiler/tt_metal_profiler.cpp): what tt-metal's own host-device sync
// leaves behind, written from the clock model. A row is a final segment of the reference tile's clock: a pair
// of device cycles and host time, and the line through it.
//
// Host times are nanoseconds of CLOCK_MONOTONIC_RAW, `host_tracy` counted from `host_start`, so `tracy_ratio`
// is 1; device = delay + frequency * host_tracy near the row.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "tools/pipeline/format.hpp"

namespace ttc::tools {

class SyncInfo : public Format {
 public:
  SyncInfo(Output& out, const FormatOptions&) : out_(out) {}

  void begin(const Session&) override;
  void frame(const FrameEvents&) override {}
  void loss(const shm::LossRecord&) override {}
  void names_changed() override {}
  void clock(uint32_t chip, const collect::ClockMap& map) override;
  void end() override {}
  std::vector<std::string> remarks() const override;

 private:
  struct Device {
    collect::HostTime first = 0, written_until = 0;
  };
  Output& out_;
  bool head_written_ = false;
  size_t rows_ = 0;
  std::map<uint32_t, Device> devices_;  // by chip
};

}  // namespace ttc::tools
