#include "tools/ttreport/html_timeline.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>

#include "collector/draw/colours.hpp"
#include "tools/report/page/html_page.hpp"
#include "tools/viewers/host/rows.hpp"
#include "tools/viewers/zones/zone_labels.hpp"
#include "ttcollect/clock_map.hpp"

namespace ttc::tools {
namespace {

using namespace report;
using json = nlohmann::ordered_json;

constexpr size_t kMostStretches = 2000, kMostLosses = 20'000;
constexpr int kProgramKind = static_cast<int>(ZoneKind::user) + 1;  // behind those of zones
constexpr int kHostKinds = kProgramKind + 1;                        // by HostBarKind
constexpr const char *kProgramRow = "programs", *kHostRow = "host";

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

// Nanoseconds of the page. What has host times counts from the first of it; a chip that has none from its own first zone.
class PageTime {
 public:
  PageTime(const Run& run, const ZoneKeeper& keeper, const CommonTime& clock, const HostBars& host)
      : run_(run), clock_(clock) {
    for (const auto& [launch, spans] : keeper.launches())
      for (const ZoneSpan& s : spans) {
        const auto [first, fresh] = first_cycles_.try_emplace(launch.chip, s.begin);
        first->second = std::min(first->second, s.begin);
      }
    for (const HostBar& bar : host.bars()) origin_ns_ = std::min(origin_ns_, bar.begin_ns);
    for (const auto& [chip, cycles] : first_cycles_)
      if (const auto raw_ns = clock.raw_ns(chip, cycles)) origin_ns_ = std::min(origin_ns_, *raw_ns);
  }
  bool known(uint32_t chip) const { return first_cycles_.contains(chip); }
  double ns(uint32_t chip, uint64_t cycles) const {
    if (const auto raw_ns = clock_.raw_ns(chip, cycles)) return of_host(*raw_ns);
    return (static_cast<double>(cycles) - static_cast<double>(first_cycles_.at(chip))) * 1000.0 /
           run_.mhz(chip);
  }
  double of_host(uint64_t raw_ns) const {
    return static_cast<double>(static_cast<int64_t>(raw_ns - origin_ns_));
  }
  // True if a chip counts from its own first zone beside others that do not.
  bool mixed(const HostBars& host) const {
    size_t own = 0;
    for (const auto& [chip, cycles] : first_cycles_) own += !clock_.raw_ns(chip, cycles);
    return own > 0 && (own < first_cycles_.size() || !host.bars().empty());
  }

 private:
  const Run& run_;
  const CommonTime& clock_;
  std::map<uint32_t, uint64_t> first_cycles_;
  uint64_t origin_ns_ = ~uint64_t{0};
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
  // The place of the markers of a loss. A lane without zones is made for it.
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
  // The host's lanes come before the chips, each chip's row of programs before its lanes.
  void behind(size_t host_lanes) { host_lanes_ = host_lanes; }
  size_t host_lanes() const { return host_lanes_; }
  size_t number_of(const LaneKey& key) const {
    std::set<uint32_t> chips;
    for (const auto& [lane, shown] : lanes_)
      if (lane <= key) chips.insert(std::get<0>(lane));
    return static_cast<size_t>(std::distance(lanes_.begin(), lanes_.find(key))) + chips.size() + host_lanes_;
  }

