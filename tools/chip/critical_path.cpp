#include <algorithm>

#include "tools/chip/machine.hpp"

namespace ttc::chip {

std::string_view to_string(Why why) {
  constexpr std::string_view kNames[] = {"begin",       "go",      "work",       "dram channel",
                                         "port of noc", "latency", "buffer",     "semaphore",
                                         "other riscs", "done",    "debug delay"};
  return kNames[static_cast<size_t>(why)];
}

std::vector<PathPart> critical_path(const Timeline& timeline) {
  std::vector<PathPart> path;
  for (uint32_t m = timeline.last; timeline.moments[m].cause != kNoCause; m = timeline.moments[m].cause) {
    const Moment& moment = timeline.moments[m];
    const Cycles begin = timeline.moments[moment.cause].at;
    PathPart* const next = path.empty() ? nullptr : &path.back();
    const bool same = next && next->core == moment.core && next->risc == moment.risc &&
                      next->why == moment.why && next->what == moment.what;
    if (same)
      next->begin = begin;
    else if (begin != moment.at)
      path.push_back({begin, moment.at, moment.core, moment.risc, moment.why, moment.what});
  }
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace ttc::chip
