#include "tools/report/zones/lane_pairs.hpp"

#include <algorithm>
#include <utility>

namespace ttc::report {
namespace {

using markers::MarkerType;

// The start of a dispatch core's zone carries the program of the workers, its end need not.
bool same_program(ZoneClass zone_class, const Launch& a, const Launch& b) {
  if (zone_class != ZoneClass::firmware && zone_class != ZoneClass::kernel) return true;
  const bool counters = a.trace_counter < 0 || b.trace_counter < 0 || a.trace_counter == b.trace_counter;
  return a.host_id == b.host_id && counters;
}

}  // namespace

LanePairs::LaneState& LanePairs::state(uint32_t chip, const Lane& lane) {
  const uint64_t key = lane_key(chip, lane);
  places_.resize(kPlaces);
  // Processor, column and row: those of a card of 32 columns and 16 rows do not meet.
  Place& place =
      places_[((key & 7) ^ (key >> 8 & 1) ^ (key >> 24 & 31) << 3 ^ (key >> 16 & 15) << 8) % kPlaces];
  if (place.lane && place.key == key) return *place.lane;
  LaneState& s = lanes_[key];
  s.chip = chip;
  s.lane = lane;
  place = {key, &s};
  return s;
}

void LanePairs::start(LaneState& s, const Launch& launch, const Event& e, std::vector<Unpaired>& found) {
  // A push in the middle of a launch repeats the markers at the front of the buffer.
  for (const Open& o : s.open)
    if (o.id == e.id && o.begin == e.time) return;
  if (e.zone_class == ZoneClass::firmware) {
    s.twins = s.twins || (s.firmware_start && s.lane.risc == LogRisc::erisc && s.firmware_id != e.id);
    s.firmware_id = e.id;
    std::erase_if(s.open, [&](const Open& o) {
      if (o.begin > e.time) return false;  // a dispatch zone of this launch, which is handed over early
      if (s.twins && o.id != e.id) return false;
      found.push_back({s.chip, s.lane, true, o.zone, o.begin, e.time});
      return true;
    });
    at_edges_ += s.suspects.size();  // of a launch that had begun before the recording
    s.suspects.clear();
    s.firmware_start = s.firmware = true;
    s.since = e.time;
  }
  s.any_start = true;
  s.open.push_back({e.id, e.zone_class, e.zone, e.time, launch});
}

void LanePairs::stop(LaneState& s, const Launch& launch, const Event& e, std::vector<Unpaired>& found) {
  const bool firmware = e.zone_class == ZoneClass::firmware;
  // The one lane of a core in trace-only mode takes a kernel's start and end from different processors.
  const bool by_class = s.lane.risc == LogRisc::aggregate && (firmware || e.zone_class == ZoneClass::kernel);
  const auto at = std::find_if(s.open.rbegin(), s.open.rend(), [&](const Open& o) {
    return by_class ? o.zone_class == e.zone_class : o.id == e.id;
  });
  if (at != s.open.rend() && at->begin <= e.time && same_program(e.zone_class, at->launch, launch)) {
    s.open.erase(std::next(at).base());
  } else {
    const Unpaired missing{s.chip, s.lane, false, e.zone, s.since, e.time};
    if (s.firmware_start || (s.any_start && !s.firmware && !firmware && s.suspects.size() >= most_))
      found.push_back(missing);
    else if (s.any_start && !s.firmware && !firmware)
      s.suspects.push_back(missing);
    else
      ++at_edges_;
  }
  if (firmware) {
    s.firmware = true;
    s.firmware_end = std::max(s.firmware_end, e.time);
    at_edges_ += s.suspects.size();
    s.suspects.clear();
  }
  if (s.open.empty()) s.since = std::max(s.since, e.time);
}

void LanePairs::events(const LaneEvents& batch, std::vector<Unpaired>& found) {
  LaneState* s = nullptr;
  for (const Event& e : batch.events) {
    if (e.type != MarkerType::zone_start && e.type != MarkerType::zone_end) continue;
    if (!s) s = &state(batch.launch.chip, batch.lane);
    if (e.type == MarkerType::zone_start)
      start(*s, batch.launch, e, found);
    else
      stop(*s, batch.launch, e, found);
  }
}

bool LanePairs::take(uint32_t chip, const Lane& lane, const Closed& closed) {
  if (!closed.any) return true;
  LaneState& s = state(chip, lane);
  const bool other_twin = s.firmware_start && closed.firmware_start && s.firmware_id != closed.first_firmware;
  if (!s.open.empty() || (lane.risc == LogRisc::erisc && (s.twins || other_twin))) return false;
  if (closed.firmware) {
    at_edges_ += s.suspects.size();
    s.suspects.clear();
  }
  s.since = closed.firmware_start ? closed.since : std::max(s.since, closed.since);
  s.firmware_end = std::max(s.firmware_end, closed.firmware_end);
  if (closed.firmware_start) s.firmware_id = closed.last_firmware;
  s.firmware_start |= closed.firmware_start;
  s.firmware |= closed.firmware;
  s.any_start |= closed.any_start;
  return true;
}

void LanePairs::Alone::begin(const Lane& lane) {
  lane_.lane = lane;
  lane_.open.clear(), lane_.suspects.clear(), found_.clear();
  lane_.since = lane_.firmware_end = 0;
  lane_.firmware_start = lane_.firmware = lane_.any_start = lane_.twins = false;
  pairs_.at_edges_ = 0;
  closed_ = {};
}

void LanePairs::Alone::events(const LaneEvents& batch) {
  for (const Event& e : batch.events) {
    if (e.type != MarkerType::zone_start && e.type != MarkerType::zone_end) continue;
    closed_.any = true;
    if (e.type == MarkerType::zone_end) {
      pairs_.stop(lane_, batch.launch, e, found_);
      continue;
    }
    pairs_.start(lane_, batch.launch, e, found_);
    if (e.zone_class != ZoneClass::firmware) continue;
    if (!std::exchange(closed_.firmware_start, true)) closed_.first_firmware = e.id;
    closed_.last_firmware = e.id;
  }
}

bool LanePairs::Alone::end(Closed& closed) {
  closed = closed_;
  closed.since = lane_.since, closed.firmware_end = lane_.firmware_end;
  closed.any_start = lane_.any_start, closed.firmware = lane_.firmware;
  return lane_.open.empty() && lane_.suspects.empty() && found_.empty() && !lane_.twins &&
         pairs_.at_edges_ == 0;
}

void LanePairs::end(std::vector<Unpaired>& found) {
  for (auto& [key, s] : lanes_) {
    for (const Open& o : s.open) {
      if (!s.twins && o.zone_class != ZoneClass::firmware && o.begin < s.firmware_end)
        found.push_back({s.chip, s.lane, true, o.zone, o.begin, s.firmware_end});
      else
        ++at_edges_;
    }
    found.insert(found.end(), s.suspects.begin(), s.suspects.end());
    s.open.clear();
    s.suspects.clear();
  }
}

}  // namespace ttc::report
