#include "tools/ttreport/html_timeline.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <tuple>

#include "collector/draw/colours.hpp"
#include "tools/report/page/html_page.hpp"
#include "tools/viewers/zone_labels.hpp"
#include "ttcollect/clock_map.hpp"

namespace ttc::tools {
namespace {

using namespace report;
using json = nlohmann::ordered_json;

constexpr size_t kMostStretches = 2000, kMostLosses = 20'000;

struct Shown {
  const ZoneSpan* span;
  int64_t op;
};
using LaneKey = std::tuple<uint32_t, uint8_t, uint8_t, LogRisc, uint8_t>;  // chip, x, y, RISC, twin

template <class Values>
std::string packed(const Values& values) {
  return base64(values.data(), values.size() * sizeof values[0]);
}

std::string css_colour(uint32_t rgb) {
  char text[8];
  std::snprintf(text, sizeof text, "#%06x", rgb & 0xffffff);
  return text;
}

// Cycles of a chip as nanoseconds from its first zone.
class ChipTime {
 public:
  ChipTime(const Run& run, const ZoneKeeper& keeper) : run_(run) {
    for (const auto& [launch, spans] : keeper.launches())
      for (const ZoneSpan& s : spans) {
        const auto [first, fresh] = origin_.try_emplace(launch.chip, s.begin);
        first->second = std::min(first->second, s.begin);
      }
  }
  bool known(uint32_t chip) const { return origin_.contains(chip); }
  double ns(uint32_t chip, uint64_t cycles) const {
    return (static_cast<double>(cycles) - static_cast<double>(origin_.at(chip))) * 1000.0 / run_.mhz(chip);
  }

 private:
  const Run& run_;
  std::map<uint32_t, uint64_t> origin_;
};

class Lanes {
 public:
  Lanes(const ZoneKeeper& keeper, const std::map<Launch, int64_t, LaunchLess>& op_of) {
    for (const auto& [launch, spans] : keeper.launches())
      for (const ZoneSpan& s : spans) {
        const auto it = op_of.find(launch);
        lanes_[{launch.chip, s.lane.x, s.lane.y, s.lane.risc, s.lane.twin}].push_back(
            {&s, it == op_of.end() ? -1 : it->second});
      }
    for (auto& [where, shown] : lanes_)
      std::stable_sort(shown.begin(), shown.end(),
                       [](const Shown& a, const Shown& b) { return a.span->begin < b.span->begin; });
  }
  // Where the markers of a loss would be. A lane without zones is made for it.
  LaneKey of_loss(const shm::LossRecord& r) {
    for (const uint8_t twin : {uint8_t{0}, uint8_t{1}})
      if (const LaneKey key{r.device, r.core_x, r.core_y, LogRisc::erisc, twin}; lanes_.contains(key)) {
        const LaneKey own{r.device, r.core_x, r.core_y, LogRisc::erisc, static_cast<uint8_t>(r.risc > 0)};
        lanes_.try_emplace(own);
        return own;
      }
    const LaneKey key{r.device, r.core_x, r.core_y,
                      static_cast<LogRisc>(std::min<uint8_t>(r.risc, static_cast<uint8_t>(LogRisc::erisc))),
                      0};
    lanes_.try_emplace(key);
    return key;
  }
  const std::map<LaneKey, std::vector<Shown>>& all() const { return lanes_; }
  size_t number_of(const LaneKey& key) const {
    return static_cast<size_t>(std::distance(lanes_.begin(), lanes_.find(key)));
  }

