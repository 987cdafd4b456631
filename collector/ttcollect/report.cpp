#include "collector/ttcollect/report.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "collector/inspect/probe.hpp"
#include "collector/program/json_text.hpp"
#include "collector/program/printable.hpp"
#include "ttcollect/host_time.hpp"

namespace ttc::collect {
namespace {

constexpr uint64_t kRefreshNs = 200'000'000;
using json = nlohmann::ordered_json;

json to_json(const shm::LossRecord& r) {
  json j{{"x", r.core_x},
         {"y", r.core_y},
         {"risc", r.risc},
         {"epoch", r.epoch},
         {"cause", shm::to_string(r.cause)},
         {"precision", shm::to_string(r.precision)},
         {"from_cycles", r.from_cycles}};
  // Open intervals last until the end of collecting, written as the largest 44-bit time.
  j["to_cycles"] = r.to_cycles == shm::kOpenEnd ? markers::kClockMask : r.to_cycles;
  j["open"] = r.to_cycles == shm::kOpenEnd;
  j["words"] = r.words;
  j["launches"] = r.launches;
  return j;
}

// What collecting cost the card, per second, attaching not included.
struct Footprint {
  double reads = 0, bytes = 0, re_aims = 0, link_share = 0;
};
Footprint footprint_of(const DeviceResult& r) {
  if (r.duration_s <= 0) return {};
  const auto rate = [&](uint64_t all, uint64_t before) {
    return static_cast<double>(all - before) / r.duration_s;
  };
  Footprint f{rate(r.transactions.round_trips, r.before_collecting.round_trips),
              rate(r.transactions.bytes, r.before_collecting.bytes),
              rate(r.transactions.window_moves, r.before_collecting.window_moves), 0};
  if (r.link_bytes_per_s > 0) f.link_share = f.bytes / r.link_bytes_per_s;
  return f;
}

json to_json(const Footprint& f, const DeviceResult& r) {
  return {{"reads_per_s", f.reads},
          {"bytes_per_s", f.bytes},
          {"re_aims_per_s", f.re_aims},
          {"link_share", r.link_bytes_per_s > 0 ? json(f.link_share) : json()},
          {"link_bytes_per_s", static_cast<uint64_t>(r.link_bytes_per_s)},
          {"link_by", r.link_bytes_per_s <= 0 ? json() : json(r.link_nominal ? "sysfs" : "probe")},
          {"lines_per_s_at_most", r.lines_per_s_at_most > 0 ? json(r.lines_per_s_at_most) : json()},
          {"lines_beyond_share", r.lines_per_s_at_most > 0 ? json(r.lines_beyond_share) : json()}};
}

std::string in_words(const Footprint& f, const DeviceResult& r) {
  char text[160];
  std::snprintf(text, sizeof text, "%.0f reads/s, %.2f MB/s, %.0f re-aims/s", f.reads, f.bytes / 1e6,
                f.re_aims);
  std::string words = text;
  if (r.link_bytes_per_s > 0) {
    std::snprintf(text, sizeof text, ", %.2g %% of %s", 100 * f.link_share,
                  r.link_nominal ? "the link" : "what reading in bulk can do");
    words += text;
  }
  return words;
}

std::string place_in_words(const DeviceResult& r) {
  std::string text = r.cpus.empty() ? "drain thread not pinned: " + r.cpus_why
                                    : "drain thread on CPUs " + to_string(r.cpus) + ", " + r.cpus_why;
  if (r.memory_node >= 0) text += "; ring on NUMA node " + std::to_string(r.memory_node);
  return text;
}

json to_json(const VisibleAfter& v) {
  json histogram = json::array();
  for (size_t i = 0; i < v.chunks.size(); ++i)
    histogram.push_back({{"below", i + 1 < v.chunks.size() ? json(shm::visibility_below_ns(i)) : json()},
                         {"chunks", v.chunks[i]}});
  return {{"p50", v.p50},
          {"p90", v.p90},
          {"p99", v.p99},
          {"max", v.max},
          {"clock_bound", v.bound_ns},
          {"chunks", std::accumulate(v.chunks.begin(), v.chunks.end(), uint64_t{0})},
          {"chunks_without_clock", v.without_clock},
          {"histogram", std::move(histogram)}};
}

json to_json(const RealTimeResult& r) {
  using Scheduling = RealTimeGrant::Scheduling;
  const bool fifo = r.grant.scheduling == Scheduling::fifo;
  return {{"scheduling", fifo                                     ? "fifo"
                         : r.grant.scheduling == Scheduling::nice ? "nice"
                                                                  : "normal"},
          {"priority", fifo ? json(r.grant.priority) : json()},
          {"nice", r.grant.nice},
          {"scheduling_lacks", r.grant.scheduling_lacks},
          {"memory_locked", r.grant.memory_locked},
          {"memory_lacks", r.grant.memory_lacks},
          {"rests", r.account.rests},
          {"rested_ns", r.account.rested_ns},
          {"stopped", r.account.stopped}};
}

json ns_or_null(uint64_t ticks) {
  return ticks == kNoBound ? json() : json(static_cast<double>(ticks) / kHostTicksPerNs);
}

json to_json(const ClockSampler::Figures& c, uint64_t bound) {
  json j{{"hz", c.hz},
         {"samples", c.stats.samples},
         {"steps", c.stats.steps},
         {"violations", c.stats.violations},
         {"stops", c.stats.stops},
         {"eras", c.stats.eras},
         {"domains", c.domains},
         {"tile_spread_ns", ns_or_null(c.tile_spread)},
         {"round_trips", c.round_trips},
         {"reference_timer_reads", c.timer_reads},
         {"host_clock_steps", c.host_steps}};
  j["bound_ns"] = ns_or_null(bound);
  return j;
}

json recycling_json(const DeviceResult& r) {
  if (!r.recycle_asked) return nullptr;
  const RecycleAccount& a = r.recycle;
  json verdicts = json::object(), not_recycled = json::object();
  for (size_t v = 1; v < a.verdicts.size(); ++v) verdicts[to_string(static_cast<Verdict>(v))] = a.verdicts[v];
  for (const auto& [why, cores] : r.not_recycled) not_recycled[why] = cores;
  return {{"refused", r.recycle_refused.empty() ? json() : json(r.recycle_refused)},
          {"recycles", a.recycles},
          {"lanes", a.lanes},
          {"crossed", a.crossed},
          {"recovered_frames", a.recovered},
          {"verdicts", std::move(verdicts)},
          {"provisional", a.provisional},
          {"withdrawn", a.withdrawn},
          {"slow", a.slow},
          {"surprises", a.surprises},
          {"found_again", a.found_again},
          {"cut_short_by_host", a.rewound},
          {"missing_launches", a.missing_launches},
          {"round_trips", a.round_trips},
          {"mean_ns", a.recycles ? a.total_ns / a.recycles : 0},
          {"longest_ns", a.longest_ns},
          {"cores_not_recycled", std::move(not_recycled)}};
}

std::string recycling_details(const DeviceResult& r) {
  if (!r.recycle_asked || !r.recycle_refused.empty()) return {};
  const RecycleAccount& a = r.recycle;
  char text[400];
  std::snprintf(
      text, sizeof text,
      "\n  recycled %llu times (%llu lanes), %llu of them crossed by programs, %llu frames recovered from "
      "old "
      "places, %llu torn, %llu lost writes, %llu withdrawn, %llu surprises, %llu times found again, %llu "
      "runs missing by count; "
      "%.1f round trips and %.2f ms each",
      static_cast<unsigned long long>(a.recycles), static_cast<unsigned long long>(a.lanes),
      static_cast<unsigned long long>(a.crossed), static_cast<unsigned long long>(a.recovered),
      static_cast<unsigned long long>(a.verdicts[static_cast<size_t>(Verdict::torn)]),
      static_cast<unsigned long long>(a.verdicts[static_cast<size_t>(Verdict::lost_write)]),
      static_cast<unsigned long long>(a.withdrawn), static_cast<unsigned long long>(a.surprises),
      static_cast<unsigned long long>(a.found_again), static_cast<unsigned long long>(a.missing_launches),
      a.recycles ? static_cast<double>(a.round_trips) / static_cast<double>(a.recycles) : 0.0,
      a.recycles ? static_cast<double>(a.total_ns) / 1e6 / static_cast<double>(a.recycles) : 0.0);
  std::string words = text;
  for (const auto& [why, cores] : r.not_recycled)
    words += "\n  " + std::to_string(cores) + " cores not recycled: " + why;
  return words;
}

json to_json(const DeviceResult& r) {
  json lost = json::array();
  for (const auto& record : r.lost) lost.push_back(to_json(record));
  json device{{"spec", r.identity.spec},
              {"live", r.live_name},
              {"chip", r.chip},
              {"arch", r.identity.arch->name},
              {"board", r.identity.board},
              {"layout", r.layout},
              {"mode", std::string(markers::to_string(r.mode))},
              {"bytes_per_risc", r.bytes_per_risc},
              {"cores", r.cores},
              {"lanes", r.lanes},
              {"programs", r.programs},
              {"markers", r.markers},
              {"frames", r.frames},
              {"chunks", r.chunks},
              {"bytes", r.bytes},
              {"lost", std::move(lost)},
              {"epochs", r.epochs},
              {"recycle", recycling_json(r)},
              {"highest_log_fill", r.highest_fill},
              {"card_returns", r.returns},
              {"workloads", r.workloads},
              {"retries", r.retries},
              {"missed_poll_deadlines", r.missed_poll_deadlines},
              {"recovered_words", r.recovered_words},
              {"zone_names", r.names},
              {"sweeps", r.sweeps},
              {"round_trips", r.transactions.round_trips},
              {"card_bytes", r.transactions.bytes},
              {"window_moves", r.transactions.window_moves},
              {"footprint", to_json(footprint_of(r), r)},
              {"link", to_json(r.link)},
              {"host",
               {{"cpus", r.cpus.empty() ? json() : json(to_string(r.cpus))},
                {"why", r.cpus_why},
                {"memory_node", r.memory_node < 0 ? json() : json(r.memory_node)}}},
              {"suspect_tiles", r.suspicions.suspect_tiles},
              {"suspicions", r.suspicions.suspicions},
              {"slow_reads", r.suspicions.slow_reads},
              {"delayed_reads", r.suspicions.delayed_reads},
              {"delayed_tiles", r.suspicions.delayed_tiles},
              {"all_ones_reads", r.suspicions.all_ones_reads},
              {"sweep_ns", {{"p50", r.sweep_p50}, {"p99", r.sweep_p99}, {"max", r.sweep_max}}},
              {"event_loop", r.loop},
              {"duration_s", r.duration_s},
              {"ended", r.ended},
              {"failure", r.failure.empty() ? json() : json(r.failure)},
              {"card_vanished", r.card_vanished}};
  if (r.synced) device["visible_after_ns"] = to_json(r.visible);
  if (r.synced) {
    device["clock"] = to_json(r.clock, r.clock_bound);
    if (r.metal_sync_hz) device["clock"]["metal_sync_hz"] = *r.metal_sync_hz;
  }
  if (r.real_time) device["realtime"] = to_json(*r.real_time);
  json output_lost = json::array();
  for (const auto& record : r.output_lost) output_lost.push_back(to_json(record));
  if (!r.output_backend.empty())
    device["output"] = {{"bytes", r.output_bytes},
                        {"lapped_bytes", r.output_lapped_bytes},
                        {"backend", r.output_backend},
                        {"lost", std::move(output_lost)},
                        {"error", r.output_error}};
  return device;
}

// A longer line would wrap, and the next one could not be written over it.
int terminal_columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : 80;
}

}  // namespace

