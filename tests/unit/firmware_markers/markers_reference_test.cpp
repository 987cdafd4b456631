// LaneDecoder and verify_frames against the plainest code that does the same: one packet at a time, in the
// order of the words, no short cut for what is ordinary. Logs are random words in the shape of frames, with
// every oddity in every place.
#include <gtest/gtest.h>

#include <cstdio>
#include <optional>
#include <random>
#include <tuple>
#include <vector>

#include "firmware_markers/decoder.hpp"

namespace ttc::markers {
namespace {

using namespace device;

using Words = std::vector<uint32_t>;
constexpr uint32_t kReferenceSeeds = 20000;

bool slot_fits(const Words& w, size_t at, uint32_t type) {
  return w[at] >> 28 == (8 | type) || (w[at] == kUnsetWord && w[at + 1] == kUnsetWord);
}
enum class Sentinel { intact, damaged };
bool head_at(const Words& w, size_t at, const Lane& lane, Sentinel sentinel) {
  if (at + kFirstCustomWord > w.size()) return false;
  const bool damaged = is_marker(w[at]) && (!is_blank(w[at]) || lane.mode == Mode::trace_only);
  if (sentinel == Sentinel::intact ? w[at] != 0 || w[at + 1] != 0 : !damaged) return false;
  const Format& f = *lane.format;
  const uint32_t identity = w[at + kIdIdentity];
  return f.risc.get(identity) == lane.risc && f.flat.get(identity) == lane.flat_id &&
         (identity & ~f.identity_fields()) == 0 && slot_fits(w, at + kFwStartWord, kZoneStart) &&
         slot_fits(w, at + kFwEndWord, kZoneEnd) && slot_fits(w, at + kKernelStartWord, kZoneStart) &&
         slot_fits(w, at + kKernelEndWord, kZoneEnd);
}
uint64_t later(uint64_t a, uint64_t b) {
  return clock_difference(b, a) > 0 ? b : a;
}

// The marker at words[at] was read 2^32 early, as the earliest of those that follow it shows.
bool followers_show_roll_over(const Words& w, size_t at, std::initializer_list<size_t> followers) {
  std::optional<uint64_t> next;
  for (const size_t f : followers) {
    if (f + 2 > w.size() || !is_marker(w[f]) || is_blank(w[f]) || packet_type(w[f]) == kZoneTotal) continue;
    const uint64_t time = marker_time(w[f], w[f + 1]);
    if (!next || clock_difference(time, *next) < 0) next = time;
  }
  return next && rolled_over_before(marker_time(w[at], w[at + 1]), *next);
}
bool start_shows_roll_over(const Words& w, size_t at) {
  return followers_show_roll_over(w, at + kFwStartWord,
                                  {at + kFwEndWord, at + kKernelStartWord, at + kFirstCustomWord});
}

struct Judged {
  uint64_t time;
  bool duplicate, repaired;
};
// The time of a guaranteed slot, given the frame before.
Judged judge_slot(const FrameDigest& d, bool may_be_old, unsigned slot, uint32_t high, uint32_t low,
                  uint64_t earlier, bool earlier_known, bool shown) {
  const uint64_t time = marker_time(high, low);
  const bool repeated = may_be_old && d.guaranteed[2 * slot] == high && d.guaranteed[2 * slot + 1] == low;
  const bool rolled = repeated ? d.repaired_slots >> slot & 1
                               : (earlier_known && looks_rolled_over(time, earlier)) || (slot == 0 && shown);
  return {rolled ? repaired(time) : time, repeated, rolled};
}

void remember(FrameDigest& d, const Words& w, size_t at, size_t end, uint64_t last, uint32_t repaired_slots) {
  std::copy_n(w.begin() + static_cast<ptrdiff_t>(at + kFwStartWord), 8, d.guaranteed);
  d.last_time = last;
  d.host_id = w[at + kIdHost];
  d.trailing_words = static_cast<uint32_t>(end - at);
  d.repaired_slots = repaired_slots;
  d.known = 1;
}

struct Found {
  std::vector<Frame> frames;
  std::vector<Marker> markers;
  std::vector<uint64_t> payloads;
};

class Reference {
 public:
  Reference(const Lane& lane, const FrameDigest& before) : lane_(lane), digest(before) {}

