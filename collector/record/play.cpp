#include "collector/record/play.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "collector/program/json_text.hpp"
#include "shm/segment.hpp"
#include "ttcollect/capture_reader.hpp"
#include "ttcollect/host_time.hpp"
#include "ttcollect/workers.hpp"

namespace ttc::collect {
namespace {

using Clock = std::chrono::steady_clock;
using shm::ChunkKind;

constexpr uint64_t kWakeEveryNs = 1'000'000;
constexpr std::chrono::milliseconds kLongestSleep{50};  // between two questions whether to stop

bool stands(const shm::ChunkHeader& h) {
  return h.kind == ChunkKind::session || h.kind == ChunkKind::names || h.kind == ChunkKind::clock_domains;
}

std::string device_in(std::span<const uint64_t> chunk) {
  const auto body = shm::body_of(chunk);
  const auto j = program::json_value({body.data(), body.size()});
  return j.is_object() && j.contains("device") && j["device"].is_string() ? j["device"].get<std::string>()
                                                                          : "";
}

// Letters that a segment's name may have.
std::string as_live_name(const std::string& prefix, const std::string& device, uint64_t session) {
  std::string name = prefix + (device.empty() ? std::to_string(session) : device);
  for (char& c : name)
    if (c == ':' || c == '/') c = '-';
  return name.substr(0, 60);
}

class Player {
 public:
  Player(const PlayOptions& options, const std::function<void(const std::string&)>& opened)
      : options_(options), opened_(opened) {}

  PlayResult play(const std::string& path) {
    jobs::Workers workers(2);
    CaptureReader reader(path, {}, &workers);
    const auto began = Clock::now();
    for (std::vector<uint64_t> chunk; reader.next(chunk);) {
      if (!wait_for(shm::header_of(chunk))) break;
      publish(chunk);
    }
    for (auto& [session, segment] : segments_) segment->end();
    result_.seconds = std::chrono::duration<double>(Clock::now() - began).count();
    result_.damage = reader.damage();
    return result_;
  }

 private:
  // Waits until it is this chunk's time. False: it is to stop.
  bool wait_for(const shm::ChunkHeader& h) {
    const auto asked = [this] { return options_.stop && options_.stop(); };
    if (options_.speed <= 0 || h.kind != ChunkKind::device_words) return !asked();
    if (first_ns_ == 0) first_ns_ = h.read_time_ns, first_at_ = Clock::now();
    const double passed = static_cast<double>(h.read_time_ns - std::min(first_ns_, h.read_time_ns));
    const auto due = first_at_ + std::chrono::nanoseconds(static_cast<int64_t>(passed / options_.speed));
    while (!asked()) {
      const auto now = Clock::now();
      if (now >= due) return true;
      wake_all();
      std::this_thread::sleep_for(
          std::min<Clock::duration>(due - now, kLongestSleep));  // the capture's own pace
    }
    return false;
  }

  shm::SegmentWriter& segment_of(std::span<const uint64_t> chunk) {
    const shm::ChunkHeader& h = shm::header_of(chunk);
    auto& segment = segments_[h.session];
    if (segment) return *segment;
    const std::string device = h.kind == ChunkKind::session ? device_in(chunk) : "";
    std::string name = as_live_name(options_.prefix, device, h.session);
    if (std::find(result_.live_names.begin(), result_.live_names.end(), name) != result_.live_names.end())
      name = as_live_name(options_.prefix, "", h.session);  // a file of two runs of one device
    shm::SegmentOptions o;
    o.ring_bytes = options_.ring_bytes;
    segment = std::make_unique<shm::SegmentWriter>(name, device, h.session, o);
    result_.live_names.push_back(name);
    segment->heartbeat(monotonic_now_ns());
    opened_(name);
    return *segment;
  }

  void publish(std::span<const uint64_t> chunk) {
    const shm::ChunkHeader& h = shm::header_of(chunk);
    shm::SegmentWriter& segment = segment_of(chunk);
    if (h.kind == ChunkKind::loss) report_late_readers(segment, chunk);
    if (stands(h)) {
      const auto body = shm::body_of(chunk);
      segment.add_standing(h.kind, {body.data(), body.size()});
    } else {
      uint64_t* at = segment.ring().claim(h.bytes);
      if (!at) {
        ++result_.skipped_chunks;
        return;
      }
      for (size_t i = 0; i < chunk.size(); ++i) shm::store_word(at + i, chunk[i]);
      segment.ring().publish(h.bytes);
      segment.add(shm::Counter::chunks, 1);
      segment.add(shm::Counter::chunk_bytes, h.bytes);
    }
    ++result_.chunks;
    result_.bytes += h.bytes;
    if (const uint64_t now = monotonic_now_ns(); now - woken_ns_ >= kWakeEveryNs) {
      wake_all();
      woken_ns_ = now;
    }
  }

  void report_late_readers(shm::SegmentWriter& segment, std::span<const uint64_t> chunk) {
    shm::LossRecord record;
    std::memcpy(static_cast<void*>(&record), shm::body_of(chunk).data(), sizeof record);
    if (!segment.report_loss(record)) ++result_.untold_losses;
  }

  void wake_all() {
    for (auto& [session, segment] : segments_) {
      segment->heartbeat(monotonic_now_ns());
      segment->wake_readers();
    }
  }

  const PlayOptions& options_;
  const std::function<void(const std::string&)>& opened_;
  std::map<uint64_t, std::unique_ptr<shm::SegmentWriter>> segments_;
  uint64_t first_ns_ = 0, woken_ns_ = 0;
  Clock::time_point first_at_;
  PlayResult result_;
};

}  // namespace

PlayResult play(const std::string& path, const PlayOptions& options,
                const std::function<void(const std::string&)>& opened) {
  return Player(options, opened).play(path);
}

}  // namespace ttc::collect
