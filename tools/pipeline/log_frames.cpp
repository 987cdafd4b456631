#include "tools/pipeline/log_frames.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>

namespace ttc::tools {
namespace {

constexpr size_t kMostMarkers = 4096;  // of a frame

bool has_payload(markers::MarkerType type) {
  using markers::MarkerType;
  return type == MarkerType::zone_total || type == MarkerType::ts_data || type == MarkerType::ts_data_16b;
}

markers::CoreKind kind_of(LogRisc risc) {
  return risc == LogRisc::erisc ? markers::CoreKind::active_ethernet : markers::CoreKind::tensix;
}

device::Mode mode_of(LogRisc risc) {
  return risc == LogRisc::aggregate ? device::Mode::trace_only : device::Mode::normal;
}

uint8_t number_of(LogRisc risc) {
  return risc > LogRisc::trisc_2 ? 0 : static_cast<uint8_t>(risc);
}

bool wanted(const Filter& filter, const DeviceLogRow& row) {
  return (!filter.chip || *filter.chip == row.chip) &&
         filter.wants(row.core_x, row.core_y, number_of(row.risc)) &&
         (filter.host_ids.empty() || filter.host_ids.contains(row.run_host_id.value_or(0))) &&
         row.time_cycles >= filter.cycles_from && row.time_cycles <= filter.cycles_to &&
         (filter.zones.empty() || filter.zones.contains(std::string(row.zone_name)));
}

}  // namespace

LogFrames::Launch LogFrames::launch_of(const DeviceLogRow& row) {
  return {row.chip,     row.core_x,       row.core_y, row.risc, twin_of(row), row.run_host_id.value_or(0),
          row.trace_id, row.trace_counter};
}

uint8_t LogFrames::twin_of(const DeviceLogRow& row) {
  using markers::MarkerType;
  if (row.risc != LogRisc::erisc) return 0;
  Twins& t = twins_[{row.chip, row.core_x, row.core_y}];
  if (row.type == MarkerType::zone_end) {
    for (const uint8_t twin : {t.now, static_cast<uint8_t>(1 - t.now)}) {
      const auto open = t.open[twin].find(row.id);
      if (open == t.open[twin].end()) continue;
      t.open[twin].erase(open);
      return twin;
    }
    return t.now;
  }
  if (row.type != MarkerType::zone_start) return t.now;
  if (row.zone_name.ends_with("-FW")) {
    if (!t.first) t.first = row.id;
    t.now = row.id != *t.first;
    t.open[t.now].clear();  // what a cut launch left open does not end
  }
  t.open[t.now].insert(row.id);
  return t.now;
}

NamedSources sorted_sources(const std::vector<std::string>& given) {
  NamedSources sorted;
  for (const std::string& one : named_sources(given))
    (is_device_log(one) ? sorted.logs : sorted.others).push_back(one);
  return sorted;
}

void LogFrames::play_beside(const Pipeline& pipeline, bool host_times, const std::vector<std::string>& logs,
                            Format& format) {
  if (logs.empty()) return;
  leave_out(pipeline.chips());
  if (host_times) clocks([&pipeline](uint32_t chip) { return pipeline.clock_of(chip); });
  for (const std::string& log : logs) play(log, format);
}

void LogFrames::play(const std::string& path, Format& format) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw SourceError(path + " cannot be read: " + std::strerror(errno));
  sync_ = {};
  const auto beside = std::filesystem::path(path).parent_path() / "sync_device_info.csv";
  if (std::string bad = sync_.read(beside); !bad.empty()) {
    damaged_ = true;
    remarks_.push_back(std::move(bad));
  }
  try {
    DeviceLogReader reader(in, path);
    DeviceLogRow row;
    for (;;) {
      const auto next = reader.next(row);
      if (next == DeviceLogReader::Next::end) break;
      if (next == DeviceLogReader::Next::skipped) continue;
      if (captured_.contains(row.chip) || !wanted(filter_, row)) continue;
      if (!met_.contains(row.chip)) {
        flush(format);
        meet(row.chip, reader.head(), path, format);
      }
      take(row, format);
    }
    flush(format);
    add_remarks(reader, path);
  } catch (const DeviceLogError& e) {
    throw SourceError(e.what());
  }
}

// Puts the chip's origin and its kind of times into the name that viewers show for it.
void LogFrames::meet(uint32_t chip, const DeviceLogHead& head, const std::string& path, Format& format) {
  met_.insert(chip);
  const std::optional<uint32_t> root = sync_.root();
  const bool common = sync_.known(chip) && root && clocks_ && clocks_(*root);
  Session s;
  s.logged = true;
  s.chip = chip;
  s.arch = head.arch;
  s.aiclk_mhz = head.chip_mhz;
  s.max_compute_cores = head.max_compute_cores;
  s.clock_model = common;
  s.device =
      "workload's device log, " + (common ? "clock by sync_device_info.csv" : std::string("no common time"));
  format.begin(s);
  remarks_.push_back("chip " + std::to_string(chip) + " is from the workload's device log " + path + "; " +
                     (common ? "its times are those of chip " + std::to_string(*root) +
                                   ", related by sync_device_info.csv, without a bound"
                             : "there is no common time with any other chip, its times are its own cycles"));
}

