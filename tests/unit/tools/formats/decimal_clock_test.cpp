// Digits of times: as std::to_string has them, whatever came before.
#include "tools/formats/decimal_clock.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace ttc::tools {
namespace {

std::string digits(DecimalClock& clock, uint64_t time) {
  char text[DecimalClock::kRoom];
  return {text, clock.put(text, time)};
}

TEST(DecimalClock, edges) {
  DecimalClock clock;
  for (const uint64_t time :
       {uint64_t{0}, uint64_t{7}, uint64_t{999'999}, uint64_t{1'000'000}, uint64_t{1'000'001},
        uint64_t{1'999'999}, uint64_t{5}, uint64_t{1'000'010}, (uint64_t{1} << 44) - 1, ~uint64_t{0}})
    EXPECT_EQ(digits(clock, time), std::to_string(time));
}

TEST(DecimalClock, any_sequence) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  DecimalClock clock;
  uint64_t time = 0;
  for (int i = 0; i < 200'000; ++i) {
    time = random() % 100 ? time + random() % 3000 : random() >> random() % 64;
    ASSERT_EQ(digits(clock, time), std::to_string(time));
  }
}

}  // namespace
}  // namespace ttc::tools
