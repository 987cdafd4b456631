// The zones of the programs that took longest, up to a number: what a page can show of a run of any length.
#pragma once
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "tools/report/zones/zone_stats.hpp"

namespace ttc::report {

struct LaunchLess {
  bool operator()(const Launch& a, const Launch& b) const {
    return std::tie(a.chip, a.host_id, a.trace_id, a.trace_counter) <
           std::tie(b.chip, b.host_id, b.trace_id, b.trace_counter);
  }
};

class ZoneKeeper {
 public:
  explicit ZoneKeeper(size_t most) : most_(most) {}
  void add(const ZoneSpan& span);
  void end();  // down to the number
  const std::map<Launch, std::vector<ZoneSpan>, LaunchLess>& launches() const { return launches_; }
  size_t dropped_launches() const { return dropped_.size(); }
  size_t kept() const { return kept_; }

 private:
  void shrink(size_t to);

  size_t most_, kept_ = 0;
  std::map<Launch, std::vector<ZoneSpan>, LaunchLess> launches_;
  std::set<Launch, LaunchLess> dropped_;
};

}  // namespace ttc::report
