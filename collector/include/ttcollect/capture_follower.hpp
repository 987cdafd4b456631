// Reads a capture while it is written: each block once it is whole in the file, in the file's order, so that what is made of a run is
// nearly done when the run ends.
//
// Sessions and names come where the file has them, as from a ring, and not first. Where a block was dropped that held names, or a part of
// the file is damaged, a reader of the whole file knows more: why_not_whole() is then not empty, and the file has to be read again.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ttcollect/capture_reader.hpp"

namespace ttc::collect {

class CaptureFollower {
 public:
  // Throws CaptureError: no file, or none of version 2 or 3.
  explicit CaptureFollower(const std::string& path);
  ~CaptureFollower();
  CaptureFollower(CaptureFollower&&) noexcept;
  CaptureFollower& operator=(CaptureFollower&&) noexcept;

  enum class Next { chunk, idle, end };
  // Waits at most so long for a block. `end`: the file was ended in order. A file that is not ended any more is idle for ever.
  Next next(std::vector<uint64_t>& chunk, unsigned wait_ms);
  // After the end. Empty: what came is all that a reader of the whole file gets.
  const std::string& why_not_whole() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace ttc::collect
