// Memory that is used again when no one has it any more: what was written last by a thread is there for that thread, in whose caches it is.
#pragma once
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace ttc::jobs {

template <class T>
class MemoryPool {
 public:
  explicit MemoryPool(unsigned threads = 1) : spare_(std::make_shared<Spare>(threads)) {}

  // Any thread. It holds what its last user left in it. It may outlive the pool.
  std::shared_ptr<T> take(unsigned thread = 0) {
    std::unique_ptr<T> memory = spare_->take(thread);
    if (!memory) memory = std::make_unique<T>();
    return {memory.release(), [spare = spare_, thread](T* used) { spare->give(thread, used); }};
  }

 private:
  class Spare {
   public:
    explicit Spare(unsigned threads) : of_(threads) {}
    std::unique_ptr<T> take(unsigned thread) {
      const std::lock_guard lock(mutex_);
      if (of_[thread].empty()) return nullptr;
      std::unique_ptr<T> memory = std::move(of_[thread].back());
      of_[thread].pop_back();
      return memory;
    }
    void give(unsigned thread, T* used) {
      std::unique_ptr<T> memory(used);
      const std::lock_guard lock(mutex_);
      if (of_[thread].size() < kMostSpare) of_[thread].push_back(std::move(memory));
    }

   private:
    static constexpr size_t kMostSpare = 16;  // of a thread
    std::mutex mutex_;
    std::vector<std::vector<std::unique_ptr<T>>> of_;
  };
  std::shared_ptr<Spare> spare_;
};

}  // namespace ttc::jobs
