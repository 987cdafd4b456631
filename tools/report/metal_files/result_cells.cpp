// Operations on a finished table of cells.
#include "tools/report/metal_files/ops_results.hpp"
#include "tools/report/text/csv_file.hpp"

namespace ttc::report {

Cells with_source(const Cells& cells, const std::function<std::string(size_t device_row)>& source_of) {
  Cells marked{cells.header, {}, cells.device};
  marked.header.emplace_back(kSourceColumn);
  for (size_t i = 0; i < cells.rows.size(); ++i) {
    std::vector<std::string> row = cells.rows[i];
    row.push_back(cells.device[i] == Cells::kNoDevice ? "" : source_of(cells.device[i]));
    marked.rows.push_back(row);
  }
  return marked;
}

void write_cells(const Cells& cells, tools::Output& out) {
  std::string line;
  const auto put_line = [&](const std::vector<std::string>& fields) {
    line.clear();
    for (size_t i = 0; i < fields.size(); ++i) {
      if (i) line += ',';
      append_csv(line, fields[i]);
    }
    line += "\r\n";
    out.append(line);
  };
  put_line(cells.header);
  for (const auto& row : cells.rows) put_line(row);
}

std::vector<std::string> sentences(const JoinSummary& s) {
  std::vector<std::string> all;
  if (s.without_device)
    all.push_back(std::to_string(s.without_device) + " of " + std::to_string(s.host_ops) +
                  " host ops have no device rows; their device cells are empty");
  if (s.captured)
    all.push_back(std::to_string(s.captured) + " of " + std::to_string(s.host_ops) +
                  " host ops were captured into a trace without a replay of theirs; they are not in the "
                  "joined table");
  if (s.without_host && s.host_ops)
    all.push_back(std::to_string(s.without_host) + " of " + std::to_string(s.device_ops) +
                  " device ops were never named by the host; they are not in the joined table");
  if (s.without_time)
    all.push_back(std::to_string(s.without_time) +
                  " host ops have no zone of their own; their host times are empty");
  if (s.of_any_process)
    all.push_back(std::to_string(s.of_any_process) +
                  " device ops are on chips that several processes had, and no clock relates them to these; "
                  "each is a row of "
                  "every process that has its number");
  return all;
}

}  // namespace ttc::report
