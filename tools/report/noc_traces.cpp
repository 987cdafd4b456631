#include "report/noc_traces.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace ttc::report {
namespace {

using markers::MarkerType;
using nlohmann::json;  // its members come in alphabetical order

constexpr markers::MetalDate kNewest{2026, 6};
// Worker columns and rows of a Wormhole in NOC0 coordinates, and where virtual ones begin. Format sheet.
constexpr int kWorkerColumns[] = {1, 2, 3, 4, 6, 7, 8, 9};
constexpr int kWorkerRows[] = {1, 2, 3, 4, 5, 7, 8, 9, 10, 11};
constexpr int kFirstVirtual = 18;

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

}  // namespace

NocTraces::NocTraces(const std::vector<Zone>& zones, std::optional<markers::MetalDate> date)
    : zones_(zones), table_(markers::noc_event_table(date.value_or(kNewest))) {
  if (!table_)
    throw InputError(
        "the NoC events of that month are not known; give --metal-date another, such as 2026-04");
}

void NocTraces::events(const LaneEvents& batch) {
  if (batch.launch.host_id == 0) return;
  if (batch.lane.risc != LogRisc::erisc) rows_[batch.launch.chip].insert(batch.lane.y);
  std::vector<Record>* records = nullptr;
  for (const Event& e : batch.events) {
    const bool zone = e.type == MarkerType::zone_start || e.type == MarkerType::zone_end;
    if (!is_event(e) && !(zone && wanted_zone(zones_[e.zone], batch.lane.risc))) continue;
    if (!records) records = &records_[batch.launch];
    if (is_event(e)) {
      const markers::NocEvent event = markers::unpack_noc_event(e.data, *table_);
      if (event.kind != markers::NocEventKind::local) {
        ++fabric_;
        continue;
      }
      if (table_->name(event.type).empty()) {
        ++unknown_;
        continue;
      }
    }
    records->push_back({e.time, e.data, e.zone, batch.lane.x, batch.lane.y, batch.lane.risc, e.type});
  }
}

std::string NocTraces::json_of(const Record& r, const Launch& launch, const std::string& op,
                               const Run& run) const {
  json j{{"run_host_id", launch.host_id},
         {"op_name", op},
         {"proc", kRiscNames[static_cast<size_t>(r.risc)]},
         {"src_device_id", launch.chip},
         {"sx", r.x},
         {"sy", r.y},
         {"timestamp", r.time}};
  if (r.type == MarkerType::zone_start || r.type == MarkerType::zone_end) {
    j["zone"] = run.zones[r.zone].name;
    j["zone_phase"] = r.type == MarkerType::zone_start ? "ZONE_START" : "ZONE_END";
  } else {
    const markers::NocEvent e = markers::unpack_noc_event(r.data, *table_);
    j["noc"] = e.noc == 2 ? "NOC_1" : "NOC_0";
    j["vc"] = e.vc;
    j["num_bytes"] = e.bytes;
    j["type"] = table_->name(e.type);
    if (e.posted) j["posted"] = true;
    const auto device = run.devices.find(launch.chip);
    const bool wormhole = device != run.devices.end() && device->second.arch.starts_with("wormhole");
    const auto physical = [&](int x, int y) -> std::pair<int, int> {
      if (!wormhole || x < kFirstVirtual || y < kFirstVirtual) return {x, y};
      std::vector<int> rows;  // virtual rows number what is not harvested
      const std::set<uint8_t>& seen = rows_.at(launch.chip);
      for (const int row : kWorkerRows)
        if (seen.contains(static_cast<uint8_t>(row))) rows.push_back(row);
      const auto column = static_cast<size_t>(x - kFirstVirtual),
                 row = static_cast<size_t>(y - kFirstVirtual);
      if (column >= std::size(kWorkerColumns) || row >= rows.size()) return {x, y};
      return {kWorkerColumns[column], rows[row]};
    };
    if (std::string_view(table_->name(e.type)) == "WRITE_MULTICAST") {
      std::tie(j["mcast_start_x"], j["mcast_start_y"]) = physical(e.dst_x, e.dst_y);
      std::tie(j["mcast_end_x"], j["mcast_end_y"]) = physical(e.end_x, e.end_y);
    } else if (e.dst_x >= 0) {
      std::tie(j["dx"], j["dy"]) = physical(e.dst_x, e.dst_y);
    }
  }
  std::string text = j.dump(2);
  std::string out = "  ";
  for (const char c : text) {
    out += c;
    if (c == '\n') out += "  ";
  }
  return out;
}

size_t NocTraces::write(const std::string& directory, const Run& run) const {
  std::map<std::pair<uint32_t, uint32_t>, std::string> names;
  for (const HostOp& op : run.host.ops)
    if (op.device && op.info->contains("op_code") && (*op.info)["op_code"].is_string())
      names[{*op.device, op.call_count}] = word((*op.info)["op_code"].get<std::string>());
  size_t written = 0;
  for (const auto& [launch, unsorted] : records_) {
    const bool any = std::any_of(unsorted.begin(), unsorted.end(), [](const Record& r) {
      return r.type == MarkerType::ts_data || r.type == MarkerType::ts_data_16b;
    });
    if (!any) continue;
    std::vector<Record> records = unsorted;
    std::stable_sort(records.begin(), records.end(), [](const Record& a, const Record& b) {
      return std::tie(a.x, a.y, a.risc, a.time) < std::tie(b.x, b.y, b.risc, b.time);
    });
    const auto named = names.find({launch.chip, launch.host_id});
    const std::string op = named == names.end() ? "" : named->second;
    std::string path = directory + "/noc_trace_dev" + std::to_string(launch.chip);
    if (!op.empty()) path += "_" + op;
    path += "_ID" + std::to_string(launch.host_id);
    if (launch.trace_counter >= 0) {
      const auto trace = static_cast<uint64_t>(std::max<int64_t>(0, launch.trace_id));
      path += "_traceID" + std::to_string(trace << 32 | static_cast<uint64_t>(launch.trace_counter));
    }
    tools::Output out(path + ".json", false);
    out.append("[\n");
    for (size_t i = 0; i < records.size(); ++i)
      out.append(json_of(records[i], launch, op, run) + (i + 1 < records.size() ? ",\n" : "\n"));
    out.append("]\n");
    out.commit();
    ++written;
  }
  return written;
}

std::vector<std::string> NocTraces::notes() const {
  std::vector<std::string> all;
  if (fabric_)
    all.push_back(std::to_string(fabric_) +
                  " NoC events went over the fabric; they are not in the JSON traces, which hold local ones");
  if (unknown_)
    all.push_back(std::to_string(unknown_) +
                  " NoC events have a number that the table of that month does not know (--metal-date)");
  return all;
}

}  // namespace ttc::report
