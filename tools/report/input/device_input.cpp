#include "tools/report/input/device_input.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <unordered_map>

#include "tools/feed/format_feed.hpp"
#include "tools/report/input/capture_clocks.hpp"
#include "tools/report/input/log_feed.hpp"
#include "tools/report/input/lost_beside.hpp"
#include "tools/report/input/zone_work.hpp"
#include "tools/report/zones/zone_pairs.hpp"

namespace ttc::report {
namespace {

// --- captures, live collectors, firmware memory ------------------------------------------------------------

// Receives every batch before the report does: partners are looked for, and pieces are made.
class PairedListener : public Listener {
 public:
  PairedListener(ZonePairs& pairs, Listener& listener) : pairs_(pairs), listener_(listener) {}
  // The batches come from a log: which of two processors of one name a row belongs to is a guess.
  void twins_are_guessed() { guessed_ = true; }
  void device(const Device& d) override { listener_.device(d); }
  void events(const LaneEvents& batch) override {
    LaneEvents one = batch;
    if (guessed_) one.lane.twin = 0;
    pairs_.events(one);
    one.lane.twin = batch.lane.twin;
    one.dispatches = has_dispatch(batch.events);
    pieces_.clear();
    if (batch.launch.host_id != 0) add_pieces(batch.events, pieces_);
    one.pieces = pieces_;
    listener_.events(one);
  }
  void meta(const Launch& launch, const Lane& lane, const Event& e, std::string_view text) override {
    listener_.meta(launch, lane, e, text);
  }
  void clock(uint32_t chip, const collect::ClockMap& map) override { listener_.clock(chip, map); }
  // For who does the same with batches elsewhere.
  ZonePairs& pairs() const { return pairs_; }
  Listener& listener() const { return listener_; }

 private:
  ZonePairs& pairs_;
  Listener& listener_;
  std::vector<LanePiece> pieces_;
  bool guessed_ = false;
};

class EventFormat : public tools::Format {
 public:
  EventFormat(const InputOptions& options, std::vector<Zone>& zones, PairedListener& listener,
              std::set<uint32_t>& delivered, InputAccount& account)
      : options_(options),
        maker_(zones, options.want_meta),
        listener_(listener),
        delivered_(delivered),
        account_(account) {
    for (unsigned i = 0; i < options.threads; ++i)
      threads_.push_back(std::make_unique<ZoneWork::Thread>(options.want_meta));
  }

  EventMaker& maker() { return maker_; }
  tools::Order order() const override { return options_.also ? options_.also->order() : tools::Order::log; }
  void begin(const tools::Session& s) override {
    if (options_.also) options_.also->begin(s);
    account_.layouts[s.chip] = s.layout;
    if (account_.environment.empty()) account_.environment = s.environment;
    if (delivered_.insert(s.chip).second)
      listener_.device({s.chip, s.device, s.arch, s.aiclk_mhz, s.max_compute_cores, s.rank, s.chip_of_rank});
  }
  // Another format needs the markers of every frame.
  std::unique_ptr<tools::FrameWork> frame_work() const override {
    if (options_.also) return nullptr;
    return std::make_unique<ZoneWork>(threads_, listener_.listener().wants_all_events());
  }
  void frame(const tools::FrameEvents& f) override {
    if (options_.also) options_.also->frame(f);
    maker_.frame(f, listener_);
  }
  bool frame_alone(const tools::FrameEvents& f) override {
    const ZoneWork::Target target{maker_.zones(), listener_.pairs(), listener_.listener()};
    if (!static_cast<ZoneWork*>(f.work)->take(f, target)) return false;
    maker_.note_lane(f);
    return true;
  }
  void loss(const shm::LossRecord& r) override {
    if (options_.also) options_.also->loss(r);
  }
  void names_changed() override {
    maker_.names_changed();
    for (const auto& thread : threads_) thread->names_changed();
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
  }
  void telemetry(uint32_t chip, const shm::TelemetryRecord& r) override {
    if (options_.also) options_.also->telemetry(chip, r);
  }
  void host(std::span<const uint64_t> chunk) override {
    if (options_.also) options_.also->host(chunk);
  }
  void end() override {
    if (options_.also) options_.also->end();
  }

