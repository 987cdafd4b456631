#include "tools/device_log/device_log_reader.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace ttc::tools {
namespace {

using markers::MarkerType;

constexpr size_t kBufferBytes = 256 << 10;
constexpr size_t kPast = 64;  // bytes behind the buffer's end that may be examined; the first is no digit
constexpr size_t kMostColumns = 32;  // a header with more is none
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

constexpr struct {
  std::string_view name;
  LogColumn column;
} kColumnNames[] = {
    {"PCIe slot", LogColumn::slot},
    {"core_x", LogColumn::core_x},
    {"core_y", LogColumn::core_y},
    {"RISC processor type", LogColumn::risc},
    {"timer_id", LogColumn::timer_id},
    {"time[cycles since reset]", LogColumn::time},
    {"data", LogColumn::data},
    {"stat value", LogColumn::data},
    {"run ID", LogColumn::run_id},
    {"run host ID", LogColumn::run_host_id},
    {"trace id", LogColumn::trace_id},
    {"trace id counter", LogColumn::trace_counter},
    {"zone name", LogColumn::zone_name},
    {"type", LogColumn::type},
    {"zone phase", LogColumn::type},
    {"source line", LogColumn::source_line},
    {"source file", LogColumn::source_file},
    {"meta data", LogColumn::meta},
};

constexpr struct {
  std::string_view word;
  LogRisc risc;
} kRiscs[] = {{"BRISC", LogRisc::brisc},        {"NCRISC", LogRisc::ncrisc},
              {"TRISC_0", LogRisc::trisc_0},    {"TRISC_1", LogRisc::trisc_1},
              {"TRISC_2", LogRisc::trisc_2},    {"ERISC", LogRisc::erisc},
              {"CORE_AGG", LogRisc::aggregate}, {"TENSIX_RISC_AGG", LogRisc::aggregate}};

constexpr struct {
  std::string_view word;
  MarkerType type;
} kTypes[] = {{"ZONE_START", MarkerType::zone_start}, {"ZONE_END", MarkerType::zone_end},
              {"TS_DATA", MarkerType::ts_data},       {"ZONE_TOTAL", MarkerType::zone_total},
              {"TS_EVENT", MarkerType::ts_event},     {"TS_DATA_16B", MarkerType::ts_data_16b},
              {"begin", MarkerType::zone_start},      {"end", MarkerType::zone_end},
              {"sum", MarkerType::zone_total}};

// The fixed ids of 2023: main start, kernel start, kernel end, main end. tt-metal hostdevcommon,
// profiler_common.h.
constexpr uint32_t kMainStart2023 = 1, kKernelStart2023 = 2, kKernelEnd2023 = 3, kMainEnd2023 = 4;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool same_ignoring_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

template <class T>
bool whole_number(std::string_view text, T& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size();
}

// The text between `key` and the next comma; nullopt when there is no such key.
std::optional<std::string_view> value_of(std::string_view text, std::string_view key) {
  const size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + key.size());
  return trimmed(text.substr(0, text.find(',')));
}

// The beginning of a line as a sentence can hold it, without what a terminal would act on.
std::string quoted(std::string_view text) {
  std::string out(text.substr(0, 60));
  for (char& c : out)
    if (static_cast<unsigned char>(c) < ' ' || c == 127) c = '?';
  return "'" + out + (text.size() > 60 ? "...'" : "'");
}

}  // namespace

std::string_view to_string(LogSkip reason) {
  constexpr std::string_view kWords[] = {"have too few columns",
                                         "have too many columns (a comma in a path is one)",
                                         "have a column that must be a number and is none",
                                         "name a processor that is not known",
                                         "have a type that is not known",
                                         "are longer than any row can be",
                                         "repeat the head of the file"};
  return kWords[static_cast<size_t>(reason)];
}