  void decode(const Words& w) {
    for (size_t at = 0; at < w.size();) {
      if (head_at(w, at, lane_, Sentinel::intact)) {
        at = frame(w, at);
      } else if (head_at(w, at, lane_, Sentinel::damaged)) {
        ++odd.damaged_sentinels;
        at = frame(w, at);
      } else {
        ++odd.resyncs;
        do {
          const size_t step = std::min<size_t>(2, w.size() - at);
          odd.unparsable_words += step;
          at += step;
        } while (at < w.size() && !head_at(w, at, lane_, Sentinel::intact));
      }
    }
  }

 private:
  size_t frame(const Words& w, size_t at) {
    const bool sat_out = w[at + kFwStartWord] == kUnsetWord && lane_.mode != Mode::accumulate;
    const bool same_launch = digest.known && digest.host_id == w[at + kIdHost];
    uint64_t before = digest.known ? digest.last_time : 0;
    if (!digest.known && is_blank(w[at + kFwStartWord]) && at + kFirstCustomWord + 2 <= w.size())
      before = first_custom(w, at + kFirstCustomWord);
    const size_t first = found.markers.size();
    uint64_t start = before, last = before;
    uint32_t repaired_slots = 0;
    for (unsigned slot = 0; slot < 4; ++slot) {
      const uint32_t high = w[at + kFwStartWord + 2 * slot], low = w[at + kFwStartWord + 2 * slot + 1];
      if (is_blank(high)) continue;
      const bool may_be_old = same_launch || lane_.mode == Mode::trace_only;
      const Judged j = judge_slot(digest, may_be_old, slot, high, low, slot == 0 ? last : start, last != 0,
                                  start_shows_roll_over(w, at));
      odd.duplicate_markers += j.duplicate;
      odd.repaired_times += j.repaired && !j.duplicate;
      if (j.repaired) repaired_slots |= 1u << slot;
      if (slot == 0) start = j.time;
      last = last == 0 ? j.time : later(last, j.time);
      add(j.time, high, kGuaranteed | (j.duplicate ? kDuplicate : 0) | (j.repaired ? kRepaired : 0));
    }
    uint64_t latest = sat_out ? last : start;
    if (same_launch && !sat_out) latest = later(latest, before);
    if (lane_.format->quick_push_ends_late && lane_.mode == Mode::trace_only && digest.known)
      start = latest = digest.last_time;
    const size_t end = customs(w, at + kFirstCustomWord, start, latest, sat_out);
    odd.overrun_frames += end - at > kBufferWords;
    if (end - at < kBufferWords && !sat_out && w[at + kFwEndWord] == kUnsetWord) name_quick_push(first);
    found.frames.push_back(
        {lane_.format->host_id.get(w[at + kIdHost]),
         static_cast<uint16_t>(lane_.mode == Mode::accumulate ? 0
                                                              : lane_.format->trace.get(w[at + kIdIdentity])),
         lane_.risc, sat_out, static_cast<uint32_t>(first),
         static_cast<uint32_t>(found.markers.size() - first), static_cast<uint32_t>(at)});
    remember(digest, w, at, end, later(last, latest), repaired_slots);
    return end;
  }

  static uint64_t first_custom(const Words& w, size_t pos) {
    const uint64_t time = marker_time(w[pos], w[pos + 1]);
    return followers_show_roll_over(w, pos, {pos + packet_words(packet_type(w[pos]))}) ? repaired(time)
                                                                                       : time;
  }

