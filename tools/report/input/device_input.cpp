#include "tools/report/input/device_input.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <unordered_map>

#include "tools/pipeline/pipeline.hpp"
#include "tools/report/input/log_order.hpp"
#include "tools/report/input/lost_beside.hpp"
#include "tools/report/zones/zone_pairs.hpp"

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
  std::unique_ptr<std::istream> open(const std::string& path);
  bool ordered(const std::string& path);
  void rows(tools::DeviceLogReader& reader, std::istream& in, const std::set<uint32_t>& known,
            std::set<uint32_t>& delivered);
  uint8_t twin_of(const tools::DeviceLogRow& row, ZoneClass zone_class);
  Event take(const tools::DeviceLogRow& row, bool renamed, OldDispatch& old);

  const InputOptions& options_;
  ZoneIndex index_;
  Listener& listener_;
  InputAccount& account_;
  std::string name_;  // of the log
  double size_ = 1;   // bytes
  std::vector<Tail> tails_;
  Tail odd_;
  std::vector<Event> batch_;
  Launch launch_;
  Lane lane_;
  // Of a core with two processors of one name: the firmware zone of the first, and whose rows these are.
  struct Twins {
    std::optional<uint16_t> first;
    uint8_t now = 0;
  };
  std::unordered_map<uint64_t, Twins> twins_;  // by lane
};

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
  listener_.device({chip, "", head.arch, head.chip_mhz, head.max_compute_cores});
}

void LogFeed::tell_skipped(const tools::DeviceLogReader& reader, const std::string& path) {
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

// Columns that a log of its year has; without them programs could not be told apart, or starts from ends.
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

// A first look at a log that is small enough to be sorted. What is no row is left out of a sorted log.
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
  tell_skipped(reader, path);
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
                       " is earlier than what stands before it: the rows are not in order of time, and the "
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
  batch_.push_back({row.time_cycles, row.data, tail.zone, row.id, row.type, tail.zone_class});
  ++account_.markers;
  const Event e = batch_.back();
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
  // Where markers of the lane of a loss have gone.
  Lane lane_of(const shm::LossRecord& r) const {
    const auto odd = odd_lanes_.find({r.device, r.core_x, r.core_y});
    if (odd == odd_lanes_.end()) return {r.core_x, r.core_y, static_cast<LogRisc>(r.risc)};
    return {r.core_x, r.core_y, odd->second,
            static_cast<uint8_t>(odd->second == LogRisc::erisc && r.risc > 0)};
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
  // By chip, x, y: cores whose markers go by the name of no Tensix processor.
  std::map<std::tuple<uint32_t, uint8_t, uint8_t>, LogRisc> odd_lanes_;
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
  const Lane lane{f.core_x, f.core_y, risc, static_cast<uint8_t>(risc == LogRisc::erisc && f.risc > 0)};
  if (risc > LogRisc::trisc_2) odd_lanes_[{f.chip, f.core_x, f.core_y}] = risc;
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

namespace {

// Hears every batch before the report does.
class PairedListener : public Listener {
 public:
  PairedListener(ZonePairs& pairs, Listener& listener) : pairs_(pairs), listener_(listener) {}
  // From a log: which of two processors of one name a row is of is a guess.
  void twins_are_guessed() { guessed_ = true; }
  void device(const Device& d) override { listener_.device(d); }
  void events(const LaneEvents& batch) override {
    LaneEvents one = batch;
    if (guessed_) one.lane.twin = 0;
    pairs_.events(one);
    listener_.events(batch);
  }
  void meta(const Launch& launch, const Lane& lane, const Event& e, std::string_view text) override {
    listener_.meta(launch, lane, e, text);
  }
  void clock(uint32_t chip, const collect::ClockMap& map) override { listener_.clock(chip, map); }

 private:
  ZonePairs& pairs_;
  Listener& listener_;
  bool guessed_ = false;
};

void judge_pairs(ZonePairs& pairs, const std::vector<Zone>& zones, InputAccount& account) {
  pairs.end();
  account.cut_zones = pairs.at_edges();
  account.zones_beside_losses = pairs.beside_losses();
  account.broken_zones = pairs.damage();
  if (account.cut_zones)
    account.remarks.push_back(std::to_string(account.cut_zones) +
                              " zones are cut at the beginning or the end of their processor's markers");
  if (!account.broken_zones) return;
  account.damaged = true;
  std::string first;
  if (const Unpaired* u = pairs.first()) {
    const std::string& name = zones[u->zone].name;
    first = "; the first: zone " + (name.empty() ? "without name" : name) + " on chip " +
            std::to_string(u->chip) + ", core " + std::to_string(u->lane.x) + "-" +
            std::to_string(u->lane.y) + ", " + processor_name(u->lane) +
            (u->start ? " starts at " : " ends at ") + std::to_string(u->start ? u->from : u->to) +
            " and has no " + (u->start ? "end" : "start");
  }
  account.remarks.push_back(std::to_string(account.broken_zones) +
                            " zones have no start or no end although no loss is reported there: markers are "
                            "gone from the source" +
                            first);
}

}  // namespace

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
  ZonePairs pairs;
  PairedListener paired(pairs, listener);
  if (!chunks.empty()) {
    EventFormat format(options, zones, paired, delivered, account);
    read_chunks(options, chunks, format, account);
    for (const shm::LossRecord& r : account.losses)
      pairs.lost({r.device, format.lane_of(r), r.from_cycles, r.to_cycles});
  }
  // A log beside a capture brings the chips that the collector could not reach.
  const std::set<uint32_t> captured = delivered;
  paired.twins_are_guessed();
  LogFeed feed(options, zones, paired, account);
  for (const std::string& log : logs) {
    try {
      feed.read(log, captured, delivered);
    } catch (const tools::DeviceLogError& e) {
      throw InputError(e.what());
    }
    for (const LostInterval& lost : losses_beside(log, account.remarks)) {
      if (captured.contains(lost.chip)) continue;
      ++account.losses_beside;
      pairs.lost(lost);
    }
  }
  judge_pairs(pairs, zones, account);
  if (options.progress) options.progress(1);
  return account;
}

}  // namespace ttc::report
