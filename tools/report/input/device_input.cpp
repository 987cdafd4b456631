#include "tools/report/input/device_input.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <unordered_map>

#include "tools/pipeline/pipeline.hpp"

namespace ttc::report {
namespace {

using markers::MarkerType;

constexpr size_t kLongestBatch = 256;  // events
constexpr uint64_t kProgressEvery = 1 << 16;

// Zones by their texts. A dispatch zone is renamed for every command; what is kept of it is its own name.
class ZoneIndex {
 public:
  explicit ZoneIndex(std::vector<Zone>& zones) : zones_(zones) {
    if (zones_.empty()) zones_.emplace_back();
  }
  uint32_t of(std::string_view name, std::string_view file, uint32_t line) {
    if (name.empty()) return 0;
    name = name.substr(0, name.starts_with("CQ") ? name.find(':') : std::string_view::npos);
    key_.assign(name);
    key_ += '\n';
    key_ += file;
    key_ += '\n';
    key_ += std::to_string(line);
    const auto [it, fresh] = by_text_.try_emplace(key_, static_cast<uint32_t>(zones_.size()));
    if (fresh) zones_.push_back({std::string(name), std::string(file), line, class_of(name)});
    return it->second;
  }

 private:
  std::vector<Zone>& zones_;
  std::unordered_map<std::string, uint32_t> by_text_;
  std::string key_;
};

// The number behind `"key"` in compact JSON, with commas or semicolons between its members.
std::optional<uint64_t> number_in(std::string_view meta, std::string_view key) {
  const size_t at = meta.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  size_t from = meta.find(':', at + key.size());
  if (from == std::string_view::npos) return std::nullopt;
  uint64_t value = 0;
  bool any = false;
  for (++from; from < meta.size(); ++from) {
    const char c = meta[from];
    if (c >= '0' && c <= '9') {
      value = value * 10 + static_cast<uint64_t>(c - '0');
      any = true;
    } else if (any || (c != ' ' && c != '"')) {
      break;
    }
  }
  return any ? std::optional(value) : std::nullopt;
}

// Logs before zones were renamed: which command a dispatch zone carried out, and for which program, stands in
// the meta data of markers inside of it (tt-metal tools/tracy/process_device_log.py@00c8983).
class OldDispatch {
 public:
  // Gives the zone's two events with the launch they belong to, when a zone ends that belongs to one.
  template <class Emit>
  void row(const Launch& own, const Lane& lane, const Event& e, std::string_view meta, Emit&& emit) {
    if (lane.risc != LogRisc::brisc && lane.risc != LogRisc::ncrisc) return;
    const bool master = lane.risc == LogRisc::brisc;
    const bool zone = e.zone_class == ZoneClass::dispatch || e.zone_class == ZoneClass::go_signal;
    const uint32_t core = own.chip << 16 | static_cast<uint32_t>(lane.x) << 8 | lane.y;
    if (!zone && meta.empty()) return;
    Core& c = cores_[core];
    Side& s = master ? c.master : c.subordinate;
    if (const auto id = number_in(meta, "workers_runtime_id"); id && master) {
      s.worker = static_cast<uint32_t>(*id);
      if (c.order.empty() || c.order.back() != s.worker) c.order.push_back(s.worker);
    }
    if (meta.find("dispatch_command_type") != std::string_view::npos) {
      s.go = meta.find("CQ_DISPATCH_CMD_SEND_GO_SIGNAL") != std::string_view::npos;
      if (s.go && !master) s.worker = c.next < c.order.size() ? c.order[c.next++] : 0;
    }
    if (!zone) return;
    if (e.type == MarkerType::zone_start) s.start = e;
    if (e.type != MarkerType::zone_end || !s.start || s.worker == 0) return;
    std::array<Event, 2> both{*s.start, e};
    for (Event& one : both) one.zone_class = s.go ? ZoneClass::go_signal : ZoneClass::dispatch;
    Launch worker = own;
    worker.host_id = s.worker;
    emit(worker, both);
    s.start.reset();
  }

 private:
  struct Side {
    std::optional<Event> start;
    uint32_t worker = 0;
    bool go = false;
  };
  struct Core {
    Side master, subordinate;
    std::vector<uint32_t> order;  // workers as BRISC took them up
    size_t next = 0;
  };
  std::map<uint32_t, Core> cores_;
};

// One device log, row by row.
class LogFeed {
 public:
  LogFeed(const InputOptions& options, std::vector<Zone>& zones, Listener& listener, InputAccount& account)
      : options_(options), index_(zones), listener_(listener), account_(account) {}

  // `known`: chips whose rows are left out, because another source has them already.
  void read(const std::string& path, const std::set<uint32_t>& known, std::set<uint32_t>& delivered);

