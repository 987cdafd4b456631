#include "tools/report/zones/zone_pairs.hpp"

#include <algorithm>

namespace ttc::report {

void ZonePairs::found(const Unpaired& unpaired) {
  if (inside_.size() == most_) explain();
  if (inside_.size() == most_)
    ++beyond_;
  else
    inside_.push_back(unpaired);
}

void ZonePairs::events(const LaneEvents& batch) {
  lanes_.events(batch, found_);
  for (const Unpaired& unpaired : found_) found(unpaired);
  found_.clear();
}

void ZonePairs::lost(const LostInterval& interval) {
  losses_[lane_key(interval.chip, interval.lane)].emplace_back(interval.from, interval.to);
  explained_ = 0;
}

// Intervals of a lane in order and apart from each other.
void ZonePairs::join_losses() {
  for (auto& [lane, all] : losses_) {
    std::sort(all.begin(), all.end());
    size_t last = 0;
    for (size_t i = 1; i < all.size(); ++i)
      if (all[i].first <= all[last].second)
        all[last].second = std::max(all[last].second, all[i].second);
      else
        all[++last] = all[i];
    all.resize(last + 1);
  }
}

void ZonePairs::explain() {
  if (explained_ == inside_.size()) return;
  join_losses();
  const size_t before = inside_.size();
  std::erase_if(inside_, [&](const Unpaired& u) {
    const auto of = losses_.find(lane_key(u.chip, u.lane));
    if (of == losses_.end()) return false;
    const auto at = std::partition_point(of->second.begin(), of->second.end(),
                                         [&](const auto& loss) { return loss.second <= u.from; });
    return at != of->second.end() && at->first < u.to;
  });
  beside_losses_ += before - inside_.size();
  explained_ = inside_.size();
}

void ZonePairs::end() {
  lanes_.end(found_);
  const auto by_time = [](const Unpaired& a, const Unpaired& b) {
    return std::tuple(a.to, lane_key(a.chip, a.lane), a.from, a.zone, a.start) <
           std::tuple(b.to, lane_key(b.chip, b.lane), b.from, b.zone, b.start);
  };
  // Of what is beyond the limit only the number is known: it must not depend on the order of lanes.
  std::sort(found_.begin(), found_.end(), by_time);
  for (const Unpaired& unpaired : found_) found(unpaired);
  found_.clear();
  explain();
  std::sort(inside_.begin(), inside_.end(), by_time);
}

}  // namespace ttc::report
