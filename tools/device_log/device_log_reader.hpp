// Reads profile_log_device.csv, every variant of it, line by line in constant memory.
//
//   era           columns  what its header adds to "PCIe slot .. time[cycles since reset]"
//   2023          6        nothing; preamble "Chip clock is at 1.2 GHz"
//   2023-24       12       stat value, Run ID, zone name, zone phase (begin, end, sum), source line, source file
//   early 2025    13       stat value or data, run ID, run host ID, zone name, zone phase or type, ...
//   mid 2025      13       data, run host ID, zone name, type (ZONE_START ...), source line, source file,
//                          meta data
//   late 2025 on  15       also trace id, trace id counter; in 2026 the preamble ends with Max Compute Cores
//
// Columns are found by the names in the header, so another order or a further column does no harm. The format
// has no quoting: a comma in a path makes a row too long. Such a row is reported and not guessed at.
// Source: tt-metal tt_metal/impl/profiler/profiler.cpp (2024, 2025, @28a871b),
// docs/source/tt-metalium/tools/device_program_profiler.rst@04b3405.
#pragma once
#include <array>
#include <cstdint>
#include <istream>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "firmware_markers/decoder.hpp"

namespace ttc::tools {

// The file cannot be understood at all; one sentence: which file, what, what was expected.
struct DeviceLogError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class LogColumn : uint8_t {
  slot,
  core_x,
  core_y,
  risc,
  timer_id,
  time,
  data,  // "stat value" until 2025
  run_id,
  run_host_id,
  trace_id,
  trace_counter,
  zone_name,
  type,  // "zone phase" until 2025
  source_line,
  source_file,
  meta,
  count
};

enum class LogRisc : uint8_t { brisc, ncrisc, trisc_0, trisc_1, trisc_2, erisc, aggregate };

struct DeviceLogHead {
  std::string arch;                // empty: a preamble of 2023 has none
  uint32_t chip_mhz = 0;           // AICLK of the first device dumped
  uint32_t max_compute_cores = 0;  // 0: not known
  unsigned columns = 0;
  std::array<int, static_cast<size_t>(LogColumn::count)> place{};  // -1: the file has no such column
  bool has(LogColumn c) const { return place[static_cast<size_t>(c)] >= 0; }
};

// Text is valid until the next call of next(). Columns the file does not have are 0, empty or nullopt.
struct DeviceLogRow {
  uint64_t line = 0;  // in the file, from 1
  uint32_t chip = 0;
  uint8_t core_x = 0, core_y = 0;  // NOC0 physical
  LogRisc risc = LogRisc::brisc;
  uint32_t timer_id = 0;  // as the file has it: 16 bits, or 19 with the packet type on top
  uint16_t id = 0;        // hash of the zone, or event id. A 6-column log's fixed ids: 1 FW, 2 kernel zone
  markers::MarkerType type = markers::MarkerType::zone_start;
  uint64_t time_cycles = 0;  // 44-bit wall clock of the tile in sound files; not checked here
  uint64_t data = 0;
  uint32_t run_id = 0;
  std::optional<uint32_t> run_host_id;  // a 12-column log's Run ID, where there is no other
  std::optional<uint32_t> trace_id, trace_counter;
  std::string_view zone_name, source_file, meta;
  uint32_t source_line = 0;
  uint32_t tail = 0;  // rows with the same number have name, type, line, file and no meta alike; 0: any
};

enum class LogSkip : uint8_t {
  too_few_columns,
  too_many_columns,
  bad_number,
  unknown_risc,
  unknown_type,
  line_too_long,
  repeated_head,  // preamble or header again, where files were put together
  count
};
std::string_view to_string(LogSkip reason);  // "have too few columns", to follow "lines that"

// Decides by the front of the file's first line.
bool is_device_log(const std::string& path);

class DeviceLogReader {
 public:
  static constexpr size_t kLongestLine = 32 << 10;  // bytes

  // Reads preamble and header. `in` outlives the reader; `name` is for sentences. Throws DeviceLogError.
  DeviceLogReader(std::istream& in, std::string name);

  const DeviceLogHead& head() const { return head_; }

  enum class Next { row, skipped, end };
  // Empty lines are passed over. Throws DeviceLogError when the stream fails.
  Next next(DeviceLogRow& row);

  // Why and where next() last returned skipped.
  LogSkip reason() const { return reason_; }
  uint64_t line() const { return line_; }

  struct Skipped {
    uint64_t lines = 0;
    uint64_t first_line = 0;
  };
  const Skipped& skipped(LogSkip reason) const { return skipped_[static_cast<size_t>(reason)]; }
  uint64_t rows() const { return rows_; }

 private:
  using Fields = std::vector<std::string_view>;

  // The rest of a row after its numbers, including the end of its line. A log repeats few of them
  // millions of times: a row whose tail occurred before is not parsed again.
  struct Tail {
    std::string text;
    std::string zone_name, source_file;
    uint32_t source_line = 0;
    markers::MarkerType type = markers::MarkerType::zone_start;
  };
  struct TailSlot {
    std::array<uint16_t, 4> tails{};  // of one timer id, the most recent first; 0: none
  };
  static constexpr size_t kMostTails = 0xffff;

  // Chip, core and processor, with the comma behind them. Rows of one processor follow each other: the front of the
  // row before is not taken apart again.
  struct Front {
    char text[32] = {};
    size_t bytes = 0;
    uint32_t chip = 0;
    uint8_t x = 0, y = 0;
    LogRisc risc = LogRisc::brisc;
  };
  const char* read_front(const char* at);

  bool known_row(DeviceLogRow& row);
  uint16_t find_tail(TailSlot& slot, const char* at) const;
  void keep_tail(DeviceLogRow& row, const char* line);

  bool next_line(std::string_view& text, bool& too_long);
  bool refill();
  void read_preamble(std::string_view text);
  void read_header(std::string_view text);
  void find_order();
  void split(std::string_view text);
  std::string_view field(LogColumn c) const;
  template <class T>
  bool number(LogColumn c, T& out) const;
  bool optional_number(LogColumn c, std::optional<uint32_t>& out) const;
  std::optional<LogSkip> parse(DeviceLogRow& row) const;
  std::optional<LogSkip> parse_numbers(DeviceLogRow& row) const;
  static bool parse_risc(std::string_view word, LogRisc& risc);
  bool parse_type(DeviceLogRow& row) const;
  Next skip(LogSkip reason);

  std::istream& in_;
  std::string name_;
  DeviceLogHead head_;
  std::vector<char> buffer_;
  size_t begin_ = 0, end_ = 0;
  Fields fields_;
  unsigned leading_ = 0;  // numbers at the front of a row that known_row() can read; 0: another order
  Front front_;
  std::vector<Tail> tails_;
  std::vector<TailSlot> slots_;  // by timer id
  uint64_t line_ = 0;
  uint64_t rows_ = 0;
  LogSkip reason_ = LogSkip::bad_number;
  std::array<Skipped, static_cast<size_t>(LogSkip::count)> skipped_{};
};

}  // namespace ttc::tools