DeviceLogReader::DeviceLogReader(std::istream& in, std::string name)
    : in_(in), name_(std::move(name)), buffer_(kBufferBytes + kPast) {
  fields_.reserve(kMostColumns + 1);
  std::string_view text;
  bool too_long = false;
  if (!next_line(text, too_long)) throw DeviceLogError(name_ + " is empty; a device log was expected");
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  read_preamble(text);
  if (!next_line(text, too_long))
    throw DeviceLogError(name_ +
                         " ends after its first line; a device log has the column names in the second");
  read_header(text);
}

void DeviceLogReader::read_preamble(std::string_view text) {
  const auto refuse = [&] {
    throw DeviceLogError(name_ + ": line 1 is " + quoted(text) +
                         ", not the start of a device log ('ARCH: NAME, CHIP_FREQ[MHz]: N')");
  };
  if (const auto ghz = value_of(text, "Chip clock is at ")) {
    double value = 0;
    const std::string digits(ghz->substr(0, ghz->find(' ')));
    if (std::sscanf(digits.c_str(), "%lf", &value) != 1 || !(value > 0 && value < 100)) refuse();
    head_.chip_mhz = static_cast<uint32_t>(std::lround(value * 1000));
    return;
  }
  const auto arch = value_of(text, "ARCH:");
  const auto mhz = value_of(text, "CHIP_FREQ[MHz]:");
  if (!text.starts_with("ARCH:") || !arch || arch->empty() || !mhz || !whole_number(*mhz, head_.chip_mhz) ||
      head_.chip_mhz == 0)
    refuse();
  head_.arch = *arch;
  if (const auto cores = value_of(text, "Max Compute Cores:"))
    if (!whole_number(*cores, head_.max_compute_cores)) refuse();
}

void DeviceLogReader::read_header(std::string_view text) {
  head_.place.fill(-1);
  split(text);
  head_.columns = static_cast<unsigned>(fields_.size());
  for (size_t i = 0; i < fields_.size(); ++i)
    for (const auto& known : kColumnNames)
      if (same_ignoring_case(fields_[i], known.name))
        head_.place[static_cast<size_t>(known.column)] = static_cast<int>(i);
  for (const LogColumn needed : {LogColumn::slot, LogColumn::core_x, LogColumn::core_y, LogColumn::risc,
                                 LogColumn::timer_id, LogColumn::time})
    if (!head_.has(needed) || fields_.size() > kMostColumns)
      throw DeviceLogError(name_ + ": line 2 is " + quoted(text) +
                           ", not the column names of a device log ('PCIe slot, core_x, core_y, ...')");
  find_order();
}

// The two orders of today's rows: everything up to the zone's name is a number, but for the processor.
void DeviceLogReader::find_order() {
  constexpr LogColumn k15[] = {LogColumn::slot,          LogColumn::core_x,      LogColumn::core_y,
                               LogColumn::risc,          LogColumn::timer_id,    LogColumn::time,
                               LogColumn::data,          LogColumn::run_host_id, LogColumn::trace_id,
                               LogColumn::trace_counter, LogColumn::zone_name,   LogColumn::type,
                               LogColumn::source_line,   LogColumn::source_file, LogColumn::meta};
  const bool traces = head_.columns == 15;
  if (!traces && head_.columns != 13) return;
  int place = 0;
  for (const LogColumn c : k15) {
    if (!traces && (c == LogColumn::trace_id || c == LogColumn::trace_counter)) continue;
    if (head_.place[static_cast<size_t>(c)] != place++) return;
  }
  leading_ = traces ? 10 : 8;
  slots_.resize(1 << 16);
  tails_.resize(1);
}

// --- lines -------------------------------------------------------------------------------------------------

// False when nothing was added.
bool DeviceLogReader::refill() {
  if (begin_ > 0) std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  if (!in_.good()) return false;
  in_.read(buffer_.data() + end_, static_cast<std::streamsize>(kBufferBytes - end_));
  if (in_.bad()) throw DeviceLogError(name_ + " cannot be read after line " + std::to_string(line_));
  const auto got = static_cast<size_t>(in_.gcount());
  end_ += got;
  buffer_[end_] = '\0';
  return got > 0;
}

