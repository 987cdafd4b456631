#include "tools/report/noc/noc_traces.hpp"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "collector/program/json_text.hpp"

namespace ttc::report {
namespace {

using markers::FabricRouting;
using markers::MarkerType;
using markers::NocEvent;
using markers::NocEventKind;
using nlohmann::json;  // its members come in alphabetical order

constexpr markers::MetalDate kNewest{2026, 6};
constexpr uint64_t kFarApart = 1000;  // cycles from the first event of a group to its last
constexpr size_t kMostChunks = 16;    // of a scattered write; more is no such event

bool is_event(const Event& e) {
  return e.id == markers::kNocTraceId && (e.type == MarkerType::ts_data || e.type == MarkerType::ts_data_16b);
}

bool wanted_zone(const Zone& z, LogRisc risc) {
  if (z.name.empty() || z.name.ends_with("-FW") || z.name.starts_with("SYNC-") ||
      z.name.starts_with("PROFILER-NOC-QUICK"))
    return false;
  const bool trisc = risc == LogRisc::trisc_0 || risc == LogRisc::trisc_1 || risc == LogRisc::trisc_2;
  return !(trisc && z.name.ends_with("-KERNEL"));
}

// tt-npe takes names of word characters only.
std::string word(std::string text) {
  std::replace_if(
      text.begin(), text.end(),
      [](char c) { return !(std::isalnum(static_cast<unsigned char>(c)) || c == '_'); }, '_');
  return text;
}

std::string noc_name(uint8_t noc) {
  return noc == 2 ? "NOC_1" : "NOC_0";
}

// Hops of a line or ring: where the packet is written first, and on how many devices in a row. tt-metal
// fabric_edm_packet_header.hpp: two bits a hop, 2 forward only, else bit 0 writes; or range and distance.
json line_hops(FabricRouting routing, uint32_t field) {
  if (routing == FabricRouting::regular)
    return {{"start_distance", field & 0xf}, {"range", field >> 4 & 0xf}};
  int distance = 1, range = 0;
  for (; (field & 3) == 2; field >>= 2) ++distance;
  for (; field & 1; field >>= 2) ++range;
  return {{"start_distance", distance}, {"range", range}};
}

void append_member(std::string& out, const json& j) {
  out += out.empty() ? "  " : ",\n  ";
  for (const char c : program::json_text(j, 2)) {
    out += c;
    if (c == '\n') out += "  ";
  }
}

}  // namespace

// The JSON of one launch.
class NocTraces::Trace {
 public:
  Trace(NocTraces& all, const Launch& launch, const Run& run, std::string op, std::vector<Record> records)
      : all_(all),
        launch_(launch),
        run_(run),
        op_(std::move(op)),
        place_(all.places_[launch.chip]),
        records_(std::move(records)) {
    std::stable_sort(records_.begin(), records_.end(), [](const Record& a, const Record& b) {
      return std::tie(a.x, a.y, a.risc, a.time) < std::tie(b.x, b.y, b.risc, b.time);
    });
  }

  // Empty: no event was left.
  std::string text() {
    for (size_t begin = 0, end; begin < records_.size(); begin = end) {
      const Record& first = records_[begin];
      for (end = begin; end < records_.size() && same_lane(first, records_[end]);) ++end;
      lane({&records_[begin], end - begin});
    }
    // Data that a mux core forwarded is in the sends that went through it.
    std::string out;
    bool events = false;
    for (const Item& i : items_) {
      if (i.event && muxes_.contains({i.x, i.y})) continue;
      events = events || i.event || i.send;
      append_member(out, i.text);
    }
    return events ? "[\n" + out + "\n]" : "";
  }
  bool over_fabric() const { return over_fabric_; }

 private:
  struct Item {
    uint64_t time;
    int x, y;
    bool event, send;
    json text;
  };

  static bool same_lane(const Record& a, const Record& b) {
    return std::tie(a.x, a.y, a.risc) == std::tie(b.x, b.y, b.risc);
  }
  NocEvent unpacked(const Record& r) const { return markers::unpack_noc_event(r.data, *all_.table_); }
  NocXY physical(int x, int y, uint8_t noc) const { return place_.physical({x, y}, noc == 2); }
  void leave_out(const std::string& why, uint64_t count = 1) { all_.left_out_[why] += count; }

  void lane(std::span<const Record> records);
  std::vector<const Record*> nested_zones(std::span<const Record> records);
  size_t fabric_group(std::span<const Record* const> events);
  void send(std::span<const Record* const> writes, const Record& routing, const Record& local);
  std::deque<const Record*>& writes_of(NocXY mux);
  json common(const Record& r) const;
  json zone(const Record& r) const;
  json local(const Record& r) const;

