// Blocks on their way into one file: io_uring, or plain pwrite where that is refused or chosen; past the
// page cache (O_DIRECT) where the file system allows it. One thread's.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ttc::collect {

inline constexpr unsigned kDiskDepth = 4;  // writes under way at once

class CaptureDisk {
 public:
  struct Done {
    uint64_t tag;
    int error;  // errno, 0: all bytes are with the file system
  };
  virtual ~CaptureDisk() = default;
  // Begins a write; `bytes` stay as they are until it is done. At most kDiskDepth may be under way. Offset,
  // length and address are multiples of kCaptureAlign.
  virtual void write(uint64_t offset, std::span<const std::byte> bytes, uint64_t tag) = 0;
  // What is done since the last call; with `wait`, at least one, if any is under way.
  virtual std::vector<Done> done(bool wait) = 0;
  virtual unsigned under_way() const = 0;
  // Everything that is done, on the medium. After the last done(). Returns errno or 0.
  virtual int sync() = 0;
  // Cuts the file at `bytes`. Returns errno or 0.
  virtual int cut_at(uint64_t bytes) = 0;
  // The file has no name any more.
  virtual bool removed() const = 0;
  // Its last name instead of the one it was opened by; with `lastingly`, one that a power cut does not undo.
  // Returns errno or 0.
  virtual int rename(const std::string& path, bool lastingly) = 0;
  // Removes its name if it is a plain file, which holds no block.
  virtual void discard() = 0;
  // "io_uring, O_DIRECT" and the like, with the reason where it is not that.
  virtual std::string how() const = 0;
};

// Creates or truncates `path`. Throws CaptureError.
std::unique_ptr<CaptureDisk> open_capture_disk(const std::string& path, bool plain);

}  // namespace ttc::collect
