// Appending to a file in large writes: io_uring with two buffers in flight, or plain write(2). Errors are
// kept and told once, at the end or when asked; after an error nothing more is written.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace ttc::collect {

class FileSink {
 public:
  virtual ~FileSink() = default;
  virtual void append(std::span<const std::byte> bytes) = 0;
  virtual void flush() = 0;               // hands everything to the kernel and waits for it
  virtual uint64_t written() const = 0;   // bytes the kernel has taken
  virtual std::string error() const = 0;  // empty while all is well
  virtual std::string name() const = 0;
};

// Creates or truncates `path`. Throws CaptureError when that fails.
std::unique_ptr<FileSink> open_file_sink(const std::string& path, bool plain);

}  // namespace ttc::collect
