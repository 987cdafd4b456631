// ttexport: chunks from a live collector or a capture, as a file somebody else's tool reads.
#include <sys/prctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tools/formats/losses_beside.hpp"
#include "tools/pipeline/pipeline.hpp"
#include "tools/tracy/listener.hpp"
#include "tools/viewers/earliest.hpp"
#include "tools/viewers/svg_timeline.hpp"
#include "tools/viewers/tracy_feed.hpp"

namespace {

using namespace ttc;

enum Exit { kOk = 0, kUsage = 2, kNoSource = 3, kSourceDamaged = 4, kOutput = 5, kReaderLost = 6 };

constexpr const char* kFooter =
    "Exit codes: 0 everything there was is in the output, 2 wrong usage, 3 source cannot be read, 4 source "
    "is cut or\n"
    "damaged (the output holds what was readable), 5 output failed, 6 this reader was too slow and lost "
    "chunks.\n"
    "Losses on the card's side are told on stderr and do not change the exit code. Where they stand: in the\n"
    "viewers' formats as events of their lanes; beside a device CSV as OUT.losses.csv, written when there "
    "are "
    "any.";

constexpr const char* kColumnsHelp =
    "device-csv: the era whose readers are to read it\n"
    "15: 2026 and late 2025 (process_device_log now, ttnn-visualizer); all there is\n"
    "13: mid 2025 (process_device_log then, ttnn-visualizer); no trace columns\n"
    "12: 2023-24 (process_device_log of that time); no meta data, Run ID is the run host ID,\n"
    "    ids have the packet type on top, types are begin, end, sum\n"
    " 6: 2023; no names, data and launches, zones of the firmware have the ids 1 to 4 of then";
constexpr const char* kOrderHelp =
    "device-csv: within a launch by time, or as in the log of the card (FW and KERNEL zone first).\n"
    "Without it as that era wrote: 15 and 6 columns time, 13 and 12 log";

struct Options {
  std::vector<std::string> from;
  std::string format = "device-csv", output = "-";
  int end_with_parent = 0;
  bool follow = false, anomalies = false, keep_duplicates = false, gzip = false;
  unsigned wait_ms = 0;
  std::string order, time = "device", host_clock = "raw", cycles, between;
  std::vector<std::string> cores, zones;
  std::vector<unsigned> riscs;
  std::vector<uint32_t> host_ids;
  int chip = -1;
  unsigned threads = 1;
  tools::FormatOptions format_options;
  tools::TracyFeed tracy;
};

int say(Exit code, const std::string& what) {
  std::fprintf(stderr, "ttexport: %s\n", what.c_str());
  return code;
}

void tell_anomalies(const tools::Pipeline& pipeline) {
  const markers::Anomalies a = pipeline.anomalies();
  const nlohmann::ordered_json j{
      {"unparsable_words", a.unparsable_words},   {"resyncs", a.resyncs},
      {"damaged_sentinels", a.damaged_sentinels}, {"overrun_frames", a.overrun_frames},
      {"truncated_packets", a.truncated_packets}, {"unknown_packets", a.unknown_packets},
      {"stale_markers", a.stale_markers},         {"duplicate_markers", a.duplicate_markers},
      {"repaired_times", a.repaired_times},       {"backward_times", a.backward_times},
      {"unnamed_ids", pipeline.unnamed_ids()},    {"ambiguous_ids", pipeline.ambiguous_ids()}};
  std::fprintf(stderr, "%s\n", j.dump().c_str());
}

// FROM..TO, either may be missing. False: it is none.
template <class Parse, class T>
bool parse_range(const std::string& text, Parse&& parse, T& from, T& to) {
  const size_t dots = text.find("..");
  if (dots == std::string::npos) return false;
  const std::string first = text.substr(0, dots), last = text.substr(dots + 2);
  return (first.empty() || parse(first, from)) && (last.empty() || parse(last, to)) && from <= to;
}

bool parse_number(const std::string& text, uint64_t& value) {
  char* end = nullptr;
  errno = 0;
  value = std::strtoull(text.c_str(), &end, 0);
  return std::isdigit(static_cast<unsigned char>(text[0])) && *end == 0 && errno == 0;
}

// 1.5s, 20ms, 3min as nanoseconds.
bool parse_time(const std::string& text, uint64_t& ns) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  const double each = unit == "ns"    ? 1
                      : unit == "us"  ? 1e3
                      : unit == "ms"  ? 1e6
                      : unit == "s"   ? 1e9
                      : unit == "min" ? 60e9
                                      : 0;
  if (end == text.c_str() || each == 0 || !(number >= 0) || number * each > 1e18) return false;
  ns = static_cast<uint64_t>(number * each);
  return true;
}

