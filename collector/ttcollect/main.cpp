// ttcollect: the command line. Everything it does is in run.cpp.
#include <malloc.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "collector/capture/capture_file.hpp"
#include "collector/inspect/device_list.hpp"
#include "collector/inspect/inventory.hpp"
#include "collector/inspect/probe.hpp"
#include "collector/inspect/sync_run.hpp"
#include "collector/ttcollect/capture_commands.hpp"
#include "collector/ttcollect/capture_options.hpp"
#include "collector/ttcollect/report.hpp"

namespace {

using namespace ttc;

enum Exit {
  kOk = 0,
  kUsage = 2,
  kNoDevice = 3,
  kNoProfiler = 4,
  kSegment = 5,
  kOutput = 6,
  kCardVanished = 7
};

constexpr const char* kFooter =
    "Exit codes: 0 ended in order, 2 wrong usage, 3 no such device or it cannot be opened, 4 no profiler "
    "found on it, 5 segment "
    "cannot be\n"
    "made or is taken, 6 output file or --tracy failed, 7 a card vanished while collecting (what was read is "
    "kept, the "
    "others\n"
    "went on). 3, 4 and 5 say that nothing was collected. Devices named one by one start all or none; of "
    "'all', a card\n"
    "that cannot be collected from is told and left out.\n"
    "list: 3 the PCI bus cannot be searched. probe: 3 no such device, 7 no tile of it can be read.";

constexpr const char* kLayoutHelp =
    "G1-16  late 2024 to early 2025: the word with the launch's id is shared with a run counter\n"
    "G1     until mid 2025: a 32-bit launch id, no trace counter\n"
    "G2     second half of 2025: with a trace counter\n"
    "G3     January to July 2026: DRAM addresses by RISC\n"
    "G4     since mid July 2026: a control vector of 64 words\n"
    "Discovery finds them by themselves; a name is needed where two fit, and is believed.";

int say(Exit code, const std::string& what) {
  std::fprintf(stderr, "ttcollect: %s\n", what.c_str());
  return code;
}

// What went wrong on the way, one sentence each; the first kind found decides.
int verdict(const collect::RunResult& result, const std::string& output) {
  const collect::DeviceResult* failed = nullptr;
  for (const collect::DeviceResult& d : result.devices)
    if (!d.output_error.empty() && !failed) failed = &d;
  if (failed) say(kOutput, output + ": " + failed->output_error);
  bool vanished = false;
  for (const collect::DeviceResult& d : result.devices) {
    if (!d.card_vanished) continue;
    vanished = true;
    say(kCardVanished, d.identity.spec + " went away unannounced; everything read until then is in live:" +
                           d.live_name + (output.empty() ? "" : " and " + output));
  }
  if (!result.viewer_failure.empty()) say(kOutput, result.viewer_failure);
  return failed || !result.viewer_failure.empty() ? kOutput : vanished ? kCardVanished : kOk;
}

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

// What is wrong with --cpu, as a sentence; empty when nothing is.
std::string read_cpus(const std::string& list, collect::CpuSet& cpus) {
  if (list.empty()) return {};
  const auto parsed = collect::parse_cpus(list);
  if (!parsed) return "--cpu " + list + " is no list of CPUs; it takes numbers and ranges, as in 2-3,10";
  const collect::CpuSet allowed = collect::allowed_cpus();
  for (const unsigned cpu : *parsed)
    if (!allowed.contains(cpu))
      return "--cpu names CPU " + std::to_string(cpu) + ", on which this process may not run; it may on " +
             collect::to_string(allowed);
  cpus = *parsed;
  return {};
}

// "50%" -> 0.5; what is wrong with it as a sentence.
std::string read_share(const std::string& text, double& share) {
  char* end = nullptr;
  const double percent = std::strtod(text.c_str(), &end);
  const bool whole = end != text.c_str() && (*end == 0 || std::strcmp(end, "%") == 0);
  if (!whole || percent < 30 || percent > 80)
    return "--recycle-at " + text +
           " is no share of a log; it takes 30% to 80%, less is not worth a store and more "
           "leaves no room for what comes meanwhile";
  share = percent / 100;
  return {};
}

int list_all(bool as_json, const std::string& root) {
  try {
    collect::list(as_json, card::roots_below(root));
    return kOk;
  } catch (const card::InventoryError& e) {
    return say(kNoDevice, e.what());
  }
}

int probe_one(const std::string& device, const card::OpenOptions& open, uint32_t samples, bool as_json) {
  try {
    collect::probe(device, open, samples, as_json);
    return kOk;
  } catch (const card::OpenError& e) {
    return say(kNoDevice, e.what());
  } catch (const collect::ProbeError& e) {
    return say(kCardVanished, e.what());
  }
}

int run_sync(const collect::RunOptions& o, bool as_json, const std::string& svg) {
  if (!o.output.empty())
    return say(kUsage,
               "sync collects no markers, so there is nothing for --output; --svg FILE draws its result");
  collect::SyncOptions options;
  options.devices = o.devices;
  if (o.duration_ns) options.duration_ns = o.duration_ns;
  options.sampler = o.sampler;
  options.open = o.open;
  try {
    const std::vector<collect::SyncResult> results = collect::sync(options);
    std::fputs((as_json ? collect::sync_json(results) + "\n" : collect::sync_table(results)).c_str(), stdout);
    if (!svg.empty()) {
      std::ofstream file(svg);
      file << collect::sync_svg(results) << std::flush;
      if (!file) return say(kOutput, svg + " cannot be written: " + std::strerror(errno));
    }
    for (const collect::SyncResult& r : results)
      if (r.vanished) return say(kCardVanished, r.identity.spec + " went away while its clock was looked at");
    return kOk;
  } catch (const collect::DeviceListError& e) {
    return say(kUsage, e.what());
  } catch (const card::OpenError& e) {
    return say(kNoDevice, e.what());
  }
}

}  // namespace

