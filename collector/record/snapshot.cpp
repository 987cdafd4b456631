#include "collector/record/snapshot.hpp"

#include <chrono>
#include <memory>
#include <thread>

#include "collector/record/capture_copy.hpp"
#include "shm/reader.hpp"
#include "ttcollect/late_reader.hpp"

namespace ttc::collect {
namespace {

struct Stretch {
  explicit Stretch(const std::string& name) : reader(name, shm::StartAt::oldest) {}
  shm::Reader reader;
  uint64_t end = 0;  // position
};

// Sleeps in steps until the clock, which has no wake-up, has passed the instant.
void wait_for(uint64_t at_ns, const HostClock& clock) {
  for (uint64_t now = clock(); now <= at_ns; now = clock())
    std::this_thread::sleep_for(std::chrono::nanoseconds(at_ns - now + 1));
}

bool is_read_after(const std::vector<uint64_t>& chunk, uint64_t at_ns) {
  const shm::ChunkHeader& h = shm::header_of(chunk);
  return at_ns && h.kind == shm::ChunkKind::device_words && h.read_time_ns > at_ns;
}

bool wanted(const std::vector<uint64_t>& chunk, uint64_t from_ns) {
  const shm::ChunkHeader& h = shm::header_of(chunk);
  return h.kind != shm::ChunkKind::device_words || h.read_time_ns >= from_ns;
}

// Copies up to the first words that were read after the cut.
void copy(Stretch& s, uint64_t from_ns, uint64_t at_ns, CaptureCopy& to) {
  std::vector<uint64_t> chunk;
  while (s.reader.position() < s.end) {
    const shm::Reader::Next next = s.reader.next(chunk, 0);
    if (next == shm::Reader::Next::lapped) continue;  // counted by the reader
    if (next != shm::Reader::Next::chunk) return;
    if (is_read_after(chunk, at_ns)) return;
    if (wanted(chunk, from_ns)) to.add(chunk);
  }
}

}  // namespace

SnapshotResult take_snapshot(const std::vector<std::string>& live_names, const std::string& path,
                             const SnapshotOptions& options) {
  std::vector<std::unique_ptr<Stretch>> stretches;
  stretches.reserve(live_names.size());
  for (const std::string& name : live_names) stretches.push_back(std::make_unique<Stretch>(name));
  SnapshotResult r;
  r.path = path;
  if (options.at_ns) wait_for(options.at_ns, options.clock);
  const uint64_t began = monotonic_now_ns();
  for (const auto& s : stretches) s->end = s->reader.tail();
  const uint64_t cut_raw = options.at_ns ? options.at_ns : options.clock();
  r.cut_ns = monotonic_now_ns() - began;
  const uint64_t from_ns = before(cut_raw, options.last_ns);
  CaptureCopy to(path, stretches.front()->reader.info().session, shm::LossCause::reader_lapped,
                 [plain = options.plain](const std::string& name) { return open_capture_disk(name, plain); });
  if (options.redact) to.redact();
  for (const auto& s : stretches) {
    if (s->end > options.last_bytes) s->reader.skip_to(s->end - options.last_bytes);
    const uint64_t from = s->reader.position();
    copy(*s, from_ns, options.at_ns, to);
    r.ring_bytes += s->reader.position() - from;
    r.lapped_bytes += s->reader.lost_bytes();
    if (options.last_bytes != ~uint64_t{0} || options.last_ns != ~uint64_t{0}) continue;
    if (std::string late = late_reader(s->reader); !late.empty()) r.late.push_back(std::move(late));
  }
  to.finish();
  r.total_ns = monotonic_now_ns() - began;
  r.file_bytes = to.bytes();
  r.chunks = to.chunks();
  r.markers = to.markers();
  return r;
}

}  // namespace ttc::collect
