// Memory that a thread has written last, for its next text: what is in its caches costs another thread a transfer of each line.
#pragma once
#include <mutex>
#include <utility>
#include <vector>

#include "tools/output/output_memory.hpp"

namespace ttc::tools {

class ThreadMemory {
 public:
  explicit ThreadMemory(unsigned threads) : spare_(threads) {}

  // Any thread. Empty: there is none.
  OutputMemory take(unsigned thread) {
    const std::lock_guard lock(mutex_);
    if (spare_[thread].empty()) return {};
    OutputMemory memory = std::move(spare_[thread].back());
    spare_[thread].pop_back();
    return memory;
  }
  void give(unsigned thread, OutputMemory memory) {
    if (memory.empty()) return;
    const std::lock_guard lock(mutex_);
    spare_[thread].push_back(std::move(memory));
  }

 private:
  std::mutex mutex_;
  std::vector<std::vector<OutputMemory>> spare_;  // by thread
};

}  // namespace ttc::tools