int main(int argc, char** argv) {
  // Blocks of a capture are given back to the kernel as soon as they are written: left to itself the C
  // library learns to keep such large pieces, and memory would stay at what one slow moment of a disk had
  // needed.
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  // A limit on the size of files (RLIMIT_FSIZE, some quotas) is an error of a write, not the end of the run.
  std::signal(SIGXFSZ, SIG_IGN);
  CLI::App app("Collects device-profiler markers from Tenstorrent cards beside a running workload.",
               "ttcollect");
  app.footer(kFooter);
  app.set_version_flag("--version", "ttcollect " TTC_VERSION);
  collect::RunOptions o;
  std::vector<std::string> typed_devices;
  double idle_us = 1000, busy_us = 50;
  bool as_json = false;
  app.add_option(
         "--device,-d", typed_devices,
         "the card: 0, /dev/tenstorrent/0, /dev/tenstorrent/by-id/..., pci:0000:01:00.0 or emu:NAME;\n"
         "several as A,B or repeated; all for every card present.\n"
         "The place in the list is the chip number, column 1 of the device CSV")
      ->expected(1)
      ->take_all();
  collect::add_time_option(app, "--for", o.duration_ns,
                           "stop after this long: 500ms, 5s, 10min (default: until Ctrl-C)");
  app.add_option("--output,-o", o.output, "also write a capture file of all devices, FILE.ttc");
  collect::TypedCapture capture;
  add_capture_options(app, capture);
  app.add_flag("--tracy{8600}", o.tracy,
               "serve Tracy GUIs and capture programs while collecting; --tracy=[ADDR:]PORT, 8600 without.\n"
               "Only from this machine unless ADDR says otherwise; ttexport --format tracy has the rest");
  app.add_flag("--json", as_json, "print one JSON object at the end");
  app.add_flag("--quiet,-q", o.quiet, "no live line, no remarks");
  collect::add_time_option(app, "--wait", o.wait_ns,
                           "wait up to this long for cards and profilers to appear: 30s");
  app.add_option("--layout", o.layout, "profiler generation, instead of discovery; help lists them")
      ->check(check_layout);
  std::string mode;
  app.add_option("--mode", mode, "how the firmware was built, instead of finding out")
      ->check(CLI::IsMember({"normal", "trace-only", "accumulate"}));
  app.add_option("--region-bytes", o.drain.bytes_per_risc,
                 "bytes per RISC in the DRAM log, instead of learning them (48000 is tt-metal's default)")
      ->check(CLI::Range(48u, 1u << 28));
  app.add_option("--metal-home", o.metal_home,
                 "where the zone logs are, instead of asking the workload's process");
  app.add_option("--ring", o.ring_bytes, "size of each device's shared ring: 32MiB (at least 256KiB)")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(uint64_t{256} << 10, uint64_t{1} << 31));
  app.add_option("--group", o.group, "group that may read the segment (mode 0640)");
  app.add_option("--idle-us", idle_us, "longest time between two polls of a core; worst case of the latency")
      ->check(CLI::Range(10.0, 1e6));
  app.add_option("--busy-us", busy_us, "time between two polls of a core that had news")
      ->check(CLI::Range(0.0, 1e6));
  std::string cpus;
  CLI::Option* cpu_option = app.add_option(
      "--cpu", cpus, "keep the drain threads on these CPUs, as in 2-3,10 (default: near a real card)");
  app.add_flag("!--no-pin", o.pin, "leave threads and ring memory where the kernel puts them")
      ->excludes(cpu_option);
  CLI::Option* recycle = app.add_flag(
      "--recycle", o.recycle,
      "WRITES TO THE CARD: empties its logs while programs run, so that a capture needs no end.\n"
      "Where that is not known to be safe, the reason is told and the card is only read");
  std::string recycle_at = "50%";
  app.add_option("--recycle-at", recycle_at, "how full a log is when it is emptied: 30% to 80%")
      ->needs(recycle)
      ->capture_default_str();
  app.add_option("--audit", o.audit, "append a line for every store of --recycle, and for what came of it")
      ->needs(recycle);
  app.add_flag(
      "--reattach", o.reattach,
      "when a card is reset or goes away, wait until it is back and its profiler runs, and go on in the\n"
      "same segment and file as a new epoch; only a signal or --for ends the run");
  app.add_flag("!--no-power-vote", o.open.power_vote,
               "do not ask a real card's firmware to keep tiles and memory clocked while collecting");
  app.add_flag(
      "--sync-host-device,!--no-sync", o.sync,
      "model the card's clock, so that readers can convert marker times to host time with an error\n"
      "bound (on by default; --no-sync reads no wall clock for it). At most 1000 round trips a second");
  app.add_option("--sync-rate", o.sampler.rate_hz,
                 "samples of the clock a second, each a burst of up to 8 reads")
      ->check(CLI::Range(2.0, 32.0))
      ->capture_default_str();
  app.add_flag("--plain", o.plain, "do not use io_uring");
  app.add_flag("--descriptor-reads", o.descriptor_reads,
               "read payload through the card's descriptor with io_uring, where it has one");
  bool list_json = false;
  CLI::App* list_cmd = app.add_subcommand("list", "cards and segments that are there");
  list_cmd->add_flag("--json", list_json, "as JSON");
  std::string root;
  list_cmd->add_option("--root", root, "look at the sys, proc and dev below DIR: a host's, from a container")
      ->check(CLI::ExistingDirectory);
  CLI::App* probe_cmd = app.add_subcommand("probe", "measure how long reading a card takes from here");
  std::string probed;
  uint32_t samples = 1000;
  bool probe_json = false;
  probe_cmd->add_option("--device,-d", probed, "the card")->required();
  probe_cmd->add_option("--samples", samples, "of each operation")
      ->check(CLI::Range(1u, 1000000u))
      ->capture_default_str();
  probe_cmd->add_flag("--json", probe_json, "as JSON");
  CLI::App* clean_cmd = app.add_subcommand("clean", "remove segments no living collector holds");
  std::string svg;
  CLI::App* sync_cmd = app.add_subcommand(
      "sync",
      "look at the clocks of --device for 10 s or --for: offset, frequency, drift, steps, brackets, bounds.\n"
      "Takes --device, --for, --sync-rate, --json; needs no profiler on the card and no segment");
  sync_cmd->fallthrough();
  sync_cmd->add_option("--svg", svg, "also draw it: FILE.svg");
  collect::CaptureCommands capture_commands(app);
  app.require_subcommand(0, 1);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? kOk : kUsage;
  }
  if (const auto done = capture_commands.run()) return *done;
  if (*list_cmd) return list_all(list_json || as_json, root);
  if (*probe_cmd) return probe_one(probed, o.open, samples, probe_json || as_json);
  if (*clean_cmd) return collect::clean(), kOk;
  if (const std::string wrong = read_cpus(cpus, o.cpus); !wrong.empty()) return say(kUsage, wrong);
  if (const std::string wrong = read_share(recycle_at, o.recycle_at); !wrong.empty())
    return say(kUsage, wrong);
  if (const std::string wrong = resolve_capture_options(capture, o.output); !wrong.empty())
    return say(kUsage, wrong);
  if (const std::string wrong = resolve_flight_options(capture, o.output, o.ring_bytes); !wrong.empty())
    return say(kUsage, wrong);
  o.capture = capture.options;
  o.flight = capture.flight;
  o.flight.plain = o.plain;
  if (!mode.empty()) o.mode = markers::mode_by_name(mode);
  o.devices = collect::listed_devices(typed_devices);
  if (*sync_cmd) return run_sync(o, as_json, svg);
  if (!o.quiet && o.flight.bytes)
    std::fprintf(stderr, "ttcollect: %s\n", collect::flight_arithmetic(o.flight, o.ring_bytes).c_str());
  else if (!o.quiet && !o.output.empty())
    std::fprintf(stderr, "ttcollect: %s\n", collect::capture_arithmetic(o.capture, o.ring_bytes).c_str());
  o.drain.idle_interval_ns = static_cast<uint64_t>(idle_us * 1000);
  o.drain.busy_interval_ns = std::min(static_cast<uint64_t>(busy_us * 1000), o.drain.idle_interval_ns);
  try {
    const collect::RunResult result = collect::run(o);
    if (as_json)
      std::printf("%s\n", collect::to_json(result).c_str());
    else if (!o.quiet) {
      for (const collect::DeviceResult& d : result.devices)
        std::fprintf(stderr, "ttcollect: %s\n", collect::to_text(d).c_str());
      if (result.capture) std::fprintf(stderr, "ttcollect: %s\n", collect::to_text(*result.capture).c_str());
    }
    return verdict(result, o.output);
  } catch (const collect::DeviceListError& e) {
    return say(kUsage, e.what());
  } catch (const card::OpenError& e) {
    return say(kNoDevice, e.what());
  } catch (const collect::AttachError& e) {
    return say(kNoProfiler, e.what());
  } catch (const shm::SegmentError& e) {
    return say(kSegment, e.what());
  } catch (const collect::CaptureError& e) {
    return say(kOutput, e.what());
  }
}
