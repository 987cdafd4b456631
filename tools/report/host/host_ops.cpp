// tracy_ops_data.csv: the messages of a Tracy capture, as csvexport leaves them.
#include "tools/report/host/host_ops.hpp"

#include "tools/report/host/host_messages.hpp"
#include "tools/report/input/device_input.hpp"
#include "tools/report/text/csv_file.hpp"

namespace ttc::report {

void read_ops_data(std::istream& in, const std::string& name, HostLog& log, const HostNumbers& from) {
  CsvFile file(in, ';', '`');
  std::vector<std::string> fields;
  if (!file.next(fields)) throw InputError(name + " is empty; the messages of a Tracy capture were expected");
  if (fields[0] != "MessageName") {
    // csvexport prints a sentence if a capture holds no messages.
    log.remarks.push_back(name + " holds no messages: its first line is no 'MessageName;total_ns'");
    return;
  }
  HostMessages messages(name, "in line ", log);
  Skips ragged{name, "lines have no time"};
  while (file.next(fields)) {
    MessagePlace place;
    place.process = from.first_process;
    place.second = place.line = file.line();
    const auto ns = fields.size() >= 2 ? number<int64_t>(fields.back()) : std::nullopt;
    place.ns = ns.value_or(0);
    if (fields[0].starts_with("MLIR_")) {
      // The value is JSON or text that may hold the separator itself; a time may follow.
      std::string value;
      for (size_t i = 1; i < fields.size(); ++i) {
        if (i > 1 && i + 1 == fields.size() && ns) break;
        if (i > 1) value += ';';
        value += fields[i];
      }
      messages.mlir(fields[0], value, place);
      continue;
    }
    if (ns)
      messages.message(fields[0], place);
    else
      ragged.add(file.line());
  }
  messages.resolve([&](uint32_t, uint32_t device) { return device + from.first_chip; });
  ragged.remark(log);
  remark_cut(file, name, log);
}

}  // namespace ttc::report
