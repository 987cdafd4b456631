// What a Tracy server is sent beyond its limits: degraded by the stated rules, never broken.
#include "tools/viewers/tracy_timeline.hpp"

#include <gtest/gtest.h>
#include <lz4.h>

#include <array>
#include <cstring>
#include <set>

namespace ttc::tools {
namespace {

using markers::Marker;
using markers::MarkerType;

constexpr uint64_t kBegin = 1'000'000'000'000;

// The items that were sent, taken apart by the dialect's own lengths.
class Sent : public tracy::BlockSink {
 public:
  explicit Sent(const tracy::Dialect& dialect) : dialect_(dialect) {
    items_.fill(tracy::Item::kCount);
    for (size_t i = static_cast<size_t>(tracy::Item::kCount); i-- > 0;)
      if (const auto item = static_cast<tracy::Item>(i); dialect.has(item)) items_[dialect.id(item)] = item;
  }
  void block(std::span<const char> block) override {
    std::string out(tracy::kBlockBytes, '\0');
    const int bytes = LZ4_decompress_safe(block.data() + 4, out.data(), static_cast<int>(block.size() - 4),
                                          static_cast<int>(out.size()));
    ASSERT_GT(bytes, 0);
    take(std::string_view(out).substr(0, static_cast<size_t>(bytes)));
  }
  size_t count(tracy::Item item) const { return counts[static_cast<size_t>(item)]; }
  bool said(std::string_view part) const {
    for (const std::string& text : texts)
      if (text.find(part) != std::string::npos) return true;
    return false;
  }

  size_t counts[static_cast<size_t>(tracy::Item::kCount)] = {};
  std::set<uint64_t> locations;
  std::vector<std::string> texts;

 private:
  void take(std::string_view items) {
    using tracy::Item;
    while (!items.empty()) {
      const Item item = items_[static_cast<uint8_t>(items[0])];
      ASSERT_NE(item, Item::kCount) << int{static_cast<uint8_t>(items[0])};
      ++counts[static_cast<size_t>(item)];
      size_t bytes = dialect_.bytes(item);
      if (item == Item::zone_begin) locations.insert(key_at(items, 9));
      if (item == Item::zone_begin_32) locations.insert(key_at(items, 5));
      if (item == Item::zone_begin_16) locations.insert(key_at(items, 3));
      if (item == Item::single_string_8) {
        bytes = 2 + static_cast<uint8_t>(items[1]);
        texts.emplace_back(items.substr(2, bytes - 2));
      } else if (item == Item::single_string) {
        bytes = 3 + static_cast<uint8_t>(items[1]) + (static_cast<uint8_t>(items[2]) << 8);
        texts.emplace_back(items.substr(3, bytes - 3));
      }
      ASSERT_LE(bytes, items.size());
      items.remove_prefix(bytes);
    }
  }
  static uint64_t key_at(std::string_view items, size_t at) {
    uint64_t key = 0;
    std::memcpy(&key, items.data() + at, sizeof key);
    return key;
  }
  const tracy::Dialect& dialect_;
  std::array<tracy::Item, 256> items_;  // by the dialect's ids
};

struct Trace {
  explicit Trace(uint32_t protocol)
      : dialect(*tracy::dialect_for(protocol, true)), sent(dialect), tracy(dialect, sent, kBegin, false) {
    Session session;
    session.compute_cores = {{1, 1}, {2, 1}, {1, 2}};
    tracy.device(session);
  }
  // A zone of this id, from `ns` after the beginning on, 10 ns long.
  void zone(const TimelineLane& lane, uint16_t id, int64_t ns, bool late = false) {
    const Marker markers[] = {{1, id, MarkerType::zone_start, 0, 0}, {2, id, MarkerType::zone_end, 0, 0}};
    const auto at = static_cast<uint64_t>(static_cast<int64_t>(kBegin) + ns);
    const uint64_t times[] = {at, at + 10};
    const FrameEvents events{lane.chip, lane.core_x, lane.core_y, lane.kind, device::Mode::normal,
                             lane.risc, 5,           0,           markers,   batch,
                             names};
    ZoneSteps pairs;
    tracy.frame(lane, {events, times, pairs.of(markers, 0, late), labels.lane(events), at, late});
  }
  void end() {
    tracy.end();
    tracy.client().stream().flush();
  }
  TimelineLane lane(uint32_t number, uint8_t x = 1, uint8_t risc = 0) {
    TimelineLane is{number, 0, x, 1, risc, markers::CoreKind::tensix, "BRISC"};
    tracy.lane(is);
    return is;
  }

