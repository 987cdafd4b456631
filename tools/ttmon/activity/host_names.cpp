#include "tools/ttmon/activity/host_names.hpp"

#include <cstring>

namespace ttc::tools {

bool is_host_side(const shm::SegmentInfo& segment) {
  return segment.device_spec == "host";
}

void LiveOpNames::attach_new() {
  for (const shm::SegmentInfo& s : shm::list_segments()) {
    if (!s.refused.empty() || !is_host_side(s) || readers_.contains(s.session)) continue;
    try {
      readers_.emplace(s.session, shm::Reader(s.live_name, shm::StartAt::oldest));
    } catch (const shm::SegmentError&) {
      continue;  // it went away after it was listed
    }
  }
}

void LiveOpNames::look(uint64_t budget_bytes) {
  attach_new();
  for (auto& [session, reader] : readers_) {
    const uint64_t tail = reader.tail();
    const bool fresh = seen_.insert(session).second;
    if (!fresh && tail - reader.position() > budget_bytes) reader.skip_to(tail - budget_bytes);
    for (;;) {
      const shm::Reader::Next next = reader.next(chunk_, 0);
      if (next == shm::Reader::Next::lapped) continue;
      if (next != shm::Reader::Next::chunk) break;
      tracks_.push(chunk_);
      tracks_.release(nowhere_, true);
    }
  }
}

}  // namespace ttc::tools
