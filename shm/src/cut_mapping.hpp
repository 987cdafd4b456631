// A mapping of a file that its owner may cut: a load behind the file's end raises SIGBUS in the process that makes it. Here such pages
// become pages of zeros, and cut() says that what was read is worth nothing.
//
// The handler of SIGBUS is installed once in a process, and hands on what is not about a mapping named here. It takes no lock and
// allocates nothing. A program that installs a handler of its own later has the signal for itself.
#pragma once
#include <cstddef>

namespace ttc::shm {

struct WatchedMapping;  // in the list that the handler walks

class CutMapping {
 public:
  // `at`: whole pages, read-only, that stay mapped as long as this is there.
  CutMapping(const void* at, size_t bytes);
  ~CutMapping();
  CutMapping(const CutMapping&) = delete;
  CutMapping& operator=(const CutMapping&) = delete;

  bool cut() const;  // a page behind the file's end was met

 private:
  WatchedMapping* watched_;
};

}  // namespace ttc::shm