  size_t customs(const Words& w, size_t pos, uint64_t start, uint64_t& latest, bool stale) {
    for (; pos + 2 <= w.size() && is_marker(w[pos]);) {
      const uint32_t high = w[pos], low = w[pos + 1], type = packet_type(high), length = packet_words(type);
      if (head_at(w, pos, lane_, Sentinel::damaged)) return pos;
      if (is_blank(high)) {
        pos += 2;
        continue;
      }
      if (length == 0) {
        ++odd.unknown_packets;
        return pos;
      }
      if (pos + length > w.size()) {
        ++odd.truncated_packets;
        return w.size();
      }
      custom(type, high, low, start, latest, stale);
      if (type == kZoneTotal) payload(low);
      for (size_t i = pos + 2; i < pos + length; i += 2) payload(uint64_t{w[i]} << 32 | w[i + 1]);
      pos += length;
    }
    if (pos + 1 != w.size()) return pos;
    ++odd.truncated_packets;
    return w.size();
  }

  void custom(uint32_t type, uint32_t high, uint32_t low, uint64_t start, uint64_t& latest, bool stale) {
    uint64_t time = type == kZoneTotal ? start : marker_time(high, low);
    uint32_t flags = stale ? kStale : 0;
    if (type != kZoneTotal && !stale) {
      if (looks_rolled_over(time, latest)) {
        time = repaired(time);
        flags = kRepaired;
        ++odd.repaired_times;
      } else if (clock_difference(time, latest) < 0) {
        if (clock_difference(time, start) < 0)
          flags = kStale;
        else
          ++odd.backward_times;
      }
      if (flags != kStale) latest = later(latest, time);
    }
    odd.stale_markers += flags == kStale;
    add(time, high, flags);
  }

  // Index of what payload() adds next, for packets that have any.
  void add(uint64_t time, uint32_t high, uint32_t flags) {
    const uint32_t type = packet_type(high);
    const bool carries = type == kZoneTotal || packet_words(type) > 2;
    found.markers.push_back({time, static_cast<uint16_t>(packet_id(high)), static_cast<MarkerType>(type),
                             static_cast<uint8_t>(flags),
                             carries ? static_cast<uint32_t>(found.payloads.size()) : 0});
  }
  void payload(uint64_t value) { found.payloads.push_back(value); }

  void name_quick_push(size_t first) {
    if (found.markers.size() < first + 2) return;
    Marker &start = found.markers.end()[-2], &end = found.markers.end()[-1];
    if (start.type == MarkerType::zone_start && end.type == MarkerType::zone_end && start.id == end.id &&
        !((start.flags | end.flags) & (kGuaranteed | kStale)))
      start.flags |= kQuickPush, end.flags |= kQuickPush;
  }

  const Lane lane_;

