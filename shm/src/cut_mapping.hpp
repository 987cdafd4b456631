// A mapping of a file that its owner may truncate: a load behind the file's end raises SIGBUS in the reading process. Such pages
// become pages of zeros here, and cut() returns true: data read from the mapping is then invalid.
//
// The handler of SIGBUS is installed once in a process. It passes on signals about other mappings, takes no lock and
// allocates no memory. A program that installs its own handler later replaces this one.
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

  bool cut() const;  // a page behind the file's end was loaded

 private:
  WatchedMapping* watched_;
};

}  // namespace ttc::shm