 private:
  struct Tail {
    uint32_t zone = 0;
    ZoneClass zone_class = ZoneClass::none;
    bool known = false;
  };
  const Tail& tail_of(const tools::DeviceLogRow& row);
  void meet(uint32_t chip, const tools::DeviceLogHead& head);
  void flush();
  void tell_skipped(const tools::DeviceLogReader& reader, const std::string& path);

  const InputOptions& options_;
  ZoneIndex index_;
  Listener& listener_;
  InputAccount& account_;
  std::vector<Tail> tails_;
  Tail odd_;
  std::vector<Event> batch_;
  Launch launch_;
  Lane lane_;
};

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
  listener_.device({chip, "", head.arch, head.chip_mhz, head.max_compute_cores});
}

void LogFeed::tell_skipped(const tools::DeviceLogReader& reader, const std::string& path) {
  for (size_t i = 0; i < static_cast<size_t>(tools::LogSkip::count); ++i) {
    const auto reason = static_cast<tools::LogSkip>(i);
    const auto& s = reader.skipped(reason);
    if (s.lines == 0) continue;
    account_.skipped_lines += s.lines;
    account_.remarks.push_back(path + ": " + std::to_string(s.lines) + " lines were skipped because they " +
                               std::string(to_string(reason)) + ", the first is line " +
                               std::to_string(s.first_line));
  }
}

void LogFeed::read(const std::string& path, const std::set<uint32_t>& known, std::set<uint32_t>& delivered) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw InputError(path + " cannot be read: " + std::strerror(errno));
  std::error_code ignored;
  const auto size = static_cast<double>(std::max<uintmax_t>(1, std::filesystem::file_size(path, ignored)));
  tools::DeviceLogReader reader(in, path);
  tails_.clear();
  OldDispatch old;
  const bool renamed = reader.head().has(tools::LogColumn::trace_counter);
  std::set<uint32_t> met;
  uint32_t last_chip = ~0u;
  bool wanted = false;
  tools::DeviceLogRow row;
  for (uint64_t lines = 0;; ++lines) {
    const auto next = reader.next(row);
    if (options_.progress && lines % kProgressEvery == 0 && in.good())
      options_.progress(static_cast<double>(in.tellg()) / size);
    if (next == tools::DeviceLogReader::Next::end) break;
    if (next == tools::DeviceLogReader::Next::skipped) continue;
    if (row.chip != last_chip) {
      last_chip = row.chip;
      wanted = !known.contains(row.chip);
      if (wanted && met.insert(row.chip).second) {
        flush();
        if (delivered.insert(row.chip).second) meet(row.chip, reader.head());
      }
    }
    if (!wanted) continue;
    const Launch launch{row.chip, row.run_host_id.value_or(0), row.trace_id ? int64_t{*row.trace_id} : -1,
                        row.trace_counter ? int64_t{*row.trace_counter} : -1};
    const Lane lane{row.core_x, row.core_y, row.risc};
    if (!(lane == lane_) || !(launch == launch_) || batch_.size() == kLongestBatch) {
      flush();
      launch_ = launch;
      lane_ = lane;
    }
    const Tail& tail = tail_of(row);
    batch_.push_back({row.time_cycles, row.data, tail.zone, row.id, row.type, tail.zone_class});
    ++account_.markers;
    if (!renamed && (tail.zone_class == ZoneClass::dispatch || !row.meta.empty())) {
      const Event e = batch_.back();
      if (tail.zone_class == ZoneClass::dispatch) batch_.back().zone_class = ZoneClass::other;
      old.row(launch, lane, e, row.meta, [&](const Launch& worker, std::span<const Event> both) {
        flush();
        listener_.events({worker, lane, both});
      });
      if (options_.want_meta && !row.meta.empty()) listener_.meta(launch, lane, e, row.meta);
    } else if (options_.want_meta && !row.meta.empty()) {
      listener_.meta(launch, lane, batch_.back(), row.meta);
    }
  }
  flush();
  tell_skipped(reader, path);
}

// --- captures, live collectors, firmware memory ------------------------------------------------------------

class EventFormat : public tools::Format {
 public:
  EventFormat(const InputOptions& options, std::vector<Zone>& zones, Listener& listener,
              std::set<uint32_t>& delivered, InputAccount& account)
      : options_(options), index_(zones), listener_(listener), delivered_(delivered), account_(account) {}