 public:
  FrameDigest digest;
  Anomalies odd;
  Found found;
};

// The result of verify_frame for the frame at `at`: its markers and length, or nothing.
struct VerifiedRun {
  size_t end;
  size_t markers;
  bool payload;
};
std::optional<VerifiedRun> verify(const Words& w, size_t at, const Lane& lane, const Ceiling& ceiling,
                                  FrameDigest& d) {
  const bool sat_out = w[at + kFwStartWord] == kUnsetWord && lane.mode != Mode::accumulate;
  const bool same_launch = d.known && d.host_id == w[at + kIdHost];
  const uint64_t before = d.known ? d.last_time : 0;
  // The frame with its end is a launch's last.
  const bool of_launch = same_launch && !sat_out && w[at + kFwStartWord] == d.guaranteed[0] &&
                         w[at + kFwStartWord + 1] == d.guaranteed[1];
  if (of_launch && lane.mode == Mode::normal && d.guaranteed[2] != kUnsetWord) return {};
  bool holds = true, payload = false;
  const auto require_new = [&](uint64_t time) {
    if (before != 0 && clock_difference(time, before) <= 0) holds = false;
    if (ceiling.known && clock_difference(time, ceiling.time) >= 0) holds = false;
  };
  size_t markers = 0;
  uint64_t start = before, last = before, latest = before;
  std::optional<uint64_t> fw_end;
  uint32_t repaired_slots = 0;
  for (unsigned slot = 0; slot < 4; ++slot) {
    const uint32_t high = w[at + kFwStartWord + 2 * slot], low = w[at + kFwStartWord + 2 * slot + 1];
    if (is_blank(high)) continue;
    ++markers;
    const bool may_be_old = same_launch || lane.mode == Mode::trace_only;
    const Judged j = judge_slot(d, may_be_old, slot, high, low, slot == 0 ? last : start, last != 0,
                                start_shows_roll_over(w, at));
    if (!j.duplicate) require_new(j.time);
    if (j.repaired) repaired_slots |= 1u << slot;
    if (slot == 0) start = j.time, latest = same_launch ? later(j.time, d.last_time) : j.time;
    if (slot == 1) fw_end = j.time;
    last = last == 0 ? j.time : later(last, j.time);
  }
  uint32_t last_length = 0;
  size_t pos = at + kFirstCustomWord;
  while (pos < w.size() && is_marker(w[pos])) {
    const uint32_t type = packet_type(w[pos]), length = packet_words(type);
    if (head_at(w, pos, lane, Sentinel::damaged)) break;
    if (length == 0 || pos + length > w.size()) return {};
    payload |= length > 2 || type == kZoneTotal;
    if (!sat_out && !is_blank(w[pos])) {
      ++markers;
      uint64_t time = marker_time(w[pos], w[pos + 1]);
      if (type != kZoneTotal) {
        if (looks_rolled_over(time, latest)) time = repaired(time);
        require_new(time);
        if (fw_end && lane.mode == Mode::normal && clock_difference(time, *fw_end) > 0) holds = false;
        latest = later(latest, time);
      }
    }
    if (pos + length - at > kBufferWords + 4) return {};
    pos += length;
    last_length = length;
  }
  bool ends =
      pos >= w.size() || head_at(w, pos, lane, Sentinel::intact) || head_at(w, pos, lane, Sentinel::damaged);
  if (!ends && last_length == 2 && pos >= at + kFirstCustomWord + 2 &&
      head_at(w, pos - 2, lane, Sentinel::damaged)) {
    pos -= 2;  // what was taken for a marker was the next frame's sentinel
    ends = true;
  }
  if (!ends || !holds) return {};
  remember(d, w, at, pos, later(last, latest), repaired_slots);
  return VerifiedRun{pos, markers, payload};
}

// Words in the shape of a lane's log. Most of it is ordinary, so that the odd comes in the midst of it.
class OddLog {
 public:
  OddLog(uint32_t seed, const Lane& lane) : random_(seed), lane_(lane) {
    constexpr uint64_t kHalf = uint64_t{1} << 43, kRoll = uint64_t{1} << 32;
    const uint64_t bases[] = {1, 7 * kRoll - 600, kHalf - 500, kClockMask - 800, 3 * kRoll + 0x50000000};
    now_ = bases[below(5)];
    oddity_ = below(3) == 0 ? 0 : 1 + below(8);
    for (uint32_t n = 1 + below(6); n != 0; --n) frame();
    damage();
  }
  uint64_t now() const { return now_; }
  Words words;

 private:
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  bool odd() { return below(100) < oddity_; }
  uint64_t tick() { return now_ = (now_ + below(60)) & kClockMask; }

