// Zones of frames that are paired without the frames before them: as in their lane, wherever that has no open zone.
#include "tools/viewers/zones/paired_frames.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/unit/tools/viewers/clocked_frames.hpp"

namespace ttc::tools {
namespace {

using markers::Marker;
using markers::MarkerType;

bool same_step(const ZoneStep& a, const ZoneStep& b) {
  return a.kind == b.kind && a.flaw == b.flaw && a.aside == b.aside && a.marker == b.marker &&
         a.other == b.other && a.cycles == b.cycles;
}

// A launch's zones from `at` on: mostly nested ones; at times they cross, lack an end or a start, or hold data.
std::vector<Marker> random_launch(std::mt19937_64& dice, uint64_t& at) {
  std::vector<Marker> all;
  const auto put = [&](uint16_t id, MarkerType type) {
    all.push_back({at += 1 + dice() % 2000, id, type, 0, 0});
  };
  put(10, MarkerType::zone_start);
  std::vector<uint16_t> open;
  for (uint64_t n = dice() % 12; n-- > 0;) {
    if (open.empty() || dice() % 2) {
      open.push_back(static_cast<uint16_t>(20 + dice() % 5));
      put(open.back(), MarkerType::zone_start);
    } else if (dice() % 20 == 0) {
      put(40, MarkerType::ts_event);
    } else {
      const size_t which = dice() % 8 ? open.size() - 1 : dice() % open.size();
      put(open[which], MarkerType::zone_end);
      open.erase(open.begin() + static_cast<ptrdiff_t>(which));
    }
  }
  for (; !open.empty(); open.pop_back())
    if (dice() % 12) put(open.back(), MarkerType::zone_end);
  if (dice() % 20 == 0) put(30, MarkerType::zone_end);  // without a start
  if (dice() % 15) put(10, MarkerType::zone_end);
  return all;
}

TEST(PairedFrames, are_those_of_their_lane_where_no_zone_is_open) {
  const collect::ClockMap map = clocked_map();
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 dice(seed);
    ZoneSteps pairs;
    ZoneBounds bounds;
    ZoneBounds::Open open;
    PairedFrames alone(true);
    uint64_t at = 1000;
    size_t used = 0, not_whole = 0;
    for (int batch = 0; batch < 20; ++batch) {
      alone.begin(0);
      std::vector<std::unique_ptr<ClockedFrame>> frames;
      for (uint64_t n = 1 + dice() % 10; n-- > 0;)
        frames.push_back(std::make_unique<ClockedFrame>(&map, 2, random_launch(dice, at)));
      for (const auto& frame : frames) alone.frame(frame->events());
      for (uint32_t i = 0; i < frames.size(); ++i) {
        const FrameEvents f = frames[i]->events();
        const bool none_open = pairs.open() == 0;
        const auto steps = pairs.of(f.markers, f.main_zone, false);
        const auto of_lane = bounds.of(f, steps, open);
        const PairedFrames::Frame got = alone.of(i);
        const auto ns = alone.ns(i);
        EXPECT_TRUE(std::equal(ns.begin(), ns.end(), frames[i]->ns().begin(), frames[i]->ns().end()));
        not_whole += !got.whole;
        if (!none_open || !got.whole) continue;
        ++used;
        EXPECT_EQ(pairs.open(), 0u) << "the lane has a zone open that the frame alone had not";
        EXPECT_TRUE(std::equal(steps.begin(), steps.end(), got.steps.begin(), got.steps.end(), same_step));
        EXPECT_TRUE(std::equal(of_lane.begin(), of_lane.end(), got.bounds.begin(), got.bounds.end()))
            << "seed " << seed;
      }
    }
    EXPECT_GT(used, 20u);
    EXPECT_GT(not_whole, 0u);
  }
}

TEST(PairedFrames, without_host_times_have_steps_alone) {
  ClockedFrame frame(nullptr, 2,
                     {{1000, 10, MarkerType::zone_start, 0, 0}, {2000, 10, MarkerType::zone_end, 0, 0}});
  FrameEvents f = frame.events();
  f.host_times = {};
  PairedFrames alone(true);
  alone.begin(0);
  alone.frame(f);
  EXPECT_EQ(alone.of(0).steps.size(), 2u);
  EXPECT_TRUE(alone.of(0).whole);
  EXPECT_TRUE(alone.of(0).bounds.empty());
  EXPECT_TRUE(alone.ns(0).empty());
}

}  // namespace
}  // namespace ttc::tools
