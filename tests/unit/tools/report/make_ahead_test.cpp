// Items made on one thread and taken on another: all of them, in order, whichever of the two ends early.
#include "tools/report/text/make_ahead.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

namespace ttc::report {
namespace {

const auto kNumbers = [](int from, int to) {
  return [from, to](const auto& put) {
    std::string item;
    for (int i = from; i < to; ++i) {
      item = std::to_string(i);
      put(item);
    }
  };
};

TEST(MakeAhead, every_item_is_taken_once_and_in_order) {
  for (const unsigned threads : {1u, 2u, 3u})
    for (const int count : {0, 1, 255, 256, 257, 1024, 1025, 9000}) {
      int next = 0;
      make_ahead<std::string>(threads, kNumbers(0, count), [&](const std::string& item) {
        EXPECT_EQ(item, std::to_string(next)) << threads << " threads";
        ++next;
      });
      EXPECT_EQ(next, count) << threads << " threads";
    }
}

TEST(MakeAhead, what_was_made_before_a_failure_is_taken_before_it_is_thrown) {
  for (const unsigned threads : {1u, 2u})
    for (const int count : {0, 1, 256, 3000}) {
      int taken = 0;
      const auto make = [&](const auto& put) {
        kNumbers(0, count)(put);
        throw std::runtime_error("the source ended");
      };
      EXPECT_THROW(make_ahead<std::string>(threads, make, [&](const std::string&) { ++taken; }),
                   std::runtime_error);
      EXPECT_EQ(taken, count) << threads << " threads";
    }
}

// The maker has far more items than may wait for the taker: it must end, too.
TEST(MakeAhead, a_taker_that_fails_ends_the_maker) {
  for (const unsigned threads : {1u, 2u}) {
    std::atomic<int> made = 0;
    const auto make = [&](const auto& put) {
      kNumbers(0, 1'000'000)([&](std::string& item) {
        put(item);
        ++made;
      });
    };
    const auto take = [](const std::string& item) {
      if (item == "7") throw std::invalid_argument(item);
    };
    EXPECT_THROW(make_ahead<std::string>(threads, make, take), std::invalid_argument);
    EXPECT_LT(made, 1'000'000) << threads << " threads";
  }
}

}  // namespace
}  // namespace ttc::report