  tools::Order order() const override { return options_.also ? options_.also->order() : tools::Order::log; }
  void begin(const tools::Session& s) override {
    if (options_.also) options_.also->begin(s);
    account_.layouts[s.chip] = s.layout;
    if (account_.environment.empty()) account_.environment = s.environment;
    if (delivered_.insert(s.chip).second)
      listener_.device({s.chip, s.device, s.arch, s.aiclk_mhz, s.max_compute_cores});
  }
  void frame(const tools::FrameEvents& f) override;
  void loss(const shm::LossRecord& r) override {
    if (options_.also) options_.also->loss(r);
  }
  void names_changed() override {
    by_names_.clear();
    current_ = nullptr;
    if (options_.also) options_.also->names_changed();
  }
  void clock(uint32_t chip, const collect::ClockMap& map) override {
    if (options_.also) options_.also->clock(chip, map);
    listener_.clock(chip, map);
    if (map.segments().empty()) return;
    const collect::ClockSegment& last = map.segments().back();
    if (last.bound == collect::kNoBound) return;
    InputAccount::Clock& c = account_.clocks[chip];
    c.eras = std::max(c.eras, last.era + 1);
    c.last_bound_ns = static_cast<double>(last.bound) / collect::kHostTicksPerNs;
    c.worst_bound_ns = std::max(c.worst_bound_ns, c.last_bound_ns);
  }
  void telemetry(uint32_t chip, const shm::TelemetryRecord& r) override {
    if (options_.also) options_.also->telemetry(chip, r);
  }
  void end() override {
    if (options_.also) options_.also->end();
  }

 private:
  struct Known {
    uint32_t zone = 0;
    ZoneClass zone_class = ZoneClass::none;
    bool set = false;
  };
  using ByProcessor = std::vector<Known>;  // by id

  Known& known(const tools::FrameEvents& f, const markers::Marker& m, LogRisc risc);

  const InputOptions& options_;
  ZoneIndex index_;
  Listener& listener_;
  std::set<uint32_t>& delivered_;
  InputAccount& account_;
  std::map<const markers::ZoneNames*, std::array<ByProcessor, kRiscs>> by_names_;
  const markers::ZoneNames* current_ = nullptr;
  std::array<ByProcessor, kRiscs>* current_names_ = nullptr;
  std::vector<Event> batch_;
};

EventFormat::Known& EventFormat::known(const tools::FrameEvents& f, const markers::Marker& m, LogRisc risc) {
  if (current_ != &f.names) {
    current_ = &f.names;
    current_names_ = &by_names_[&f.names];
  }
  ByProcessor& all = (*current_names_)[static_cast<size_t>(risc)];
  if (all.empty()) all.resize(1 << 16);
  Known& k = all[m.id];
  if (!k.set) {
    k.set = true;
    const auto* source = f.names.choose(m.id, kRiscNames[static_cast<size_t>(risc)]).source;
    if (source) {
      k.zone = index_.of(source->name, source->file, source->line);
      k.zone_class = class_of(source->name);
    } else if (f.main_zone == m.id && (m.flags & markers::kGuaranteed)) {
      k.set = false;  // its name may still come
      static Known unnamed_firmware{0, ZoneClass::firmware, true};
      return unnamed_firmware;
    }
  }
  return k;
}

void EventFormat::frame(const tools::FrameEvents& f) {
  if (options_.also) options_.also->frame(f);
  const LogRisc risc = f.core_kind != markers::CoreKind::tensix ? LogRisc::erisc
                       : f.mode == device::Mode::trace_only     ? LogRisc::aggregate
                                                                : static_cast<LogRisc>(f.risc);
  const Lane lane{f.core_x, f.core_y, risc};
  const Launch launch{f.chip, f.host_id, -1, f.trace_counter ? int64_t{f.trace_counter} : -1};
  // Written where they stay: a marker that is put together elsewhere and copied waits for its own stores.
  batch_.resize(f.markers.size());
  Event* next = batch_.data();
  auto semantics = f.semantics.begin();
  for (uint32_t i = 0; i < f.markers.size(); ++i) {
    const markers::Marker& m = f.markers[i];
    const tools::HostSemantics* more =
        semantics != f.semantics.end() && semantics->marker == i ? &*semantics++ : nullptr;
    const bool payload = m.type == MarkerType::zone_total || m.type == MarkerType::ts_data ||
                         m.type == MarkerType::ts_data_16b;
    Event& e = *next;
    e.time = m.time_cycles;
    e.data = payload ? f.batch.payload(m.payload) : 0;
    e.id = m.id;
    e.type = m.type;
    e.zone = 0;
    e.zone_class = ZoneClass::none;
    if (tools::named_by_id(m) && !(m.flags & markers::kQuickPush)) {
      const Known& k = known(f, m, risc);
      e.zone = k.zone;
      e.zone_class = k.zone_class;
    }
    ++next;
    if (!more) continue;
    if (!more->name.empty() && e.zone_class != ZoneClass::firmware) e.zone_class = class_of(more->name);
    if (options_.want_meta && !more->meta.empty()) listener_.meta(launch, lane, e, more->meta);
    if (more->host_id) {
      Launch other = launch;
      other.host_id = *more->host_id;
      listener_.events({other, lane, {&e, 1}});
      --next;
    }
  }
  const auto count = static_cast<size_t>(next - batch_.data());
  if (count) listener_.events({launch, lane, {batch_.data(), count}});
}

