// Events in order of time, those of one moment in the order in which they were pushed. What is near lies in a wheel with a slot a
// cycle, so that pushing and popping cost the same however many events there are; what is far waits in a heap.
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

  EventQueue() {
    first_.fill(kNone);
    last_.fill(kNone);
  }

  bool empty() const { return near_ == 0 && far_.empty(); }
  // `at`: not before the event that was popped last.
  void push(uint64_t at, uint32_t what) {
    if (at - base_ < kSlots)
      append(at, what);
    else
      far_.push({at, order_++, what});
    if (at < next_) next_ = at;
  }
  // Of the earliest event; no event: the end of time.
  uint64_t next_at() const { return next_; }
  Event pop() {
    if (near_ == 0 || next_ - base_ >= kSlots) move_to(next_);
    const size_t slot = next_ % kSlots;
    const uint32_t node = first_[slot];
    const Event event{next_, nodes_[node].what};
    first_[slot] = nodes_[node].next;
    nodes_[node].next = free_;
    free_ = node;
    --near_;
    if (first_[slot] == kNone) {
      last_[slot] = kNone;
      used_[slot / 64] &= ~(uint64_t{1} << slot % 64);
    }
    move_to(event.at);
    find_next();
    return event;
  }

 private:
  static constexpr size_t kSlots = 4096;
  static constexpr uint32_t kNone = ~uint32_t{0};
  static constexpr uint64_t kEnd = ~uint64_t{0};
  struct Node {
    uint32_t what, next;
  };
  struct Far {
    uint64_t at, order;
    uint32_t what;
    bool operator>(const Far& o) const { return at != o.at ? at > o.at : order > o.order; }
  };

  void append(uint64_t at, uint32_t what) {
    uint32_t node = free_;
    if (node == kNone) {
      node = static_cast<uint32_t>(nodes_.size());
      nodes_.push_back({what, kNone});
    } else {
      free_ = nodes_[node].next;
      nodes_[node] = {what, kNone};
    }
    const size_t slot = at % kSlots;
    if (last_[slot] == kNone)
      first_[slot] = node;
    else
      nodes_[last_[slot]].next = node;
    last_[slot] = node;
    used_[slot / 64] |= uint64_t{1} << slot % 64;
    ++near_;
  }
  // The wheel begins there from now on: what was far and is near now gets its slot before anything is pushed behind it.
  void move_to(uint64_t base) {
    base_ = base;
    for (; !far_.empty() && far_.top().at - base_ < kSlots; far_.pop())
      append(far_.top().at, far_.top().what);
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

  std::array<uint32_t, kSlots> first_{}, last_{};
  std::array<uint64_t, kSlots / 64> used_{};
  std::vector<Node> nodes_;
  uint32_t free_ = kNone;
  size_t near_ = 0;
  uint64_t base_ = 0, next_ = kEnd, order_ = 0;
  std::priority_queue<Far, std::vector<Far>, std::greater<>> far_;
};

}  // namespace ttc::chip
