// Conversion: exact arithmetic, wraps, runs, replacement of provisional segments, foreign bytes.
#include "ttcollect/clock_map.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace ttc::collect {
namespace {

constexpr uint64_t kMarkerMask = (uint64_t{1} << 44) - 1;

ClockSegment piece(uint64_t from, HostTime host_from, uint64_t to, HostTime host_to,
                   uint8_t flags = kFinalSegment) {
  ClockSegment s = clock_segment_between(from, host_from, to, host_to);
  s.kind = BoundKind::hard;
  s.bound = s.hard_bound = 16;
  s.flags = flags;
  return s;
}

std::vector<char> body(const ClockHead& head, std::span<const ClockSegment> segments) {
  std::vector<char> bytes(sizeof head + segments.size_bytes());
  std::memcpy(bytes.data(), &head, sizeof head);
  if (!segments.empty()) std::memcpy(bytes.data() + sizeof head, segments.data(), segments.size_bytes());
  return bytes;
}

TEST(ClockSegment, rounds_by_less_than_a_tick_and_stays_strictly_monotone) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) {
    const uint64_t cycles = 1 + (random() >> (10 + random() % 50)) % (uint64_t{1} << 43);
    const unsigned __int128 wanted =
        static_cast<unsigned __int128>(cycles) * (1 + (random() >> (30 + random() % 33)));
    if (wanted >> 60) continue;
    const auto ticks = static_cast<uint64_t>(wanted) + random() % cycles;
    const ClockSegment s = piece(random() >> 2, random() >> 3, 0, 0);
    const ClockSegment p = piece(s.from_cycles, s.host_from, s.from_cycles + cycles, s.host_from + ticks);
    ASSERT_EQ(check_clock_body(body({}, {&p, 1})), "") << cycles << " " << ticks;
    for (const uint64_t at : {uint64_t{0}, cycles / 2, cycles - 1, random() % cycles}) {
      const auto exact = static_cast<unsigned __int128>(at) * ticks / cycles;
      const uint64_t got = host_time_at(p, p.from_cycles + at) - p.host_from;
      ASSERT_LE(got, static_cast<uint64_t>(exact));
      ASSERT_GE(got + 1, static_cast<uint64_t>(exact));
      if (at > 0) {
        ASSERT_GT(got, host_time_at(p, p.from_cycles + at - 1) - p.host_from);
      }
    }
    ASSERT_LT(host_time_at(p, p.to_cycles - 1), p.host_to);
  }
}

TEST(ClockMap, batch_and_single_agree_over_wraps_and_segment_ends) {
  std::vector<ClockSegment> segments;
  uint64_t cycles = (uint64_t{3} << 44) - 700'000'000;  // the markers' 44 bits wrap on the way
  HostTime host = 1'000'000'000'000;
  for (int i = 0; i < 40; ++i) {
    const uint64_t more = 40'000'000 + static_cast<uint64_t>(i) * 1'000'003;
    const HostTime later = host + more * (11 + static_cast<uint64_t>(i % 20));
    segments.push_back(piece(cycles, host, cycles + more, later));
    cycles += more;
    host = later;
  }
  ClockMap map;
  map.update({}, segments);
  std::mt19937_64 random(9);
  std::vector<uint64_t> times, truth;
  for (uint64_t c = segments.front().from_cycles; c < cycles; c += random() % 3'000'000) truth.push_back(c);
  for (const ClockSegment& s : segments) truth.push_back(s.from_cycles), truth.push_back(s.to_cycles - 1);
  std::sort(truth.begin(), truth.end());
  for (const uint64_t c : truth) times.push_back(c & kMarkerMask);
  std::vector<HostTime> out(times.size());
  std::vector<ClockMap::Run> runs;
  map.convert(times, host, out, runs);
  size_t at = 0;
  for (const auto& run : runs)
    for (size_t i = 0; i < run.count; ++i, ++at) {
      const auto one = map.at(times[at], host);
      ASSERT_EQ(one.host, out[at]);
      ASSERT_EQ(one.quality.kind, run.quality.kind);
      if (at > 0 && truth[at] > truth[at - 1]) {
        ASSERT_GT(out[at], out[at - 1]);
      }
    }
  EXPECT_EQ(at, times.size());
  EXPECT_LE(runs.size(), segments.size() + 1);
  // In place.
  runs.clear();
  map.convert(times, host, times, runs);
  EXPECT_EQ(times, out);
}