// The first line is printed one interval late: until then devices print their own messages.
LiveLine::LiveLine(bool wanted) : on_(wanted && isatty(STDERR_FILENO)), last_ns_(monotonic_now_ns()) {}

void LiveLine::show(std::span<const LiveFigures> devices, uint64_t now) {
  if (!on_ || devices.empty() || now - last_ns_ < kRefreshNs) return;
  LiveFigures all;
  for (const LiveFigures& d : devices) {
    all.cores += d.cores;
    all.programs += d.programs;
    all.markers += d.markers;
    all.loss_intervals += d.loss_intervals;
    all.round_trips += d.round_trips;
    all.card_bytes += d.card_bytes;
    all.window_moves += d.window_moves;
    all.link_bytes_per_s += d.link_bytes_per_s;
    all.sweep_p50_ns = std::max(all.sweep_p50_ns, d.sweep_p50_ns);  // of the slowest
  }
  const double seconds = static_cast<double>(now - last_ns_) / 1e9;
  const auto rate = [&](uint64_t value, uint64_t before) {
    return static_cast<double>(value - before) / seconds;
  };
  const double bytes_per_s = rate(all.card_bytes, last_.card_bytes);
  char text[320];
  int used = devices.size() > 1 ? std::snprintf(text, sizeof text, "%zu cards  ", devices.size()) : 0;
  std::snprintf(text + used, sizeof text - static_cast<size_t>(used),
                "%llu cores  %.0f programs/s  %.0f markers/s  %llu lost intervals  sweep p50 %.0f us  "
                "%.0f reads/s  %.1f MB/s (%.2g %% of the link)  %.0f re-aims/s",
                static_cast<unsigned long long>(all.cores), rate(all.programs, last_.programs),
                rate(all.markers, last_.markers), static_cast<unsigned long long>(all.loss_intervals),
                static_cast<double>(all.sweep_p50_ns) / 1e3, rate(all.round_trips, last_.round_trips),
                bytes_per_s / 1e6,
                all.link_bytes_per_s ? 100 * bytes_per_s / static_cast<double>(all.link_bytes_per_s) : 0.0,
                rate(all.window_moves, last_.window_moves));
  std::fprintf(stderr, "\r\033[K%.*s", terminal_columns() - 1, text);
  std::fflush(stderr);
  last_ns_ = now;
  last_ = all;
}

