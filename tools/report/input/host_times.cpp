// Zones of ops, joined with the ops by sorting both by call count: memory does not grow with either.
#include <map>
#include <tuple>

#include "tools/report/input/device_input.hpp"
#include "tools/report/input/host_lines.hpp"
#include "tools/report/text/record_sort.hpp"

namespace ttc::report {
namespace {

// A zone of an op, or a named one inside of it.
struct ZoneTime {
  uint32_t id = 0;  // call count of the op
  uint32_t name = 0;
  bool inside = false;
  uint64_t line = 0, start_ns = 0, duration_ns = 0;
};
struct ZoneOrder {
  bool operator()(const ZoneTime& a, const ZoneTime& b) const {
    return std::tie(a.id, a.line, a.inside) < std::tie(b.id, b.line, b.inside);
  }
};

struct NumberedOp {
  HostOp op;
  uint64_t number = 0;  // in HostLog::ops
};
struct IdOrder {
  bool operator()(const NumberedOp& a, const NumberedOp& b) const {
    return std::tie(a.op.call_count, a.number) < std::tie(b.op.call_count, b.number);
  }
};
struct NumberOrder {
  bool operator()(const NumberedOp& a, const NumberedOp& b) const { return a.number < b.number; }
};

// The sums of named zones, by name.
using Sums = std::map<uint32_t, uint64_t>;

// All zones of one call count.
struct ZonesOfId {
  uint32_t id = 0;
  std::optional<ZoneTime> last;  // of the op itself
  Sums inside;
};

class ZoneTimes {
 public:
  ZoneTimes(const std::string& name, HostLog& log)
      : log_(log), strangers_{name, "zones of ops belong to no message", false} {}

  void add_op(std::optional<uint32_t> id, uint64_t line, uint64_t start_ns, uint64_t duration_ns) {
    if (!id) return strangers_.add(line);
    zones_.add({*id, 0, false, line, start_ns, duration_ns});
  }
  void add_inside(std::optional<uint32_t> id, uint64_t line, const std::string& zone, uint64_t duration_ns) {
    if (!id) return;
    const auto [name, added] = names_.try_emplace(zone, static_cast<uint32_t>(names_.size()));
    if (added) texts_.push_back(&name->first);
    zones_.add({*id, name->second, true, line, 0, duration_ns});
  }

  void join() {
    Records<ZoneTime> sorted;
    zones_.drain([&](const ZoneTime& zone) { sorted.push_back(zone); });
    RecordReader<ZoneTime> next(sorted, 0, sorted.size());
    RecordSort<NumberedOp, IdOrder> by_id;
    for (const HostOp op : log_.ops) by_id.add({op, number_++});
    RecordSort<NumberedOp, NumberOrder> joined;
    std::optional<ZonesOfId> zones;
    by_id.drain([&](NumberedOp one) {
      if (!zones || zones->id != one.op.call_count) zones = zones_of(one.op.call_count, next);
      put(*zones, one.op);
      joined.add(one);
    });
    for (; !next.done(); next.pop()) pass(next.front());
    log_.ops = Records<HostOp>();
    joined.drain([&](const NumberedOp& one) { log_.ops.push_back(one.op); });
    strangers_.remark(log_);
  }

 private:
  void pass(const ZoneTime& zone) {
    if (!zone.inside) strangers_.add(zone.line);
  }

  ZonesOfId zones_of(uint32_t id, RecordReader<ZoneTime>& next) {
    for (; !next.done() && next.front().id < id; next.pop()) pass(next.front());
    ZonesOfId of{id, {}, {}};
    for (; !next.done() && next.front().id == id; next.pop()) {
      const ZoneTime& zone = next.front();
      if (zone.inside)
        of.inside[log_name(zone.name)] += zone.duration_ns;
      else
        of.last = zone;
    }
    return of;
  }

  // Names that no op has make no column.
  uint32_t log_name(uint32_t name) {
    const auto [it, added] = log_names_.try_emplace(name);
    if (added) {
      const auto known = std::find(log_.child_names.begin(), log_.child_names.end(), *texts_[name]);
      it->second = static_cast<uint32_t>(known - log_.child_names.begin());
      if (known == log_.child_names.end()) log_.child_names.push_back(*texts_[name]);
    }
    return it->second;
  }

  void put(const ZonesOfId& zones, HostOp& op) {
    if (zones.last) op.start_ns = zones.last->start_ns, op.duration_ns = zones.last->duration_ns;
    if (zones.inside.empty()) return;
    Sums sums = zones.inside;
    for (uint64_t i = 0; i < op.child_count; ++i) {  // of a file that was read before
      const HostChild child = log_.children[op.children + i];
      sums[child.name] += child.ns;
    }
    op.children = log_.children.size();
    op.child_count = static_cast<uint32_t>(sums.size());
    for (const auto& [name, ns] : sums) log_.children.push_back({name, ns});
  }

  HostLog& log_;
  Skips strangers_;
  RecordSort<ZoneTime, ZoneOrder> zones_;
  uint64_t number_ = 0;
  std::map<std::string, uint32_t> names_;   // of zones inside of ops
  std::vector<const std::string*> texts_;   // its keys, by number
  std::map<uint32_t, uint32_t> log_names_;  // their places in HostLog::child_names
};

}  // namespace

void read_ops_times(std::istream& in, const std::string& name, HostLog& log) {
  CsvFile file(in);
  std::vector<std::string> fields;
  if (!file.next(fields)) throw InputError(name + " is empty; the zones of a Tracy capture were expected");
  std::map<std::string, size_t> place;
  for (size_t i = 0; i < fields.size(); ++i) place.emplace(fields[i], i);
  for (const char* needed : {"name", "zone_text", "ns_since_start", "exec_time_ns"})
    if (!place.contains(needed))
      throw InputError(name + ": line 1 names no column '" + needed +
                       "'; it is not csvexport's table of zones");
  const size_t columns = fields.size();
  ZoneTimes zones(name, log);
  const auto id_in = [](std::string_view text) {
    const size_t colon = text.rfind(':');
    return number<uint32_t>(colon == std::string_view::npos ? text : text.substr(colon + 1));
  };
  Skips ragged{name, "rows have another number of columns than the head (a comma in a path is one)"};
  const auto parent_at = place.find("special_parent_text");
  while (file.next(fields)) {
    if (fields.size() <= place["name"]) {
      ragged.add(file.line());
      continue;
    }
    const std::string& zone = fields[place["name"]];
    const bool op = zone.find("TT_DNN") != std::string::npos || zone.find("TT_METAL") != std::string::npos;
    const bool child = parent_at != place.end() && fields.size() == columns &&
                       fields[parent_at->second].find("id:") != std::string::npos;
    if (!op && !child) continue;
    if (fields.size() != columns) {
      ragged.add(file.line());
      continue;
    }
    const auto start = number<uint64_t>(fields[place["ns_since_start"]]);
    const auto took = number<uint64_t>(fields[place["exec_time_ns"]]);
    if (!start || !took) {
      ragged.add(file.line());
      continue;
    }
    if (op) zones.add_op(id_in(fields[place["zone_text"]]), file.line(), *start, *took);
    if (child) zones.add_inside(id_in(fields[parent_at->second]), file.line(), zone, *took);
  }
  zones.join();
  ragged.remark(log);
  remark_cut(file, name, log);
}

}  // namespace ttc::report
