#include "tools/report/host/host_zones.hpp"

#include <algorithm>

namespace ttc::report {
namespace {

struct NumberedOp {
  HostOp op;
  uint64_t number = 0;  // in HostLog::ops
  auto key() const { return std::pair(op.process, op.call_count); }
};
struct IdOrder {
  bool operator()(const NumberedOp& a, const NumberedOp& b) const {
    return std::tie(a.op.process, a.op.call_count, a.number) <
           std::tie(b.op.process, b.op.call_count, b.number);
  }
};
struct NumberOrder {
  bool operator()(const NumberedOp& a, const NumberedOp& b) const { return a.number < b.number; }
};

}  // namespace

void HostZones::add_op(std::optional<uint32_t> id, const ZonePlace& place, int64_t start_ns,
                       uint64_t duration_ns) {
  if (!id) return strangers_.add(place.line);
  zones_.add({place, *id, 0, false, start_ns, duration_ns});
}

void HostZones::add_inside(std::optional<uint32_t> id, const ZonePlace& place, const std::string& zone,
                           uint64_t duration_ns) {
  if (!id) return;
  const auto [name, added] = names_.try_emplace(zone, static_cast<uint32_t>(names_.size()));
  if (added) texts_.push_back(&name->first);
  zones_.add({place, *id, name->second, true, 0, duration_ns});
}

void HostZones::join() {
  Records<ZoneTime> sorted;
  zones_.drain([&](const ZoneTime& zone) { sorted.push_back(zone); });
  RecordReader<ZoneTime> next(sorted, 0, sorted.size());
  RecordSort<NumberedOp, IdOrder> by_id;
  for (const HostOp op : log_.ops) by_id.add({op, number_++});
  RecordSort<NumberedOp, NumberOrder> joined;
  std::optional<OfOp> zones;
  by_id.drain([&](NumberedOp one) {
    if (!zones || zones->key != one.key()) zones = zones_of(one.key(), next);
    put(*zones, one.op);
    joined.add(one);
  });
  for (; !next.done(); next.pop()) pass(next.front());
  log_.ops = Records<HostOp>();
  joined.drain([&](const NumberedOp& one) { log_.ops.push_back(one.op); });
  strangers_.remark(log_);
}

HostZones::OfOp HostZones::zones_of(const std::pair<uint32_t, uint32_t>& key, RecordReader<ZoneTime>& next) {
  for (; !next.done() && next.front().key() < key; next.pop()) pass(next.front());
  OfOp of{key, {}, {}};
  for (; !next.done() && next.front().key() == key; next.pop()) {
    const ZoneTime& zone = next.front();
    if (zone.inside)
      of.inside[log_name(zone.name)] += zone.duration_ns;
    else
      of.last = zone;
  }
  return of;
}

// Names that no op has make no column.
uint32_t HostZones::log_name(uint32_t name) {
  const auto [it, added] = log_names_.try_emplace(name);
  if (added) {
    const auto known = std::find(log_.child_names.begin(), log_.child_names.end(), *texts_[name]);
    it->second = static_cast<uint32_t>(known - log_.child_names.begin());
    if (known == log_.child_names.end()) log_.child_names.push_back(*texts_[name]);
  }
  return it->second;
}

void HostZones::put(const OfOp& zones, HostOp& op) {
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

}  // namespace ttc::report