  NocTraces& all_;
  const Launch& launch_;
  const Run& run_;
  const std::string op_;
  const NocCoordinates& place_;
  std::vector<Record> records_;
  std::vector<Item> items_;
  std::map<NocXY, std::deque<const Record*>> muxes_;
  bool over_fabric_ = false;
};

json NocTraces::Trace::common(const Record& r) const {
  return {{"run_host_id", launch_.host_id},
          {"op_name", op_},
          {"proc", kRiscNames[static_cast<size_t>(r.risc)]},
          {"src_device_id", launch_.chip},
          {"sx", r.x},
          {"sy", r.y},
          {"timestamp", all_.time_.common(launch_.chip, r.time)}};
}

json NocTraces::Trace::zone(const Record& r) const {
  json j = common(r);
  j["zone"] = run_.zones[r.zone].name;
  j["zone_phase"] = r.type == MarkerType::zone_start ? "ZONE_START" : "ZONE_END";
  return j;
}

// Null for what tt-npe would look up outside of its grid.
json NocTraces::Trace::local(const Record& r) const {
  const NocEvent e = unpacked(r);
  const std::string_view type = all_.table_->name(e.type);
  json j = common(r);
  j["noc"] = noc_name(e.noc);
  j["vc"] = e.vc;
  j["num_bytes"] = e.bytes;
  j["type"] = type;
  if (e.posted) j["posted"] = true;
  if (e.dst_x < 0 || e.dst_y < 0 || type == "READ_WITH_STATE" || type == "WRITE_WITH_STATE") return j;
  const NocXY to = physical(e.dst_x, e.dst_y, e.noc);
  if (!place_.on_chip(to)) return {};
  if (type == "WRITE_MULTICAST") {
    const NocXY end = physical(e.end_x, e.end_y, e.noc);
    if (!place_.on_chip(end)) return {};
    j.update(
        {{"mcast_start_x", to.x}, {"mcast_start_y", to.y}, {"mcast_end_x", end.x}, {"mcast_end_y", end.y}});
  } else {
    j.update({{"dx", to.x}, {"dy", to.y}});
  }
  return j;
}

// The zones that lie within each other, every end with its start.
std::vector<const NocTraces::Record*> NocTraces::Trace::nested_zones(std::span<const Record> records) {
  std::vector<size_t> open;
  std::vector<bool> partner(records.size());
  uint64_t without = 0;
  for (size_t i = 0; i < records.size(); ++i) {
    if (records[i].event()) continue;
    if (records[i].type == MarkerType::zone_start) {
      open.push_back(i);
      continue;
    }
    // A start within the zone that ends here lost its own end.
    const auto start = std::find_if(open.rbegin(), open.rend(),
                                    [&](size_t at) { return records[at].zone == records[i].zone; });
    if (start == open.rend()) {
      ++without;
      continue;
    }
    partner[*start] = partner[i] = true;
    without += static_cast<uint64_t>(start - open.rbegin());
    open.erase(std::prev(start.base()), open.end());
  }
  without += open.size();
  if (without) leave_out("zone markers without their partner", without);
  std::vector<const Record*> nested;
  for (size_t i = 0; i < records.size(); ++i)
    if (partner[i]) nested.push_back(&records[i]);
  return nested;
}

void NocTraces::Trace::lane(std::span<const Record> records) {
  const std::vector<const Record*> zones = nested_zones(records);
  std::vector<const Record*> events;
  for (const Record& r : records)
    if (r.event()) events.push_back(&r);
  if (zones.empty() && !events.empty()) {
    leave_out("events of processors that have no zone", events.size());
    return;
  }
  const size_t first = items_.size();
  for (const Record* r : zones) items_.push_back({r->time, r->x, r->y, false, false, zone(*r)});
  for (size_t i = 0; i < events.size();) {
    const NocEventKind kind = unpacked(*events[i]).kind;
    if (kind == NocEventKind::fabric || kind == NocEventKind::fabric_scatter) {
      i += fabric_group(std::span(events).subspan(i));
    } else if (kind == NocEventKind::local) {
      if (json j = local(*events[i]); j.is_null())
        leave_out("events that went to a place the chip does not have");
      else
        items_.push_back({events[i]->time, events[i]->x, events[i]->y, true, false, std::move(j)});
      ++i;
    } else {
      leave_out("routings of the fabric without their write");
      ++i;
    }
  }
  // Zones that begin with an event hold it, and those that end with one too.
  std::stable_sort(items_.begin() + static_cast<std::ptrdiff_t>(first), items_.end(),
                   [](const Item& a, const Item& b) { return a.time < b.time; });
}

// Events that a group takes, complete or not.
size_t NocTraces::Trace::fabric_group(std::span<const Record* const> events) {
  const NocEvent first = unpacked(*events.front());
  const size_t writes = first.kind == NocEventKind::fabric_scatter
                            ? std::clamp<size_t>(first.chunks, 1, kMostChunks)
                            : size_t{1};
  const auto kind_of = [&](size_t i) { return unpacked(*events[i]).kind; };
  const auto routes = [&](size_t i) {
    return kind_of(i) == NocEventKind::routing_1d || kind_of(i) == NocEventKind::routing_2d;
  };
  for (size_t i = 0; i < writes; ++i)
    if (i >= events.size() || kind_of(i) != first.kind) {
      leave_out("sends over the fabric that lack a chunk, their routing or their local write");
      return i;
    }
  if (writes + 1 >= events.size() || !routes(writes) || kind_of(writes + 1) != NocEventKind::local ||
      all_.table_->name(unpacked(*events[writes + 1]).type) != std::string_view("WRITE_")) {
    leave_out("sends over the fabric that lack a chunk, their routing or their local write");
    return writes;
  }
  if (events[writes + 1]->time - events.front()->time > kFarApart)
    leave_out("sends over the fabric whose events are implausibly far apart");
  else
    send(events.first(writes), *events[writes], *events[writes + 1]);
  return writes + 2;
}

std::deque<const NocTraces::Record*>& NocTraces::Trace::writes_of(NocXY mux) {
  const auto [it, fresh] = muxes_.try_emplace(mux);
  if (fresh)
    for (const Record& r : records_)
      if (r.event() && r.x == mux.x && r.y == mux.y &&
          all_.table_->name(unpacked(r).type) == std::string_view("WRITE_"))
        it->second.push_back(&r);
  return it->second;
}

void NocTraces::Trace::send(std::span<const Record* const> writes, const Record& routing,
                            const Record& local) {
  const NocEvent write = unpacked(*writes.front()), route = unpacked(routing), to = unpacked(local);
  const std::string_view type = all_.table_->name(write.type);
  json how;
  if (route.kind == NocEventKind::routing_1d && write.routing != FabricRouting::low_latency_mesh)
    how = line_hops(write.routing, route.routing_field);
  else if (route.kind == NocEventKind::routing_2d && write.routing == FabricRouting::low_latency_mesh)
    how = {{"ns_hops", route.ns_hops},
           {"e_hops", route.e_hops},
           {"w_hops", route.w_hops},
           {"is_mcast", route.multicast}};
  const bool scatter = write.kind == NocEventKind::fabric_scatter;
  if (how.is_null() || write.routing == FabricRouting::dynamic_mesh)
    return leave_out("sends over the fabric whose route is set on the way (tt-npe has no form for them)");
  if (!scatter && type.find("UNICAST") == type.npos)
    return leave_out("multicasts over the fabric (tt-npe has no form for them)");

  // The router is where the packet was written to, or where the mux wrote it to.
  NocXY router{to.dst_x, to.dst_y};
  if (place_.tile(router) == NocCoordinates::Tile::worker) {
    const NocXY mux = physical(to.dst_x, to.dst_y, to.noc);
    std::deque<const Record*>& passed_on = writes_of(mux);
    if (passed_on.empty()) return leave_out("sends over the fabric that a mux core did not pass on");
    const NocEvent by_mux = unpacked(*passed_on.front());
    passed_on.pop_front();
    how["fabric_mux"] = {{"x", mux.x}, {"y", mux.y}, {"noc", noc_name(by_mux.noc)}};
    router = {by_mux.dst_x, by_mux.dst_y};
  }
  const std::optional<int> channel = place_.channel(router);
  if (!channel) return leave_out("sends over the fabric to what is no Ethernet router");
  how["eth_chan"] = *channel;

  json j = common(local);
  j["noc"] = noc_name(to.noc);
  j["vc"] = to.vc;
  j["num_bytes"] = to.bytes;
  j["type"] = type;
  j["fabric_send"] = how;
  j["dst"] = json::array();
  int64_t rest = to.bytes;
  for (const Record* r : writes) {
    const NocEvent w = unpacked(*r);
    const uint8_t noc = w.noc ? w.noc : to.noc;  // June 2025 does not record it
    const NocXY at = physical(w.dst_x, w.dst_y, noc);
    if (!place_.on_chip(at)) return leave_out("events that went to a place the chip does not have");
    // The last chunk is what the packet has left.
    const int64_t bytes = r == writes.back() ? std::max<int64_t>(rest, 0) : w.bytes;
    j["dst"].push_back({{"dx", at.x}, {"dy", at.y}, {"noc", noc_name(noc)}, {"num_bytes", bytes}});
    rest -= w.bytes;
  }
  over_fabric_ = true;
  items_.push_back({local.time, local.x, local.y, false, true, std::move(j)});
}

NocTraces::NocTraces(const std::vector<Zone>& zones, std::optional<markers::MetalDate> date)
    : zones_(zones), table_(markers::noc_event_table(date.value_or(kNewest))) {
  if (!table_)
    throw InputError(
        "the NoC events of that month are not known; give --metal-date another, such as 2026-04");
}

void NocTraces::events(const LaneEvents& batch) {
  if (batch.launch.host_id == 0) return;
  if (batch.lane.risc != LogRisc::erisc) places_[batch.launch.chip].saw(batch.lane.x, batch.lane.y);
  std::vector<Record>* records = nullptr;
  for (const Event& e : batch.events) {
    const bool zone = e.type == MarkerType::zone_start || e.type == MarkerType::zone_end;
    if (!is_event(e) && !(zone && wanted_zone(zones_[e.zone], batch.lane.risc))) continue;
    if (is_event(e) && table_->name(markers::unpack_noc_event(e.data, *table_).type).empty()) {
      ++left_out_["events of a number that the table of that month does not have (--metal-date)"];
      continue;
    }
    if (!records) records = &records_[batch.launch];
    records->push_back({e.time, e.data, e.zone, batch.lane.x, batch.lane.y, batch.lane.risc, e.type});
  }
}

namespace {

// The topology is for tt-npe, which takes the device's model from it. `channels` as tt-metal numbers them.
json single_device_topology(uint32_t chip, const std::string& arch, uint32_t worker_cores) {
  constexpr uint32_t kP150Cores = 130;
  json topology = {{"mesh_shapes", json::array({{{"mesh_id", 0}, {"shape", {1, 1}}}})},
                   {"fabric_config", "DISABLED"},
                   {"routing_planes", json::array()},
                   {"device_id_to_fabric_node_id", {{std::to_string(chip), {0, 0}}}},
                   {"eth_chan_to_coord", json::object()}};
  topology["cluster_type"] = !arch.starts_with("blackhole") ? "N150"
                             : worker_cores >= kP150Cores   ? "P150"
                                                            : "P100";
  return topology;
}

}  // namespace

size_t NocTraces::write(const std::string& directory, const Run& run,
                        const std::function<void(const std::string&)>& may_write) {
  std::map<std::pair<uint32_t, uint32_t>, std::string> names;
  for (const auto& [launch, records] : records_) names.try_emplace({launch.chip, launch.host_id});
  for (const HostOp op : run.host.ops) {
    const auto named = op.device ? names.find({*op.device, op.call_count}) : names.end();
    if (named == names.end()) continue;
    const auto info = run.host.infos->at(op.info);
    if (info->contains("op_code") && (*info)["op_code"].is_string())
      named->second = word((*info)["op_code"].get<std::string>());
  }
  tools::SyncLines sync;
  static_cast<void>(
      sync.read(directory + "/sync_device_info.csv"));  // a copy: read_run() reported its errors
  time_.sync(std::move(sync));
  size_t written = 0;
  bool over_fabric = false;
  std::set<uint32_t> chips;
  for (const auto& [launch, records] : records_) {
    if (std::none_of(records.begin(), records.end(), [](const Record& r) { return r.event(); })) continue;
    const std::string op = names.at({launch.chip, launch.host_id});
    Trace trace(*this, launch, run, op, records);
    const std::string text = trace.text();
    over_fabric = over_fabric || trace.over_fabric();
    if (text.empty()) continue;
    chips.insert(launch.chip);
    std::string path = directory + "/noc_trace_dev" + std::to_string(launch.chip);
    if (!op.empty()) path += "_" + op;
    path += "_ID" + std::to_string(launch.host_id);
    if (launch.trace_counter >= 0) {
      const auto id = static_cast<uint64_t>(std::max<int64_t>(0, launch.trace_id));
      path += "_traceID" + std::to_string(id << 32 | static_cast<uint64_t>(launch.trace_counter));
    }
    may_write(path + ".json");
    tools::Output out(path + ".json", false);
    out.append(text);
    out.commit();
    ++written;
  }
  for (const uint32_t chip : chips)
    if (chips.size() > 1 && !time_.known(chip))
      left_out_["clocks of devices that nothing relates to the others: their times are their own cycles"] +=
          1;
  const std::string topology = directory + "/topology.json";
  std::error_code ignored;
  if (std::filesystem::exists(topology, ignored) || chips.empty()) return written;
  if (chips.size() > 1 || over_fabric) {
    left_out_["topology.json, which tt-npe needs and tt-metal writes beside its NoC traces"] += 1;
    return written;
  }
  const auto device = run.devices.find(*chips.begin());
  if (device == run.devices.end()) return written;
  tools::Output out(topology, false);
  out.append(program::json_text(
      single_device_topology(device->first, device->second.arch, device->second.worker_cores), 2));
  out.commit();
  return written;
}

std::vector<std::string> NocTraces::remarks() const {
  std::vector<std::string> all;
  for (const auto& [why, count] : left_out_)
    all.push_back("left out of the NoC traces: " + std::to_string(count) + " " + why);
  return all;
}

}  // namespace ttc::report
