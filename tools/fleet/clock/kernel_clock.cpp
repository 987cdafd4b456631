#include "tools/fleet/clock/kernel_clock.hpp"

#include <sys/timex.h>
#include <xxhash.h>

#include <fstream>
#include <iterator>
#include <string>

#include "ttcollect/host_time.hpp"

namespace ttc::fleet {

KernelClock read_kernel_clock() {
  timex state{};
  if (adjtimex(&state) < 0) return {};
  KernelClock clock;
  // RAW is read on both sides, so that what lies between counts as error.
  const uint64_t before = collect::raw_now_ns(), utc = collect::host_clock_ns(CLOCK_REALTIME),
                 after = collect::raw_now_ns();
  const uint64_t middle = before + (after - before) / 2;
  clock.utc_minus_raw_ns = static_cast<int64_t>(utc - middle);
  constexpr uint64_t kNsPerUs = 1000;
  if (!(state.status & STA_UNSYNC) && state.maxerror >= 0)
    clock.bound_ns = static_cast<uint64_t>(state.maxerror) * kNsPerUs + (after - before);
  return clock;
}

uint64_t boot_number() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  const std::string id((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const uint64_t number = XXH64(id.data(), id.size(), 0);
  return number ? number : 1;
}

}  // namespace ttc::fleet
