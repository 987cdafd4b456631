#include "collector/sampling/model_thread.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "tests/support/clock_world.hpp"

namespace ttc::collect {
namespace {

constexpr HostTime kBegin = 1'600'000'000'000, kEveryMs = 16'000'000;

// Reads of two domains that step once, and of a timer.
std::vector<ClockInput> inputs_of(size_t samples) {
  test::CounterTruth truth(kBegin, 5'000'000'000);
  truth.change(kBegin, 1e9);
  truth.change(kBegin + samples / 2 * kEveryMs, 0.9e9);
  test::LinkOptions one_read;
  one_read.reads = 1;
  test::Link link(one_read, 1);
  std::vector<ClockInput> inputs;
  std::vector<ClockRead> burst;
  for (HostTime i = 0; i < samples; ++i) {
    link.sample(truth, kBegin + i * kEveryMs, burst);
    inputs.push_back({ClockInput::Kind::read, 0, burst.front()});
    if (i % 2) inputs.push_back({ClockInput::Kind::read, 1, burst.front()});
    if (i % 8) continue;
    const ClockRead& read = burst.front();
    const uint64_t ticks = (read.after - kBegin) / kHostTicksPerNs / 20;  // of 50 MHz
    inputs.push_back({ClockInput::Kind::reference, 0, {read.before, read.after, ticks}});
  }
  return inputs;
}

void append_each(ClockModels::Segments& to, const ClockModels::Segments& segments) {
  to.resize(segments.size());
  for (size_t d = 0; d < segments.size(); ++d)
    to[d].insert(to[d].end(), segments[d].begin(), segments[d].end());
}

void expect_equal(const ClockModels::Segments& a, const ClockModels::Segments& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t d = 0; d < a.size(); ++d) {
    ASSERT_EQ(a[d].size(), b[d].size());
    EXPECT_EQ(std::memcmp(a[d].data(), b[d].data(), a[d].size() * sizeof(ClockSegment)), 0);
  }
}

// However the inputs are cut, what is final is the same, and provisional segments begin where the final ones end that were taken with them.
TEST(ModelThread, makes_what_the_models_make) {
  const std::vector<ClockInput> inputs = inputs_of(2500);
  ClockModels models(7);
  models.grow(2);
  models.take(inputs);
  models.finish();
  const ClockModels::Segments expected = models.take_final();
  ASSERT_GT(expected[0].size(), 10u);
  ASSERT_GT(expected[1].size(), 10u);

  ModelThread thread(7);
  ClockModels::Segments got;
  size_t provisional = 0;
  const auto take = [&](const ModelThread::Made& made) {
    append_each(got, made.final);
    if (!made.provisional) return;
    ASSERT_EQ(made.provisional->size(), got.size());
    for (size_t d = 0; d < got.size(); ++d) {
      if (got[d].empty() || (*made.provisional)[d].empty()) continue;
      EXPECT_EQ((*made.provisional)[d].front().host_from, got[d].back().host_to);
      ++provisional;
    }
  };
  std::vector<ClockInput> some;
  for (size_t at = 0; at < inputs.size(); at += 50) {
    const auto begin = inputs.begin() + static_cast<ptrdiff_t>(at);
    some.assign(begin, begin + static_cast<ptrdiff_t>(std::min<size_t>(50, inputs.size() - at)));
    thread.give(some, 2, at % 200 == 0);
    EXPECT_TRUE(some.empty());
    // Sometimes several are given until something is taken.
    if (at % 150 == 0) {
      std::optional<ModelThread::Made> made;
      while (!(made = thread.take())) std::this_thread::yield();
      take(*made);
    } else if (auto made = thread.take()) {
      take(*made);
    }
  }
  const ModelThread::Made last = thread.finish();
  append_each(got, last.final);
  expect_equal(got, expected);
  EXPECT_GT(provisional, 10u);
  ASSERT_EQ(last.known.domains.size(), 2u);
  EXPECT_EQ(last.known.domains[0].stats.steps, models.known().domains[0].stats.steps);
  EXPECT_EQ(last.known.domains[0].era, 7u);
  EXPECT_TRUE(last.known.crystal);
}

TEST(ModelThread, is_behind_until_something_is_made_of_what_was_given) {
  std::vector<ClockInput> inputs = inputs_of(ModelThread::kMostWaiting / 2);
  const size_t count = inputs.size();
  ASSERT_GE(count, ModelThread::kMostWaiting / 2);
  ASSERT_LT(count, ModelThread::kMostWaiting);
  ModelThread thread(0);
  thread.give(inputs, 2, false);
  inputs = inputs_of(ModelThread::kMostWaiting / 2);
  EXPECT_FALSE(thread.behind());
  thread.give(inputs, 2, false);
  EXPECT_TRUE(thread.behind());
  size_t made_of = 0;
  while (made_of < 2 * count) {
    if (const auto made = thread.take()) made_of += made->inputs;
    EXPECT_EQ(thread.behind(), 2 * count - made_of >= ModelThread::kMostWaiting);
    std::this_thread::yield();
  }
}

TEST(ModelThread, ends_while_it_makes_segments) {
  std::vector<ClockInput> inputs = inputs_of(300);
  ModelThread thread(0);
  thread.give(inputs, 2, true);
}

}  // namespace
}  // namespace ttc::collect