tools::Filter filter_of(const Options& o) {
  tools::Filter filter;
  for (const unsigned r : o.riscs) filter.riscs.insert(static_cast<uint8_t>(r));
  if (o.chip >= 0) filter.chip = static_cast<uint32_t>(o.chip);
  for (const std::string& core : o.cores) {
    unsigned x = 0, y = 0;
    if (std::sscanf(core.c_str(), "%u,%u", &x, &y) == 2)
      filter.cores.insert({static_cast<uint8_t>(x), static_cast<uint8_t>(y)});
  }
  filter.host_ids.insert(o.host_ids.begin(), o.host_ids.end());
  filter.zones.insert(o.zones.begin(), o.zones.end());
  parse_range(o.cycles, parse_number, filter.cycles_from, filter.cycles_to);
  return filter;
}

// What of a capture need not be read at all.
collect::Wanted wanted_of(const Options& o, const tools::Filter& filter) {
  collect::Wanted wanted;
  wanted.cycles_from = filter.cycles_from;
  wanted.cycles_to = filter.cycles_to;
  if (!o.between.empty()) {
    wanted.relative = true;
    parse_range(o.between, parse_time, wanted.read_from_ns, wanted.read_to_ns);
  }
  if (o.chip >= 0 || filter.cores.empty()) return wanted;
  const auto [least, most] = std::pair{*filter.cores.begin(), *filter.cores.rbegin()};  // by x, then y
  wanted.lane_from = collect::lane_number(0, least.first, least.second, 0);
  wanted.lane_to = collect::lane_number(0xff, most.first, most.second, 0xff);
  return wanted;
}

// A bar on a terminal, for work that takes long.
class ProgressBar {
 public:
  explicit ProgressBar(const tools::Source& source) : source_(source), wanted_(isatty(STDERR_FILENO)) {}
  ~ProgressBar() {
    if (shown_) std::fputs("\r\033[K", stderr);
  }
  void step() {
    if (!wanted_ || ++steps_ % 64 != 0) return;
    const auto now = Clock::now();
    if (now - last_ < std::chrono::milliseconds(200)) return;
    last_ = now;
    const auto done = source_.progress();
    if (!done) return;
    constexpr int kWidth = 40;
    const int filled = static_cast<int>(*done * kWidth);
    std::fprintf(stderr, "\r[%.*s%*s] %3.0f %%", filled, "########################################",
                 kWidth - filled, "", *done * 100);
    std::fflush(stderr);
    shown_ = true;
  }

 private:
  using Clock = std::chrono::steady_clock;
  const tools::Source& source_;
  const bool wanted_;
  bool shown_ = false;
  uint64_t steps_ = 0;
  Clock::time_point last_ = Clock::now();
};

volatile std::sig_atomic_t stop = 0;

// Until a signal; a second one ends it at once.
int serve(const Options& o) {
  struct sigaction action {};
  action.sa_handler = [](int) { stop = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  if (o.end_with_parent) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != o.end_with_parent) return kOk;  // it has ended already
  }
  tools::TracyFeed feed = o.tracy;
  feed.from = o.from;
  feed.wait_ms = o.wait_ms;
  feed.filter = filter_of(o);
  feed.metal_date = o.format_options.metal_date;
  tools::feed_tracy(feed, stop, [](const std::string& sentence) { say(kOk, sentence); });
  return kOk;
}

