// The capture of a run: every segment that belongs to it, written to one file by one more reader of their rings. The
// file is made when the first segment is there, so that a run without anything to record leaves none. Callable from several
// threads.
#pragma once
#include <sys/types.h>

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "collector/record/capture_writer.hpp"
#include "collector/record/chunk_feed.hpp"
#include "collector/run/examined_folder.hpp"

namespace ttc::collect {

class Recording {
 public:
  explicit Recording(std::string path) : path_(std::move(path)) {}
  // The feed for chunks of a segment whose writer is this process. Throws CaptureError.
  std::shared_ptr<ChunkFeed> feed_of(const std::string& live_name, uint64_t session);
  // Segments of `writer` that are not recorded yet; how many of its there are in all. Throws CaptureError.
  size_t follow(pid_t writer);
  // Must be called before the writer is started: what is there now belongs to others, whatever number its process
  // had.
  void ignore_present();
  // Must be called after every writer ended. Returns why the file is not whole, empty when it is.
  std::string finish();
  // Removes the segments. To be called after finish() returned no error, and when no writer holds them any more: the
  // file then has all of their chunks.
  void remove_segments() const;
  const std::string& path() const { return path_; }
  uint64_t lapped_bytes() const;
  uint64_t dropped_bytes() const;  // the disk was too slow for them

 private:
  void begin(uint64_t session);
  void add_locked(const std::string& live_name, uint64_t session);
  std::string path_;
  mutable std::mutex mutex_;
  std::unique_ptr<CaptureWriter> writer_;
  std::set<uint64_t> sessions_;
  std::vector<std::string> live_names_;
  std::vector<const CaptureWriter::Track*> tracks_;
  size_t followed_ = 0;
  ExaminedFolder segments_;
};

}  // namespace ttc::collect
