// Any bytes as a device log: refused in a sentence, or every line a row, a reason, or empty.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

#include "tools/device_log/device_log_reader.hpp"

using namespace ttc;

namespace {

void read_all(const std::string& text) {
  std::istringstream in(text);
  tools::DeviceLogReader reader(in, "fuzz");
  tools::DeviceLogRow row;
  uint64_t line = 2, rows = 0, skipped = 0, sum = 0;
  for (;;) {
    const auto next = reader.next(row);
    if (next == tools::DeviceLogReader::Next::end) break;
    if (reader.line() <= line) std::abort();
    line = reader.line();
    if (next == tools::DeviceLogReader::Next::skipped) {
      ++skipped;
      continue;
    }
    ++rows;
    if (row.line != line || row.type > markers::MarkerType::ts_data_16b) std::abort();
    for (const auto part : {row.zone_name, row.source_file, row.meta})
      for (const char c : part) sum += static_cast<unsigned char>(c);
  }
  asm volatile("" : : "r"(sum));
  uint64_t counted = 0;
  for (size_t i = 0; i < static_cast<size_t>(tools::LogSkip::count); ++i)
    counted += reader.skipped(static_cast<tools::LogSkip>(i)).lines;
  if (counted != skipped || reader.rows() != rows) std::abort();
  if (static_cast<uint64_t>(std::count(text.begin(), text.end(), '\n')) + 1 < rows + skipped) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    read_all(text);
  } catch (const tools::DeviceLogError& e) {
    if (std::string(e.what()).find('\n') != std::string::npos) std::abort();
  }
  return 0;
}