// The cause of chunks that are missing. None where chunks of a capture are left out on purpose: then only
// records count.
std::optional<shm::LossCause> missing_cause(const tools::Source& source, bool everything) {
  const bool live = source.loss_cause() == shm::LossCause::reader_lapped;
  return everything || live ? std::optional(source.loss_cause()) : std::nullopt;
}

int run(const Options& o) {
  const tools::Filter filter = filter_of(o);
  const auto source = tools::open_source(o.from, o.follow, o.wait_ms, wanted_of(o, filter), o.threads);
  tools::Output out(o.output, o.follow, o.gzip);
  const auto entry = std::find_if(tools::formats().begin(), tools::formats().end(),
                                  [&](const auto& e) { return o.format == e.name; });
  std::optional<tools::HostClock> host_clock;
  if (entry->timeline || o.format_options.host_times) host_clock = tools::host_clock_by_name(o.host_clock);
  const bool everything = o.between.empty() && filter.cycles_from == 0 && filter.cycles_to == ~uint64_t{0} &&
                          filter.cores.empty() && !filter.chip;
  tools::Pipeline pipeline(filter, o.keep_duplicates, o.format_options.metal_date, host_clock,
                           missing_cause(*source, everything));
  tools::FormatOptions format_options = o.format_options;
  if (entry->one_window)
    format_options.earliest_ns =
        tools::earliest_in(o.from, o.wait_ms, filter, format_options.metal_date, ~uint64_t{0}, false)
            .ns.value_or(0);
  const std::unique_ptr<tools::Format> format = entry->make(out, format_options);
  std::vector<uint64_t> chunk;
  auto bar = std::make_unique<ProgressBar>(*source);
  for (;;) {
    bar->step();
    const tools::Source::Next next = source->next(chunk);
    if (next == tools::Source::Next::end) break;
    if (next == tools::Source::Next::idle)
      out.flush();  // quiet: let a watcher of the file see what there is
    else {
      if (source->lost_beginning()) pipeline.lost_beginning();
      pipeline.push(chunk, *format);
    }
  }
  if (source->broke_off()) pipeline.broke_off();
  bar.reset();
  pipeline.finish(*format);
  format->end();
  out.commit();
  const auto losses = pipeline.losses();
  if (const std::string path = tools::put_losses_beside(o.output, *format, losses); !path.empty())
    say(kOk, std::to_string(losses.size()) + " intervals in which markers may be missing are in " + path);

  const auto complaints = source->complaints();
  for (const std::string& c : complaints) say(kOk, c);
  for (const std::string& n : pipeline.notices()) say(kOk, n);
  if (!pipeline.complaint().empty()) say(kOk, pipeline.complaint());
  for (const std::string& n : format->remarks()) say(kOk, n);
  const bool filtered =
      !everything || !filter.zones.empty() || !filter.riscs.empty() || !filter.host_ids.empty();
  if (filtered && pipeline.markers() == 0)
    say(kOk, "no marker passes the filters; without them `ttexport --from " + o.from.front() +
                 "` shows what cores, times and zones there are");
  const collect::LossView& view = pipeline.loss_view();
  if (const size_t reported = view.reported_count())
    say(kOk, std::to_string(reported) + " intervals of lost markers are reported in this source");
  if (const size_t ambiguous = pipeline.ambiguous_ids())
    say(kOk,
        std::to_string(ambiguous) + " zone ids belong to more than one zone; the first name known is shown");
  if (o.anomalies) tell_anomalies(pipeline);
  // What a capture lacks stands in its account of losses.
  if (source->loss_cause() == shm::LossCause::reader_lapped) {
    if (view.missing_words())
      return say(kReaderLost, std::to_string(view.missing_words()) + " words were missed");
    if (view.missing_chunks())
      return say(kReaderLost, "of the chunks that were missed none is known to have held words");
  }
  return complaints.empty() && pipeline.complaint().empty() ? kOk : kSourceDamaged;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Exports what ttcollect collected.", "ttexport");
  app.footer(kFooter);
  app.set_version_flag("--version", "ttexport " TTC_VERSION);
  Options o;
  std::string format_help = "output format:";
  std::vector<std::string> names;
  for (const tools::FormatEntry& entry : tools::formats()) {
    format_help += std::string("\n") + entry.name + ": " + entry.what;
    names.emplace_back(entry.name);
  }
  app.add_option("--from", o.from,
                 "live:NAME (see `ttcollect list`), FILE.ttc, or a directory of firmware memory\n"
                 "(meta.json, epochNNNN/); several as a comma list or repeated.\n"
                 "Without --follow their devices come one after another, with it as their chunks come")
      ->required()
      ->expected(1)
      ->take_all();
  app.add_option("--format", o.format, format_help)->check(CLI::IsMember(names))->capture_default_str();
  app.add_option("--output,-o", o.output, "file, complete or absent; - is standard output")
      ->capture_default_str();
  app.add_flag("--follow", o.follow,
               "go on until the collector ends; the file grows in place and is valid whenever it is cut");
  app.add_flag("--gzip", o.gzip,
               "as a gzip stream, which Perfetto opens as it is; cut short it holds what was written");
  app.add_flag(
      "!--no-args", o.format_options.arguments,
      "perfetto, chrome: leave out the host id, hash and replay of zones; files are a third smaller");
  app.add_option_function<std::string>(
         "--window",
         [&](const std::string& text) {
           const tools::TimeWindow window = *tools::parse_window(text);
           o.format_options.window_begin_ns = window.begin_ns;
           o.format_options.window_length_ns = window.length_ns;
         },
         "svg: BEGIN,LENGTH, such as 2ms,100us; BEGIN counts from the earliest marker (default: 0,100us)")
      ->check([](const std::string& text) {
        return tools::parse_window(text)
                   ? std::string()
                   : "'" + text + "' is no window; give BEGIN,LENGTH with units, such as 2ms,100us";
      });
  app.add_option("--listen", o.tracy.listen,
                 "tracy: [ADDR:]PORT to be connected to; without ADDR only from this machine (127.0.0.1),\n"
                 "port 0 takes any; the address is printed")
      ->capture_default_str();
  std::string of_66 = "fork";
  app.add_option(
         "--tracy-66", of_66,
         "tracy: whose servers say protocol 66, Tenstorrent's fork (until August 2025) or stock 0.11.0")
      ->check(CLI::IsMember({"fork", "0.11.0"}))
      ->capture_default_str();
  app.add_option(
         "--announce", o.tracy.announce_protocol,
         "tracy: tell Tracy servers that are looking for clients, as one of this protocol (82 is 0.14)")
      ->check([](const std::string& text) {
        for (const auto& dialect : tracy::dialects())
          if (text == std::to_string(dialect.protocol)) return std::string();
        return "'" + text +
               "' is no protocol known here; 0.10 has 64, 0.11.0 66, 0.11.1 69, 0.12 74, 0.13 76, 0.14 82";
      });
  app.add_option("--end-with-parent", o.end_with_parent,
                 "tracy: end when the process of this number has, which must have started this one");
  app.add_flag("--once", o.tracy.once, "tracy: end after the first server instead of at Ctrl-C");
  app.add_option("--wait-ms", o.wait_ms, "wait so long for a live source to appear");
  app.add_option("--columns", o.format_options.columns, kColumnsHelp)
      ->check(CLI::IsMember({6u, 12u, 13u, 15u}))
      ->capture_default_str();
  app.add_option("--order", o.order, kOrderHelp)->check(CLI::IsMember({"time", "log"}));
  app.add_option_function<std::string>(
         "--metal-date",
         [&](const std::string& text) { o.format_options.metal_date = markers::parse_metal_date(text); },
         "YYYY-MM of the workload's tt-metal: which numbers its NoC events, counters and dispatch commands "
         "have (default: the last month of the layout the card was found with)")
      ->check([](const std::string& text) {
        return markers::parse_metal_date(text)
                   ? std::string()
                   : "'" + text + "' is not a month; give year and month, such as 2026-04";
      });
  app.add_option("--time", o.time,
                 "device: cycles only. host: device-csv gets four columns more, host time, the bound of its\n"
                 "error, what the bound rests on (hard, conditional; collector/clock/CLOCK.md), and whether "
                 "it is final")
      ->check(CLI::IsMember({"device", "host"}))
      ->capture_default_str();
  app.add_option("--host-clock", o.host_clock,
                 "with --time host: raw (CLOCK_MONOTONIC_RAW), realtime or boottime")
      ->check(CLI::IsMember({"raw", "realtime", "boottime"}))
      ->capture_default_str();
  app.add_option("--core", o.cores, "only these cores: X,Y (NOC0 physical), repeatable")
      ->check([](const std::string& s) {
        unsigned x, y;
        char end;
        return std::sscanf(s.c_str(), "%u,%u%c", &x, &y, &end) == 2 && x < 64 && y < 64
                   ? std::string()
                   : "'" + s + "' is not X,Y";
      })
      ->expected(1)
      ->take_all();
  app.add_option("--risc", o.riscs, "only these RISCs: 0 BRISC, 1 NCRISC, 2-4 TRISC; repeatable")
      ->check(CLI::Range(0, 4))
      ->expected(1)
      ->take_all();
  app.add_option("--host-id", o.host_ids, "only launches of these ids, as the card has them; repeatable")
      ->expected(1)
      ->take_all();
  app.add_option("--zone", o.zones, "only zones of these names; repeatable")->expected(1)->take_all();
  app.add_option("--cycles", o.cycles,
                 "only markers of this device time, FROM..TO in cycles; either may be missing")
      ->check([](const std::string& s) {
        uint64_t from = 0, to = ~uint64_t{0};
        return parse_range(s, parse_number, from, to) ? std::string()
                                                      : "'" + s + "' is not FROM..TO in cycles";
      });
  app.add_option(
         "--between", o.between,
         "only what was read in this time since the capture's first words: 1.5s..2s, ..500ms; of a capture")
      ->check([](const std::string& s) {
        uint64_t from = 0, to = ~uint64_t{0};
        return parse_range(s, parse_time, from, to) ? std::string()
                                                    : "'" + s + "' is not FROM..TO, such as 1.5s..2s";
      });
  app.add_option("--threads", o.threads, "that decode a capture ahead")
      ->check(CLI::Range(0u, 64u))
      ->capture_default_str();
  app.add_option("--chip", o.chip, "only the device of this number, column 1 of the device CSV")
      ->check(CLI::Range(0, 1 << 20));
  app.add_flag("--anomalies", o.anomalies, "print the decoder's counts of oddities on stderr, as JSON");
  app.add_flag("--keep-duplicates", o.keep_duplicates, "also the zone starts that quick push repeats");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? kOk : kUsage;
  }
  if (!o.between.empty())
    for (const std::string& from : o.from)
      if (from.starts_with("live:"))
        return say(kUsage, "--between is of captures; a live source has no beginning");
  o.format_options.host_times = o.time == "host";
  o.tracy.fork_66 = of_66 == "fork";
  if (!o.order.empty()) o.format_options.order = o.order == "log" ? tools::Order::log : tools::Order::time;
  try {
    return o.format == "tracy" ? serve(o) : run(o);
  } catch (const tools::SourceError& e) {
    return say(kNoSource, e.what());
  } catch (const tracy::ListenError& e) {
    return say(kOutput, e.what());
  } catch (const tools::OutputError& e) {
    return say(kOutput, e.what());
  }
}