void LiveLine::clear() {
  if (on_) std::fputs("\r\033[K", stderr);
}

std::string to_json(const RunResult& r) {
  json devices = json::array(), left_out = json::array();
  for (const DeviceResult& device : r.devices) devices.push_back(to_json(device));
  for (const LeftOut& card : r.left_out) left_out.push_back({{"spec", card.spec}, {"why", card.why}});
  json all{{"devices", std::move(devices)}, {"left_out", std::move(left_out)}, {"duration_s", r.duration_s}};
  if (r.capture)
    all["capture"] = {{"files", r.capture->files},
                      {"bytes", r.capture->bytes},
                      {"dropped_bytes", r.capture->dropped_bytes},
                      {"most_memory", r.capture->most_memory},
                      {"remarks", r.capture->remarks}};
  for (const FlightRecording& f : r.recordings)
    all["recordings"].push_back({{"file", f.file.path},
                                 {"why", f.why},
                                 {"cut_ns", f.file.cut_ns},
                                 {"total_ns", f.file.total_ns},
                                 {"ring_bytes", f.file.ring_bytes},
                                 {"markers", f.file.markers},
                                 {"lapped_bytes", f.file.lapped_bytes},
                                 {"error", f.error}});
  return program::json_text(all);
}

std::string refusal_json(int exit_code, const std::string& why) {
  return program::json_text(json{{"devices", json::array()},
                                 {"left_out", json::array()},
                                 {"duration_s", 0.0},
                                 {"exit_code", exit_code},
                                 {"error", why}});
}

