// Frames that are paired alone and then taken by their lane: the same as if the lane had had all of their markers.
#include "tools/report/zones/lane_pairs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace ttc::report {
namespace {

using markers::MarkerType;

struct LaneFrame {
  Launch launch;
  Lane lane;
  std::vector<Event> events;
};

// A launch as the log has it, some of them with markers that are gone, repeated or of zones that stay open.
LaneFrame random_frame(std::mt19937_64& dice, uint32_t host_id, uint64_t& now) {
  constexpr LogRisc kLanes[] = {LogRisc::brisc, LogRisc::trisc_0, LogRisc::erisc, LogRisc::aggregate};
  LaneFrame f{{0, host_id, -1, -1}, {1, static_cast<uint8_t>(dice() % 2), kLanes[dice() % 4]}, {}};
  const auto add = [&](uint16_t id, ZoneClass zone_class, MarkerType type, uint64_t time) {
    if (dice() % 40) f.events.push_back({time, 0, id, id, type, zone_class});
    if (dice() % 60 == 0 && !f.events.empty()) f.events.push_back(f.events.back());
  };
  const auto zone = [&](uint16_t id, ZoneClass zone_class, uint64_t begin, uint64_t end) {
    add(id, zone_class, MarkerType::zone_start, begin);
    add(id, zone_class, MarkerType::zone_end, end);
  };
  now += 1000;
  const auto firmware = static_cast<uint16_t>(1 + (f.lane.risc == LogRisc::erisc && dice() % 8 == 0));
  if (dice() % 20) zone(firmware, ZoneClass::firmware, now, now + 900);
  if (dice() % 10) zone(3, ZoneClass::kernel, now + 50, now + 800);
  for (uint64_t zones = dice() % 3; zones != 0; --zones)
    zone(static_cast<uint16_t>(4 + dice() % 3), ZoneClass::other, now + 100 * zones, now + 100 * zones + 50);
  if (dice() % 30 == 0) add(9, ZoneClass::other, MarkerType::zone_start, now + 700);
  if (dice() % 4 == 0) f.events.push_back({now + 60, 7, 8, 0, MarkerType::ts_data, ZoneClass::other});
  return f;
}

std::string text_of(const std::vector<Unpaired>& all) {
  std::vector<std::string> lines;
  for (const Unpaired& u : all)
    lines.push_back(std::to_string(lane_key(u.chip, u.lane)) + ' ' + std::to_string(u.start) + ' ' +
                    std::to_string(u.zone) + ' ' + std::to_string(u.from) + ' ' + std::to_string(u.to));
  std::sort(lines.begin(), lines.end());  // at the end they come lane by lane, in any order of lanes
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

TEST(LanePairs, frames_taken_alone_leave_what_their_markers_would) {
  size_t taken = 0, refused = 0, findings = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    std::mt19937_64 dice(seed);
    LanePairs whole(2), by_frames(2);
    LanePairs::Alone alone;
    std::vector<Unpaired> of_whole, of_frames;
    uint64_t now = 0;
    for (uint32_t i = 0; i < 60; ++i) {
      const LaneFrame f = random_frame(dice, i / 4 + 1, now);
      const LaneEvents batch{f.launch, f.lane, f.events};
      whole.events(batch, of_whole);
      alone.begin(f.lane);
      const size_t half =
          dice() % (f.events.size() + 1);  // markers of another host id are a batch of their own
      for (const auto part : {batch.events.first(half), batch.events.subspan(half)})
        alone.events({f.launch, f.lane, part});
      LanePairs::Closed closed;
      const bool took = alone.end(closed) && by_frames.take(f.launch.chip, f.lane, closed);
      ++(took ? taken : refused);
      if (!took) by_frames.events(batch, of_frames);
      ASSERT_EQ(text_of(of_frames), text_of(of_whole)) << "seed " << seed << ", frame " << i;
      ASSERT_EQ(by_frames.at_edges(), whole.at_edges()) << "seed " << seed << ", frame " << i;
    }
    whole.end(of_whole);
    by_frames.end(of_frames);
    ASSERT_EQ(text_of(of_frames), text_of(of_whole)) << "seed " << seed;
    ASSERT_EQ(by_frames.at_edges(), whole.at_edges()) << "seed " << seed;
    findings += of_whole.size();
  }
  EXPECT_GT(taken, 5000u);
  EXPECT_GT(refused, 2000u);
  EXPECT_GT(findings, 1000u);
}

}  // namespace
}  // namespace ttc::report