 private:
  std::map<LaneKey, std::vector<Shown>> lanes_;
  size_t host_lanes_ = 0;
};

std::string size_of(const shm::LossRecord& r) {
  if (r.precision == shm::LossPrecision::exact_words) return std::to_string(r.words) + " words";
  if (r.precision == shm::LossPrecision::bounded_launches)
    return "at most " + std::to_string(r.launches) + " launches";
  return "an unknown number of markers";
}

// Columns: lane, begin and length in ns (length null: no end is known), what it is.
void put_losses(const Run& run, const PageTime& time, Lanes& lanes, json& data) {
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
void put_clocks(const ClockBounds& clocks, const PageTime& time, json& data) {
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
  for (int kind = 0; kind < kProgramKind; ++kind)
    palette.push_back(css_colour(colour_by_kind(static_cast<ZoneKind>(kind), processor)));
  for (const uint32_t rgb :
       {draw::kProgramColour, draw::kHostColour, draw::kLockColour, draw::kWaitColour, draw::kFrameColour})
    palette.push_back(css_colour(rgb));
  return palette;
}

std::string lane_name(const LaneKey& key, bool logged) {
  const auto& [chip, x, y, risc, twin] = key;
  return std::to_string(chip) + (logged ? " (log): " : ": ") + std::to_string(x) + "," + std::to_string(y) +
         " " + processor_name({x, y, risc, twin});
}

void put_lanes(const Lanes& lanes, const HostBars& host, const Run& run, json& data) {
  const bool captured = std::any_of(run.devices.begin(), run.devices.end(),
                                    [](const auto& one) { return !one.second.name.empty(); });
  data["palettes"] = json::object();
  std::optional<uint32_t> chip;
  const auto add_lane = [&](const std::string& name, const std::string& processor) {
    data["lanes"].push_back(name);
    data["laneprocessors"].push_back(processor);
    data["palettes"].emplace(processor, palette_of(processor));
  };
  for (const std::string& name : host.lanes()) add_lane(name, kHostRow);
  for (const auto& [key, shown] : lanes.all()) {
    const auto device = run.devices.find(std::get<0>(key));
    const bool logged = captured && device != run.devices.end() && device->second.name.empty();
    if (chip != std::get<0>(key)) {
      chip = std::get<0>(key);
      add_lane(std::to_string(*chip) + (logged ? " (log): " : ": ") + kProgramRow, kProgramRow);
    }
    add_lane(lane_name(key, logged), kRiscNames[static_cast<size_t>(std::get<3>(key))]);
  }
}

// A bar of the timeline.
struct Bars {
  std::vector<double> begin;
  std::vector<float> length;
  std::vector<uint16_t> lane, zone;
  std::vector<int32_t> op;
  std::vector<uint8_t> depth;
  std::vector<uint16_t> bound;                                       // of the length, ns
  static constexpr uint16_t kNoBound = 0xffff, kMostBound = 0xfffe;  // so much or more
  void add(uint16_t of_lane, double from_ns, double to_ns, uint16_t of_zone, int64_t of_op, uint32_t deep,
           const std::optional<Measured>& measured = {}) {
    begin.push_back(from_ns);
    length.push_back(static_cast<float>(to_ns - from_ns));
    lane.push_back(of_lane);
    zone.push_back(of_zone);
    op.push_back(static_cast<int32_t>(of_op));
    depth.push_back(static_cast<uint8_t>(std::min<uint32_t>(deep, 12)));
    // Of what the page has, a float.
    bound.push_back(measured ? static_cast<uint16_t>(std::min<double>(
                                   std::ceil(measured->bound_of(double{length.back()})), kMostBound))
                             : kNoBound);
  }
};

// The labels of bars: name, source and kind, each once.
class BarNames {
 public:
  BarNames(const Run& run, json& data) : run_(run), names_(data["zonenames"]) {}
  uint16_t of_zone(uint32_t zone) {
    const auto [number, fresh] = zones_.try_emplace(zone, next());
    if (fresh) {
      const Zone& z = run_.zones[zone];
      put(z.name.empty() ? "(unnamed)" : z.name, z.file.empty() ? "" : z.file + ":" + std::to_string(z.line),
          static_cast<int>(kind_of_zone(z.name)));
    }
    return number->second;
  }
  uint16_t of_program(const std::string& name) {
    const auto [number, fresh] = programs_.try_emplace(name, next());
    if (fresh) put(name.empty() ? "program" : name, "", kProgramKind);
    return number->second;
  }
  // Before all others.
  void put_host(const HostBars& host) {
    for (const HostBarName& n : host.names()) put(n.name, n.source, kHostKinds + static_cast<int>(n.kind));
  }

 private:
  uint16_t next() const { return static_cast<uint16_t>(names_.size()); }
  void put(const std::string& name, const std::string& source, int kind) {
    names_.push_back({name, source, kind});
  }
  const Run& run_;
  json& names_;
  std::map<uint32_t, uint16_t> zones_;
  std::map<std::string, uint16_t> programs_;
};

// Programs of a chip whose zones are kept, by their begin.
struct ShownProgram {
  Range firmware;
  uint64_t seen_ns;
  int64_t op;
};
using ProgramsOfChips = std::map<uint32_t, std::vector<ShownProgram>>;
ProgramsOfChips programs_of(const ZoneKeeper& keeper, const Run& run,
                            const std::function<int64_t(const DeviceOp&)>& op_index) {
  ProgramsOfChips all;
  for (const DeviceOp& op : run.ops)
    if (op.firmware.whole() && keeper.launches().contains(op.launch))
      all[op.launch.chip].push_back({op.firmware, op.seen_ns, op_index(op)});
  for (auto& [chip, list] : all)
    std::stable_sort(list.begin(), list.end(),
                     [](const auto& a, const auto& b) { return a.firmware.begin < b.firmware.begin; });
  return all;
}

// The row of the table that a zone of the host side launches.
class HostOps {
 public:
  HostOps(const Run& run, const std::function<int64_t(const DeviceOp&)>& op_index) {
    for (const DeviceOp& op : run.ops) rows_.try_emplace({op.launch.chip, op.launch.host_id}, op_index(op));
  }
  int64_t row_of(const std::optional<HostOp>& op) const {
    const auto found = op ? rows_.find({op->chip, op->host_id}) : rows_.end();
    return found == rows_.end() ? -1 : found->second;
  }

 private:
  std::map<std::pair<uint32_t, uint32_t>, int64_t> rows_;
};

void put_host(const HostBars& host, const HostOps& ops, const PageTime& time, Bars& bars) {
  for (const HostBar& b : host.bars())
    bars.add(static_cast<uint16_t>(b.lane), time.of_host(b.begin_ns), time.of_host(b.end_ns),
             static_cast<uint16_t>(b.name), ops.row_of(b.op), b.depth);
}

std::optional<Measured> measured_zone(const Run& run, const ZoneSpan& s) {
  if (!run.clock) return std::nullopt;
  return run.clock->on_tile(s.launch.chip, {s.lane.x, s.lane.y}, s.begin, s.end, s.seen_ns);
}

void put_spans(const Lanes& lanes, const ProgramsOfChips& programs, const HostBars& host, const HostOps& ops,
               const PageTime& time, const Run& run, const std::function<std::string(int64_t)>& op_name,
               json& data) {
  Bars bars;
  BarNames names(run, data);
  names.put_host(host);
  put_host(host, ops, time, bars);
  auto lane = static_cast<uint16_t>(lanes.host_lanes());
  std::optional<uint32_t> chip;
  for (const auto& [where, shown] : lanes.all()) {
    if (chip != std::get<0>(where)) {
      chip = std::get<0>(where);
      RowPacker rows;
      const auto of_chip = programs.find(*chip);
      if (of_chip != programs.end())
        for (const ShownProgram& p : of_chip->second)
          if (const auto place = rows.place(p.firmware.begin, p.firmware.end))
            bars.add(lane, time.ns(*chip, p.firmware.begin), time.ns(*chip, p.firmware.end),
                     names.of_program(op_name(p.op)), p.op, *place,
                     run.clock ? run.clock->across(*chip, p.firmware.begin, p.firmware.end, p.seen_ns)
                               : std::nullopt);
      ++lane;
    }
    for (const Shown& s : shown)
      bars.add(lane, time.ns(*chip, s.span->begin), time.ns(*chip, s.span->end), names.of_zone(s.span->zone),
               s.op, s.span->depth, measured_zone(run, *s.span));
    ++lane;
  }
  data["zones"] = {{"begin", packed(bars.begin)}, {"length", packed(bars.length)},
                   {"lane", packed(bars.lane)},   {"zone", packed(bars.zone)},
                   {"op", packed(bars.op)},       {"depth", packed(bars.depth)},
                   {"bound", packed(bars.bound)}};
}

}  // namespace

void put_timeline(const ZoneKeeper& keeper, const Run& run, const ClockBounds& clocks,
                  const CommonTime& clock, const HostBars& host,
                  const std::function<int64_t(const DeviceOp&)>& op_index,
                  const std::function<std::string(int64_t)>& op_name, json& data) {
  for (const char* list : {"lanes", "laneprocessors", "zonenames", "losses"}) data[list] = json::array();
  data["losscolour"] = css_colour(draw::kLossColour);
  data["zones"] = nullptr;
  std::string note;
  if (keeper.dropped_launches())
    note = "those of the longest programs; " + std::to_string(keeper.dropped_launches()) +
           " shorter ones are left out";
  if (host.left_out())
    note += (note.empty() ? "" : "; ") + std::to_string(host.left_out()) +
            " shorter zones of the host side are left out";
  data["zonenote"] = note;
  if (keeper.kept() == 0) return;
  std::map<Launch, int64_t, LaunchLess> op_of;
  for (const DeviceOp& op : run.ops) op_of[op.launch] = op_index(op);
  const PageTime time(run, keeper, clock, host);
  if (time.mixed(host))
    data["zonenote"] = note + (note.empty() ? "" : "; ") +
                       "a chip without a clock model counts from its own first zone, beside no other clock";
  Lanes lanes(keeper, op_of);
  lanes.behind(host.lanes().size());
  put_losses(run, time, lanes, data);
  put_clocks(clocks, time, data);
  put_lanes(lanes, host, run, data);
  put_spans(lanes, programs_of(keeper, run, op_index), host, HostOps(run, op_index), time, run, op_name,
            data);
}

}  // namespace ttc::tools
