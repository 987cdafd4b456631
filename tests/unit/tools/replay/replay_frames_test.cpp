// Tests the way from the rows of a device log to frames: a decoder makes the same rows of the frames.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "firmware_markers/decoder.hpp"
#include "tools/replay/replay_plan.hpp"

namespace ttc::emulation {
namespace {

using namespace device;
using Rows = std::vector<ReplayRow>;

constexpr uint16_t kFw = 0x1111, kKernel = 0x2222, kZone = 0x3333, kPush = 0x4444;

ReplayRow row(PacketType type, uint16_t id, uint64_t time, uint64_t data = 0, uint64_t more = 0) {
  ReplayRow r{time, {data, more}, 0, id, type};
  r.hint = id == kFw ? SlotHint::fw : id == kKernel ? SlotHint::kernel : SlotHint::none;
  r.ends_push = id == kPush && type == kZoneEnd;
  return r;
}

struct Accepting {
  bool sat_out_ok(uint32_t) const { return true; }
  bool take(const markers::VerifiedFrame&) const { return true; }
};

// A lane's log as a collector and an exporter read it.
class LaneUnderTest {
 public:
  void append(const FramesOfLaunch& launch, uint32_t host_id) {
    for (const ReplayFrame& f : launch.frames) {
      EXPECT_LE(f.words(), kBufferWords);
      EXPECT_EQ(f.words() % 4, 0u);
      words_.insert(words_.end(), {0, 0, lane_.format->identity(1, 7, 0), host_id});
      words_.insert(words_.end(), f.slots.begin(), f.slots.end());
      words_.insert(words_.end(), f.customs.begin(), f.customs.end());
    }
  }

  bool verifies() const {
    markers::FrameDigest digest;
    return markers::verify_frames(words_, lane_, {}, false, digest, Accepting{}).clean;
  }

  Rows decoded(bool by_time) const {
    markers::LaneDecoder decoder(lane_);
    markers::Batch batch;
    decoder.decode(words_, batch);
    EXPECT_EQ(decoder.anomalies().stale_markers, 0u);
    Rows rows;
    for (const markers::Frame& f : batch.frames()) {
      const size_t first = rows.size();
      for (const markers::Marker& m : batch.markers(f)) {
        if (m.flags & (markers::kDuplicate | markers::kStale)) continue;
        const auto type = static_cast<PacketType>(m.type);
        const bool data = type == kTsData || type == kTsData16B || type == kZoneTotal;
        rows.push_back(row(type, m.id, m.time_cycles, data ? batch.payload(m.payload) : 0,
                           type == kTsData16B ? batch.payload(m.payload + 1) : 0));
      }
      if (by_time)
        std::stable_sort(rows.begin() + static_cast<ptrdiff_t>(first), rows.end(),
                         [](const auto& a, const auto& b) { return a.time < b.time; });
    }
    return rows;
  }

