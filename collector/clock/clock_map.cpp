#include "ttcollect/clock_map.hpp"

#include <algorithm>
#include <cmath>

#include "ttcollect/host_time.hpp"

namespace ttc::collect {
namespace {

// Markers keep 44 bits (tt-metal kernel_profiler.hpp).
constexpr uint64_t kMarkerMask = (uint64_t{1} << 44) - 1;
constexpr uint64_t kNewestAhead = uint64_t{1} << 43;

// The earliest time of a marker: a card may have counted before its host was started, and 0 is no time.
constexpr HostTime kFirstTick = 1;

// Of a marker that was seen so soon after the begin of its segment no other wrap is meant: a cycle is no shorter than a tick.
constexpr HostTime kSameWrap = uint64_t{1} << 42;

constexpr size_t kKept = size_t{1} << 19;  // 32 MiB; nine hours at 16 a second, minutes while the clock moves

bool follows(const ClockSegment& s, const ClockSegment& last) {
  return s.era != last.era ? s.era > last.era : s.from_cycles >= last.to_cycles;
}

ClockMap::Quality quality_of(const ClockSegment& s) {
  return {s.bound, s.hard_bound, s.kind, (s.flags & kFinalSegment) != 0};
}

// The 64-bit time with the marker's low bits that is the latest not behind `newest`.
uint64_t unwrapped(uint64_t marker_time, uint64_t newest) {
  return newest - ((newest - marker_time) & kMarkerMask);
}

// Cycles for ticks at the segment's pace. Roughly: it only has to distinguish wraps of 44 bits.
uint64_t cycles_for(const ClockSegment& s, uint64_t ticks) {
  const double pace =
      static_cast<double>(s.to_cycles - s.from_cycles) / static_cast<double>(s.host_to - s.host_from);
  return static_cast<uint64_t>(static_cast<double>(ticks) * pace);
}

// The part of a segment whose cycles a marker that was read by `newest` can have: at() would choose no other wrap.
struct Stretch {
  uint64_t from;    // cycles
  uint64_t length;  // at most 2^44
};
Stretch meant_within(const ClockSegment& s, uint64_t cycles, uint64_t newest) {
  const uint64_t to_newest = newest - cycles;  // at most the mask, as unwrapped() gave them
  const uint64_t below = std::min(cycles - s.from_cycles, kMarkerMask - to_newest);
  const uint64_t above = std::min(s.to_cycles - 1 - cycles, to_newest);
  return {cycles - below, below + above + 1};
}

// The longest stretch of `times` from its start that lies in `part` of `s`, converted.
size_t convert_within(const ClockSegment& s, Stretch part, std::span<const uint64_t> times, HostTime* out) {
  const uint64_t from = part.from, length = part.length, scale = s.scale, at = s.host_from;
  const uint64_t before = part.from - s.from_cycles;
  const unsigned up = 64u - s.shift;  // so that the product's high word is the answer
  const uint64_t* const in = times.data();
  const size_t count = times.size();
  size_t i = 0;
  for (; i < count; ++i) {
    const uint64_t cycles = (in[i] - from) & kMarkerMask;
    if (cycles >= length) break;
    out[i] =
        at + static_cast<uint64_t>((static_cast<unsigned __int128>((before + cycles) << up) * scale) >> 64);
  }
  return i;
}

constexpr uint64_t kWidestSpread = uint64_t{1} << 40;  // a minute; a larger spread is no limit

uint64_t sum_of(uint64_t a, uint64_t b) {
  return a < kNoBound - b ? a + b : kNoBound;
}

// The number of host ticks by which the counter can have taken more or less time from one number of the segment to another
// than the segment has. None: the segment has no such figure, or one that is no limit.
std::optional<uint64_t> drift_of(const ClockSegment& s, uint64_t from, uint64_t to) {
  const std::optional<double> share = pace_error(s);
  if (!share) return std::nullopt;
  const double ticks =
      static_cast<double>(s.host_to - s.host_from) / static_cast<double>(s.to_cycles - s.from_cycles);
  const double drift = std::ceil(static_cast<double>(to - from) * ticks * *share);
  if (!(drift <= static_cast<double>(kWidestSpread))) return std::nullopt;
  return static_cast<uint64_t>(drift);
}

}  // namespace

void ClockMap::update(std::span<const char> body) {
  std::vector<ClockSegment> segments(clock_segments_in(body));
  for (size_t i = 0; i < segments.size(); ++i) segments[i] = clock_segment_of(body, i);
  update(clock_head_of(body), segments);
}

void ClockMap::update(const ClockHead& head, std::span<const ClockSegment> segments) {
  head_ = head;
  for (const ClockSegment& s : segments) {
    // Replaces all provisional segments from here on.
    while (!segments_.empty() && !(segments_.back().flags & kFinalSegment) && !follows(s, segments_.back()))
      segments_.pop_back(), drifts_.pop_back(), begins_.pop_back();
    if (segments_.empty() || follows(s, segments_.back())) append(s);
  }
  if (segments_.size() > kKept) {
    const auto drop = [](auto& list) {
      list.erase(list.begin(), list.begin() + static_cast<ptrdiff_t>(kKept / 2));
    };
    drop(segments_), drop(drifts_), drop(begins_);
  }
}

void ClockMap::append(const ClockSegment& s) {
  Drift drift{0, 0};
  if (!segments_.empty()) {
    const ClockSegment& last = segments_.back();
    const std::optional<uint64_t> of_last = drift_of(last, last.from_cycles, last.to_cycles);
    drift = drifts_.back();
    drift.ticks += of_last.value_or(0);
    // What is drawn between two segments may be no time at all.
    drift.ticks += s.host_from > last.host_to ? s.host_from - last.host_to : 0;
    drift.unknown += !of_last || s.era != last.era || s.from_cycles != last.to_cycles;
  }
  segments_.push_back(s);
  drifts_.push_back(drift);
  begins_.push_back(s.host_from);
}

HostTime ClockMap::final_until() const {
  for (auto s = segments_.rbegin(); s != segments_.rend(); ++s)
    if (s->flags & kFinalSegment) return s->host_to;
  return 0;
}

ClockMap::Place ClockMap::place_of(HostTime seen_by) const {
  const auto begin = std::upper_bound(begins_.begin(), begins_.end(), seen_by);
  const auto later = segments_.begin() + (begin - begins_.begin());
  const auto at = later == segments_.begin() ? later : std::prev(later);
  const ClockSegment& s = *at;
  const uint64_t now = seen_by >= s.host_from ? s.from_cycles + cycles_for(s, seen_by - s.host_from)
                                              : s.from_cycles - cycles_for(s, s.host_from - seen_by);
  Place place;
  place.index = static_cast<size_t>(at - segments_.begin());
  place.known = later == segments_.end() || later->era == s.era || seen_by <= s.host_to;
  place.newest = now + kNewestAhead;
  return place;
}

const ClockSegment* ClockMap::holding(uint64_t cycles, size_t near) const {
  const auto holds = [&](const ClockSegment& s) { return s.from_cycles <= cycles && cycles < s.to_cycles; };
  const uint32_t era = segments_[near].era;
  if (holds(segments_[near])) return &segments_[near];
  for (const size_t beside : {near - 1, near + 1})  // mostly; before the first is behind the last
    if (beside < segments_.size() && segments_[beside].era == era && holds(segments_[beside]))
      return &segments_[beside];
  const auto later = std::upper_bound(
      segments_.begin(), segments_.end(), std::pair{era, cycles}, [](const auto& at, const ClockSegment& s) {
        return at.first != s.era ? at.first < s.era : at.second < s.from_cycles;
      });
  if (later == segments_.begin()) return nullptr;
  const ClockSegment& s = *std::prev(later);
  return s.era == era && holds(s) ? &s : nullptr;
}

// Beyond the segments of its era: at the pace of the nearest one, with the limits that still hold.
ClockMap::Converted ClockMap::outside(uint64_t cycles, uint32_t era, HostTime seen_by) const {
  const auto first =
      std::find_if(segments_.begin(), segments_.end(), [&](const ClockSegment& s) { return s.era == era; });
  const auto behind =
      std::find_if(first, segments_.end(), [&](const ClockSegment& s) { return s.era != era; });
  const ClockSegment& last = *std::prev(behind);
  const auto ticks_for = [](const ClockSegment& s, uint64_t n) {
    const auto product = static_cast<unsigned __int128>(n) * (s.host_to - s.host_from);
    return static_cast<uint64_t>(product / (s.to_cycles - s.from_cycles));
  };
  const auto ahead = static_cast<int64_t>(cycles - last.to_cycles);
  if (ahead < 0) {
    const auto nearest =
        std::find_if(first, behind, [&](const ClockSegment& s) { return cycles < s.from_cycles; });
    const ClockSegment& s = nearest == behind ? last : *nearest;
    const HostTime host = before(s.host_from, ticks_for(s, s.from_cycles - cycles));
    return {std::max(host, kFirstTick), {}};
  }
  Converted c{last.host_to + ticks_for(last, static_cast<uint64_t>(ahead)), {}};
  if (last.hard_bound == kNoBound || head_.largest_hz == 0 || seen_by < last.host_to) return c;
  // Later than the last sample by as many cycles at the largest frequency, and not later than it was read.
  const auto least =
      static_cast<unsigned __int128>(ahead) * (kHostTicksPerNs * 1'000'000'000) / head_.largest_hz;
  const HostTime earliest =
      last.host_to - std::min(last.host_to, last.hard_bound) + static_cast<uint64_t>(least);
  const uint64_t after = c.host > earliest ? c.host - earliest : 0;
  const uint64_t until = seen_by > c.host ? seen_by - c.host : 0;
  c.quality.kind = BoundKind::hard;
  c.quality.bound = c.quality.hard_bound = std::max(after, until) + kHostTicksPerNs;
  return c;
}

ClockMap::Converted ClockMap::converted(const ClockSegment* holds, uint64_t cycles, const Place& place,
                                        HostTime seen_by) const {
  if (holds) return {host_time_at(*holds, cycles), quality_of(*holds)};
  return outside(cycles, segments_[place.index].era, seen_by);
}

ClockMap::Converted ClockMap::at(uint64_t marker_time, HostTime seen_by) const {
  if (segments_.empty()) return {};
  const Place place = place_of(seen_by);
  if (!place.known) return {seen_by, {}};
  const uint64_t cycles = unwrapped(marker_time, place.newest);
  return converted(holding(cycles, place.index), cycles, place, seen_by);
}

std::optional<uint64_t> ClockMap::SamePace::bound(uint64_t from_time, uint64_t to_time,
                                                  HostTime seen_by) const {
  const uint64_t from = (from_time - from_) & kMarkerMask, to = (to_time - from_) & kMarkerMask;
  if (to >= length_ || from > to || seen_by < seen_from_ || seen_by > seen_until_) return std::nullopt;
  // Rounded up, without the call that std::ceil() is on a processor of 2003.
  const auto drift = static_cast<uint64_t>(static_cast<double>(to - from) * drift_per_cycle_) + 1;
  return std::min(fixed_ + drift, most_);
}

ClockMap::SamePace ClockMap::same_pace(uint64_t marker_time, HostTime seen_by) const {
  SamePace part;
  if (segments_.empty()) return part;
  const Place place = place_of(seen_by);
  const uint64_t cycles = unwrapped(marker_time, place.newest);
  const ClockSegment* const s = place.known ? holding(cycles, place.index) : nullptr;
  if (!s || s->kind == BoundKind::none || s->bound == kNoBound) return part;
  const uint64_t spread = head_.tile_spread == kNoBound ? 0 : head_.tile_spread;
  const uint64_t length = s->to_cycles - s->from_cycles;
  // Where a tile other than the reference is in the segment for sure.
  const uint64_t margin = spread > kWidestSpread ? length : cycles_for(*s, 2 * spread) + 2;
  const std::optional<double> share = pace_error(*s);
  if (length > kNewestAhead || 2 * margin >= length) return part;
  part.fixed_ = part.most_ = sum_of(sum_of(s->bound, s->bound), sum_of(spread, spread));
  if (share) {
    if (!drift_of(*s, s->from_cycles, s->to_cycles)) return part;
    const uint64_t ticks = s->host_to - s->host_from;
    part.drift_per_cycle_ = static_cast<double>(ticks) / static_cast<double>(length) * *share;
    part.fixed_ =
        sum_of(ticks / length + 3, shift_bound(*s, s->from_cycles + margin, *s, s->to_cycles - margin - 1));
  }
  // Words that were read later are of another wrap, or of another era.
  const auto era_end = std::find_if(segments_.begin() + (s - segments_.data()), segments_.end(),
                                    [&](const ClockSegment& other) { return other.era != s->era; });
  part.seen_from_ = s->host_from;
  part.seen_until_ = s->host_from + kSameWrap;
  if (era_end != segments_.end()) part.seen_until_ = std::min(part.seen_until_, std::prev(era_end)->host_to);
  part.from_ = s->from_cycles + margin;
  part.length_ = length - 2 * margin;
  return part;
}

// The bound by paces alone, from a number of one segment to a later one of another.
std::optional<uint64_t> ClockMap::pace_bound(const ClockSegment& first, uint64_t from,
                                             const ClockSegment& last, uint64_t to) const {
  if (&first == &last) return drift_of(first, from, to);
  const size_t i = static_cast<size_t>(&first - segments_.data()),
               k = static_cast<size_t>(&last - segments_.data());
  const auto of_first = drift_of(first, from, first.to_cycles),
             of_last = drift_of(last, last.from_cycles, to);
  const Drift &begin = drifts_[i + 1], &end = drifts_[k];
  if (!of_first || !of_last || end.unknown != begin.unknown || drifts_[i + 1].unknown != drifts_[i].unknown)
    return std::nullopt;
  const uint64_t jump = segments_[i + 1].host_from - first.host_to;
  return *of_first + *of_last + jump + (end.ticks - begin.ticks);
}

// A tile other than the reference shows another number at the same time, by as many in both times. What those cycles take
// may differ where the pace does.
uint64_t ClockMap::shift_bound(const ClockSegment& first, uint64_t from, const ClockSegment& last,
                               uint64_t to) const {
  const uint64_t spread = head_.tile_spread;
  if (spread == 0 || spread == kNoBound) return 0;
  if (spread > kWidestSpread) return kNoBound;
  const auto within = [&](const ClockSegment& s, uint64_t cycles) {
    const uint64_t margin = cycles_for(s, 2 * spread) + 2;
    return cycles - s.from_cycles >= margin && s.to_cycles - cycles > margin;
  };
  const auto pace = [](const ClockSegment& s) {
    return static_cast<double>(s.host_to - s.host_from) / static_cast<double>(s.to_cycles - s.from_cycles);
  };
  const auto of_first = pace_error(first), of_last = pace_error(last);
  if (!of_first || !of_last || !within(first, from) || !within(last, to)) return 2 * spread;
  const double a = pace(first), b = pace(last);
  const double apart =
      std::max(a, b) / std::min(a, b) * (1 + *of_first + *of_last) - 1 + *of_first + *of_last;
  return static_cast<uint64_t>(std::ceil(std::min(apart, 2.0) * static_cast<double>(spread)));
}

ClockMap::Difference ClockMap::difference(uint64_t from_time, uint64_t to_time, HostTime seen_by,
                                          Tiles tiles) const {
  if (segments_.empty()) return {};
  const Place place = place_of(seen_by);
  if (!place.known) return {};
  const uint64_t from = unwrapped(from_time, place.newest), to = unwrapped(to_time, place.newest);
  const ClockSegment* const first = holding(from, place.index);
  // Most often in the same segment or the next one.
  const ClockSegment* const last =
      holding(to, first ? static_cast<size_t>(first - segments_.data()) : place.index);
  const Converted a = converted(first, from, place, seen_by), b = converted(last, to, place, seen_by);
  Difference d{static_cast<int64_t>(b.host - a.host), kNoBound, BoundKind::none};
  if (std::min(a.quality.kind, b.quality.kind) == BoundKind::none) return d;
  // What rests on a condition in part rests on it.
  d.kind = std::max(a.quality.kind, b.quality.kind);
  const uint64_t spread = head_.tile_spread == kNoBound ? 0 : head_.tile_spread;
  d.bound = sum_of(sum_of(a.quality.bound, b.quality.bound), sum_of(spread, spread));
  if (!first || !last || first->era != last->era) return d;
  const bool in_order = from <= to;
  const auto by_pace = in_order ? pace_bound(*first, from, *last, to) : pace_bound(*last, to, *first, from);
  if (!by_pace) return d;
  // Each marker was recorded within its cycle, and each time is rounded.
  const auto cycle = [](const ClockSegment& s) {
    return (s.host_to - s.host_from) / (s.to_cycles - s.from_cycles) + 1;
  };
  const uint64_t shift = tiles == Tiles::two ? sum_of(spread, spread)
                         : in_order          ? shift_bound(*first, from, *last, to)
                                             : shift_bound(*last, to, *first, from);
  const uint64_t bound = sum_of(sum_of(*by_pace, std::max(cycle(*first), cycle(*last)) + 2), shift);
  if (bound < d.bound) d.bound = bound, d.kind = BoundKind::conditional;
  return d;
}

void ClockMap::convert(std::span<const uint64_t> marker_times, HostTime seen_by, std::span<HostTime> out,
                       std::vector<Run>& runs) const {
  const Place place = segments_.empty() ? Place{} : place_of(seen_by);
  if (!place.known) {
    std::fill_n(out.begin(), marker_times.size(), segments_.empty() ? HostTime{0} : seen_by);
    runs.push_back({marker_times.size(), {}});
    return;
  }
  size_t near = place.index;
  while (!marker_times.empty()) {
    const uint64_t cycles = unwrapped(marker_times.front(), place.newest);
    size_t count = 1;
    if (const ClockSegment* s = holding(cycles, near)) {
      near = static_cast<size_t>(s - segments_.data());
      count = convert_within(*s, meant_within(*s, cycles, place.newest), marker_times, out.data());
      runs.push_back({count, quality_of(*s)});
    } else {
      const Converted c = outside(cycles, segments_[place.index].era, seen_by);
      out.front() = c.host;
      runs.push_back({1, c.quality});
    }
    marker_times = marker_times.subspan(count);
    out = out.subspan(count);
  }
}

}  // namespace ttc::collect