void LogFrames::take(const DeviceLogRow& row, Format& format) {
  if (const Launch launch = launch_of(row); launch != launch_ || markers_.size() == kMostMarkers) {
    flush(format);
    launch_ = launch;
  }
  markers::Marker m{row.time_cycles, row.id, row.type, 0, 0};
  if (has_payload(row.type)) {
    m.payload = static_cast<uint32_t>(payloads_.size());
    payloads_.push_back(row.data);
    if (row.type == markers::MarkerType::ts_data_16b) payloads_.push_back(0);  // a log has but one column
  }
  const bool firmware = row.zone_name.ends_with("-FW");
  if (firmware) main_zone_ = row.id;
  if (firmware || row.zone_name.ends_with("-KERNEL")) m.flags = markers::kGuaranteed;
  const bool by_hash = row.zone_name.empty() || named_by_hash(row, format);
  if (!by_hash || !row.meta.empty()) {
    HostSemantics more;
    more.marker = static_cast<uint32_t>(markers_.size());
    if (!by_hash) {
      more.name = row.zone_name;
      more.source = &sources_.emplace_back(
          markers::ZoneSource{more.name, std::string(row.source_file), row.source_line});
    }
    more.meta = row.meta;
    std::replace(more.meta.begin(), more.meta.end(), ';', ',');
    semantics_.push_back(std::move(more));
  }
  markers_.push_back(m);
}

bool LogFrames::named_by_hash(const DeviceLogRow& row, Format& format) {
  std::string note(row.zone_name);
  note += ',';
  note += row.source_file;
  note += ',' + std::to_string(row.source_line) + ",KERNEL_PROFILER";
  if (markers::hash16(note) != row.id) return false;
  if (names_.add_zone_string(note)) format.names_changed();
  return true;
}

// Logs of some years print both ends of a zone before the rows between them.
void LogFrames::by_time() {
  std::vector<uint32_t> order(markers_.size());
  std::iota(order.begin(), order.end(), 0);
  const auto earlier = [&](uint32_t a, uint32_t b) {
    return markers_[a].time_cycles < markers_[b].time_cycles;
  };
  if (std::is_sorted(order.begin(), order.end(), earlier)) return;
  std::stable_sort(order.begin(), order.end(), earlier);
  std::vector<markers::Marker> sorted;
  std::vector<uint32_t> place(order.size());
  for (const uint32_t from : order) {
    place[from] = static_cast<uint32_t>(sorted.size());
    sorted.push_back(markers_[from]);
  }
  markers_.swap(sorted);
  for (HostSemantics& s : semantics_) s.marker = place[s.marker];
  std::sort(semantics_.begin(), semantics_.end(),
            [](const HostSemantics& a, const HostSemantics& b) { return a.marker < b.marker; });
}

void LogFrames::convert(const Launch& launch) {
  host_times_.clear();
  const std::optional<uint32_t> root = sync_.root();
  if (!root || !sync_.known(launch.chip) || !clocks_) return;
  const collect::ClockMap* map = clocks_(*root);
  if (!map || map->empty()) return;
  on_root_.clear();
  for (const markers::Marker& m : markers_) on_root_.push_back(sync_.on_root(launch.chip, m.time_cycles));
  times_.resize(on_root_.size());
  runs_.clear();
  map->convert(on_root_, map->segments().back().host_to, times_, runs_);
  for (const collect::HostTime at : times_) host_times_.push_back({at});
}

void LogFrames::flush(Format& format) {
  if (!markers_.empty()) {
    if (format.order() == Order::time) by_time();
    convert(launch_);
    FrameEvents f{launch_.chip,
                  launch_.x,
                  launch_.y,
                  kind_of(launch_.risc),
                  mode_of(launch_.risc),
                  static_cast<uint8_t>(number_of(launch_.risc) + launch_.twin),
                  launch_.host_id,
                  static_cast<uint16_t>(launch_.trace_counter.value_or(0)),
                  markers_,
                  no_batch_,
                  names_,
                  semantics_,
                  host_times_};
    f.main_zone = main_zone_;
    f.trace_id = launch_.trace_id;
    f.payloads = payloads_;
    f.from_log = true;
    format.frame(f);
    delivered_ += markers_.size();
  }
  markers_.clear();
  payloads_.clear();
  semantics_.clear();
  sources_.clear();
  main_zone_ = 0;
}

void LogFrames::add_remarks(const DeviceLogReader& reader, const std::string& path) {
  for (size_t i = 0; i < static_cast<size_t>(LogSkip::count); ++i) {
    const auto reason = static_cast<LogSkip>(i);
    const auto& skipped = reader.skipped(reason);
    if (skipped.lines == 0) continue;
    damaged_ = damaged_ || reason != LogSkip::repeated_head;
    remarks_.push_back(path + ": " + std::to_string(skipped.lines) + " lines were skipped because they " +
                       std::string(to_string(reason)) + ", the first is line " +
                       std::to_string(skipped.first_line));
  }
  if (met_.empty())
    remarks_.push_back(path +
                       " adds nothing: it has no row of a chip that the other sources lack and the "
                       "filters select");
}

}  // namespace ttc::tools