 private:
  markers::Lane lane_{&kG4, 1, 7};
  std::vector<uint32_t> words_;
};

std::vector<std::string> printed(const Rows& rows) {
  std::vector<std::string> lines;
  for (const ReplayRow& r : rows) {
    std::ostringstream out;
    out << r.type << ' ' << r.id << ' ' << r.time << ' ' << r.data[0] << ' ' << r.data[1];
    lines.push_back(out.str());
  }
  return lines;
}

void expect_back(const Rows& rows, bool by_time) {
  const FramesOfLaunch launch = frames_of(rows);
  EXPECT_TRUE(launch.early.empty());
  EXPECT_EQ(launch.rows, rows.size());
  LaneUnderTest lane;
  lane.append(launch, 5);
  EXPECT_TRUE(lane.verifies());
  EXPECT_EQ(printed(lane.decoded(by_time)), printed(rows));
}

TEST(ReplayFrames, a_launch_in_log_order_comes_back_in_log_order) {
  const Rows rows{row(kZoneStart, kFw, 100),
                  row(kZoneEnd, kFw, 200),
                  row(kZoneStart, kKernel, 110),
                  row(kZoneEnd, kKernel, 190),
                  row(kTsData, 12345, 120, ~0ull),
                  row(kZoneStart, kZone, 130),
                  row(kTsEvent, 9, 140),
                  row(kZoneEnd, kZone, 150),
                  row(kTsData16B, 9090, 160, 1, 2),
                  row(kZoneTotal, 77, 100, 0xffffffff)};
  expect_back(rows, false);
  EXPECT_TRUE(frames_of(rows).finished);
  EXPECT_EQ(frames_of(rows).frames.size(), 1u);
  EXPECT_EQ(frames_of(rows).first_time, 100u);
  EXPECT_EQ(frames_of(rows).last_time, 200u);
}

TEST(ReplayFrames, a_launch_in_time_order_comes_back_in_time_order) {
  const Rows rows{row(kZoneStart, kFw, 100),   row(kZoneStart, kKernel, 110), row(kTsData, 12345, 120, 7),
                  row(kZoneEnd, kKernel, 190), row(kTsEvent, 9, 195),         row(kZoneEnd, kFw, 200)};
  expect_back(rows, true);
  const FramesOfLaunch launch = frames_of(rows);
  ASSERT_EQ(launch.frames.size(), 1u);
  EXPECT_EQ(launch.frames[0].slots[6], marker_high(kZoneEnd, kKernel, 0));
  EXPECT_EQ(launch.frames[0].slots[2], marker_high(kZoneEnd, kFw, 0));
}

TEST(ReplayFrames, a_launch_whose_end_is_not_in_the_file_stays_open) {
  const Rows rows{row(kZoneStart, kFw, 100), row(kZoneStart, kKernel, 110), row(kTsData, 12345, 120, 7)};
  expect_back(rows, false);
  EXPECT_FALSE(frames_of(rows).finished);
}

// On dispatch cores the host gives rows of one run different ids: pieces without an FW zone of their own.
TEST(ReplayFrames, a_piece_without_a_firmware_zone_is_carried_by_its_first_zone) {
  expect_back({row(kZoneStart, kZone, 100), row(kTsData, 1, 110, 5), row(kZoneEnd, kZone, 120)}, true);
  expect_back({row(kZoneStart, kKernel, 100), row(kZoneEnd, kKernel, 120)}, true);
  const Rows data_first{row(kTsData, 1, 90, 5), row(kZoneStart, kZone, 100)};
  const FramesOfLaunch launch = frames_of(data_first);
  ASSERT_EQ(launch.early.size(), 1u);
  EXPECT_EQ(launch.early[0]->time, 90u);
  EXPECT_EQ(launch.rows, 1u);
  for (const PacketType type : {kTsData, kZoneEnd, kTsEvent, kZoneTotal}) {
    const Rows alone{row(type, 1, 90, 5)};
    EXPECT_EQ(frames_of(alone).frames.size(), 0u);
    EXPECT_EQ(frames_of(alone).early.size(), 1u);
  }
}

TEST(ReplayFrames, a_quick_push_in_the_file_ends_a_frame) {
  const Rows rows{row(kZoneStart, kFw, 100),   row(kZoneStart, kKernel, 110), row(kTsData, 1, 120, 7),
                  row(kZoneStart, kPush, 130), row(kZoneEnd, kPush, 131),     row(kZoneEnd, kFw, 200),
                  row(kZoneEnd, kKernel, 190), row(kTsData, 1, 150, 8)};
  expect_back(rows, false);
  EXPECT_EQ(frames_of(rows).frames.size(), 2u);
}

TEST(ReplayFrames, starts_that_quick_push_repeats_are_not_played_twice) {
  const Rows rows{row(kZoneStart, kFw, 100), row(kZoneStart, kKernel, 110), row(kTsData, 1, 120, 7),
                  row(kZoneStart, kFw, 100), row(kZoneStart, kKernel, 110), row(kTsData, 1, 130, 7)};
  const FramesOfLaunch launch = frames_of(rows);
  EXPECT_EQ(launch.repeated, 2u);
  EXPECT_EQ(launch.rows, 4u);
  EXPECT_EQ(launch.frames.size(), 2u);
}

// What a frame may not have, because an observer would reject it.
TEST(ReplayFrames, a_marker_behind_the_firmwares_end_takes_its_end_out_of_the_slot) {
  expect_back({row(kZoneStart, kFw, 100), row(kZoneEnd, kFw, 200), row(kTsEvent, 9, 210)}, true);
}

TEST(ReplayFrames, any_launch_of_any_length_comes_back) {
  const auto seed = std::random_device{}();
  std::mt19937 dice(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (int round = 0; round < 300; ++round) {
    const bool by_time = dice() % 2;
    const auto customs =
        static_cast<unsigned>(dice() % (by_time ? 900 : 80));  // in log order as much as one buffer holds
    uint64_t time = 1000 + (uint64_t{dice() % 4096} << 32) % (markers::kClockMask - (1 << 20));
    const auto next = [&] { return time += 1 + dice() % 20; };
    Rows rows{row(kZoneStart, kFw, next())};
    if (dice() % 4) rows.push_back(row(kZoneStart, kKernel, next()));
    const bool kernel = rows.size() == 2;
    Rows middle;
    for (unsigned i = 0; i < customs; ++i) switch (dice() % 5) {
        case 0:
          middle.push_back(row(kTsData, 12345, next(), dice(), 0));
          break;
        case 1:
          middle.push_back(row(kTsData16B, 9090, next(), dice(), dice()));
          break;
        case 2:
          middle.push_back(row(kTsEvent, static_cast<uint16_t>(dice() | 1), next()));
          break;
        default:
          middle.push_back(row(dice() % 2 ? kZoneStart : kZoneEnd, kZone, next()));
      }
    const ReplayRow kernel_end = row(kZoneEnd, kKernel, next());
    const ReplayRow fw_end = row(kZoneEnd, kFw, next());
    if (by_time) {
      rows.insert(rows.end(), middle.begin(), middle.end());
      if (kernel) rows.push_back(kernel_end);
      rows.push_back(fw_end);
    } else {
      rows.insert(rows.begin() + 1, fw_end);
      if (kernel) rows.push_back(kernel_end);
      rows.insert(rows.end(), middle.begin(), middle.end());
    }
    expect_back(rows, by_time);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace ttc::emulation
