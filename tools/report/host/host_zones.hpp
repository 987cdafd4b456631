// Zones of ops, joined with the ops by sorting both by process and call count: memory does not grow with either.
#pragma once
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "tools/report/host/host_lines.hpp"
#include "tools/report/text/record_sort.hpp"

namespace ttc::report {

// A zone's place among those of its op, of which the last one counts.
struct ZonePlace {
  uint32_t process = 0, source = 0;
  int64_t start = 0;
  uint64_t line = 0;  // for sentences, too
};

class HostZones {
 public:
  HostZones(const std::string& name, const std::string& line, HostLog& log)
      : log_(log), strangers_{name, "zones of ops belong to no message", false, line} {}

  // A zone of the op with this call count; none: its text has no number.
  void add_op(std::optional<uint32_t> id, const ZonePlace& place, int64_t start_ns, uint64_t duration_ns);
  // A named zone within one.
  void add_inside(std::optional<uint32_t> id, const ZonePlace& place, const std::string& zone,
                  uint64_t duration_ns);
  // Once all ops are in the log.
  void join();

 private:
  struct ZoneTime {
    ZonePlace place;
    uint32_t id = 0;  // call count of the op
    uint32_t name = 0;
    bool inside = false;
    int64_t start_ns = 0;
    uint64_t duration_ns = 0;
    auto key() const { return std::pair(place.process, id); }
  };
  struct ZoneOrder {
    bool operator()(const ZoneTime& a, const ZoneTime& b) const {
      return std::tie(a.place.process, a.id, a.place.source, a.place.start, a.place.line, a.inside) <
             std::tie(b.place.process, b.id, b.place.source, b.place.start, b.place.line, b.inside);
    }
  };
  // The sums of named zones, by name.
  using Sums = std::map<uint32_t, uint64_t>;
  // All zones of one op.
  struct OfOp {
    std::pair<uint32_t, uint32_t> key;
    std::optional<ZoneTime> last;  // of the op itself
    Sums inside;
  };

  void pass(const ZoneTime& zone) {
    if (!zone.inside) strangers_.add(zone.place.line);
  }
  OfOp zones_of(const std::pair<uint32_t, uint32_t>& key, RecordReader<ZoneTime>& next);
  uint32_t log_name(uint32_t name);
  void put(const OfOp& zones, HostOp& op);

  HostLog& log_;
  Skips strangers_;
  RecordSort<ZoneTime, ZoneOrder> zones_;
  uint64_t number_ = 0;
  std::map<std::string, uint32_t> names_;   // of zones inside of ops
  std::vector<const std::string*> texts_;   // its keys, by number
  std::map<uint32_t, uint32_t> log_names_;  // their places in HostLog::child_names
};

}  // namespace ttc::report