std::string to_text(const FlightRecording& r) {
  if (!r.error.empty()) return "no recording (" + program::printable(r.why) + "): " + r.error;
  char text[160];
  std::snprintf(text, sizeof text,
                " (%.1f MB of rings, %llu markers; cut within %.3f ms, complete after %.0f ms): ",
                static_cast<double>(r.file.ring_bytes) / 1e6, static_cast<unsigned long long>(r.file.markers),
                static_cast<double>(r.file.cut_ns) / 1e6, static_cast<double>(r.file.total_ns) / 1e6);
  return "recorded " + program::printable(r.file.path) + text + program::printable(r.why);
}

std::string to_text(const CaptureResult& c, bool verbose) {
  char text[200];
  std::snprintf(text, sizeof text, ", %.2f MB", static_cast<double>(c.bytes) / 1e6);
  std::string all = "capture: ";
  all += c.files.empty() ? "no file is complete" : program::printable(c.files.front());
  if (c.files.size() > 1)
    all += " to " + program::printable(c.files.back()) + ", " + std::to_string(c.files.size()) + " files";
  all += text;
  if (c.dropped_bytes) {
    std::snprintf(text, sizeof text, "; %.2f MB dropped, because the disk was too slow or full",
                  static_cast<double>(c.dropped_bytes) / 1e6);
    all += text;
  }
  if (verbose) {
    std::snprintf(text, sizeof text, "\n  at most %.1f MiB waited for the disk",
                  static_cast<double>(c.most_memory) / (1 << 20));
    all += text;
    for (const std::string& f : c.files) all += "\n  " + program::printable(f);
  }
  for (const std::string& n : c.remarks) all += "\n  " + n;
  return all;
}