// A line that is too long is passed over whole; `text` is then its beginning.
bool DeviceLogReader::next_line(std::string_view& text, bool& too_long) {
  too_long = false;
  size_t searched = 0;
  for (;;) {
    const char* from = buffer_.data() + begin_;
    const void* found =
        end_ == begin_ + searched ? nullptr : std::memchr(from + searched, '\n', end_ - begin_ - searched);
    if (found) {
      const auto length = static_cast<size_t>(static_cast<const char*>(found) - from);
      too_long = too_long || length > kLongestLine;
      text = {from, too_long ? std::min<size_t>(length, 64) : length};
      begin_ += length + 1;
      break;
    }
    if (end_ - begin_ > kLongestLine) {
      too_long = true;
      begin_ = end_;  // its rest is still to come
    }
    searched = end_ - begin_;
    if (refill()) continue;
    if (begin_ == end_ && !too_long) return false;
    text = {buffer_.data() + begin_, end_ - begin_};
    begin_ = end_;
    break;
  }
  ++line_;
  if (text.ends_with('\r')) text.remove_suffix(1);
  return true;
}

void DeviceLogReader::split(std::string_view text) {
  fields_.clear();
  while (fields_.size() <= kMostColumns) {
    const size_t comma = text.find(',');
    fields_.push_back(trimmed(text.substr(0, comma)));
    if (comma == std::string_view::npos) return;
    text.remove_prefix(comma + 1);
  }
}

// --- rows --------------------------------------------------------------------------------------------------

std::string_view DeviceLogReader::field(LogColumn c) const {
  return head_.has(c) ? fields_[static_cast<size_t>(head_.place[static_cast<size_t>(c)])]
                      : std::string_view();
}

// An absent column leaves `out` as it is; an empty one is no number.
template <class T>
bool DeviceLogReader::number(LogColumn c, T& out) const {
  return !head_.has(c) || whole_number(field(c), out);
}

bool DeviceLogReader::optional_number(LogColumn c, std::optional<uint32_t>& out) const {
  const std::string_view text = field(c);
  uint32_t value = 0;
  if (text.empty()) return true;
  if (!whole_number(text, value)) return false;
  out = value;
  return true;
}

std::optional<LogSkip> DeviceLogReader::parse_numbers(DeviceLogRow& row) const {
  const bool fine = number(LogColumn::slot, row.chip) && number(LogColumn::core_x, row.core_x) &&
                    number(LogColumn::core_y, row.core_y) && number(LogColumn::timer_id, row.timer_id) &&
                    number(LogColumn::time, row.time_cycles) && number(LogColumn::data, row.data) &&
                    number(LogColumn::run_id, row.run_id) &&
                    number(LogColumn::source_line, row.source_line) &&
                    optional_number(LogColumn::run_host_id, row.run_host_id) &&
                    optional_number(LogColumn::trace_id, row.trace_id) &&
                    optional_number(LogColumn::trace_counter, row.trace_counter);
  if (!fine || row.timer_id >> 19) return LogSkip::bad_number;
  return std::nullopt;
}

bool DeviceLogReader::parse_risc(std::string_view word, LogRisc& risc) {
  for (const auto& known : kRiscs)
    if (known.word == word) {
      risc = known.risc;
      return true;
    }
  return false;
}

bool DeviceLogReader::parse_type(DeviceLogRow& row) const {
  row.id = static_cast<uint16_t>(row.timer_id);
  if (head_.has(LogColumn::type)) {
    const std::string_view word = field(LogColumn::type);
    for (const auto& known : kTypes)
      if (known.word == word) {
        row.type = known.type;
        return true;
      }
    return false;
  }
  switch (row.timer_id) {
    case kMainStart2023:
    case kKernelStart2023:
      row.type = MarkerType::zone_start;
      return true;
    case kMainEnd2023:
    case kKernelEnd2023:
      row.type = MarkerType::zone_end;
      row.id = static_cast<uint16_t>(row.timer_id == kMainEnd2023 ? kMainStart2023 : kKernelStart2023);
      return true;
    default:
      row.type = static_cast<MarkerType>(row.timer_id >> 16);
      return row.type <= MarkerType::ts_data_16b;
  }
}

