// tracy_ops_times.csv: the zones of a Tracy capture, as csvexport leaves them.
#include <map>

#include "tools/report/host/host_zones.hpp"
#include "tools/report/input/device_input.hpp"
#include "tools/report/text/csv_file.hpp"

namespace ttc::report {

void read_ops_times(std::istream& in, const std::string& name, HostLog& log, const HostNumbers& from) {
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
  HostZones zones(name, "in line ", log);
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
    const auto start = number<int64_t>(fields[place["ns_since_start"]]);
    const auto took = number<uint64_t>(fields[place["exec_time_ns"]]);
    if (!start || !took) {
      ragged.add(file.line());
      continue;
    }
    const ZonePlace at{from.first_process, 0, 0, file.line()};
    if (op) zones.add_op(op_id_in(fields[place["zone_text"]]), at, *start, *took);
    if (child) zones.add_inside(op_id_in(fields[parent_at->second]), at, zone, *took);
  }
  zones.join();
  ragged.remark(log);
  remark_cut(file, name, log);
}

}  // namespace ttc::report
