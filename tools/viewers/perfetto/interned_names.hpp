// Which names a packet sequence has, by the number of their label. One thread adds names, and never takes one away; any thread may look.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <vector>

namespace ttc::tools {

class InternedNames {
 public:
  static constexpr uint32_t kShared = 1u
                                      << 16;  // numbers from here on only the thread that adds may look for

  bool has(uint32_t number) const {
    if (number >= kShared) return others_.contains(number);
    const Page* const page = pages_[number / kPageBits].load(std::memory_order_acquire);
    return page && (*page)[number % kPageBits / 64].load(std::memory_order_acquire) >> number % 64 & 1;
  }
  void add(uint32_t number) {
    if (number >= kShared) {
      others_.insert(number);
      return;
    }
    std::atomic<Page*>& place = pages_[number / kPageBits];
    if (!place.load(std::memory_order_relaxed)) {
      own_.push_back(std::make_unique<Page>());
      place.store(own_.back().get(), std::memory_order_release);
    }
    (*place.load(std::memory_order_relaxed))[number % kPageBits / 64].fetch_or(uint64_t{1} << number % 64,
                                                                               std::memory_order_release);
  }

 private:
  static constexpr uint32_t kPageBits = 512;
  using Page = std::array<std::atomic<uint64_t>, kPageBits / 64>;

  std::array<std::atomic<Page*>, kShared / kPageBits> pages_{};
  std::vector<std::unique_ptr<Page>> own_;
  std::set<uint32_t> others_;
};

}  // namespace ttc::tools
