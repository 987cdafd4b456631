#include "collector/selftest/host_watch.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "collector/continuity/timing.hpp"
#include "collector/host/cpu_set.hpp"
#include "ttcollect/host_time.hpp"

namespace ttc::collect::selftest {
namespace {

constexpr uint64_t kShortGapNs = 10'000, kLongGapNs = 100'000;
constexpr unsigned kSteal = 7;  // in the line of /proc/stat, from 0 (proc(5))

rusage usage() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return used;
}

}  // namespace

HostWatch::HostWatch() : begun_(cpu_times()) {
  const rusage used = usage();
  preempted_before_ = static_cast<uint64_t>(used.ru_nivcsw);
  waited_before_ = static_cast<uint64_t>(used.ru_nvcsw);
  figures_.cpus = static_cast<unsigned>(allowed_cpus().size());
}

std::optional<HostWatch::CpuTimes> HostWatch::cpu_times() {
  std::ifstream file("/proc/stat");
  std::string line, name;
  if (!std::getline(file, line)) return std::nullopt;
  std::istringstream words(line);
  words >> name;
  CpuTimes times;
  uint64_t value = 0;
  for (unsigned i = 0; i <= kSteal && words >> value; ++i) {
    times.all += value;
    if (i == kSteal) times.steal = value;
  }
  return times;
}

void HostWatch::watch_gaps(uint64_t for_ns) {
  const uint64_t begun = raw_now_ns();
  uint64_t earlier = begun;
  while (earlier - begun < for_ns) {
    const uint64_t now = raw_now_ns();
    const uint64_t gap = now - earlier;
    earlier = now;
    if (gap < kShortGapNs) continue;
    ++figures_.gaps_over_10us;
    figures_.gaps_over_100us += gap > kLongGapNs;
    figures_.gaps_over_deadline += gap > timing::kPollDeadlineNs;
    figures_.longest_gap_ns = std::max(figures_.longest_gap_ns, gap);
  }
  figures_.seconds += static_cast<double>(earlier - begun) / 1e9;
}

HostFigures HostWatch::finish() {
  const rusage used = usage();
  figures_.preempted = static_cast<uint64_t>(used.ru_nivcsw) - preempted_before_;
  figures_.waited = static_cast<uint64_t>(used.ru_nvcsw) - waited_before_;
  const auto now = cpu_times();
  if (begun_ && now && now->all > begun_->all)
    figures_.steal_percent =
        100.0 * static_cast<double>(now->steal - begun_->steal) / static_cast<double>(now->all - begun_->all);
  return figures_;
}

}  // namespace ttc::collect::selftest