 private:
  const InputOptions& options_;
  EventMaker maker_;
  ZoneWork::Threads threads_;
  PairedListener& listener_;
  std::set<uint32_t>& delivered_;
  InputAccount& account_;
};

// A file that is none of what reports are made from is better called so than a bad capture.
void refuse_other_files(const std::vector<std::string>& from) {
  constexpr std::string_view kFront = "ttccap";
  for (const std::string& one : from) {
    std::error_code ignored;
    const bool named_file = !one.starts_with("live:") && one.find(',') == std::string::npos;
    if (named_file && std::filesystem::status(one, ignored).type() == std::filesystem::file_type::not_found)
      throw InputError(
          one +
          " cannot be opened: there is no such file; an input is a capture (.ttc), live:NAME, a device "
          "log, a table of ops, a report folder or a directory of firmware memory");
    if (!std::filesystem::is_regular_file(one, ignored)) continue;
    char begin[kFront.size()] = {};
    std::ifstream in(one, std::ios::binary);
    if (!in) throw InputError(one + " cannot be read: " + std::strerror(errno));
    in.read(begin, sizeof begin);
    if (in.gcount() == 0)
      throw InputError(one + " is empty; was the program that writes it stopped before it began?");
    if (std::string_view(begin, static_cast<size_t>(in.gcount())) != kFront)
      throw InputError(one +
                       " is neither a capture (.ttc), nor a device log (its first line begins with ARCH:), "
                       "nor a table of ops (ops_perf_results*.csv, cpp_device_perf_report.csv)");
  }
}

void read_chunks(const InputOptions& options, const std::vector<std::string>& from, EventFormat& events,
                 InputAccount& account) {
  std::optional<jobs::Workers> workers;  // none: one thread
  if (options.threads > 1) workers.emplace(options.threads);
  const bool for_a_time = options.for_seconds.has_value();
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                        std::chrono::duration<double>(options.for_seconds.value_or(0)));
  try {
    if (options.clock) options.clock(read_capture_clocks(from));
    const auto source = tools::open_source(from, for_a_time || options.follow_files, options.wait_ms, {},
                                           workers ? &*workers : nullptr, false, options.follow_files);
    tools::Pipeline pipeline({}, false, options.metal_date, {}, source->loss_cause());
    if (workers) pipeline.decode_ahead(*workers);
    tools::FormatFeed feed(pipeline, events);
    shm::KeptChunk chunk;
    uint64_t bytes = 0, count = 0;
    double total = 0;
    std::error_code ignored;
    for (const std::string& one : from)
      if (const auto size = std::filesystem::file_size(one, ignored); !ignored)
        total += static_cast<double>(size);
    for (;;) {
      const auto next = source->next_kept(chunk);
      if (next == tools::Source::Next::end || (for_a_time && Clock::now() >= until)) break;
      if (next == tools::Source::Next::idle) continue;
      if (options.chunk) options.chunk(chunk.words);
      bytes += chunk.words.size_bytes();
      feed.push(*source, chunk);
      if (options.progress && total > 0 && ++count % 256 == 0)
        options.progress(std::min(1.0, static_cast<double>(bytes) / total));
    }
    feed.finish(*source);
    events.end();
    const uint64_t missing_words = pipeline.loss_view().missing_words();
    account.markers += pipeline.markers();
    account.missing_words += missing_words;
    for (const std::string& c : source->complaints()) account.remarks.push_back(c);
    for (const std::string& r : source->remarks()) account.remarks.push_back(r);
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
  return tools::is_device_log(path);
}

namespace {

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
            std::to_string(u->chip) + ", core " + std::to_string(u->lane.x) + "," +
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
      pairs.lost({r.device, format.maker().lane_of(r), r.from_cycles, r.to_cycles});
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
    for (const LostInterval& lost : losses_beside(log, account)) {
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
