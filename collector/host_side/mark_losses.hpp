// Marks that a socket had no room for, counted by their senders in memory that `ttcollect run` owns: the count of a process that crashed
// is there, too.
//
// The memory is a file without a name (memfd_create), which senders open through /proc/PID/fd/N and write a slot of 32 bytes in, each at
// its process's number: how many marks were lost (u64), CLOCK_MONOTONIC_RAW of the first and of the last one (u64 each). The slot
// of process 0 holds kMarkLossMagic: in another PID namespace the path may lead to another file, which senders leave alone.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace ttc::collect {

inline constexpr const char* kMarkLossVariable = "TTCOLLECT_MARKS_LOST";  // the file's path
inline constexpr uint64_t kMarkLossMagic = 0x6b72'616d'2063'7474;         // "ttc mark"

struct MarkLoss {
  uint64_t pid = 0, count = 0;
  int64_t first_ns = 0, last_ns = 0;  // CLOCK_MONOTONIC_RAW
};

class MarkLosses {
 public:
  MarkLosses();
  ~MarkLosses();
  MarkLosses(const MarkLosses&) = delete;
  MarkLosses& operator=(const MarkLosses&) = delete;
  std::string path() const;  // empty: it could not be made
  std::vector<MarkLoss> read() const;

 private:
  int fd_ = -1;
};

}  // namespace ttc::collect
