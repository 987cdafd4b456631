#include "collector/sampling/provisional_maker.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "tests/support/clock_world.hpp"

namespace ttc::collect {
namespace {

constexpr HostTime kBegin = 1'600'000'000'000, kEveryMs = 16'000'000;

// The thread has copies: the models go on meanwhile.
TEST(ProvisionalMaker, segments_are_those_of_the_models_when_they_were_given) {
  test::CounterTruth truth(kBegin, 5'000'000'000);
  truth.change(kBegin, 1e9);
  test::LinkOptions one_read;
  one_read.reads = 1;
  test::Link link(one_read, 1);
  ClockEstimator model{ClockRules{}}, other{ClockRules{}};
  ProvisionalMaker maker;
  EXPECT_FALSE(maker.take());
  size_t compared = 0;
  std::vector<ClockRead> burst;
  for (HostTime i = 0; i < 600; ++i) {
    link.sample(truth, kBegin + i * kEveryMs, burst);
    model.add(burst);
    if (i % 2) other.add(burst);
    if (i % 100 != 99) continue;
    ASSERT_TRUE(maker.idle());
    const std::vector<ClockSegment> expected[] = {model.provisional(), other.provisional()};
    maker.begin({model, other});
    EXPECT_FALSE(maker.idle());
    std::optional<ProvisionalMaker::Segments> made;
    while (!(made = maker.take())) std::this_thread::yield();
    ASSERT_EQ(made->size(), 2u);
    for (size_t d = 0; d < 2; ++d) {
      ASSERT_EQ((*made)[d].size(), expected[d].size());
      EXPECT_EQ(std::memcmp((*made)[d].data(), expected[d].data(), expected[d].size() * sizeof(ClockSegment)),
                0);
      compared += expected[d].size();
    }
  }
  EXPECT_GT(compared, 10u);
}

TEST(ProvisionalMaker, ends_while_it_makes_segments) {
  test::CounterTruth truth(kBegin, 5'000'000'000);
  truth.change(kBegin, 1e9);
  test::Link link({}, 1);
  ClockEstimator model{ClockRules{}};
  std::vector<ClockRead> burst;
  for (HostTime i = 0; i < 300; ++i) {
    link.sample(truth, kBegin + i * kEveryMs, burst);
    model.add(burst);
  }
  ProvisionalMaker maker;
  maker.begin({model});
}

}  // namespace
}  // namespace ttc::collect
