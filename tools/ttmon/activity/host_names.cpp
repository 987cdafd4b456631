#include "tools/ttmon/activity/host_names.hpp"

#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "ttcollect/host_events.hpp"

namespace ttc::tools {
namespace {

// 0 if the process is not there.
int64_t parent_of(int64_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  const size_t name_end = text.rfind(')');  // the name may hold any byte
  if (name_end == std::string::npos) return 0;
  std::istringstream rest(text.substr(name_end + 1));
  char state = 0;
  int64_t parent = 0;
  return rest >> state >> parent ? parent : 0;
}

}  // namespace

bool is_host_side(const shm::SegmentInfo& segment) {
  return segment.device_spec == "host";
}

void LiveOpNames::attach_new() {
  for (const shm::SegmentInfo& s : shm::list_segments()) {
    if (!s.refused.empty() || !is_host_side(s) || sides_.contains(s.session)) continue;
    try {
      sides_.emplace(s.session, shm::Reader(s.live_name, shm::StartAt::oldest));
    } catch (const shm::SegmentError&) {
      continue;  // it went away after it was listed
    }
  }
}

void LiveOpNames::read(HostSide& side) {
  for (;;) {
    const shm::Reader::Next next = side.reader.next(chunk_, 0);
    if (next == shm::Reader::Next::lapped) continue;
    if (next != shm::Reader::Next::chunk) return;
    const shm::ChunkKind kind = shm::header_of(chunk_).kind;
    const auto body = shm::body_of(chunk_);
    if ((kind == shm::ChunkKind::host_events || kind == shm::ChunkKind::host_names) &&
        body.size() >= sizeof(collect::HostChunkHead)) {
      collect::HostChunkHead head;
      std::memcpy(&head, body.data(), sizeof head);
      side.processes.insert(head.pid);
    }
    side.tracks.push(chunk_);
    side.tracks.release(nowhere_, true);
  }
}

void LiveOpNames::look(uint64_t budget_bytes) {
  attach_new();
  for (auto& [session, side] : sides_) {
    const uint64_t tail = side.reader.tail();
    const bool again = std::exchange(side.read, true);
    if (again && tail - side.reader.position() > budget_bytes) side.reader.skip_to(tail - budget_bytes);
    read(side);
  }
}

const OpNames* LiveOpNames::of(int64_t collector_pid, uint64_t workload_pid) const {
  const int64_t run = parent_of(collector_pid);
  for (const auto& [session, side] : sides_) {
    const int64_t writer = side.reader.info().writer_pid;
    const bool of_run = writer == collector_pid || (run && writer == run);
    if (of_run || (workload_pid && side.processes.contains(workload_pid))) return &side.tracks.names();
  }
  return nullptr;
}

}  // namespace ttc::tools