std::optional<LogSkip> DeviceLogReader::parse(DeviceLogRow& row) const {
  if (fields_.size() != head_.columns)
    return fields_.size() < head_.columns ? LogSkip::too_few_columns : LogSkip::too_many_columns;
  if (const auto bad = parse_numbers(row)) return bad;
  if (!parse_risc(field(LogColumn::risc), row.risc)) return LogSkip::unknown_risc;
  if (!parse_type(row)) return LogSkip::unknown_type;
  if (!head_.has(LogColumn::run_host_id) && head_.has(LogColumn::run_id)) row.run_host_id = row.run_id;
  row.zone_name = field(LogColumn::zone_name);
  row.source_file = field(LogColumn::source_file);
  row.meta = field(LogColumn::meta);
  return std::nullopt;
}

DeviceLogReader::Next DeviceLogReader::skip(LogSkip reason) {
  reason_ = reason;
  Skipped& s = skipped_[static_cast<size_t>(reason)];
  if (s.lines++ == 0) s.first_line = line_;
  return Next::skipped;
}

// --- rows that differ from earlier ones in their numbers only ----------------------------------------------

namespace {

// Digits up to a comma. Null: anything else; an absent number leaves `out` alone where `may_miss`.
const char* read_number(const char* at, uint64_t most, uint64_t& out, bool may_miss = false) {
  if (may_miss && *at == ',') return at + 1;
  uint64_t value = 0;
  const char* const begin = at;
  for (; *at >= '0' && *at <= '9'; ++at) value = value * 10 + static_cast<uint64_t>(*at - '0');
  if (at == begin || at - begin > 19 || *at != ',' || value > most) return nullptr;
  out = value;
  return at + 1;
}

const char* read_risc(const char* at, LogRisc& out) {
  for (const auto& known : kRiscs)
    if (std::memcmp(at, known.word.data(), known.word.size()) == 0 && at[known.word.size()] == ',') {
      out = known.risc;
      return at + known.word.size() + 1;
    }
  return nullptr;
}

}  // namespace

uint16_t DeviceLogReader::find_tail(TailSlot& slot, const char* at) const {
  const auto left = static_cast<size_t>(buffer_.data() + end_ - at);
  for (size_t i = 0; i < slot.tails.size() && slot.tails[i]; ++i) {
    const uint16_t number = slot.tails[i];
    const std::string& text = tails_[number].text;
    if (text.size() > left || std::memcmp(text.data(), at, text.size()) != 0) continue;
    if (i > 0) std::swap(slot.tails[i], slot.tails[i - 1]);
    return number;
  }
  return 0;
}

const char* DeviceLogReader::read_front(const char* at) {
  const auto left = static_cast<size_t>(buffer_.data() + end_ - at);
  if (front_.bytes && front_.bytes <= left && std::memcmp(at, front_.text, front_.bytes) == 0)
    return at + front_.bytes;
  const char* const begin = at;
  uint64_t chip = 0, x = 0, y = 0;
  LogRisc risc{};
  if (!(at = read_number(at, 0xffffffff, chip)) || !(at = read_number(at, 255, x)) ||
      !(at = read_number(at, 255, y)) || !(at = read_risc(at, risc)))
    return nullptr;
  const auto bytes = static_cast<size_t>(at - begin);
  if (bytes > sizeof front_.text || bytes > left) return nullptr;
  std::memcpy(front_.text, begin, bytes);
  front_.bytes = bytes;
  front_.chip = static_cast<uint32_t>(chip);
  front_.x = static_cast<uint8_t>(x);
  front_.y = static_cast<uint8_t>(y);
  front_.risc = risc;
  return at;
}

