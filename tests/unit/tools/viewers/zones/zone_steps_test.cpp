// Pairs starts with ends, and shows what does not pair as it is.
#include "tools/viewers/zones/zone_steps.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace ttc::tools {
namespace {

using Kind = ZoneStep::Kind;
using markers::Marker;
using markers::MarkerType;

// "A" starts zone A, "a" ends it, "." is an event; times count up.
std::vector<Marker> markers_of(const std::string& text) {
  std::vector<Marker> made;
  for (const char c : text) {
    const bool start = c >= 'A' && c <= 'Z', event = c == '.';
    const auto id = static_cast<uint16_t>(event ? 1 : start ? c : c - 'a' + 'A');
    made.push_back({made.size() + 1, id,
                    event   ? MarkerType::ts_event
                    : start ? MarkerType::zone_start
                            : MarkerType::zone_end,
                    0, 0});
  }
  return made;
}

// A step a word: what, the marker's letter, its flaw. "(A" begin, ")a" end, "!A" mark, "'" beside the lane.
std::string reported(std::span<const ZoneStep> steps, const std::string& text) {
  std::string all;
  for (const ZoneStep& s : steps) {
    if (!all.empty()) all += ' ';
    all += s.kind == Kind::begin ? '(' : s.kind == Kind::end ? ')' : '!';
    if (s.aside) all += '\'';
    all += s.marker == kNoMarker ? '_' : text[s.marker];
    if (s.flaw == Flaw::no_end) all += ":no-end";
    if (s.flaw == Flaw::no_start) all += ":no-start";
    if (s.flaw == Flaw::overlap) all += ":overlap";
  }
  return all;
}

struct Lane {
  ZoneSteps zones;
  std::string frame(const std::string& text, char main = 'F', bool late = false) {
    const auto markers = markers_of(text);
    return reported(zones.of(markers, static_cast<uint16_t>(main), late), text);
  }
};

TEST(ZoneSteps, nested_zones_pair) {
  Lane lane;
  EXPECT_EQ(lane.frame("FKA.akf"), "(F (K (A !. )a )k )f");
  EXPECT_EQ(lane.zones.open(), 0u);
}

TEST(ZoneSteps, partners_are_named) {
  ZoneSteps zones;
  const auto markers = markers_of("FAaf");
  const auto steps = zones.of(markers, 'F', false);
  ASSERT_EQ(steps.size(), 4u);
  EXPECT_EQ(steps[0].other, 3u);
  EXPECT_EQ(steps[1].other, 2u);
  EXPECT_EQ(steps[2].other, 1u);
  EXPECT_EQ(steps[3].other, 0u);
}

TEST(ZoneSteps, a_start_without_end_is_a_mark) {
  Lane lane;
  EXPECT_EQ(lane.frame("FABbf"), "(F !A:no-end (B )b )f");
  EXPECT_EQ(lane.zones.open(), 0u);
}

TEST(ZoneSteps, an_end_without_start_is_a_mark) {
  Lane lane;
  EXPECT_EQ(lane.frame("Faf"), "(F !a:no-start )f");
}

TEST(ZoneSteps, overlapping_zones_keep_both_times_beside_the_lane) {
  Lane lane;
  EXPECT_EQ(lane.frame("FABabf"), "(F (A ('B:overlap )a )'b:overlap )f");
  EXPECT_EQ(lane.frame("FABCacbf"), "(F (A ('B:overlap ('C:overlap )a )'c:overlap )'b:overlap )f")
      << "they nest beside the lane as well";
  EXPECT_EQ(lane.frame("FABCabcf"), "(F (A ('B:overlap !C:overlap )a )'b:overlap !c:overlap )f")
      << "where they do not nest there either, both markers are shown";
}

TEST(ZoneSteps, a_zone_may_go_on_in_later_frames) {
  Lane lane;
  EXPECT_EQ(lane.frame("FKA"), "(F (K (A");
  EXPECT_EQ(lane.frame("aBb"), ")a (B )b");
  EXPECT_EQ(lane.frame("kf"), ")k )f");
}

TEST(ZoneSteps, a_new_launch_closes_what_will_not_end) {
  Lane lane;
  EXPECT_EQ(lane.frame("FKA"), "(F (K (A");
  EXPECT_EQ(lane.frame("FKkf"), ")_:no-end )_:no-end )_:no-end (F (K )k )f");
  EXPECT_EQ(lane.frame("FKFkf"), "!F:no-end !K:no-end (F !k:no-start )f") << "within a frame, too";
}

TEST(ZoneSteps, a_zone_of_an_earlier_frame_is_closed_with_the_one_around_it) {
  Lane lane;
  EXPECT_EQ(lane.frame("FKA"), "(F (K (A");
  EXPECT_EQ(lane.frame("kaf"), ")_:no-end )k !a:no-start )f");
}

TEST(ZoneSteps, a_late_frame_touches_no_open_zone) {
  Lane lane;
  EXPECT_EQ(lane.frame("FK"), "(F (K");
  EXPECT_EQ(lane.frame("FAaK", 'F', true), "!F:no-end (A )a !K:no-end");
  EXPECT_EQ(lane.frame("kf"), ")k )f");
}

// Whatever comes: every marker is shown once, and begins and ends nest on the lane and beside it.
TEST(ZoneSteps, anything_nests_and_nothing_is_lost_or_invented) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int world = 0; world < 3000; ++world) {
    ZoneSteps zones;
    size_t open = 0;
    for (int frame = 0; frame < 4; ++frame) {
      std::string text;
      for (size_t n = random() % 24; n > 0; --n) text += "FABCDfabcd."[random() % 11];
      const auto markers = markers_of(text);
      const bool late = random() % 8 == 0;
      const auto steps = zones.of(markers, 'F', late);
      std::vector<int> shown(markers.size());
      size_t depth = late ? 0 : open;
      std::vector<uint32_t> main, aside;
      for (const ZoneStep& s : steps) {
        if (s.marker != kNoMarker) ++shown[s.marker];
        if (s.kind == Kind::begin) {
          (s.aside ? aside : main).push_back(s.marker);
          if (!s.aside) ++depth;
        } else if (s.kind == Kind::end) {
          auto& stack = s.aside ? aside : main;
          if (!s.aside) {
            ASSERT_GT(depth, 0u) << text;
            --depth;
          }
          ASSERT_TRUE(s.marker != kNoMarker || s.flaw == Flaw::no_end) << text;
          if (s.other != kNoMarker) {
            ASSERT_FALSE(stack.empty()) << text;
            ASSERT_EQ(stack.back(), s.other) << text;
            ASSERT_EQ(markers[s.other].id, markers[s.marker].id) << text;
            stack.pop_back();
          } else {
            ASSERT_TRUE(stack.empty() && !s.aside)
                << text << ": an open zone is closed within one of this frame";
          }
        }
      }
      for (size_t i = 0; i < shown.size(); ++i) ASSERT_EQ(shown[i], 1) << text << " marker " << i;
      ASSERT_TRUE(aside.empty()) << text;
      if (late)
        ASSERT_EQ(depth, 0u) << text;
      else
        open = depth;
      ASSERT_EQ(zones.open(), open) << text;
    }
  }
}

}  // namespace
}  // namespace ttc::tools
