#include "tools/report/input/log_feed.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tools/report/input/log_order.hpp"

namespace ttc::report {
namespace {

constexpr size_t kLongestBatch = 256;  // events
constexpr uint64_t kProgressEvery = 1 << 16;

}  // namespace

// The log names both ERISCs of a Blackhole's Ethernet core alike; their firmware zones have ids of their own.
uint8_t LogFeed::twin_of(const tools::DeviceLogRow& row, ZoneClass zone_class) {
  if (row.risc != LogRisc::erisc) return 0;
  Twins& t = twins_[lane_key(row.chip, {row.core_x, row.core_y, row.risc})];
  if (zone_class == ZoneClass::firmware) {
    if (!t.first) t.first = row.id;
    t.now = row.id != *t.first;
  }
  return t.now;
}

const LogFeed::Tail& LogFeed::tail_of(const tools::DeviceLogRow& row) {
  const auto make = [&](Tail& t) {
    t.zone = index_.of(row.zone_name, row.source_file, row.source_line);
    t.zone_class = class_of(row.zone_name);
    t.known = true;
  };
  if (row.tail == 0) {
    make(odd_);
    return odd_;
  }
  if (row.tail >= tails_.size()) tails_.resize(row.tail + 1);
  if (!tails_[row.tail].known) make(tails_[row.tail]);
  return tails_[row.tail];
}

void LogFeed::flush() {
  if (batch_.empty()) return;
  listener_.events({launch_, lane_, batch_});
  batch_.clear();
}

void LogFeed::meet(uint32_t chip, const tools::DeviceLogHead& head) {
  listener_.device({chip, "", head.arch, head.chip_mhz, head.max_compute_cores, "", 0});
}

void LogFeed::report_skipped(const tools::DeviceLogReader& reader, const std::string& path) {
  for (size_t i = 0; i < static_cast<size_t>(tools::LogSkip::count); ++i) {
    const auto reason = static_cast<tools::LogSkip>(i);
    const auto& s = reader.skipped(reason);
    if (s.lines == 0) continue;
    account_.skipped_lines += s.lines;
    account_.damaged = account_.damaged || reason != tools::LogSkip::repeated_head;
    account_.remarks.push_back(path + ": " + std::to_string(s.lines) + " lines were skipped because they " +
                               std::string(to_string(reason)) + ", the first is line " +
                               std::to_string(s.first_line));
  }
}

namespace {

// Columns that a log of its year has; without them programs could not be distinguished, or starts from ends.
void refuse_missing_columns(const tools::DeviceLogHead& head, const std::string& path) {
  using tools::LogColumn;
  const auto need = [&](bool there, const char* column) {
    if (!there)
      throw InputError(path + ": line 2 names no column '" + column +
                       "', which every device log with zone names has; was it cut or edited?");
  };
  if (head.columns <= 6) return;  // 2023
  need(head.has(LogColumn::zone_name), "zone name");
  need(head.has(LogColumn::type), "type");
  need(head.has(LogColumn::data), "data");
  need(head.has(LogColumn::run_host_id) || head.has(LogColumn::run_id), "run host ID");
  if (head.has(LogColumn::trace_counter)) need(head.has(LogColumn::trace_id), "trace id");
  if (head.has(LogColumn::trace_id)) need(head.has(LogColumn::trace_counter), "trace id counter");
}

Launch launch_of(const tools::DeviceLogRow& row) {
  return {row.chip, row.run_host_id.value_or(0), row.trace_id ? int64_t{*row.trace_id} : -1,
          row.trace_counter ? int64_t{*row.trace_counter} : -1};
}

// A file whose last line has no end was cut in the middle of it, or was written by hand.
bool ends_within_a_line(const std::string& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in || in.tellg() <= 0) return false;
  in.seekg(-1, std::ios::end);
  return in.get() != '\n';
}

}  // namespace

