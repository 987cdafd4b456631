// What words of a buffer in L1 show: l1_words.hpp.
#include "collector/continuity/l1_words.hpp"

#include <gtest/gtest.h>

#include "tests/support/frames.hpp"

namespace ttc::collect {
namespace {

constexpr uint64_t kEver = uint64_t{1} << 40;

// A buffer whose slots hold no time, and markers at these times.
test::Words buffer_of(std::initializer_list<uint64_t> times) {
  test::Words words = test::frame_words(7, 0, {1, {}, {}}, {2, {}, {}});
  for (const uint64_t t : times) test::put_marker(words, device::kZoneStart, 5, t);
  return words;
}

TEST(L1Words, a_buffer_begins_with_a_marker_that_has_no_payload) {
  EXPECT_TRUE(begins_with_marker(buffer_of({100})));
  EXPECT_FALSE(begins_with_marker(buffer_of({})));
  test::Words padding = buffer_of({});
  test::put_marker(padding, device::kZoneStart, 5, {});
  EXPECT_FALSE(begins_with_marker(padding));
  test::Words payload = buffer_of({});
  test::put_marker(payload, device::kTsData, 5, 100);
  EXPECT_FALSE(begins_with_marker(payload));
}

TEST(L1Words, the_first_marker_distinguishes_buffers) {
  EXPECT_EQ(first_marker_time(buffer_of({100, 200})), 100u);
  EXPECT_TRUE(same_first_marker(buffer_of({100}), buffer_of({100, 200})));
  EXPECT_FALSE(same_first_marker(buffer_of({100}), buffer_of({101})));
  EXPECT_FALSE(same_first_marker(buffer_of({}), buffer_of({})));
}

TEST(L1Words, a_buffer_ends_where_times_no_longer_ascend) {
  EXPECT_EQ(ascending(buffer_of({100, 200, 300}), kEver).size(), kFirstMarker + 6);
  EXPECT_EQ(ascending(buffer_of({100, 200, 150, 300}), kEver).size(), kFirstMarker + 4);
  EXPECT_EQ(ascending(buffer_of({100, 100}), kEver).size(), kFirstMarker + 2);
}

TEST(L1Words, markers_later_than_the_clock_are_of_before) {
  EXPECT_EQ(ascending(buffer_of({100, 200, 300}), 250).size(), kFirstMarker + 4);
}

TEST(L1Words, the_last_marker_may_be_in_a_slot) {
  EXPECT_EQ(last_marker_time(buffer_of({100, 200})), 200u);
  test::Words pushed = test::frame_words(7, 0, {1, 300, 400}, {2, {}, {}});
  test::put_marker(pushed, device::kZoneStart, 5, 100);
  EXPECT_EQ(last_marker_time(pushed), 400u);
}

TEST(L1Words, the_clock_has_44_bits) {
  EXPECT_TRUE(later(5, (uint64_t{1} << 44) - 5));
  EXPECT_FALSE(later(7, 7));
}

}  // namespace
}  // namespace ttc::collect