  uint64_t some_time() {
    if (!odd()) return tick();
    constexpr uint64_t kSteps[] = {1, 400, uint64_t{1} << 32, uint64_t{1} << 42, uint64_t{1} << 43};
    const uint64_t step = kSteps[below(5)];
    if (below(4) == 0) now_ = (now_ + step) & kClockMask;
    return (now_ + (below(2) ? step : ~step + 1 + below(2))) & kClockMask;
  }
  void packet(uint32_t type, uint32_t id, uint64_t time) {
    words.push_back(marker_high(type, id, static_cast<uint32_t>(time >> 32)));
    words.push_back(static_cast<uint32_t>(time));
  }
  void slot(uint32_t type, uint64_t time) {
    if (odd())
      words.insert(words.end(), 2, kUnsetWord);
    else
      packet(type, 1, time);
  }
  void head(uint64_t start, uint64_t end) {
    if (odd())
      packet(below(8), below(3), some_time());  // another RISC's last marker over the sentinel
    else
      words.insert(words.end(), {0, 0});
    words.push_back(lane_.format->identity(lane_.risc, lane_.flat_id, below(3)));
    words.push_back(host_);
    if (odd()) {  // a launch it took no part in, or one that still runs
      words.insert(words.end(), 8, kUnsetWord);
      if (below(2))
        words.resize(words.size() - 8), packet(0, 1, start), words.insert(words.end(), 6, kUnsetWord);
      return;
    }
    slot(kZoneStart, start);
    slot(kZoneEnd, odd() ? some_time() : end);
    slot(kZoneStart, odd() ? some_time() : start + 1);
    slot(kZoneEnd, odd() ? some_time() : end - 1);
  }
  void frame() {
    const bool repeats = below(5) == 0;  // the launch continues after a quick push
    const uint64_t start = launch_start_ = repeats ? launch_start_ : some_time();
    if (!repeats) ++host_;
    const size_t at = words.size();
    head(start, 0);
    const size_t count = below(20) == 0 ? 120 + below(140) : below(12);
    for (size_t n = 0; n < count; ++n) custom();
    if ((words.size() & 3) && !odd()) words.insert(words.end(), {kUnsetWord, 0});
    if (words[at + kFwEndWord] != kUnsetWord && !odd() && below(8)) close(at, tick() + 70);
  }
  // The ends, now that they are known.
  void close(size_t at, uint64_t end) {
    now_ = end & kClockMask;
    Words tail(words.begin() + static_cast<ptrdiff_t>(at), words.end());
    words.resize(at + kFwEndWord);
    packet(kZoneEnd, 1, now_);
    words.insert(words.end(), tail.begin() + kKernelStartWord, tail.begin() + kKernelEndWord);
    packet(kZoneEnd, 1, now_ - 1);
    words.insert(words.end(), tail.begin() + kFirstCustomWord, tail.end());
  }
  void custom() {
    const uint32_t type = odd() ? below(8) : below(12) == 0 ? below(6) : below(2);
    packet(type, below(4), some_time());
    for (uint32_t i = 2; i < packet_words(type); ++i)
      words.push_back(odd() ? 0 : static_cast<uint32_t>(random_()));
    if (odd()) words.insert(words.end(), {kUnsetWord, below(2)});
    if (odd()) words.back() = 0, words.end()[-2] = 0;
  }
  void damage() {
    if (oddity_ == 0) return;
    for (uint32_t n = below(3); n != 0 && !words.empty(); --n) words[below32()] ^= 1u << below(32);
    if (odd()) words.resize(words.size() - below(static_cast<uint32_t>(std::min<size_t>(words.size(), 9))));
  }
  size_t below32() { return below(static_cast<uint32_t>(words.size())); }

