// Any bytes as a device log to replay: frames of any rows fit a buffer, and every row is played, repeated or
// left out.
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

#include "tools/replay/replay_plan.hpp"

using namespace ttc;

namespace {

void plan_all(const std::string& text) {
  std::istringstream in(text);
  const emulation::ReplayPlan plan = emulation::plan_replay(in, "fuzz", {});
  uint64_t played = 0;
  for (const emulation::ReplayLaunch& l : plan.launches) {
    played += l.rows;
    if (l.begin > l.end || l.lanes.empty()) std::abort();
    for (const emulation::ReplayLane& lane : l.lanes)
      for (const emulation::ReplayFrame& f : lane.frames)
        if (f.words() > device::kBufferWords || f.words() % 4) std::abort();
  }
  if (played + plan.account.unplayed_rows() + plan.account.repeated != plan.account.rows) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    plan_all(std::string(reinterpret_cast<const char*>(data), size));
  } catch (const tools::DeviceLogError&) {
  }
  return 0;
}