// Long pieces, read early: what is more than 2^43 cycles ahead is a wrap older.
TEST(ClockMap, batch_takes_the_same_wrap_as_single_in_a_piece_of_two_hours) {
  constexpr HostTime kHost = 1'000'000'000'000'000;
  constexpr uint64_t kLong = (uint64_t{1} << 43) - 1;
  const uint64_t from = uint64_t{5} << 44;
  const std::vector<ClockSegment> segments = {
      piece(from, kHost, from + kLong, kHost + 12 * kLong),
      piece(from + kLong, kHost + 12 * kLong, from + 2 * kLong, kHost + 24 * kLong)};
  ClockMap map;
  map.update({}, segments);
  for (const HostTime seen :
       {segments[0].host_from - 12 * (kLong / 4), segments[0].host_from, segments[1].host_from}) {
    std::vector<uint64_t> times;
    for (uint64_t at = 0; at < 2 * kLong; at += kLong / 16) times.push_back((from + at) & kMarkerMask);
    std::vector<HostTime> out(times.size());
    std::vector<ClockMap::Run> runs;
    map.convert(times, seen, out, runs);
    for (size_t i = 0; i < times.size(); ++i) ASSERT_EQ(out[i], map.at(times[i], seen).host) << i;
  }
}

// A card counts on while its host is started again.
TEST(ClockMap, a_marker_from_before_the_hosts_boot_is_not_in_the_far_future) {
  const uint64_t from = uint64_t{1} << 43;
  const HostTime second = 16'000'000'000;
  const ClockSegment s = piece(from, second, from + 1'000'000, second + 16'000'000);
  ClockMap map;
  map.update({}, {&s, 1});
  const uint64_t old = from - 3'600'000'000'000;  // an hour at 1 GHz
  const auto single = map.at(old, second + 16'000'000);
  EXPECT_EQ(single.quality.kind, BoundKind::none);
  EXPECT_EQ(single.host, 1u);
  std::vector<HostTime> out(1);
  std::vector<ClockMap::Run> runs;
  map.convert({{old}}, second + 16'000'000, out, runs);
  EXPECT_EQ(out[0], 1u);
}