  const tracy::Dialect& dialect;
  Sent sent;
  TracyTimeline tracy;
  ZoneLabels labels;
  markers::Batch batch;
  markers::ZoneNames names;
};

TEST(TracyTimeline, names_beyond_the_limit_share_a_location_and_are_texts) {
  for (const uint32_t protocol : {74u, 82u}) {
    Trace trace(protocol);
    const TimelineLane lane = trace.lane(0);
    constexpr uint16_t kNames = 40'000;
    for (uint16_t id = 1; id <= kNames; ++id) trace.zone(lane, id, id * 100);
    trace.end();
    EXPECT_EQ(trace.sent.locations.size(), tracy::kMostSourceLocations);
    EXPECT_LE(*trace.sent.locations.rbegin(), tracy::kMostSourceLocations);
    EXPECT_TRUE(trace.sent.said("zone 0x9c40")) << "the text shows which one it is";
    EXPECT_TRUE(trace.sent.said(std::to_string(kNames - (tracy::kMostSourceLocations - 1)) + " names share"));
    EXPECT_EQ(trace.sent.count(tracy::Item::zone_text),
              kNames + (kNames - (tracy::kMostSourceLocations - 1)));
  }
}

TEST(TracyTimeline, what_lies_outside_of_the_trace_is_left_out_and_reported) {
  Trace trace(69);
  const TimelineLane lane = trace.lane(0);
  trace.zone(lane, 7, -5);
  trace.zone(lane, 7, 100);
  trace.zone(lane, 7, int64_t{1} << 47);
  trace.end();
  EXPECT_EQ(trace.sent.count(tracy::Item::zone_begin), 1u);
  EXPECT_TRUE(trace.sent.said("2 launches lie outside"));
}

TEST(TracyTimeline, late_launches_go_beside_the_lane_as_long_as_they_are_in_order_there) {
  Trace trace(82);
  const TimelineLane lane = trace.lane(0);
  trace.zone(lane, 7, 10'000);
  trace.zone(lane, 7, 500, true);
  trace.zone(lane, 7, 700, true);
  trace.zone(lane, 7, 600, true);
  trace.end();
  EXPECT_EQ(trace.sent.count(tracy::Item::zone_end_16), 3u);
  EXPECT_TRUE(trace.sent.said("1 launches came too late"));
}

TEST(TracyTimeline, a_device_context_whose_times_would_go_back_is_left_for_another) {
  Trace trace(66);
  const TimelineLane brisc = trace.lane(0, 1, 0), ncrisc = trace.lane(1, 1, 1), other = trace.lane(2, 2, 0);
  trace.zone(brisc, 7, 1'000'000'000);
  trace.zone(ncrisc, 7, 900'000'000);
  trace.zone(other, 7, 0);
  EXPECT_EQ((trace.tracy.client().stream().flush(), trace.sent.count(tracy::Item::gpu_new_context)), 2u);
  trace.zone(brisc, 7, 9'000'000'000);
  trace.zone(ncrisc, 7, 1'000'000'000);  // 8 s behind
  trace.zone(ncrisc, 7, 1'100'000'000);
  trace.end();
  EXPECT_EQ(trace.sent.count(tracy::Item::gpu_new_context), 3u);
  EXPECT_EQ(trace.sent.count(tracy::Item::gpu_zone_end_serial), 6u);
  EXPECT_TRUE(trace.sent.said("Device: 0, Logical (0,0) Physical (1,1)"));
  EXPECT_TRUE(trace.sent.said("Device: 0, Logical (1,0) Physical (2,1)"));
}

TEST(TracyTimeline, lanes_beyond_the_threads_of_a_trace_are_left_out_and_reported) {
  Trace trace(82);
  const TimelineLane fits = trace.lane(32'000), does_not = trace.lane(33'000);
  trace.zone(fits, 7, 100);
  trace.zone(does_not, 7, 100);
  trace.end();
  EXPECT_EQ(trace.sent.count(tracy::Item::zone_end_16), 1u);
  EXPECT_TRUE(trace.sent.said("1 lanes are left out"));
}

}  // namespace
}  // namespace ttc::tools
