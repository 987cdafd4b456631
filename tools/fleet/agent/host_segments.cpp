#include "tools/fleet/agent/host_segments.hpp"

#include <algorithm>
#include <set>

namespace ttc::fleet {

void HostSegments::find() {
  const auto of_a_card = [&](const shm::SegmentInfo& s) {
    return std::find(live_names_.begin(), live_names_.end(), s.live_name) != live_names_.end();
  };
  const std::vector<shm::SegmentInfo> segments = shm::list_segments();
  std::set<int64_t> collectors;
  for (const shm::SegmentInfo& s : segments)
    if (s.alive && of_a_card(s)) collectors.insert(s.writer_pid);
  for (const shm::SegmentInfo& s : segments) {
    if (!s.alive || !s.refused.empty() || of_a_card(s) || !collectors.contains(s.writer_pid) ||
        readers_.contains(s.session))
      continue;
    try {
      readers_.emplace(s.session, shm::Reader(s.live_name, shm::StartAt::oldest));
    } catch (const shm::SegmentError&) {
      continue;  // it went away after it was listed
    }
  }
}

void HostSegments::read() {
  for (auto it = readers_.begin(); it != readers_.end();) {
    bool over = false;
    for (const uint64_t until = it->second.tail(); !over && it->second.position() <= until;) {
      const shm::Reader::Next next = it->second.next(chunk_, 0);
      if (next == shm::Reader::Next::chunk) to_.take(chunk_);
      if (next == shm::Reader::Next::timeout) break;
      over = next != shm::Reader::Next::chunk && next != shm::Reader::Next::lapped;
    }
    it = over ? readers_.erase(it) : std::next(it);
  }
}

}  // namespace ttc::fleet
