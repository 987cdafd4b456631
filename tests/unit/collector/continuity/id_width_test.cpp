// What the front of a log proves about the width of launch ids (collector/continuity/id_width.hpp).
#include "collector/continuity/id_width.hpp"

#include <gtest/gtest.h>

#include "tests/support/frames.hpp"

namespace ttc::collect {
namespace {

using test::Words, test::operator+;

const markers::Lane kBrisc{&device::kG1, 0, 3};

// The `nth` frame of a log; ended: by the end of its launch, not by a full buffer.
Words id_frame(uint32_t nth, uint32_t word, bool ended = true) {
  const uint64_t begin = 1000 + 100ull * nth;
  const auto end = ended ? test::Time(begin + 90) : test::Time();
  return test::frame_words(kBrisc.identity, word, {1, begin, end},
                           {2, begin + 1, end ? test::Time(begin + 80) : end});
}
Words log_of(const std::vector<uint32_t>& id_words) {
  Words log;
  for (uint32_t n = 0; n < id_words.size(); ++n) log = log + id_frame(n, id_words[n]);
  return log;
}
constexpr uint32_t narrow(uint32_t id, uint32_t count) {
  return id << 16 | count;
}
IdWidth width_of(const std::vector<uint32_t>& id_words) {
  return id_width(log_of(id_words), kBrisc, false).width;
}

TEST(IdWidth, two_counted_launches_prove_16_bits) {
  EXPECT_EQ(width_of({narrow(5, 0), narrow(6, 1)}), IdWidth::narrow);
  EXPECT_EQ(width_of({narrow(5, 0), narrow(5, 1)}), IdWidth::narrow);
}

TEST(IdWidth, a_launch_that_is_not_counted_proves_32_bits) {
  EXPECT_EQ(width_of({1, 2}), IdWidth::wide);
  EXPECT_EQ(width_of({70 << 10 | 3, 71 << 10 | 3, 72 << 10 | 3}), IdWidth::wide);
}

TEST(IdWidth, one_launch_proves_nothing) {
  EXPECT_EQ(width_of({}), IdWidth::unproven);
  EXPECT_EQ(width_of({narrow(64, 0)}), IdWidth::unproven);
  EXPECT_TRUE(id_width(log_of({narrow(64, 0)}), kBrisc, false).looks_narrow);
  EXPECT_FALSE(id_width(log_of({narrow(64, 9)}), kBrisc, false).looks_narrow);
  EXPECT_FALSE(id_width(log_of({0}), kBrisc, false).looks_narrow);
}

// A launch during which the host has reset the core carries a count of the epoch before.
TEST(IdWidth, launch_0_may_be_of_the_epoch_before) {
  EXPECT_EQ(width_of({narrow(5, 37), narrow(6, 1)}), IdWidth::unproven);
  EXPECT_EQ(width_of({narrow(5, 37), narrow(6, 1), narrow(7, 2)}), IdWidth::narrow);
}

// A reset between load and store of RUN_COUNTER; or ids of 32 bits above 65536 that count up.
TEST(IdWidth, shifted_counts_prove_nothing) {
  EXPECT_EQ(width_of({narrow(5, 37), narrow(5, 38), narrow(5, 39), narrow(5, 40)}), IdWidth::unproven);
}

TEST(IdWidth, ids_of_0_prove_nothing_as_long_as_they_are_counted) {
  EXPECT_EQ(width_of({0, 1, 2, 3}), IdWidth::unproven);
}

TEST(IdWidth, a_launch_in_several_frames_counts_once) {
  const Words log = id_frame(0, narrow(5, 0), false) + id_frame(1, narrow(5, 0)) + id_frame(2, narrow(5, 1));
  EXPECT_EQ(id_width(log, kBrisc, false).width, IdWidth::narrow);
}

// The end of the last frame is not known if the words were cut.
TEST(IdWidth, a_frame_that_is_cut_proves_nothing) {
  EXPECT_EQ(id_width(log_of({narrow(5, 0), narrow(6, 1)}), kBrisc, true).width, IdWidth::unproven);
}

}  // namespace
}  // namespace ttc::collect
