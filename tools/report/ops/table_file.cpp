#include "tools/report/ops/table_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tools/report/input/device_input.hpp"
#include "tools/report/programs/device_row.hpp"
#include "tools/report/text/csv_file.hpp"

namespace ttc::report {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCode = "OP CODE";
constexpr const char* kId = "GLOBAL CALL COUNT";
constexpr const char* kTime = "DEVICE KERNEL DURATION [ns]";
constexpr const char* kGap = "OP TO OP LATENCY [ns]";

bool has(const std::vector<std::string>& header, const std::string& column) {
  return std::find(header.begin(), header.end(), column) != header.end();
}

// Throws InputError when `header` lacks a column without which times, gaps or devices would be wrong. Gives
// sentences on columns whose absence leaves figures empty.
std::vector<std::string> column_remarks(const std::vector<std::string>& header, const std::string& name) {
  for (const std::string& column : header) {
    if (column.find('\0') != std::string::npos)
      throw InputError(name + ": line 1 holds a zero byte; the file is no text, or its line ends were lost");
    if (!column.empty() && std::count(header.begin(), header.end(), column) > 1)
      throw InputError(
          std::string(name).append(": line 1 names the column '").append(column).append("' twice"));
  }
  const auto need = [&](const char* column, const char* why) {
    if (!has(header, column))
      throw InputError(name + ": line 1 names no column '" + column + "', without which " + why +
                       "; was the table cut or edited?");
  };
  const bool device_only = has(header, kId) && !has(header, kCode) && !has(header, "OP TYPE");
  if (device_only) {
    need(kTime, "no op has a time");
    need(kGap, "gaps are not known");
    return {};
  }
  need(kCode, "ops have no names");
  need("OP TYPE", "ops and signposts look alike");
  need("DEVICE ID", "devices cannot be distinguished");
  need(kTime, "no op has a time");
  need(kGap, "gaps are not known");
  std::string absent;
  for (const char* column : {"CORE COUNT", "MATH FIDELITY", "ATTRIBUTES", "HOST START TS", "INPUT_0_DATATYPE",
                             "INPUT_0_MEMORY", "OUTPUT_0_DATATYPE"})
    if (!has(header, column)) absent += (absent.empty() ? "'" : ", '") + std::string(column) + "'";
  if (absent.empty()) return {};
  return {
      name + ": line 1 does not name " + absent + "; figures that need them are empty" +
      (has(header, "HOST START TS") ? "" : ", and without host times rows stay in the order of the file")};
}

}  // namespace

bool is_ops_results(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored) || is_cpp_report(path)) return false;
  std::ifstream in(path, std::ios::binary);
  CsvFile file(in);
  std::vector<std::string> header;
  if (!in || !file.next(header)) return false;
  for (const char* column : {kCode, "OP TYPE", kId, kTime})
    if (has(header, column)) return true;
  return false;
}

TableRead read_table(const std::string& path, OpTable& table, uint64_t id_offset, uint32_t device_offset) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw InputError(path + " cannot be read: " + std::strerror(errno));
  CsvFile file(in);
  std::vector<std::string> header, fields;
  if (!file.next(header)) throw InputError(path + " is empty; a table of ops was expected");
  for (std::string& sentence : column_remarks(header, path)) table.remarks.push_back(std::move(sentence));
  OpTableReader reader(table, header, device_offset);
  TableRead read;
  read.last_id += id_offset;
  read.next_device = device_offset;
  uint64_t ragged = 0, first = 0;
  bool whole = file.ended();
  while (file.next(fields)) {
    ++read.last_id;  // what tt-perf-report calls ID: the row in the table
    whole = file.ended() && !file.unclosed();
    if (fields.size() != header.size()) {
      if (ragged++ == 0) first = file.line();
      continue;
    }
    const OpRow row = reader.row(fields, read.last_id);
    if (row.device) read.next_device = std::max(read.next_device, *row.device + 1);
    table.rows.push_back(row);
  }
  reader.end();
  if (ragged)
    table.remarks.push_back(
        path + ": " + std::to_string(ragged) + " rows were skipped because they do not have the " +
        std::to_string(header.size()) + " columns of the head, the first in line " + std::to_string(first));
  if (!whole)
    table.remarks.push_back(path +
                            " ends in the middle of a line; it was cut, and its last cell may be short");
  read.damaged = table.damaged || ragged > 0 || !whole;
  return read;
}

}  // namespace ttc::report
