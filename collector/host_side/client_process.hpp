// What /proc has about a client's process: facts of its environment for its rows, and which threads are its own.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <unordered_map>

namespace ttc::collect {

// NAME=VALUE, each ended by a zero (kRankFact, kChipsFact). The rank is the job launcher's number; the chips are those in
// TT_VISIBLE_DEVICES, by whose order the process numbers its devices, if it lists numbers.
std::string facts_of_process(pid_t pid, const std::string& proc = "/proc");

// Threads of one process. A thread that has ended before it was looked for is none of it.
class OwnThreads {
 public:
  explicit OwnThreads(pid_t pid, const std::string& proc = "/proc")
      : tasks_(proc + "/" + std::to_string(pid) + "/task/") {}
  bool contains(uint32_t thread);

 private:
  // Numbers of the machine's threads are used again, after some ten thousand others.
  static constexpr size_t kMost = 1 << 16;
  std::string tasks_;
  std::unordered_map<uint32_t, bool> known_;
};

}  // namespace ttc::collect
