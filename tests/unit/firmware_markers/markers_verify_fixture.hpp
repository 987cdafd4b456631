// Frames, digests and a judge, of which tests ask what may be accepted.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "firmware_markers/decoder.hpp"
#include "firmware_markers/frame.hpp"
#include "tests/support/frames.hpp"

namespace ttc::markers::verify_test {

using device::marker_high;
using test::Time, test::Words, test::operator+;

inline const Lane kVerifiedLane{&device::kG4, 1, 9};
inline constexpr uint64_t kRollOver = uint64_t{1} << 32;
// Times in these tests count from here. Its low half is not small, so no step back looks like a roll-over.
inline constexpr uint64_t kBase = 0x7'4000'0000;
inline constexpr uint64_t clock_at(uint64_t time) {
  return (kBase + time) & kClockMask;
}
inline constexpr uint64_t at_clock(uint64_t clock) {
  return clock - kBase;
}
inline uint64_t until(const FrameDigest& d) {
  return (d.last_time - kBase) & kClockMask;
}

inline Time clock_of(Time time) {
  return time ? Time(clock_at(*time)) : Time();
}
inline void put(Words& w, uint32_t type, uint32_t id, Time time) {
  test::put_marker(w, type, id, clock_of(time));
}

// One frame: FW and KERNEL around zones of 2 cycles, one every 10 cycles from `first` on.
inline Words frame(uint32_t host, Time fw_start, Time fw_end, uint64_t first = 0, size_t zones = 0) {
  const auto identity = kVerifiedLane.format->identity(kVerifiedLane.risc, kVerifiedLane.flat_id, 0);
  Words w = test::frame_words(
      identity, host, {1, clock_of(fw_start), clock_of(fw_end)},
      {2, clock_of(fw_start ? Time(*fw_start + 1) : Time()), clock_of(fw_end ? Time(*fw_end - 1) : Time())});
  for (size_t i = 0; i < zones; ++i)
    test::put_zone(w, {3, clock_at(first + 10 * i), clock_at(first + 10 * i + 2)});
  return w;
}

// An ordinary frame that begins at `time` and lasts `zones` zones.
inline Words run(uint32_t host, uint64_t time, size_t zones) {
  return frame(host, time, time + 10 * zones + 90, time + 10, zones);
}

// `landed` words of `fresh` over `older`; zeros where neither reaches.
inline Words over(const Words& fresh, size_t landed, const Words& older) {
  Words w(std::max(fresh.size(), older.size()));
  std::copy(older.begin(), older.end(), w.begin());
  std::copy_n(fresh.begin(), landed, w.begin());
  w.resize(fresh.size());
  return w;
}

inline FrameDigest known_until(uint64_t time) {
  FrameDigest d;
  d.known = 1;
  d.last_time = clock_at(time);
  d.host_id = 99;
  return d;
}

struct TestJudge {
  bool sat_out_ok(uint32_t host) {
    asked.push_back(host);
    return sat_out;
  }
  bool take(const VerifiedFrame& f) {
    if (taken.size() == limit) return false;
    taken.push_back(f);
    return true;
  }
  bool sat_out = true;
  size_t limit = ~size_t{0};
  Words asked;
  std::vector<VerifiedFrame> taken;
};

struct Verified {
  Verified(const Words& words, FrameDigest before, TestJudge with = {}, Ceiling ceiling = {},
           bool cut = false)
      : digest(before), judge(with), walk(verify_frames(words, kVerifiedLane, ceiling, cut, digest, judge)) {}
  FrameDigest digest;
  TestJudge judge;
  Walk walk;
};

}  // namespace ttc::markers::verify_test