 private:
  std::map<LaneKey, std::vector<Shown>> lanes_;
};

std::string size_of(const shm::LossRecord& r) {
  if (r.precision == shm::LossPrecision::exact_words) return std::to_string(r.words) + " words";
  if (r.precision == shm::LossPrecision::bounded_launches)
    return "at most " + std::to_string(r.launches) + " launches";
  return "an unknown number of markers";
}

// Columns: lane, begin and length in ns (length null: no end is known), what it is.
void put_losses(const Run& run, const ChipTime& time, Lanes& lanes, json& data) {
  std::vector<std::pair<LaneKey, const shm::LossRecord*>> shown;
  for (const shm::LossRecord& r : run.account.losses)
    if (time.known(r.device) && shown.size() < kMostLosses) shown.emplace_back(lanes.of_loss(r), &r);
  data["losses"] = json::array();
  for (const auto& [key, r] : shown) {
    const double begin = time.ns(r->device, r->from_cycles);
    data["losses"].push_back(
        {lanes.number_of(key), begin,
         r->to_cycles == shm::kOpenEnd ? json(nullptr) : json(time.ns(r->device, r->to_cycles) - begin),
         std::string(shm::to_string(r->cause)) + ": " + size_of(*r)});
  }
  data["lossesleftout"] = run.account.losses.size() - shown.size();
}

// One list a chip: begin in ns, bound in ns; each holds until the next begins.
void put_clocks(const ClockBounds& clocks, const ChipTime& time, json& data) {
  data["bounds"] = json::object();
  for (const auto& [chip, stretches] : clocks.chips()) {
    if (!time.known(chip)) continue;
    json list = json::array();
    for (const ClockBounds::Stretch& s : ClockBounds::joined(stretches, kMostStretches))
      list.push_back({time.ns(chip, s.from_cycles), s.bound_ns});
    data["bounds"][std::to_string(chip)] = std::move(list);
  }
}

// Colours of a lane's zones by ZoneKind, as the pictures have them.
json palette_of(std::string_view processor) {
  json palette = json::array();
  for (int kind = 0; kind <= static_cast<int>(ZoneKind::user); ++kind)
    palette.push_back(css_colour(colour_by_kind(static_cast<ZoneKind>(kind), processor)));
  return palette;
}

std::string lane_name(const LaneKey& key, bool logged) {
  const auto& [chip, x, y, risc, twin] = key;
  return std::to_string(chip) + (logged ? " (log): " : ": ") + std::to_string(x) + "," + std::to_string(y) +
         " " + processor_name({x, y, risc, twin});
}

void put_lanes(const Lanes& lanes, const Run& run, json& data) {
  const bool captured = std::any_of(run.devices.begin(), run.devices.end(),
                                    [](const auto& one) { return !one.second.name.empty(); });
  data["palettes"] = json::object();
  for (const auto& [key, shown] : lanes.all()) {
    const auto device = run.devices.find(std::get<0>(key));
    const bool logged = captured && device != run.devices.end() && device->second.name.empty();
    data["lanes"].push_back(lane_name(key, logged));
    const std::string processor = kRiscNames[static_cast<size_t>(std::get<3>(key))];
    data["laneprocessors"].push_back(processor);
    data["palettes"].emplace(processor, palette_of(processor));
  }
}

void put_spans(const Lanes& lanes, const ChipTime& time, const Run& run, json& data) {
  std::vector<double> begin;
  std::vector<float> length;
  std::vector<uint16_t> lane, zone;
  std::vector<int32_t> op;
  std::vector<uint8_t> depth;
  std::map<uint32_t, uint16_t> zone_number;
  uint16_t number_of_lane = 0;
  for (const auto& [where, shown] : lanes.all()) {
    const uint32_t chip = std::get<0>(where);
    for (const Shown& s : shown) {
      const auto [number, fresh] =
          zone_number.try_emplace(s.span->zone, static_cast<uint16_t>(zone_number.size()));
      if (fresh) {
        const Zone& z = run.zones[s.span->zone];
        data["zonenames"].push_back({z.name.empty() ? "(unnamed)" : z.name,
                                     z.file.empty() ? "" : z.file + ":" + std::to_string(z.line),
                                     static_cast<int>(kind_of_zone(z.name))});
      }
      begin.push_back(time.ns(chip, s.span->begin));
      length.push_back(static_cast<float>(time.ns(chip, s.span->end) - begin.back()));
      lane.push_back(number_of_lane);
      zone.push_back(number->second);
      op.push_back(static_cast<int32_t>(s.op));
      depth.push_back(static_cast<uint8_t>(std::min<uint32_t>(s.span->depth, 12)));
    }
    ++number_of_lane;
  }
  data["zones"] = {{"begin", packed(begin)}, {"length", packed(length)}, {"lane", packed(lane)},
                   {"zone", packed(zone)},   {"op", packed(op)},         {"depth", packed(depth)}};
}

}  // namespace

void ClockBounds::clock(uint32_t chip, const collect::ClockMap& map) {
  size_t& seen = seen_[chip];
  const auto segments = map.segments();
  for (seen = std::min(seen, segments.size()); seen < segments.size(); ++seen) {
    const collect::ClockSegment& s = segments[seen];
    if (s.bound == collect::kNoBound || s.to_cycles <= s.from_cycles) continue;
    chips_[chip].push_back(
        {s.from_cycles, s.to_cycles, static_cast<double>(s.bound) / collect::kHostTicksPerNs});
  }
}

double ClockBounds::bound_of_share(const std::vector<Stretch>& stretches, double share) {
  std::vector<std::pair<double, double>> by_bound;  // bound, cycles
  double all = 0, sum = 0;
  for (const Stretch& s : stretches) {
    by_bound.emplace_back(s.bound_ns, static_cast<double>(s.to_cycles - s.from_cycles));
    all += by_bound.back().second;
  }
  std::sort(by_bound.begin(), by_bound.end());
  for (const auto& [bound, cycles] : by_bound)
    if ((sum += cycles) >= share * all) return bound;
  return by_bound.empty() ? 0 : by_bound.back().first;
}

std::vector<ClockBounds::Stretch> ClockBounds::joined(const std::vector<Stretch>& stretches, size_t most) {
  const size_t step = (stretches.size() + most - 1) / std::max<size_t>(1, most);
  std::vector<Stretch> all;
  for (size_t i = 0; i < stretches.size(); ++i) {
    if (i % std::max<size_t>(1, step) == 0) {
      all.push_back(stretches[i]);
      continue;
    }
    all.back().to_cycles = stretches[i].to_cycles;
    all.back().bound_ns = std::max(all.back().bound_ns, stretches[i].bound_ns);
  }
  return all;
}

void put_timeline(const ZoneKeeper& keeper, const Run& run, const ClockBounds& clocks,
                  const std::function<int64_t(const DeviceOp&)>& op_index, json& data) {
  for (const char* list : {"lanes", "laneprocessors", "zonenames", "losses"}) data[list] = json::array();
  data["losscolour"] = css_colour(draw::kLossColour);
  data["zones"] = nullptr;
  data["zonenote"] = keeper.dropped_launches()
                         ? "those of the longest programs; " + std::to_string(keeper.dropped_launches()) +
                               " shorter ones are left out"
                         : "";
  if (keeper.kept() == 0) return;
  std::map<Launch, int64_t, LaunchLess> op_of;
  for (const DeviceOp& op : run.ops) op_of[op.launch] = op_index(op);
  const ChipTime time(run, keeper);
  Lanes lanes(keeper, op_of);
  put_losses(run, time, lanes, data);
  put_clocks(clocks, time, data);
  put_lanes(lanes, run, data);
  put_spans(lanes, time, run, data);
}

}  // namespace ttc::tools