namespace {

std::string visible_in_words(const VisibleAfter& v) {
  char text[200];
  std::snprintf(
      text, sizeof text,
      "\n  a chunk's newest marker could be read after p50 %.1f us, p99 %.1f us, max %.1f us; its time is "
      "within %.3f us",
      static_cast<double>(v.p50) / 1e3, static_cast<double>(v.p99) / 1e3, static_cast<double>(v.max) / 1e3,
      static_cast<double>(v.bound_ns) / 1e3);
  return text;
}

std::string clock_in_words(const DeviceResult& r) {
  char clock[240];
  const int used = std::snprintf(clock, sizeof clock,
                                 "\n  clock %.6f MHz, %llu steps, %llu violations of the bounds' condition",
                                 r.clock.hz / 1e6, static_cast<unsigned long long>(r.clock.stats.steps),
                                 static_cast<unsigned long long>(r.clock.stats.violations));
  if (r.metal_sync_hz)
    std::snprintf(clock + used, sizeof clock - static_cast<size_t>(used),
                  "; tt-metal's own sync found %.6f MHz, %+.3f ppm from that", *r.metal_sync_hz / 1e6,
                  (*r.metal_sync_hz / r.clock.hz - 1) * 1e6);
  return clock;
}

std::string recycling_in_words(const DeviceResult& r) {
  if (!r.recycle_asked || !r.recycle_refused.empty()) return {};
  return "\n  recycled: " + std::to_string(r.recycle.recycles) + " times, " +
         std::to_string(r.recycle.surprises) + " surprises, " + std::to_string(r.recycle.missing_launches) +
         " launches missing by count";
}

// The lines that --verbose adds.
std::string details_of(const DeviceResult& r) {
  char head[300];
  std::snprintf(head, sizeof head,
                "\n  layout %s, %s mode, %llu epochs, %llu round trips; sweep p50 %.1f us, p99 %.1f us, max "
                "%.1f us",
                r.layout.c_str(), std::string(markers::to_string(r.mode)).c_str(),
                static_cast<unsigned long long>(r.epochs),
                static_cast<unsigned long long>(r.transactions.round_trips),
                static_cast<double>(r.sweep_p50) / 1e3, static_cast<double>(r.sweep_p99) / 1e3,
                static_cast<double>(r.sweep_max) / 1e3);
  std::string text = head;
  if (!r.cpus_why.empty()) text += "\n  " + place_in_words(r);
  if (const std::string link = in_words(r.link); !link.empty()) text += "\n  reading it from here: " + link;
  if (r.synced && r.visible.p50) text += visible_in_words(r.visible);
  if (r.synced && r.clock.hz > 0) text += clock_in_words(r);
  if (r.suspicions.delayed_reads)
    text += "\n  " + std::to_string(r.suspicions.delayed_reads) + " reads at " +
            std::to_string(r.suspicions.delayed_tiles) +
            " tiles were late, and the tiles answered at once when read again: mostly the host had taken the "
            "CPU away; where it is one tile again and again, the tile is slow now and then";
  return text + recycling_details(r);
}

std::string losses_in_words(const DeviceResult& r) {
  std::map<std::string, size_t> causes;
  for (const auto& record : r.lost) ++causes[shm::to_string(record.cause)];
  if (causes.empty()) return "\n  lost: nothing";
  std::string text = "\n  lost: ";
  for (const auto& [cause, count] : causes)
    text += (text.ends_with(' ') ? "" : ", ") + std::to_string(count) +
            (count == 1 ? " interval " : " intervals ") + cause;
  return text + "; `ttreport loss --from live:" + r.live_name + "` lists them";
}

// Conditions that a user must notice without further options.
std::string trouble_in_words(const DeviceResult& r) {
  std::string text;
  if (r.real_time && r.real_time->account.stopped)
    text += "\n  real-time priority was taken away " + std::to_string(r.real_time->account.stopped) +
            " times, as the drain thread did not sleep (--realtime)";
  if (r.bytes_per_risc == 0 && r.cores)
    text += "\n  bytes per RISC region were not learnt (too few launches); --region-bytes gives them";
  if (!r.recycle_refused.empty()) text += "\n  not recycled, only observed: " + r.recycle_refused;
  if (r.suspicions.suspicions)
    text += "\n  " + std::to_string(r.suspicions.suspect_tiles) + " tiles were left alone for a while (" +
            std::to_string(r.suspicions.slow_reads) + " slow reads, " +
            std::to_string(r.suspicions.all_ones_reads) + " that came back all-ones)";
  if (r.output_lapped_bytes)
    text += "\n  the ring overwrote " + std::to_string(r.output_lapped_bytes) +
            " bytes before they were captured";
  if (!r.output_lost.empty())
    text += "\n  not in the capture: " + std::to_string(r.output_lost.size()) +
            " intervals (`ttreport loss` lists them)";
  if (!r.output_error.empty()) text += "\n  the output is incomplete: " + r.output_error;
  return text;
}

}  // namespace

std::string to_text(const DeviceResult& r, bool verbose) {
  char head[160];
  std::snprintf(head, sizeof head, ": %llu programs, %llu markers from %zu lanes in %.1f s; ended: ",
                static_cast<unsigned long long>(r.programs), static_cast<unsigned long long>(r.markers),
                r.lanes, r.duration_s);
  return r.identity.spec + head + r.ended + "\n  cost: " + in_words(footprint_of(r), r) + losses_in_words(r) +
         recycling_in_words(r) + trouble_in_words(r) + (verbose ? details_of(r) : std::string());
}

}  // namespace ttc::collect
