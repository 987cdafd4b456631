// Events in order of time, those of one moment in the order of their numbers; no number is there twice. Near events are in a wheel with
// a slot a cycle, so that pushing and popping cost the same however many events there are; far ones are in a heap.
#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

namespace ttc::chip {

class EventQueue {
 public:
  struct Event {
    uint64_t at;
    uint32_t what;
  };

  EventQueue() { first_.fill(kNone); }

  bool empty() const { return near_ == 0 && far_.empty(); }
  // `at` must not be before the event that was popped last, by time and number.
  void push(uint64_t at, uint32_t what) {
    if (at - base_ < kSlots)
      insert(at, what);
    else
      far_.push({at, what});
    if (at < next_) next_ = at;
  }
  // The time of the earliest event; no event: the end of time.
  uint64_t next_at() const { return next_; }
  Event pop() {
    if (near_ == 0 || next_ - base_ >= kSlots) move_to(next_);
    const size_t slot = next_ % kSlots;
    const Event event{next_, first_[slot]};
    first_[slot] = behind_[event.what];
    --near_;
    if (first_[slot] == kNone) used_[slot / 64] &= ~(uint64_t{1} << slot % 64);
    move_to(event.at);
    find_next();
    return event;
  }

 private:
  static constexpr size_t kSlots = 4096;
  static constexpr uint32_t kNone = ~uint32_t{0};
  static constexpr uint64_t kEnd = ~uint64_t{0};
  struct Far {
    uint64_t at;
    uint32_t what;
    bool operator>(const Far& o) const { return at != o.at ? at > o.at : what > o.what; }
  };

  void insert(uint64_t at, uint32_t what) {
    if (what >= behind_.size()) [[unlikely]]
      make_room_for(what);
    const size_t slot = at % kSlots;
    uint32_t* link = &first_[slot];
    while (*link < what) link = &behind_[*link];  // kNone is the largest
    behind_[what] = *link;
    *link = what;
    used_[slot / 64] |= uint64_t{1} << slot % 64;
    ++near_;
  }
  [[gnu::noinline]] void make_room_for(uint32_t what) { behind_.resize(2 * size_t{what} + 64); }
  // The wheel begins there from now on: what was far and is near now gets its slot before anything is pushed behind it.
  void move_to(uint64_t base) {
    base_ = base;
    for (; !far_.empty() && far_.top().at - base_ < kSlots; far_.pop())
      insert(far_.top().at, far_.top().what);
  }
  void find_next() {
    if (near_ == 0) {
      next_ = far_.empty() ? kEnd : far_.top().at;
      return;
    }
    const size_t begin = base_ % kSlots;
    uint64_t word = used_[begin / 64] & ~uint64_t{0} << begin % 64;
    size_t at = begin / 64;
    while (word == 0) {
      at = (at + 1) % used_.size();
      word = used_[at];
    }
    const size_t slot = at * 64 + static_cast<size_t>(std::countr_zero(word));
    next_ = base_ + (slot - begin) % kSlots;
  }

  std::array<uint32_t, kSlots> first_{};
  std::array<uint64_t, kSlots / 64> used_{};
  std::vector<uint32_t> behind_;  // the next event of the same slot, by number
  size_t near_ = 0;
  uint64_t base_ = 0, next_ = kEnd;
  std::priority_queue<Far, std::vector<Far>, std::greater<>> far_;
};

}  // namespace ttc::chip