// Reads the next row if the buffer holds all of it and its tail occurred before. False: nothing was read.
bool DeviceLogReader::known_row(DeviceLogRow& row) {
  if (leading_ == 0 || begin_ == end_) return false;
  const char* at = buffer_.data() + begin_;
  uint64_t id = 0, time = 0, data = 0, host = 0, trace = 0, counter = 0;
  constexpr uint64_t kNone = ~uint64_t{0};
  constexpr uint64_t k32 = 0xffffffff;
  if (!(at = read_front(at)) || !(at = read_number(at, 0xffff, id)) || !(at = read_number(at, kNone, time)) ||
      !(at = read_number(at, kNone, data)) || !(at = read_number(at, k32, host)))
    return false;
  trace = counter = kNone;
  if (leading_ == 10 &&
      (!(at = read_number(at, k32, trace, true)) || !(at = read_number(at, k32, counter, true))))
    return false;
  const uint16_t number = find_tail(slots_[id], at);
  if (number == 0) return false;
  const Tail& tail = tails_[number];
  begin_ = static_cast<size_t>(at - buffer_.data()) + tail.text.size();
  row.line = ++line_;
  row.chip = front_.chip;
  row.core_x = front_.x;
  row.core_y = front_.y;
  row.risc = front_.risc;
  row.timer_id = static_cast<uint32_t>(id);
  row.id = static_cast<uint16_t>(id);
  row.type = tail.type;
  row.time_cycles = time;
  row.data = data;
  row.run_id = 0;
  row.run_host_id = static_cast<uint32_t>(host);
  row.trace_id = trace == kNone ? std::nullopt : std::optional(static_cast<uint32_t>(trace));
  row.trace_counter = counter == kNone ? std::nullopt : std::optional(static_cast<uint32_t>(counter));
  row.zone_name = tail.zone_name;
  row.source_file = tail.source_file;
  row.source_line = tail.source_line;
  row.meta = {};
  row.tail = number;
  ++rows_;
  return true;
}

// `line`: of the row just read; its end is in the buffer.
void DeviceLogReader::keep_tail(DeviceLogRow& row, const char* line) {
  if (leading_ == 0 || !row.meta.empty() || row.timer_id > 0xffff || tails_.size() >= kMostTails) return;
  if (row.zone_name.find(':') != std::string_view::npos) return;  // renamed for one command: does not recur
  const char* const end = buffer_.data() + begin_;
  if (line < buffer_.data() || line >= end || end[-1] != '\n') return;
  const char* at = line;
  for (unsigned commas = 0; commas < leading_; ++at) commas += *at == ',';
  TailSlot& slot = slots_[row.timer_id];
  std::copy_backward(slot.tails.begin(), slot.tails.end() - 1, slot.tails.end());
  slot.tails[0] = static_cast<uint16_t>(tails_.size());
  row.tail = slot.tails[0];
  tails_.push_back({std::string(at, end), std::string(row.zone_name), std::string(row.source_file),
                    row.source_line, row.type});
}

DeviceLogReader::Next DeviceLogReader::next(DeviceLogRow& row) {
  if (known_row(row)) return Next::row;
  std::string_view text;
  bool too_long = false;
  do {
    if (!next_line(text, too_long)) return Next::end;
  } while (!too_long && trimmed(text).empty());
  if (too_long) return skip(LogSkip::line_too_long);
  if (text.starts_with("ARCH:") || text.starts_with("PCIe slot") || text.starts_with("Chip clock"))
    return skip(LogSkip::repeated_head);
  split(text);
  row = {};
  row.line = line_;
  if (const auto reason = parse(row)) return skip(*reason);
  ++rows_;
  keep_tail(row, text.data());
  return Next::row;
}

bool is_device_log(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  std::ifstream in(path, std::ios::binary);
  char begin[64] = {};
  in.read(begin, sizeof begin - 1);
  const std::string_view text(begin, static_cast<size_t>(in.gcount()));
  return text.find("ARCH:") < 4 || text.find("Chip clock is at") < 4;
}

}  // namespace ttc::tools