  std::mt19937 random_;
  Lane lane_;
  uint64_t now_;
  uint32_t oddity_ = 0;  // per cent
  uint32_t host_ = 0;
  uint64_t launch_start_ = 0;
};

auto all_of(const Marker& m) {
  return std::tuple(m.time_cycles, m.id, m.type, m.flags, m.payload);
}
auto all_of(const Frame& f) {
  return std::tuple(f.host_id, f.trace_counter, f.risc, f.sat_out, f.first_marker, f.marker_count,
                    f.first_word);
}
auto all_of(const Anomalies& a) {
  return std::tuple(a.unparsable_words, a.resyncs, a.damaged_sentinels, a.overrun_frames, a.truncated_packets,
                    a.unknown_packets, a.stale_markers, a.duplicate_markers, a.repaired_times,
                    a.backward_times);
}
auto all_of(const FrameDigest& d) {
  return std::tuple(Words(d.guaranteed, d.guaranteed + 8), d.last_time, d.host_id, d.trailing_words, d.known,
                    d.repaired_slots);
}
template <class A, class B>
void expect_same(const A& made, const B& expected, const char* what) {
  ASSERT_EQ(made.size(), expected.size()) << what;
  for (size_t i = 0; i < made.size(); ++i)
    ASSERT_EQ(all_of(made[i]), all_of(expected[i])) << what << ' ' << i;
}

Lane lane_of(uint32_t seed) {
  constexpr const Format* kFormats[] = {&kG1Narrow, &kG2, &kG3, &kG4};
  // The lane whose identity is all zeros among them.
  const bool zero = seed % 7 == 0;
  return {kFormats[seed % 4], static_cast<uint8_t>(zero ? 0 : 3), static_cast<uint8_t>(zero ? 0 : 77),
          seed % 11 == 0 ? Mode::accumulate : Mode::normal};
}
FrameDigest digest_before(uint32_t seed, uint64_t now) {
  FrameDigest d;
  d.known = seed % 3 != 0;
  d.last_time = seed % 3 == 1 ? 0 : now;
  return d;
}

TEST(Reference, the_decoder_finds_what_the_plain_one_finds) {
  std::printf("seeds 0..%u\n", kReferenceSeeds - 1);
  size_t markers = 0, odd_logs = 0;
  for (uint32_t seed = 0; seed < kReferenceSeeds && !testing::Test::HasFatalFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Lane lane = lane_of(seed);
    const OddLog log(seed, lane);
    const FrameDigest before = digest_before(seed, seed % 2 ? log.now() : 1);
    Reference plain(lane, before);
    plain.decode(log.words);
    LaneDecoder decoder(lane);
    decoder.resume(before);
    Batch batch;
    decoder.decode(log.words, batch);
    expect_same(batch.frames(), plain.found.frames, "frame");
    expect_same(batch.markers(), plain.found.markers, "marker");
    for (size_t i = 0; i < plain.found.payloads.size(); ++i)
      ASSERT_EQ(batch.payload(static_cast<uint32_t>(i)), plain.found.payloads[i]) << i;
    ASSERT_EQ(all_of(decoder.anomalies()), all_of(plain.odd));
    ASSERT_EQ(all_of(decoder.digest()), all_of(plain.digest));
    markers += plain.found.markers.size();
    odd_logs += all_of(plain.odd) != all_of(Anomalies());
  }
  EXPECT_GT(markers, 20 * kReferenceSeeds);
  EXPECT_TRUE(odd_logs > kReferenceSeeds / 4 && odd_logs < kReferenceSeeds - kReferenceSeeds / 10)
      << odd_logs;
}

TEST(Reference, verification_believes_what_the_plain_one_believes) {
  std::printf("seeds 0..%u\n", kReferenceSeeds - 1);
  size_t believed = 0, refused = 0;
  for (uint32_t seed = 0; seed < kReferenceSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Lane lane = lane_of(seed);
    const OddLog log(seed, lane);
    const Words& w = log.words;
    const Ceiling ceiling{seed % 5 == 0, log.now()};
    FrameDigest expected = digest_before(seed, seed % 2 ? log.now() : 1);
    for (size_t at = 0; at < w.size(); at += 2) {
      if (!head_at(w, at, lane, Sentinel::intact) && !head_at(w, at, lane, Sentinel::damaged)) continue;
      FrameDigest digest = expected;
      VerifiedFrame frame;
      const size_t length = detail::verify_frame(w, at, lane, ceiling, digest, frame);
      const auto plain = verify(w, at, lane, ceiling, expected);
      ASSERT_EQ(length, plain ? plain->end - at : 0) << "at " << at;
      ASSERT_EQ(all_of(digest), all_of(expected)) << "at " << at;
      plain ? ++believed : ++refused;
      if (!plain) continue;
      ASSERT_EQ(frame.markers, plain->markers) << "at " << at;
      ASSERT_EQ(frame.has_payload, plain->payload) << "at " << at;
    }
  }
  EXPECT_GT(believed, kReferenceSeeds / 2);
  EXPECT_GT(refused, kReferenceSeeds / 10);
}

}  // namespace
}  // namespace ttc::markers
