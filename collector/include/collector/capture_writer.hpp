// Writes live segments to one .ttc, as one more reader of their rings on one thread of its own. No drain ever
// waits for the disk: a disk that is too slow is lapped, and how much that cost is counted per device.
//
// Chunks of several devices alternate in the file as they came; each names its session and device.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "collector/file_sink.hpp"
#include "shm/reader.hpp"

namespace ttc::collect {

class CaptureWriter {
 public:
  // One segment's way into the file. Owned by the writer.
  class Track {
   public:
    uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
    uint64_t lapped_bytes() const { return lapped_.load(std::memory_order_relaxed); }
    const std::string& error() const { return error_; }  // after finish()

   private:
    friend class CaptureWriter;
    explicit Track(const std::string& live_name) : reader_(live_name, shm::StartAt::oldest) {}

    shm::Reader reader_;
    std::atomic<uint64_t> bytes_{0};
    std::atomic<uint64_t> lapped_{0};
    std::string error_;
    bool over_ = false;  // the writer thread's
  };

  // Creates or truncates the file. `session` goes into its header: that of the first device. Throws
  // CaptureError.
  CaptureWriter(const std::string& path, uint64_t session, bool plain);
  ~CaptureWriter();

  // Before the segment's first chunk is published. Throws shm::SegmentError.
  const Track& add(const std::string& live_name);
  // After every segment was ended: writes what is left, syncs, closes.
  void finish();

  std::string error() const { return error_; }  // of the file, after finish()
  std::string backend() const { return sink_->name(); }

 private:
  void run();
  bool refresh_active();
  bool take(Track& track, unsigned wait_ms);

  std::unique_ptr<FileSink> sink_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Track>> tracks_;  // with mutex_
  bool finishing_ = false;                      // with mutex_
  std::vector<Track*> active_;                  // the thread's own
  std::vector<uint64_t> chunk_;                 // likewise
  std::string error_;
  std::thread thread_;
};

}  // namespace ttc::collect
