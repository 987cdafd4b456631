#include "collector/capture_writer.hpp"

#include <algorithm>

#include "collector/capture_format.hpp"
#include "collector/host_time.hpp"

namespace ttc::collect {
namespace {

constexpr unsigned kChunksATurn = 256;           // then the next segment has its turn
constexpr unsigned kWaitAloneMs = 20;            // on the only segment: until it wakes its readers
constexpr unsigned kWaitAmongMs = 2;             // on one of several: the others' rings fill meanwhile
constexpr uint64_t kFlushAfterNs = 200'000'000;  // quiet: let the disk have what there is

}  // namespace

CaptureWriter::CaptureWriter(const std::string& path, uint64_t session, bool plain)
    : sink_(open_file_sink(path, plain)) {
  CaptureHeader header;
  header.session = session;
  sink_->append(std::as_bytes(std::span(&header, 1)));
  thread_ = std::thread([this] { run(); });
}

CaptureWriter::~CaptureWriter() {
  finish();
}

const CaptureWriter::Track& CaptureWriter::add(const std::string& live_name) {
  std::unique_ptr<Track> track(new Track(live_name));  // its constructor is ours alone
  const std::lock_guard lock(mutex_);
  tracks_.push_back(std::move(track));
  changed_.notify_one();
  return *tracks_.back();
}

void CaptureWriter::run() {
  uint64_t news_ns = monotonic_now_ns();
  for (size_t turn = 0; refresh_active(); ++turn) {
    bool news = false;
    for (Track* track : active_) news |= take(*track, 0);
    const unsigned patience = active_.size() == 1 ? kWaitAloneMs : kWaitAmongMs;
    if (!news) news = take(*active_[turn % active_.size()], patience);
    const uint64_t now = monotonic_now_ns();
    if (news) {
      news_ns = now;
    } else if (now - news_ns >= kFlushAfterNs) {
      sink_->flush();
      news_ns = now;
    }
  }
}

// False when every segment ended and none will be added. Sleeps while there is none to follow.
bool CaptureWriter::refresh_active() {
  std::unique_lock lock(mutex_);
  const auto gather = [this] {
    active_.clear();
    for (const auto& track : tracks_)
      if (!track->over_) active_.push_back(track.get());
    return !active_.empty();
  };
  changed_.wait(lock, [&] { return gather() || finishing_; });
  return !active_.empty();
}

// True when anything was written.
bool CaptureWriter::take(Track& track, unsigned wait_ms) {
  for (unsigned taken = 0; taken < kChunksATurn && !track.over_; ++taken) {
    switch (track.reader_.next(chunk_, taken ? 0 : wait_ms)) {
      case shm::Reader::Next::chunk:
        sink_->append(std::as_bytes(std::span(chunk_)));
        track.bytes_.fetch_add(chunk_.size() * 8, std::memory_order_relaxed);
        break;
      case shm::Reader::Next::lapped:
        track.lapped_.store(track.reader_.lost_bytes(), std::memory_order_relaxed);
        break;
      case shm::Reader::Next::timeout:
        return taken > 0;
      case shm::Reader::Next::damaged:
        track.error_ = "the ring is damaged: " + track.reader_.damage();
        track.over_ = true;
        break;
      case shm::Reader::Next::ended:
      case shm::Reader::Next::writer_died:
        track.over_ = true;
        break;
    }
  }
  return true;
}

void CaptureWriter::finish() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    finishing_ = true;
    changed_.notify_one();
  }
  thread_.join();
  sink_->flush();
  error_ = sink_->error();
}

}  // namespace ttc::collect
