// What a viewer's format has of each lane that has begun, for other threads: what is written once of a lane has been written then.
#pragma once
#include <array>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "tools/pipeline/format.hpp"

namespace ttc::tools {

// `Lane` stays where it is. One thread adds lanes, and never takes one away.
template <class Lane>
class BegunLanes {
 public:
  void add(uint32_t chip, uint8_t core_x, uint8_t core_y, uint8_t risc, const Lane& lane) {
    const std::lock_guard lock(mutex_);
    lanes_[key(chip, core_x, core_y, risc)] = &lane;
  }

  // One thread's view, which keeps what it has found.
  class View {
   public:
    explicit View(const BegunLanes& of) : of_(of) {}
    // Null: there is no such lane, or it has not begun.
    const Lane* lane_of(const FrameEvents& f) {
      const uint64_t wanted = key(f.chip, f.core_x, f.core_y, f.risc);
      Known& known = known_[((f.core_y * 17u + f.core_x) * 8 + f.risc) % known_.size()];
      if (!known.lane || known.key != wanted) known = {wanted, of_.find(wanted)};
      return known.lane;
    }

   private:
    struct Known {
      uint64_t key;
      const Lane* lane = nullptr;
    };
    const BegunLanes& of_;
    std::array<Known, 512> known_;  // by a part of the key
  };

 private:
  static uint64_t key(uint32_t chip, uint8_t x, uint8_t y, uint8_t risc) {
    return uint64_t{chip} << 24 | uint64_t{x} << 16 | uint64_t{y} << 8 | risc;
  }
  const Lane* find(uint64_t key) const {
    const std::lock_guard lock(mutex_);
    const auto lane = lanes_.find(key);
    return lane == lanes_.end() ? nullptr : lane->second;
  }

  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, const Lane*> lanes_;
};

}  // namespace ttc::tools
