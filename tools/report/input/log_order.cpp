#include "tools/report/input/log_order.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string_view>

namespace ttc::report {

using markers::MarkerType;

// Within a launch a start is no earlier than the last end of the same zone.
bool LogOrder::later(LaneState& s, const Event& event) {
  const auto at =
      std::find_if(s.ends.begin(), s.ends.end(), [&](const auto& end) { return end.first == event.id; });
  if (event.type == MarkerType::zone_start) return at == s.ends.end() || event.time >= at->second;
  if (at == s.ends.end())
    s.ends.emplace_back(event.id, event.time);
  else
    at->second = std::max(at->second, event.time);
  return true;
}

bool LogOrder::take(const Launch& launch, const Lane& lane, const Event& event) {
  if (event.type != MarkerType::zone_start && event.type != MarkerType::zone_end) return true;
  const uint64_t key = lane_key(launch.chip, lane);
  if (key != key_ || !state_) {
    state_ = &lanes_[key];
    key_ = key;
  }
  LaneState& s = *state_;
  const bool start = event.type == MarkerType::zone_start;
  if (start && event.zone_class == ZoneClass::firmware && s.open <= 0) {
    s.launch = launch;
    s.latest = 0;
    s.open = 0;
    s.ends.clear();  // and its memory is used again
  }
  if (!(s.launch == launch)) {
    if (event.time < s.latest) return false;
    s.launch = launch;
    s.ends.clear();
  }
  s.latest = std::max(s.latest, event.time);
  s.open += start ? 1 : -1;
  return later(s, event);
}

std::string sorted_log(const std::string& path) {
  std::ostringstream whole;
  whole << std::ifstream(path, std::ios::binary).rdbuf();
  const std::string text = std::move(whole).str();
  std::vector<size_t> begins{0};  // of lines
  for (size_t at = 0; (at = text.find('\n', at)) != std::string::npos;) begins.push_back(++at);
  begins.push_back(text.size());
  struct Place {
    uint64_t lane, time, line;
    bool operator<(const Place& other) const {
      return std::tie(lane, time, line) < std::tie(other.lane, other.time, other.line);
    }
  };
  std::vector<Place> places;
  std::istringstream in(text);
  tools::DeviceLogReader reader(in, path);
  tools::DeviceLogRow row;
  for (;;) {
    const auto next = reader.next(row);
    if (next == tools::DeviceLogReader::Next::end) break;
    if (next != tools::DeviceLogReader::Next::row) continue;
    const uint64_t lane = lane_key(row.chip, {row.core_x, row.core_y, row.risc});
    places.push_back({lane, row.time_cycles, row.line});
  }
  std::sort(places.begin(), places.end());
  std::string sorted;
  sorted.reserve(text.size());
  const auto append = [&](uint64_t line) {  // from 1
    const size_t begin = begins[line - 1], end = begins[line];
    sorted.append(text, begin, end - begin);
    if (sorted.back() != '\n') sorted += '\n';
  };
  append(1);
  append(2);
  for (const Place& place : places) append(place.line);
  return sorted;
}

}  // namespace ttc::report
