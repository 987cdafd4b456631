// When a core is recycled and why not, as far as words alone decide: core_recycling.hpp.
#include "collector/drain/core_recycling.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "firmware_markers/device/noc_event.hpp"
#include "tests/support/frames.hpp"

namespace ttc::collect {
namespace {

using test::Time, test::Words, test::operator+;

const markers::Lane kBrisc{&device::kG4, 0, 3};

Words frame() {
  return test::frame_words(kBrisc.identity, 5, {7, Time(1000), Time(1090)}, {9, Time(1010), Time(1080)});
}
// Type, id and time of a packet's first word (tt-metal kernel_profiler.hpp).
uint32_t head(uint32_t type, uint32_t id) {
  return 1u << 31 | type << 28 | id << 12;
}

TEST(PushesSoon, noc_events_and_counters_do) {
  EXPECT_TRUE(
      CoreRecycling::pushes_soon(frame() + Words{head(device::kTsData, device::kNocEventId), 1050, 3, 4}));
  EXPECT_TRUE(CoreRecycling::pushes_soon(
      frame() + frame() + Words{head(device::kTsData16B, device::kPerfCounterId), 1050, 3, 4, 5, 6}));
  EXPECT_TRUE(CoreRecycling::pushes_soon(
      frame() + Words{head(device::kTsData, 17), 1050, 3, 4} +
      Words{head(device::kTsData16B, device::kNocDebugId), 1060, 3, 4, 5, 6} + frame()));
  EXPECT_FALSE(CoreRecycling::pushes_soon(frame() + frame()));
  EXPECT_FALSE(CoreRecycling::pushes_soon({}));
}

// One core was no longer recycled after 480,000 launches whose kernels record random data: a payload word looked like the head of a
// NoC event.
TEST(PushesSoon, payload_that_looks_like_a_noc_event_is_none) {
  const uint32_t looks = head(device::kTsData, device::kNocEventId);
  EXPECT_FALSE(CoreRecycling::pushes_soon(frame() + Words{head(device::kTsData, 17), 1050, looks, 4}));
  EXPECT_FALSE(CoreRecycling::pushes_soon(frame() +
                                          Words{head(device::kTsData16B, 17), 1050, 3, 4, looks, 6} +
                                          frame() + Words{head(device::kTsData, 17), 1050, looks, looks}));
}

}  // namespace
}  // namespace ttc::collect
