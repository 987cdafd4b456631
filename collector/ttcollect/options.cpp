#include "collector/ttcollect/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "collector/inspect/device_list.hpp"
#include "collector/program/listen_address.hpp"
#include "collector/program/option_names.hpp"
#include "collector/program/option_units.hpp"
#include "collector/program/output_guard.hpp"
#include "collector/program/program.hpp"

namespace ttc::collect {
namespace {

#define TTC_ANYTHING_ELSE "8 anything else (memory, an error of the system)."
constexpr const char* kFooter =
    "Exit codes: 0 ended in order, 2 wrong usage, 3 no such device or it cannot be opened, 4 no profiler "
    "found on it,\n"
    "5 segment cannot be made or is taken, 6 output file, --tracy or --metrics failed, 7 a card vanished "
    "while "
    "collecting (what\n"
    "was read is kept, the others go on), " TTC_ANYTHING_ELSE
    "\n"
    "With 3, 4 and 5 no data was collected. Devices that are named one by one start all or none; of 'all', a "
    "card that\n"
    "cannot be collected from is named and left out.";
constexpr const char* kListFooter =
    "Exit codes: 0 ok, 2 wrong usage, 3 the PCI bus cannot be searched, " TTC_ANYTHING_ELSE;
constexpr const char* kDoctorFooter =
    "Exit codes: 0 nothing stands in the way, 1 something does, 2 wrong usage, 3 no such process, or the PCI "
    "bus cannot\n"
    "be searched, " TTC_ANYTHING_ELSE;
constexpr const char* kProbeFooter =
    "Exit codes: 0 ok, 2 wrong usage, 3 no such device, 7 no tile of it can be read, " TTC_ANYTHING_ELSE;
constexpr const char* kSelftestFooter =
    "Exit codes: 0 nothing is contradicted, 2 wrong usage, 3 no such device, 7 it went away, 9 an assumption "
    "is\n"
    "contradicted, " TTC_ANYTHING_ELSE;
constexpr const char* kCleanFooter = "Exit codes: 0 ok, 2 wrong usage, " TTC_ANYTHING_ELSE;
constexpr const char* kSyncFooter =
    "Exit codes: 0 ok, 2 wrong usage, 3 no such device, 6 --svg cannot be written, 7 a card went "
    "away, " TTC_ANYTHING_ELSE;

constexpr const char* kLayoutHelp =
    "G1-16  late 2024 to early 2025: the word with the launch's id is shared with a run counter\n"
    "G1     until mid 2025: a 32-bit launch id, no trace counter\n"
    "G2     second half of 2025: with a trace counter\n"
    "G3     January to July 2026: DRAM addresses by RISC\n"
    "G4     since mid July 2026: a control vector of 64 words\n"
    "Discovery finds them by themselves; a name is needed where two fit, and is not checked.";

std::string layout_names() {
  std::string names;
  for (const markers::Layout& l : markers::layouts())
    names += (names.empty() ? "" : ", ") + std::string(l.name);
  return names;
}

std::string check_layout(const std::string& given) {
  if (given == "help") {
    std::printf("%s\n", kLayoutHelp);
    throw CLI::Success();
  }
  return markers::layout_by_name(given) ? ""
                                        : "'" + given + "' is not a known layout; it takes " + layout_names();
}

// Returns the error in --cpu as a sentence, or an empty string.
std::string read_cpus(const std::string& list, CpuSet& cpus) {
  if (list.empty()) return {};
  const auto parsed = parse_cpus(list);
  if (!parsed) return "--cpu " + list + " is no list of CPUs; it takes numbers and ranges, as in 2-3,10";
  const CpuSet allowed = allowed_cpus();
  for (const unsigned cpu : *parsed)
    if (!allowed.contains(cpu))
      return "--cpu names CPU " + std::to_string(cpu) + ", on which this process may not run; it may on " +
             to_string(allowed);
  cpus = *parsed;
  return {};
}

// "50%" -> 0.5; nothing if it is no percentage.
std::optional<double> share_of(const std::string& text) {
  char* end = nullptr;
  const double percent = std::strtod(text.c_str(), &end);
  const bool whole = end != text.c_str() && (*end == 0 || std::strcmp(end, "%") == 0);
  return whole ? std::optional(percent / 100) : std::nullopt;
}

// What is wrong with --recycle-at as a sentence, or an empty string.
std::string read_fill(const std::string& text, double& fill) {
  const auto share = share_of(text);
  if (!share || *share < 0.3 || *share > 0.8)
    return "--recycle-at " + text +
           " is no share of a log; it takes 30% to 80%, less is not worth a store and more "
           "leaves no room for what comes meanwhile";
  fill = *share;
  return {};
}

// Likewise, --link-share.
std::string read_link_share(const std::string& text, double& of_link) {
  if (text.empty()) return {};
  const auto share = share_of(text);
  if (!share || !(*share >= 0.01 && *share <= 1))
    return "--link-share " + text + " is no share of the link; it takes 1% to 100%";
  of_link = *share;
  return {};
}

void add_device_options(CLI::App& app, CommandLine& line) {
  RunOptions& o = line.run;
  app.add_option(
         "--device,-d", line.typed_devices,
         "the card: 0, /dev/tenstorrent/0, /dev/tenstorrent/by-id/..., pci:0000:01:00.0 or emu:NAME;\n"
         "several as A,B or repeated; all for every card present.\n"
         "The place in the list is the chip number, column 1 of the device CSV")
      ->expected(1)
      ->take_all();
  program::add_duration_option(app, "--wait", o.wait_ns,
                               "wait up to this long for cards and profilers to appear: 30s", {0});
  app.add_option("--layout", o.layout, "profiler generation, instead of discovery; help lists them")
      ->check(check_layout);
  app.add_option("--mode", line.mode, "how the firmware was built, instead of finding out")
      ->check(program::one_of({"normal", "trace-only", "accumulate"}));
  app.add_option("--region-bytes", o.drain.bytes_per_risc,
                 "bytes per RISC in the DRAM log, instead of learning them (48000 is tt-metal's default)")
      ->check(CLI::Range(48u, 1u << 28));
  app.add_option("--metal-home", o.metal_home,
                 "where the zone logs are; default: as in the workload's environment");
  app.add_flag(
      "--reattach", o.reattach,
      "when a card is reset or goes away, wait until it is back and its profiler runs, and go on in the\n"
      "same segment and file as a new epoch; only a signal or --for ends the run");
  app.add_flag("!--no-power-vote", o.open.power_vote,
               "send no power vote, which makes a real card's firmware keep tiles and memory clocked while "
               "collecting");
}

void add_run_options(CLI::App& app, CommandLine& line) {
  RunOptions& o = line.run;
  program::add_duration_option(
      app, "--for", o.duration_ns,
      "stop after this long: 500ms, 5s, 10min (default: until SIGINT, SIGTERM or SIGHUP)");
  app.add_option("--output,-o", o.output, "also write a capture file of all devices, FILE.ttc");
  app.add_flag("--redact", line.capture.options.redact,
               "leave out of files (-o, --flight) what is personal: name of the host, command line and "
               "variables of the\n"
               "workload, directories of source files, numbers of processes and of the card. The ring has it "
               "as before");
  add_capture_options(app, line.capture);
  add_flight_options(app, line.capture);
  app.add_flag("--tracy{8600}", o.tracy,
               "serve Tracy GUIs and capture programs while collecting; --tracy=[ADDR:]PORT, 8600 without.\n"
               "Only from this machine unless ADDR is another; ttexport --format tracy has the rest")
      ->check(program::check_listen);
  app.add_option("--metrics", o.metrics,
                 "serve metrics for Prometheus while collecting, at http://ADDR:PORT/metrics: [ADDR:]PORT, "
                 "such as 9464.\n"
                 "Only to this machine unless ADDR is another (docs/metrics.md)")
      ->check(program::check_listen);
  app.add_option("--publish", o.publish,
                 "publish op rows, losses, clocks and telemetry to this bus (nats://HOST:4222) by ttfleet "
                 "agent, which obeys\n"
                 "commands of ttfleet, too; docs/fleet.md");
  app.add_option("--publish-with", o.publish_with,
                 "further options of ttfleet agent, as in --publish-with=--job=J; repeatable")
      ->expected(1)
      ->take_all();
  app.add_flag("--json", line.as_json, "print one JSON object at the end");
  CLI::Option* quiet = app.add_flag("--quiet,-q", o.quiet, "no live line, no remarks");
  app.add_flag("--verbose,-v", o.verbose,
               "details: layout and mode, CPUs, link, clock, sweeps, memory of the capture, recycling")
      ->excludes(quiet);
}

void add_place_options(CLI::App& app, CommandLine& line) {
  RunOptions& o = line.run;
  constexpr program::UnitRange kRing{uint64_t{256} << 10, uint64_t{1} << 31};
  program::add_size_option(app, "--ring", o.ring_bytes,
                           "size of each device's shared ring: 32MiB (at least 256KiB)", kRing);
  app.add_option("--group", o.group, "group that may read the segment (mode 0640)");
  CLI::Option* cpu_option = app.add_option(
      "--cpu", line.cpus, "keep the drain threads on these CPUs, as in 2-3,10 (default: near a real card)");
  app.add_flag("!--no-pin", o.pin, "leave threads and ring memory where the kernel puts them")
      ->excludes(cpu_option);
  app.add_flag(
      "--realtime", o.real_time,
      "drain threads under SCHED_FIFO (or the best nice value) and memory locked, as far as permitted;\n"
      "one line has what was granted, what is missing and how to grant it. At most 90 % of a CPU");
  app.add_flag("--plain", o.plain, "do not use io_uring");
  app.add_flag("--descriptor-reads", o.descriptor_reads,
               "read payload through the card's descriptor with io_uring, where it has one");
}

void add_pace_options(CLI::App& app, CommandLine& line) {
  constexpr uint64_t kSecond = 1'000'000'000;
  program::add_duration_option(
      app, "--idle", line.idle_ns,
      "longest time between two polls of a core; worst case of the latency (default: 1ms)",
      {10'000, kSecond});
  program::add_duration_option(app, "--busy", line.busy_ns,
                               "time between two polls of a core that had news (default: 50us)",
                               {0, kSecond});
  app.add_option(
      "--link-share", line.link_share,
      "the most that polls may take of what single loads from the card can carry, 1% to 100% (default: "
      "all).\n"
      "Polls beyond that wait, but not past their deadline of 2.5 ms");
}

void add_recycle_options(CLI::App& app, CommandLine& line) {
  RunOptions& o = line.run;
  CLI::Option* recycle = app.add_flag(
      "--recycle", o.recycle,
      "WRITES TO THE CARD: empties its logs while programs run, so that a capture needs no end.\n"
      "Where that is not known to be safe, the reason is printed and the card is only read");
  app.add_option("--recycle-at", line.recycle_at, "how full a log is when it is emptied: 30% to 80%")
      ->needs(recycle)
      ->capture_default_str();
  app.add_option("--audit", o.audit, "append a line for every store of --recycle, and for what came of it")
      ->needs(recycle);
}

void add_clock_options(CLI::App& app, CommandLine& line) {
  RunOptions& o = line.run;
  app.add_flag(
      "--sync-host-device,!--no-sync", o.sync,
      "model the card's clock, so that readers can convert marker times to host time with an error\n"
      "bound (on by default; --no-sync reads no wall clock for it). At most 1000 round trips a second");
  app.add_option("--sync-rate", o.sampler.rate_hz,
                 "samples of the clock a second while its frequency is steady; more while it moves")
      ->check(CLI::Range(2.0, 500.0))
      ->capture_default_str();
  app.add_flag(
      "--reference-timer", o.sampler.reference_timer,
      "also read the card's reference timer for it, eight times a second, which gives the crystal's rate.\n"
      "Blackhole only; unverified on silicon, where `ttcollect selftest --reference-timer` examines "
      "it");
}

void add_selftest(CLI::App& app, CommandLine& line) {
  line.selftest = program::add_command(
      app, "selftest",
      "is what ttcollect assumes true of this card, link and host? Five minutes on any card; only reads.\n"
      "A running profiled workload is observed, too. The text has no personal data");
  line.selftest->footer(kSelftestFooter);
  line.selftest->add_option("--device,-d", line.tested, "the card");
  program::add_duration_option(*line.selftest, "--for", line.test_ns, "instead of five minutes: 30s",
                               {500'000'000, 86'400'000'000'000});
  line.selftest->add_flag("--until-contradicted", line.test_until_contradicted,
                          "end as soon as an assumption is contradicted");
  line.selftest->add_flag("--reference-timer", line.test_reference_timer,
                          "also read Blackhole's reference timer, which is unverified on silicon");
  line.selftest->add_flag("--json", line.selftest_json, "as JSON");
  line.selftest->add_flag("--list", line.selftest_list, "only what is assumed, with constants and sources");
}

void add_commands(CLI::App& app, CommandLine& line) {
  line.list = program::add_command(app, "list", "cards and segments that are there");
  line.list->footer(kListFooter);
  line.list->add_flag("--json", line.list_json, "as JSON");
  line.list
      ->add_option("--root", line.root, "read the sys, proc and dev below DIR: a host's, from a container")
      ->check(CLI::ExistingDirectory);
  line.doctor = program::add_command(
      app, "doctor",
      "what stands in the way of profiling on this machine: who holds cards, what runs with which "
      "variables,\n"
      "ports, driver, limits; each with evidence, cause and remedy. No card is opened");
  line.doctor->footer(kDoctorFooter);
  line.doctor->add_flag("--json", line.doctor_json, "as JSON");
  line.doctor
      ->add_option("--for", line.doctor_pid, "only what concerns process PID, its cards and the machine")
      ->check(CLI::Range(1, 1 << 22))
      ->option_text("PID");
  line.doctor
      ->add_option("--root", line.doctor_root,
                   "read the sys, proc, dev and var below DIR: a host's, from a container")
      ->check(CLI::ExistingDirectory);
  line.probe = program::add_command(app, "probe", "measure how long reading a card takes from here");
  line.probe->footer(kProbeFooter);
  line.probe->add_option("--device,-d", line.probed, "the card")->required();
  line.probe->add_option("--samples", line.samples, "of each operation")
      ->check(CLI::Range(1u, 1000000u))
      ->capture_default_str();
  line.probe->add_flag("--json", line.probe_json, "as JSON");
  add_selftest(app, line);
  line.clean = program::add_command(app, "clean", "remove segments no living collector holds");
  line.sync = program::add_command(
      app, "sync",
      "measure the clocks of --device for 10 s or --for: offset, frequency, drift, steps, brackets, bounds.\n"
      "Takes --device, --for, --sync-rate, --reference-timer, --json; needs no profiler on the card and no "
      "segment");
  line.clean->footer(kCleanFooter);
  line.sync->footer(kSyncFooter);
  line.sync->fallthrough();
  line.sync->add_option("--svg", line.svg, "also draw it: FILE.svg");
}

void refuse(const std::string& wrong) {
  if (!wrong.empty()) throw program::UsageError(wrong);
}

}  // namespace

void add_options(CLI::App& app, CommandLine& line) {
  app.footer(kFooter);
  add_device_options(app, line);
  add_run_options(app, line);
  add_place_options(app, line);
  add_pace_options(app, line);
  add_recycle_options(app, line);
  add_clock_options(app, line);
  add_commands(app, line);
  app.require_subcommand(0, 1);
}

void complete(CommandLine& line) {
  RunOptions& o = line.run;
  o.open.reference_timer = o.sampler.reference_timer;
  refuse(read_cpus(line.cpus, o.cpus));
  refuse(read_fill(line.recycle_at, o.recycle_at));
  refuse(read_link_share(line.link_share, o.link_share));
  for (const std::string* output : {&o.output, &o.audit, &line.svg}) program::refuse_foreign_link(*output);
  refuse(resolve_capture_options(line.capture, o.output));
  refuse(resolve_flight_options(line.capture, o.output, o.ring_bytes));
  if (line.capture.options.redact && o.output.empty() && o.flight.bytes == 0 &&
      line.capture.flight.bytes == 0)
    throw program::UsageError("--redact is of files; name one with -o");
  o.capture = line.capture.options;
  o.flight = line.capture.flight;
  o.flight.plain = o.plain;
  o.flight.redact = o.capture.redact;
  if (!line.mode.empty()) o.mode = markers::mode_by_name(line.mode);
  o.devices = listed_devices(line.typed_devices);
  o.drain.idle_interval_ns = line.idle_ns;
  o.drain.busy_interval_ns = std::min(line.busy_ns, line.idle_ns);
}

}  // namespace ttc::collect
