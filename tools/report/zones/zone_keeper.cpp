#include "tools/report/zones/zone_keeper.hpp"

#include <algorithm>

namespace ttc::report {

void ZoneKeeper::add(const ZoneSpan& span) {
  if (span.launch.host_id == 0 || dropped_.contains(span.launch)) return;
  launches_[span.launch].push_back(span);
  if (++kept_ > 4 * most_) shrink(2 * most_);
}

void ZoneKeeper::end() {
  if (kept_ > most_) shrink(most_);
}

// Whole launches go, the shortest first.
void ZoneKeeper::shrink(size_t to) {
  std::vector<std::pair<uint64_t, Launch>> by_length;
  for (const auto& [launch, spans] : launches_) {
    uint64_t begin = ~0ull, end = 0;
    for (const ZoneSpan& s : spans) {
      begin = std::min(begin, s.begin);
      end = std::max(end, s.end);
    }
    by_length.emplace_back(end - begin, launch);
  }
  std::stable_sort(by_length.begin(), by_length.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [length, launch] : by_length) {
    if (kept_ <= to || launches_.size() == 1) return;
    kept_ -= launches_[launch].size();
    launches_.erase(launch);
    dropped_.insert(launch);
  }
}

}  // namespace ttc::report