TEST(ClockMap, outside_of_everything_measured_there_is_no_bound) {
  ClockMap map;
  EXPECT_EQ(map.at(5, 5).quality.kind, BoundKind::none);
  const ClockSegment s = piece(1'000'000, 160'000'000, 2'000'000, 176'000'000);
  ClockHead head;
  head.largest_hz = 1'400'000'000;
  map.update(head, {&s, 1});
  const auto early = map.at(999'000, 200'000'000);
  EXPECT_EQ(early.quality.kind, BoundKind::none);
  EXPECT_EQ(early.quality.bound, kNoBound);
  // Later than the last sample, but read: not after that, and not faster than the chip can count.
  const HostTime seen = 177'000'000;
  const auto late = map.at(2'010'000, seen);
  EXPECT_EQ(late.quality.kind, BoundKind::hard);
  EXPECT_FALSE(late.quality.final);
  EXPECT_EQ(late.host, 176'160'000u);
  EXPECT_GE(late.host + late.quality.bound, seen);
  EXPECT_LE(late.host - late.quality.bound, 176'000'000u + 10'000 * 16 * 10 / 14);
}

TEST(ClockMap, provisional_segments_are_replaced_final_ones_stay) {
  ClockMap map;
  const ClockSegment a = piece(100, 10'000, 200, 12'000);
  const ClockSegment guess[] = {piece(200, 12'000, 300, 14'000, 0), piece(300, 14'000, 400, 16'000, 0)};
  map.update({}, {&a, 1});
  map.update({}, guess);
  EXPECT_EQ(map.segments().size(), 3u);
  EXPECT_EQ(map.final_until(), 12'000u);
  const ClockSegment better = piece(200, 12'000, 350, 14'500);
  map.update({}, {&better, 1});
  ASSERT_EQ(map.segments().size(), 2u);
  EXPECT_EQ(map.final_until(), 14'500u);
  const ClockSegment against = piece(150, 10'000, 250, 20'000);
  map.update({}, {&against, 1});
  EXPECT_EQ(map.segments().size(), 2u);
  EXPECT_EQ(map.segments().back().from_cycles, 200u);
}

TEST(ClockMap, the_same_cycles_in_two_eras_are_told_apart_by_when_they_were_seen) {
  ClockMap map;
  ClockSegment old = piece(1000, 1'000'000, 2000, 1'020'000), fresh = piece(1000, 5'000'000, 2000, 5'020'000);
  fresh.era = 1;
  map.update({}, {&old, 1});
  map.update({}, {&fresh, 1});
  EXPECT_EQ(map.at(1500, 1'015'000).host, 1'010'000u);
  EXPECT_EQ(map.at(1500, 5'015'000).host, 5'010'000u);
  EXPECT_EQ(map.at(1500, 3'000'000).quality.kind, BoundKind::none);  // the reset is somewhere here
}

// Two stretches at different paces, whose limits are sharp.
std::vector<ClockSegment> of_two_paces() {
  std::vector<ClockSegment> two{piece(0, 1'000'000, 1'000'000, 13'000'000),
                                piece(1'000'000, 13'000'000, 2'000'000, 37'000'000)};
  for (ClockSegment& s : two) {
    s.kind = BoundKind::conditional;
    s.bound = s.hard_bound = 1'000'000;
    set_pace_error(s, 1e-9);
  }
  return two;
}

TEST(ClockDifference, does_not_contain_the_offset_to_host_time) {
  ClockMap map;
  map.update({}, of_two_paces());
  const auto d = map.difference(400'000, 1'500'000, 40'000'000);
  EXPECT_EQ(d.ticks, 600'000 * 12 + 500'000 * 24);
  EXPECT_EQ(d.kind, BoundKind::conditional);
  EXPECT_LT(d.bound, 40u);
}

// The step is at other counts of that tile: its markers are 10 cycles later on the reference.
TEST(ClockDifference, holds_on_a_tile_that_counts_otherwise_across_a_step) {
  ClockMap map;
  ClockHead head;
  head.tile_spread = 240;
  map.update(head, of_two_paces());
  const std::vector<ClockSegment> two = of_two_paces();
  const auto truth = [&](uint64_t cycles) {
    const uint64_t counted = cycles + 10;
    return static_cast<int64_t>(host_time_at(two[counted < 1'000'000 ? 0 : 1], counted));
  };
  for (const auto& [from, to] : std::vector<std::pair<uint64_t, uint64_t>>{
           {400'000, 1'500'000}, {999'985, 999'995}, {999'000, 999'999}, {999'999, 1'000'001}}) {
    const auto d = map.difference(from, to, 40'000'000);
    EXPECT_LE(static_cast<uint64_t>(std::abs(d.ticks - (truth(to) - truth(from)))), d.bound)
        << from << " " << to;
  }
  EXPECT_LT(map.difference(400'000, 500'000, 40'000'000).bound, 20u);  // one pace: the shift cancels
}

TEST(ClockDifference, is_not_hard_where_one_of_the_times_is_not) {
  std::vector<ClockSegment> two = of_two_paces();
  two[0].kind = BoundKind::hard;
  two[0].flags = kFinalSegment;
  ClockMap map;
  map.update({}, two);
  EXPECT_EQ(map.difference(400'000, 1'500'000, 40'000'000).kind, BoundKind::conditional);
  two[1].bound = kNoBound;
  map = {};
  map.update({}, two);
  EXPECT_EQ(map.difference(400'000, 1'500'000, 40'000'000).bound, kNoBound);
}

TEST(ClockDifference, of_one_pace_is_what_difference_gives) {
  std::vector<ClockSegment> segments = of_two_paces();
  ClockSegment after_reset = piece(0, 40'000'000, 1'000'000, 56'000'000);
  after_reset.kind = BoundKind::conditional;
  after_reset.era = 1;
  set_pace_error(after_reset, 1e-3);  // so that for long durations both times are known better
  after_reset.bound = after_reset.hard_bound = 100;
  segments.push_back(after_reset);
  ClockHead head;
  head.tile_spread = 240;
  ClockMap map;
  map.update(head, segments);
  std::mt19937_64 random(3);
  size_t compared = 0, of_times = 0;
  for (int i = 0; i < 20'000; ++i) {
    const HostTime seen_by = 2'000'000 + random() % 60'000'000;
    const ClockMap::SamePace pace = map.same_pace(random() % 2'100'000, seen_by);
    const uint64_t from = random() % 2'100'000, to = from + random() % 300'000;
    const auto bound = pace.bound(from, to, seen_by);
    if (!bound) continue;
    ++compared;
    const auto d = map.difference(from, to, seen_by);
    of_times += d.bound == 2 * 100 + 2 * 240;
    // The two round a product in another order.
    ASSERT_LE(std::max(*bound, d.bound) - std::min(*bound, d.bound), 1u) << from << " " << to;
    EXPECT_FALSE(pace.bound(to + 1, from, seen_by));
  }
  EXPECT_GT(compared, 3'000u);
  EXPECT_GT(of_times, 100u);
}

// What was read after a reset of the counter is of another time, however near its number.
TEST(ClockDifference, of_one_pace_ends_with_its_era) {
  std::vector<ClockSegment> segments = of_two_paces();
  segments.push_back(piece(0, 40'000'000, 1'000'000, 56'000'000));
  segments.back().era = 1;
  ClockMap map;
  map.update({}, segments);
  const ClockMap::SamePace pace = map.same_pace(400'000, 20'000'000);
  EXPECT_TRUE(pace.bound(400'000, 500'000, 20'000'000));
  EXPECT_TRUE(pace.bound(400'000, 500'000, 37'000'000));
  EXPECT_FALSE(pace.bound(400'000, 500'000, 38'000'000));  // between the eras
  EXPECT_FALSE(pace.bound(400'000, 500'000, 45'000'000));
  EXPECT_FALSE(map.same_pace(400'000, 38'000'000).bound(400'000, 400'001, 38'000'000));
  EXPECT_FALSE(ClockMap().same_pace(1, 1).bound(1, 1, 1));
}

TEST(ClockBody, foreign_bytes_are_refused) {
  const ClockSegment good = piece(1000, 1'000'000, 2000, 1'020'000);
  EXPECT_EQ(check_clock_body(body({}, {&good, 1})), "");
  EXPECT_NE(check_clock_body({}), "");
  auto bytes = body({}, {&good, 1});
  EXPECT_NE(check_clock_body(std::span(bytes).first(bytes.size() - 1)), "");
  ClockHead later;
  later.version = 2;
  EXPECT_NE(check_clock_body(body(later, {&good, 1})), "");
  const auto refused = [&](auto spoil) {
    ClockSegment s = good;
    spoil(s);
    return !check_clock_body(body({}, {&s, 1})).empty();
  };
  EXPECT_TRUE(refused([](ClockSegment& s) { s.to_cycles = s.from_cycles; }));
  EXPECT_TRUE(refused([](ClockSegment& s) { s.host_to = s.host_from; }));
  EXPECT_TRUE(refused([](ClockSegment& s) { s.scale = ~uint64_t{0}; }));
  EXPECT_TRUE(refused([](ClockSegment& s) { s.scale *= 2; }));
  EXPECT_TRUE(refused([](ClockSegment& s) { s.scale = 0; }));
  EXPECT_TRUE(refused([](ClockSegment& s) { s.scale >>= 6; }));
  EXPECT_TRUE(refused([](ClockSegment& s) { s.shift = 0; }));
  EXPECT_TRUE(refused([](ClockSegment& s) { s.shift = 63; }));
  EXPECT_TRUE(refused([](ClockSegment& s) { s.shift = 5, s.scale = 1; }));
  EXPECT_TRUE(refused([](ClockSegment& s) { s.to_cycles += uint64_t{1} << 44, s.scale = 1; }));
  EXPECT_TRUE(refused([](ClockSegment& s) { s.domain = 3; }));
  EXPECT_TRUE(refused([](ClockSegment& s) { s.kind = static_cast<BoundKind>(7); }));
}

}  // namespace
}  // namespace ttc::collect
