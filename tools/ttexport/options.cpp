#include "tools/ttexport/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "collector/program/listen_address.hpp"
#include "collector/program/option_names.hpp"
#include "collector/program/option_units.hpp"
#include "collector/program/output_guard.hpp"
#include "collector/program/units.hpp"
#include "tools/formats/loss_csv.hpp"
#include "tools/pipeline/source.hpp"
#include "tools/tracy/listener.hpp"
#include "tools/viewers/earliest.hpp"

namespace ttc::tools {
namespace {

constexpr const char* kFooter =
    "Exit codes: 0 everything there was is in the output, 2 wrong usage, 3 source cannot be read, 4 source "
    "is cut or\n"
    "damaged (the output holds what was readable), 5 output failed, 6 this reader was too slow or "
    "came too\nlate and lacks chunks, 8 anything else (memory, an error of the system).\n"
    "Losses on the card's side are printed on stderr and do not change the exit code. They are in "
    "the\n"
    "viewers' formats as events of their lanes; beside a device CSV as OUT.losses.csv, written when there "
    "are "
    "any.";

constexpr const char* kMetricsPort = "9464";
constexpr const char* kColumnsHelp =
    "device-csv: the era of the programs that read it\n"
    "15: 2026 and late 2025 (process_device_log now, ttnn-visualizer); all there is\n"
    "13: mid 2025 (process_device_log then, ttnn-visualizer); no trace columns\n"
    "12: 2023-24 (process_device_log of that time); no meta data, Run ID is the run host ID,\n"
    "    ids have the packet type on top, types are begin, end, sum\n"
    " 6: 2023; no names, data and launches, zones of the firmware have the ids 1 to 4 of then";
constexpr const char* kOrderHelp =
    "device-csv: within a launch by time, or as in the log of the card (FW and KERNEL zone first).\n"
    "Default: as that era wrote: 15 and 6 columns time, 13 and 12 log";

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

bool parse_time(const std::string& text, uint64_t& ns) {
  const program::ParsedUnits parsed = program::parse_duration(text);
  ns = parsed.value.value_or(0);
  return parsed.value.has_value();
}

void add_source_and_output(CLI::App& app, ExportOptions& o) {
  std::string format_help = "output format:";
  std::vector<std::string> names;
  for (const FormatEntry& entry : formats()) {
    format_help += std::string("\n") + entry.name + ": " + entry.what;
    names.emplace_back(entry.name);
  }
  app.add_option(
         "--from", o.from,
         "live:NAME (see `ttcollect list`), FILE.ttc, or a directory of firmware memory\n"
         "(meta.json, epochNNNN/); several as a comma list or repeated. A directory of captures\n"
         "<host>_rank_<N>.ttc, as ttfleet dump leaves it: ranks as tracks, on one time line.\n"
         "Without --follow their devices come one after another, with it as their chunks come.\n"
         "profile_log_device.csv of the workload, for device-csv and the viewers' formats: chips that the "
         "others\ndo not have, marked as such; times of one clock if sync_device_info.csv is beside it")
      ->required()
      ->expected(1)
      ->take_all();
  app.add_option("--format", o.format, format_help)->check(program::one_of(names))->capture_default_str();
  app.add_option("--output,-o", o.output, "file, complete or absent; - is standard output")
      ->capture_default_str();
  app.add_flag("--follow", o.follow,
               "continue until the collector ends; the file grows in place and is valid whenever it is cut.\n"
               "SIGINT, SIGTERM and SIGHUP end it in order; without --follow they leave no output behind");
  app.add_flag(
      "--from-now", o.from_now,
      "with --follow, or tracy: of live sources only what is collected from now on. Without it what the "
      "ring\noverwrote before ttexport came is a loss of every lane, and the exit code is 6");
  program::add_duration_option(app, "--wait", [&o](uint64_t ns) { o.wait_ms = program::milliseconds_of(ns); },
                               "wait up to this long for a live source to appear: 20s", {0});
  app.add_flag("--redact", o.redact,
               "leave out personal data: host, command line and variables of the workload, directories of "
               "source files");
  app.add_option(
         "--threads", o.threads,
         "1: everything in one thread. From 2 on so many decode, make rows, traces and gzip, and write,\n"
         "and all but one unpack a capture ahead. The output is the same")
      ->check(CLI::Range(1u, 64u))
      ->capture_default_str();
}

void add_format_options(CLI::App& app, ExportOptions& o) {
  app.add_flag("--gzip", o.gzip,
               "as gzip, which Perfetto opens as it is; with --follow in whole members, so that a file "
               "whose\nexporter was "
               "killed between two writes is opened as well");
  app.add_flag(
      "!--no-args", o.format_options.arguments,
      "perfetto: leave out the host id, hash, replay and cycles of zones; files are a third smaller. chrome: "
      "leave\nout all arguments, so that readers for whom they make another frame of a zone (speedscope) sum "
      "it up");
  app.add_option("--profilers", o.profilers,
                 "perfetto, chrome, svg: records of the real-time profiler as rows below the programs; a "
                 "file of ttmon\n"
                 "profilers --trace, made during the run")
      ->type_name("FILE");
  app.add_option(
         "--window", o.window,
         "svg: BEGIN,LENGTH after the earliest marker, such as 2ms,100us; op:17 (host id; op:17#2 the "
         "second\nof it), zone:NAME#3 (the third by its begin), step:2 (a replay of a trace). Without it "
         "the first program")
      ->check([](const std::string& text) {
        return !text.empty() && parse_window(text) ? std::string()
                                                   : "'" + text + "' is no window; " + kWindowForms;
      });
  app.add_option("--columns", o.format_options.columns, kColumnsHelp)
      ->check(CLI::IsMember({6u, 12u, 13u, 15u}))
      ->capture_default_str();
  app.add_option("--order", o.order, kOrderHelp)->check(program::one_of({"time", "log"}));
  app.add_option_function<std::string>(
         "--metal-date",
         [&o](const std::string& text) { o.format_options.metal_date = markers::parse_metal_date(text); },
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
      ->check(program::one_of({"device", "host"}))
      ->capture_default_str();
  app.add_option("--host-clock", o.host_clock,
                 "with --time host: raw (CLOCK_MONOTONIC_RAW), realtime or boottime")
      ->check(program::one_of({"raw", "realtime", "boottime"}))
      ->capture_default_str();
}

void add_sqlite_options(CLI::App& app, ExportOptions& o) {
  app.add_flag(
      "--append", o.append,
      "sqlite: add to a database that ttexport wrote, all or nothing; the file is made where there is none");
  app.add_flag("--markers", o.markers, "sqlite: also the table of single markers, two a zone and all events");
  app.add_option("--host", o.host,
                 "sqlite: column `host` of the captures (default: as the collector recorded it)");
  app.add_option("--rank", o.rank, "sqlite: column `rank` of the captures, of a run of several processes")
      ->check(CLI::Range(0, 1 << 30));
}

void add_tracy_options(CLI::App& app, ExportOptions& o) {
  app.add_option("--listen", o.tracy.listen,
                 "tracy, prometheus: [ADDR:]PORT to be connected to; without ADDR only from this machine "
                 "(127.0.0.1),\n"
                 "port 0 takes any; the address is printed. prometheus without it: 9464")
      ->check(program::check_listen)
      ->capture_default_str();
  app.add_option(
         "--tracy-66", o.of_66,
         "tracy: whose servers use protocol 66. 0.11.0: stock Tracy's, and Tenstorrent's fork (until August "
         "2025)\ntakes its form without harm; fork: device contexts for the fork, which stock 0.11.0 crashes "
         "on")
      ->check(program::one_of({"fork", "0.11.0"}))
      ->capture_default_str();
  app.add_option(
         "--tracy-lanes", o.tracy_lanes,
         "tracy: how stock servers show a processor. threads: a thread, whose zones have texts; "
         "contexts:\na lane of a GPU context of its core, which Tracy's statistics of GPU zones count; at "
         "most 256 cores")
      ->check(program::one_of({"threads", "contexts"}))
      ->capture_default_str();
  app.add_option("--announce", o.tracy.announce_protocol,
                 "tracy: announce this client to Tracy servers, as one of this protocol (82 is 0.14)")
      ->check([](const std::string& text) {
        for (const auto& dialect : tracy::dialects())
          if (text == std::to_string(dialect.protocol)) return std::string();
        return "'" + text +
               "' is no protocol known here; 0.10 has 64, 0.11.0 66, 0.11.1 69, 0.12 74, 0.13 76, 0.14 82";
      });
  app.add_option("--end-with-parent", o.end_with_parent,
                 "tracy, prometheus: end when the process of this number ends; it must be the parent");
  app.add_flag("--once", o.tracy.once,
               "tracy: end after the first server instead of at Ctrl-C; the exit code is 5 when it did not "
               "get everything");
  app.add_flag(
      "--growing", o.tracy.growing,
      "tracy: FILE.ttc is still written, or not there yet; servers get it as it grows, up to its end");
}

void add_filters(CLI::App& app, ExportOptions& o) {
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
  app.add_option("--chip", o.chip, "only the device of this number, column 1 of the device CSV")
      ->check(CLI::Range(0, 1 << 20));
}

void add_diagnostics(CLI::App& app, ExportOptions& o) {
  app.add_flag("--anomalies", o.anomalies, "print the decoder's counts of oddities on stderr, as JSON");
  app.add_flag("--keep-duplicates", o.keep_duplicates, "also the zone starts that quick push repeats");
}

// The formats to which an option belongs. An option that is not here belongs to all.
struct OptionOf {
  const char* option;
  std::vector<std::string_view> formats;
};

void refuse_options_of_other_formats(const CLI::App& app, const std::string& format) {
  static const OptionOf kOf[] = {
      {"--no-args", {"perfetto", "chrome"}},
      {"--profilers", {"perfetto", "chrome", "svg"}},
      {"--window", {"svg"}},
      {"--columns", {"device-csv"}},
      {"--order", {"device-csv"}},
      {"--time", {"device-csv"}},
      {"--append", {"sqlite"}},
      {"--markers", {"sqlite"}},
      {"--host", {"sqlite"}},
      {"--rank", {"sqlite"}},
      {"--listen", {"tracy", "prometheus"}},
      {"--tracy-66", {"tracy"}},
      {"--tracy-lanes", {"tracy"}},
      {"--announce", {"tracy"}},
      {"--end-with-parent", {"tracy", "prometheus"}},
      {"--once", {"tracy"}},
      {"--growing", {"tracy"}},
  };
  for (const auto& [option, formats] : kOf) {
    if (app.count(option) == 0 || std::find(formats.begin(), formats.end(), format) != formats.end())
      continue;
    std::string names;
    for (const std::string_view name : formats) names.append(names.empty() ? "" : " and ").append(name);
    throw program::UsageError(
        std::string(option).append(" is of --format ").append(names).append(", not of ").append(format));
  }
  if (format == "sqlite")
    for (const char* option : {"--gzip", "--redact", "--host-clock", "--keep-duplicates", "--anomalies"})
      if (app.count(option))
        throw program::UsageError(std::string(option) + " is of formats that are text, not of sqlite");
  if (format == "prometheus")
    for (const char* option : {"--core", "--risc", "--host-id", "--zone", "--cycles", "--chip", "--from-now",
                               "--anomalies", "--keep-duplicates", "--metal-date"})
      if (app.count(option))
        throw program::UsageError(std::string(option) +
                                  " is of single markers; metrics are of whole devices");
  if (format != "tracy" && format != "prometheus") return;
  for (const char* option :
       {"--output", "--follow", "--gzip", "--threads", "--host-clock", "--between", "--redact"})
    if (app.count(option))
      throw program::UsageError(std::string(option) + " is of formats that are written, not of " + format +
                                ", which is served");
}

}  // namespace

void add_options(CLI::App& app, ExportOptions& o) {
  app.footer(kFooter);
  add_source_and_output(app, o);
  add_format_options(app, o);
  add_sqlite_options(app, o);
  add_tracy_options(app, o);
  add_filters(app, o);
  add_diagnostics(app, o);
}

void complete(const CLI::App& app, ExportOptions& o) {
  refuse_options_of_other_formats(app, o.format);
  const std::vector<std::string> sources = named_sources(o.from);
  const auto live = [](const std::string& from) { return from.starts_with("live:"); };
  if (!o.between.empty() && std::any_of(sources.begin(), sources.end(), live))
    throw program::UsageError("--between is of captures; a live source has no beginning");
  const bool takes_logs = o.format != "sync-info" && o.format != "telemetry-csv" && o.format != "sqlite";
  if (const auto log = std::find_if(sources.begin(), sources.end(), is_device_log);
      log != sources.end() && !takes_logs)
    throw program::UsageError(
        *log + " is a device log; its chips go into device-csv and the viewers' formats, not " + o.format);
  if (o.from_now && !o.follow && o.format != "tracy")
    throw program::UsageError("--from-now is of a source that is followed; add --follow");
  if (o.tracy.growing && std::any_of(sources.begin(), sources.end(), live))
    throw program::UsageError("--growing is of captures; a live source is followed as it is");
  if (o.from_now && std::none_of(sources.begin(), sources.end(), live))
    throw program::UsageError("--from-now is of live sources; a capture begins where it begins");
  o.format_options.host_times = o.time == "host";
  o.tracy.fork_66 = o.of_66 == "fork";
  o.tracy.device_contexts = o.tracy_lanes == "contexts";
  if (!o.order.empty()) o.format_options.order = o.order == "log" ? Order::log : Order::time;
  if (o.format == "prometheus") {
    if (app.count("--listen") == 0) o.tracy.listen = kMetricsPort;
    if (!std::all_of(sources.begin(), sources.end(), live))
      throw program::UsageError("metrics are of live collectors: --from live:NAME (`ttcollect list`)");
  }
  if (o.format == "tracy" || o.format == "prometheus") return;
  if (o.format == "sqlite" && o.output == "-")
    throw program::UsageError("a database is not written to standard output; name a file with -o");
  program::refuse_output_over_input(o.output, sources);
  if (o.format == "device-csv") program::refuse_output_over_input(path_beside(o.output), sources);
}

Filter filter_of(const ExportOptions& o) {
  Filter filter;
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

collect::Wanted wanted_of(const ExportOptions& o, const Filter& filter) {
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

}  // namespace ttc::tools
