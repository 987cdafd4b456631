// Chunks from anywhere into a new capture file, one block after the other: what recover and snapshots make.
// The file appears whole or not at all. One thread's.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "collector/program/pending_file.hpp"
#include "collector/record/capture_output.hpp"
#include "ttcollect/loss_view.hpp"
#include "ttcollect/redact.hpp"

namespace ttc::collect {

// If finish() is not called, or the constructor throws, no output is left.
class CaptureCopy {
 public:
  // `cause`: of chunks that are missing among those that will be added. `open`: none: open_capture_disk. Throws
  // CaptureError.
  CaptureCopy(const std::string& path, uint64_t session, shm::LossCause cause, OpenDisk open = {});
  CaptureCopy(const CaptureCopy&) = delete;
  CaptureCopy& operator=(const CaptureCopy&) = delete;

  void add(std::span<const uint64_t> chunk);
  void redact() { redact_ = true; }  // what will be added (ttcollect/redact.hpp)
  // What was added broke off: what came behind it on any lane is missing.
  void lost_beginning(std::optional<shm::LossCause> cause = {}) { losses_.lost_beginning(cause); }
  void broke_off() { losses_.broke_off(); }
  // Adds the records of what was found missing, ends the file, gives it its name. Throws CaptureError.
  void finish();

  const LossView& losses() const { return losses_; }
  uint64_t bytes() const { return output_->bytes(); }
  uint64_t chunks() const { return chunks_; }
  uint64_t markers() const { return markers_; }

 private:
  void put_block();

  std::string path_;
  program::PendingFile file_;  // before what opens it
  LossView losses_;
  std::optional<CaptureOutput> output_;
  BlockEncoder encoder_;
  QueuedBlock block_;
  uint64_t chunks_ = 0, markers_ = 0;
  bool redact_ = false;
  Redactor redactor_;
};

}  // namespace ttc::collect