// A first pass over a log that is small enough to be sorted. What is no row is left out of a sorted log.
bool LogFeed::ordered(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  tools::DeviceLogReader reader(in, path);
  LogOrder order;
  std::vector<ZoneClass> classes;  // by tail
  tools::DeviceLogRow row;
  for (;;) {
    const auto next = reader.next(row);
    if (next == tools::DeviceLogReader::Next::end) return true;
    if (next == tools::DeviceLogReader::Next::skipped) {
      if (reader.reason() == tools::LogSkip::repeated_head) order.anew();
      continue;
    }
    if (row.tail >= classes.size()) classes.resize(row.tail + 1, ZoneClass::none);
    ZoneClass& known = classes[row.tail];
    if (row.tail == 0 || known == ZoneClass::none) known = class_of(row.zone_name);
    if (!order.take(launch_of(row), {row.core_x, row.core_y, row.risc},
                    {row.time_cycles, row.data, 0, row.id, row.type, known}))
      return false;
  }
}

std::unique_ptr<std::istream> LogFeed::open(const std::string& path) {
  auto in = std::make_unique<std::ifstream>(path, std::ios::binary);
  if (!*in) throw InputError(path + " cannot be read: " + std::strerror(errno));
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(path, error);
  name_ = path;
  size_ = error ? 1 : static_cast<double>(std::max<uintmax_t>(1, size));
  if (error || size > options_.budget / 3 || ordered(path)) return in;
  account_.remarks.push_back(path + ": the rows are not in order of time; they were sorted");
  return std::make_unique<std::istringstream>(sorted_log(path));
}

void LogFeed::read(const std::string& path, const std::set<uint32_t>& known, std::set<uint32_t>& delivered) {
  const std::unique_ptr<std::istream> in = open(path);
  tools::DeviceLogReader reader(*in, path);
  refuse_missing_columns(reader.head(), path);
  tails_.clear();
  rows(reader, *in, known, delivered);
  flush();
  report_skipped(reader, path);
  if (ends_within_a_line(path)) {
    account_.damaged = true;
    account_.remarks.push_back(path + " ends in the middle of a line; it was cut");
  }
}

void LogFeed::rows(tools::DeviceLogReader& reader, std::istream& in, const std::set<uint32_t>& known,
                   std::set<uint32_t>& delivered) {
  OldDispatch old;
  LogOrder order;
  const bool renamed = reader.head().has(tools::LogColumn::trace_counter);
  std::set<uint32_t> met;
  uint32_t last_chip = ~0u;
  bool wanted = false;
  tools::DeviceLogRow row;
  for (uint64_t lines = 0;; ++lines) {
    const auto next = reader.next(row);
    if (options_.progress && lines % kProgressEvery == 0 && in.good())
      options_.progress(static_cast<double>(in.tellg()) / size_);
    if (next == tools::DeviceLogReader::Next::end) break;
    if (next == tools::DeviceLogReader::Next::skipped) {
      if (reader.reason() == tools::LogSkip::repeated_head) order.anew();
      continue;
    }
    if (row.chip != last_chip) {
      last_chip = row.chip;
      wanted = !known.contains(row.chip);
      if (wanted && met.insert(row.chip).second) {
        flush();
        if (delivered.insert(row.chip).second) meet(row.chip, reader.head());
      }
    }
    if (!wanted) continue;
    const Event event = take(row, renamed, old);
    if (!order.take(launch_, {lane_.x, lane_.y, lane_.risc}, event))
      throw InputError(name_ + ": line " + std::to_string(row.line) +
                       " is earlier than the row before it: the rows are not in order of time, and the "
                       "log is too large to be sorted; give --memory three times its size");
  }
}

Event LogFeed::take(const tools::DeviceLogRow& row, bool renamed, OldDispatch& old) {
  const Launch launch = launch_of(row);
  const Tail& tail = tail_of(row);
  const Lane lane{row.core_x, row.core_y, row.risc, twin_of(row, tail.zone_class)};
  if (!(lane == lane_) || !(launch == launch_) || batch_.size() == kLongestBatch) {
    flush();
    launch_ = launch;
    lane_ = lane;
  }
  const Event e{row.time_cycles, row.data, tail.zone, row.id, row.type, tail.zone_class};
  batch_.push_back(e);
  ++account_.markers;
  if (!renamed && (tail.zone_class == ZoneClass::dispatch || !row.meta.empty())) {
    if (tail.zone_class == ZoneClass::dispatch) batch_.back().zone_class = ZoneClass::other;
    old.row(launch, lane, e, row.meta, [&](const Launch& worker, std::span<const Event> both) {
      flush();
      listener_.events({worker, lane, both});
    });
  }
  if (options_.want_meta && !row.meta.empty()) listener_.meta(launch, lane, e, row.meta);
  return e;
}

}  // namespace ttc::report
