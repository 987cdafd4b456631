#include "collector/run/recording.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>

#include "collector/capture/capture_file.hpp"

namespace ttc::collect {
namespace {

int64_t ns_of(const timespec& time) {
  constexpr int64_t kNsPerSecond = 1'000'000'000;
  return time.tv_sec * kNsPerSecond + time.tv_nsec;
}

}  // namespace

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

// Called many times a second while a workload runs, and to examine a segment maps it: only where one may be new.
size_t Recording::follow(pid_t writer) {
  const std::lock_guard lock(mutex_);
  struct stat folder {};
  timespec now{};
  const bool seen = stat("/dev/shm", &folder) == 0 && clock_gettime(CLOCK_REALTIME_COARSE, &now) == 0;
  if (seen && !segments_.may_have_news(ns_of(folder.st_mtim), ns_of(now))) return followed_;
  bool complete = true;
  for (const shm::SegmentInfo& segment : shm::list_segments()) {
    if (!segment.refused.empty() && segment.user == geteuid())
      complete = false;  // its writer may still build it
    if (segment.writer_pid != writer || !segment.refused.empty() || sessions_.contains(segment.session))
      continue;
    try {
      add_locked(segment.live_name, segment.session);
      ++followed_;
    } catch (const shm::SegmentError&) {  // not complete yet: the next call finds it again
      complete = false;
    }
  }
  segments_.examined(seen && complete);
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
