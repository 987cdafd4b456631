// Where chunks come from: a live segment, its remains, or a capture file. One interface, so that everything
// downstream works on all of them.
#pragma once
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "shm/chunk.hpp"

namespace ttc::tools {

struct SourceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Source {
 public:
  virtual ~Source() = default;
  enum class Next { chunk, end, idle };  // idle: nothing now, more may come
  virtual Next next(std::vector<uint64_t>& chunk) = 0;
  // What was lost or cut on the way here, as sentences; empty when nothing.
  virtual std::vector<std::string> complaints() const = 0;
};

// `from`: live:NAME, FILE.ttc or a directory of firmware memory. `follow`: a live source goes on until its
// writer ends. Throws SourceError.
std::unique_ptr<Source> open_source(const std::string& from, bool follow, unsigned wait_ms = 0);

}  // namespace ttc::tools
