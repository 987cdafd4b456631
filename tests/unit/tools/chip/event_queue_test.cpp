// The simulation's queue beside a heap: the same events in the same order.
#include "tools/chip/event_queue.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <queue>
#include <random>
#include <set>
#include <tuple>

namespace ttc::chip {
namespace {

TEST(EventQueue, gives_what_a_heap_gives_near_and_far) {
  const uint64_t seed = std::random_device()();
  std::mt19937_64 random(seed);
  for (int world = 0; world < 40; ++world) {
    EventQueue queue;
    using Pushed = std::tuple<uint64_t, uint32_t>;  // when, what
    std::priority_queue<Pushed, std::vector<Pushed>, std::greater<>> heap;
    uint64_t now = random() % 3 == 0 ? 0 : random() >> 8;
    uint32_t number = 0;
    std::set<uint32_t> waiting;
    for (int i = 0; i < 3000; ++i) {
      if (heap.empty() || random() % 5 < 2 + (i < 1500)) {
        constexpr uint64_t kSpans[] = {1, 3, 100, 4095, 4096, 4097, 20000, 3'000'000};
        const uint64_t at = now + random() % kSpans[random() % std::size(kSpans)];
        // At the time of the last event none before it.
        const uint32_t what = static_cast<uint32_t>(random() % 100'000) + (at == now ? number : 0);
        if (!waiting.insert(what).second) continue;
        queue.push(at, what);
        heap.push({at, what});
      } else {
        const auto [at, what] = heap.top();
        heap.pop();
        waiting.erase(what);
        ASSERT_FALSE(queue.empty());
        ASSERT_EQ(queue.next_at(), at) << "seed " << seed << ", world " << world << ", " << i;
        const EventQueue::Event got = queue.pop();
        ASSERT_EQ(got.at, at) << "seed " << seed << ", world " << world << ", " << i;
        ASSERT_EQ(got.what, what) << "seed " << seed << ", world " << world << ", " << i;
        now = at, number = what;
      }
      ASSERT_EQ(queue.empty(), heap.empty());
    }
  }
}

}  // namespace
}  // namespace ttc::chip
