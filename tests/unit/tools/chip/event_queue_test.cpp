// The simulation's queue beside a heap: the same events in the same order.
#include "tools/chip/event_queue.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <tuple>

namespace ttc::chip {
namespace {

TEST(EventQueue, gives_what_a_heap_gives_near_and_far) {
  const uint64_t seed = std::random_device()();
  std::mt19937_64 random(seed);
  for (int world = 0; world < 40; ++world) {
    EventQueue queue;
    using Pushed = std::tuple<uint64_t, uint64_t, uint32_t>;  // when, in which order, what
    std::priority_queue<Pushed, std::vector<Pushed>, std::greater<>> heap;
    uint64_t now = random() % 3 == 0 ? 0 : random() >> 8, order = 0;
    for (int i = 0; i < 3000; ++i) {
      if (heap.empty() || random() % 5 < 2 + (i < 1500)) {
        constexpr uint64_t kSpans[] = {1, 3, 100, 4095, 4096, 4097, 20000, 3'000'000};
        const uint64_t at = now + random() % kSpans[random() % std::size(kSpans)];
        const auto what = static_cast<uint32_t>(random());
        queue.push(at, what);
        heap.push({at, order++, what});
      } else {
        const auto [at, nth, what] = heap.top();
        heap.pop();
        ASSERT_FALSE(queue.empty());
        ASSERT_EQ(queue.next_at(), at) << "seed " << seed << ", world " << world << ", " << i;
        const EventQueue::Event got = queue.pop();
        ASSERT_EQ(got.at, at) << "seed " << seed << ", world " << world << ", " << i;
        ASSERT_EQ(got.what, what) << "seed " << seed << ", world " << world << ", " << i;
        now = at;
      }
      ASSERT_EQ(queue.empty(), heap.empty());
    }
  }
}

}  // namespace
}  // namespace ttc::chip
