// Writes a live segment to a .ttc, as one more reader of the ring on a thread of its own. The drain never
// waits for the disk: a disk that is too slow is lapped, and how much that cost is counted.
#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "collector/file_sink.hpp"
#include "shm/reader.hpp"

namespace ttc::collect {

class CaptureWriter {
 public:
  // Throws CaptureError or shm::SegmentError. Call before the first chunk is published.
  CaptureWriter(const std::string& path, const std::string& live_name, bool plain);
  ~CaptureWriter();

  // After the segment was ended: writes what is left, syncs, closes.
  void finish();

  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  uint64_t lapped_bytes() const { return lapped_.load(std::memory_order_relaxed); }
  std::string error() const { return error_; }  // after finish()
  std::string backend() const { return sink_->name(); }

 private:
  void run();

  std::unique_ptr<FileSink> sink_;
  shm::Reader reader_;
  std::atomic<uint64_t> bytes_{0};
  std::atomic<uint64_t> lapped_{0};
  std::string error_;
  std::thread thread_;
};

}  // namespace ttc::collect
