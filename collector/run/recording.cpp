#include "collector/run/recording.hpp"

#include <filesystem>

#include "collector/capture/capture_file.hpp"

namespace ttc::collect {

std::shared_ptr<ChunkFeed> Recording::feed_of(const std::string& live_name, uint64_t session) {
  const std::lock_guard lock(mutex_);
  begin(session);
  auto feed = std::make_shared<ChunkFeed>();
  writer_->add(feed);
  sessions_.insert(session);
  live_names_.push_back(live_name);
  return feed;
}

void Recording::begin(uint64_t session) {
  if (writer_) return;
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::path(path_).parent_path();
  std::filesystem::create_directories(folder, error);
  if (error) throw CaptureError("folder " + folder.string() + " cannot be made: " + error.message());
  CaptureOptions options;
  options.path = path_;
  writer_ = std::make_unique<CaptureWriter>(options, session);
}

void Recording::add_locked(const std::string& live_name, uint64_t session) {
  begin(session);
  tracks_.push_back(&writer_->add(live_name));
  sessions_.insert(session);
  live_names_.push_back(live_name);
}

void Recording::ignore_present() {
  const std::lock_guard lock(mutex_);
  for (const shm::SegmentInfo& segment : shm::list_segments()) sessions_.insert(segment.session);
}

void Recording::remove_segments() const {
  for (const std::string& name : live_names_) shm::remove_segment(name);
}

size_t Recording::follow(pid_t writer) {
  const std::lock_guard lock(mutex_);
  for (const shm::SegmentInfo& segment : shm::list_segments()) {
    if (segment.writer_pid != writer || !segment.refused.empty() || sessions_.contains(segment.session))
      continue;
    try {
      add_locked(segment.live_name, segment.session);
      ++followed_;
    } catch (const shm::SegmentError&) {  // not complete yet: the next call finds it again
    }
  }
  return followed_;
}

std::string Recording::finish() {
  if (!writer_) return {};
  writer_->finish();
  std::string error = writer_->error();
  for (const CaptureWriter::Track* track : tracks_)
    if (error.empty()) error = track->error();
  return error;
}

uint64_t Recording::dropped_bytes() const {
  return writer_ ? writer_->dropped_bytes() : 0;
}

uint64_t Recording::lapped_bytes() const {
  uint64_t sum = 0;
  for (const CaptureWriter::Track* track : tracks_) sum += track->lapped_bytes();
  return sum;
}

}  // namespace ttc::collect