// A file that is none of what reports are made from is better called so than a bad capture.
void refuse_other_files(const std::vector<std::string>& from) {
  constexpr std::string_view kFront = "ttccap";
  for (const std::string& one : from) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(one, ignored)) continue;
    char begin[kFront.size()] = {};
    std::ifstream in(one, std::ios::binary);
    if (!in) throw InputError(one + " cannot be read: " + std::strerror(errno));
    in.read(begin, sizeof begin);
    if (in.gcount() == 0) throw InputError(one + " is empty; was whoever writes it stopped before it began?");
    if (std::string_view(begin, static_cast<size_t>(in.gcount())) != kFront)
      throw InputError(one +
                       " is neither a capture (.ttc), nor a device log (its first line begins with ARCH:), "
                       "nor a table of ops (ops_perf_results*.csv, cpp_device_perf_report.csv)");
  }
}

void read_chunks(const InputOptions& options, const std::vector<std::string>& from, EventFormat& format,
                 InputAccount& account) {
  const bool follow = options.for_seconds.has_value();
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                        std::chrono::duration<double>(options.for_seconds.value_or(0)));
  try {
    const auto source = tools::open_source(from, follow, options.wait_ms);
    tools::Pipeline pipeline({}, false, options.metal_date, {}, source->loss_cause());
    std::vector<uint64_t> chunk;
    uint64_t bytes = 0, count = 0;
    double total = 0;
    std::error_code ignored;
    for (const std::string& one : from)
      if (const auto size = std::filesystem::file_size(one, ignored); !ignored)
        total += static_cast<double>(size);
    for (;;) {
      const auto next = source->next(chunk);
      if (next == tools::Source::Next::end || (follow && Clock::now() >= until)) break;
      if (next == tools::Source::Next::idle) continue;
      if (source->lost_beginning()) pipeline.lost_beginning();
      pipeline.push(chunk, format);
      bytes += chunk.size() * 8;
      if (options.progress && total > 0 && ++count % 256 == 0)
        options.progress(std::min(1.0, static_cast<double>(bytes) / total));
    }
    if (source->broke_off()) pipeline.broke_off();
    pipeline.finish(format);
    format.end();
    const uint64_t missing_words = pipeline.loss_view().missing_words();
    account.markers += pipeline.markers();
    account.missing_words += missing_words;
    for (const std::string& c : source->complaints()) account.remarks.push_back(c);
    account.damaged = account.damaged || !source->complaints().empty() || !pipeline.complaint().empty();
    for (const std::string& n : pipeline.notices()) account.remarks.push_back(n);
    if (!pipeline.complaint().empty()) account.remarks.push_back(pipeline.complaint());
    account.losses = pipeline.losses();
    if (missing_words)
      account.remarks.push_back(std::to_string(missing_words) +
                                " words were missed, because this reader was too slow");
  } catch (const InputError&) {
    throw;
  } catch (const tools::SourceError& e) {
    throw InputError(e.what());
  }
}

}  // namespace

bool is_device_log(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  std::ifstream in(path, std::ios::binary);
  char begin[64] = {};
  in.read(begin, sizeof begin - 1);
  const std::string_view text(begin, static_cast<size_t>(in.gcount()));
  return text.find("ARCH:") < 4 || text.find("Chip clock is at") < 4;
}

InputAccount read_device(const InputOptions& options, std::vector<Zone>& zones, Listener& listener) {
  InputAccount account;
  std::set<uint32_t> delivered;
  std::vector<std::string> logs, chunks;
  for (const std::string& one : options.from) {
    if (is_device_log(one))
      logs.push_back(one);
    else
      chunks.push_back(one);
  }
  if (zones.empty()) zones.emplace_back();
  refuse_other_files(chunks);
  if (!chunks.empty()) {
    EventFormat format(options, zones, listener, delivered, account);
    read_chunks(options, chunks, format, account);
  }
  // A log beside a capture brings the chips that the collector could not reach.
  const std::set<uint32_t> captured = delivered;
  LogFeed feed(options, zones, listener, account);
  for (const std::string& log : logs) {
    try {
      feed.read(log, captured, delivered);
    } catch (const tools::DeviceLogError& e) {
      throw InputError(e.what());
    }
  }
  if (options.progress) options.progress(1);
  return account;
}

}  // namespace ttc::report
