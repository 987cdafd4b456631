#include "collector/continuity/host_resets.hpp"

#include <algorithm>

#include "collector/continuity/timing.hpp"

namespace ttc::collect {

void HostResets::noticed(uint64_t after_ns) {
  // A core that launches again after the results read that is counted does so kPollDeadlineNs later at the earliest.
  constexpr uint64_t kSameWithinNs = timing::kPollDeadlineNs - timing::kResultsReadSpreadNs;
  if (counted_ != 0 && after_ns < after_ns_ + kSameWithinNs) return;
  ++counted_;
  after_ns_ = after_ns;
}

void HostResets::polled(uint64_t begun_ns, bool each_shows) {
  uint64_t& until = each_shows ? watched_ns_ : uncounted_ns_;
  until = std::max(until, begun_ns);
}

std::optional<uint64_t> HostResets::since(const Mark& mark, uint64_t now_ns) const {
  const bool watched = now_ns <= watched_ns_ + timing::kPollDeadlineNs;
  if (!watched || uncounted_ns_ > mark.ns) return std::nullopt;
  return counted_ - mark.counted;
}

}  // namespace ttc::collect
