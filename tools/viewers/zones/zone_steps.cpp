#include "tools/viewers/zones/zone_steps.hpp"

#include <algorithm>

namespace ttc::tools {

using markers::MarkerType;
using Kind = ZoneStep::Kind;

const char* to_string(Flaw flaw) {
  switch (flaw) {
    case Flaw::none:
      return "";
    case Flaw::no_end:
      return "start without end";
    case Flaw::no_start:
      return "end without start";
    case Flaw::overlap:
      return "overlaps another zone";
  }
  return "";
}

// Its begin becomes a mark where no viewer has it yet; else it is closed where the lane was last.
void ZoneSteps::give_up(const Open& zone) {
  if (zone.start == kNoMarker) {
    put({Kind::end, Flaw::no_end, false, kNoMarker, kNoMarker});
  } else {
    steps_[zone.step].kind = Kind::mark;
    steps_[zone.step].flaw = Flaw::no_end;
  }
}

void ZoneSteps::abandon() {
  for (; !open_.empty(); open_.pop_back()) give_up(open_.back());
}

void ZoneSteps::start(uint32_t index, uint16_t main_zone) {
  const uint16_t id = markers_[index].id;
  // A launch has begun: nothing of the one before it will end.
  if (id == main_zone && main_zone != 0 && !open_.empty() && open_.front().id == id) abandon();
  open_.push_back({id, index, static_cast<uint32_t>(count_), markers_[index].time_cycles});
  put({Kind::begin, Flaw::none, false, index, kNoMarker});
}

void ZoneSteps::end(uint32_t index) {
  const uint16_t id = markers_[index].id;
  size_t at = open_.size();
  while (at > 0 && open_[at - 1].id != id) --at;
  if (at-- == 0) {
    put({Kind::mark, Flaw::no_start, false, index, kNoMarker});
    return;
  }
  if (at + 1 < open_.size()) cross_above(at);
  const Open zone = open_[at];
  if (at + 1 == open_.size())
    open_.pop_back();
  else
    open_.erase(open_.begin() + static_cast<ptrdiff_t>(at));
  const auto step = static_cast<uint32_t>(count_);
  put({Kind::end, Flaw::none, false, index, zone.start, markers_[index].time_cycles - zone.at_cycles});
  if (zone.start == kNoMarker) return;
  steps_[zone.step].other = index;
  if (zone.crossed) aside_.emplace_back(zone.step, step);
}

// Zones above an ending zone have not ended yet. Begun in an earlier frame it is out and must be closed.
void ZoneSteps::cross_above(size_t at) {
  for (size_t above = open_.size(); --above > at;) {
    if (open_[above].start != kNoMarker) {
      open_[above].crossed = true;
      continue;
    }
    give_up(open_[above]);
    open_.erase(open_.begin() + static_cast<ptrdiff_t>(above));
  }
}

// Zones that reach across others go aside, as far as they nest there.
void ZoneSteps::settle_crossed(bool late) {
  constexpr size_t kMostAside = 64;  // of a frame; the search below is quadratic
  std::sort(aside_.begin(), aside_.end());
  size_t accepted = 0;
  for (const auto& [begin, end] : aside_) {
    const bool nests = accepted < kMostAside &&
                       std::all_of(aside_.begin(), aside_.begin() + static_cast<ptrdiff_t>(accepted),
                                   [&, b = begin, e = end](const auto& other) {
                                     return other.second < b || e < other.second;
                                   });
    for (const uint32_t step : {begin, end}) {
      steps_[step].flaw = Flaw::overlap;
      steps_[step].aside = nests;
      if (!nests) steps_[step].kind = Kind::mark;
    }
    if (nests) aside_[accepted++] = {begin, end};
  }
  aside_.clear();
  // A crossed zone that is still open would have to be begun on the lane and ended beside it.
  for (auto zone = open_.begin(); zone != open_.end();) {
    if (zone->crossed || late) {
      give_up(*zone);
      zone = open_.erase(zone);
    } else {
      zone->start = kNoMarker;
      ++zone;
    }
  }
}

std::span<const ZoneStep> ZoneSteps::of(std::span<const markers::Marker> markers, uint16_t main_zone,
                                        bool late) {
  markers_ = markers;
  count_ = 0;
  if (late) std::swap(open_, kept_);
  // A step a marker, and an end for each zone of an earlier frame that none of them ends.
  if (const size_t most = markers.size() + open_.size(); steps_.size() < most) steps_.resize(most);
  for (uint32_t i = 0; i < markers.size(); ++i) {
    if (markers[i].type == MarkerType::zone_start)
      start(i, main_zone);
    else if (markers[i].type == MarkerType::zone_end)
      end(i);
    else
      put({Kind::mark, Flaw::none, false, i, kNoMarker});
  }
  if (!open_.empty() || !aside_.empty()) settle_crossed(late);
  if (late) std::swap(open_, kept_);
  return std::span(steps_).first(count_);
}

}  // namespace ttc::tools
