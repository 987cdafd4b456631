#include "tools/ttemu/options.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include "collector/program/option_names.hpp"
#include "collector/program/option_units.hpp"
#include "collector/program/output_guard.hpp"
#include "tools/chip/clock_profile.hpp"
#include "tools/emulation/profiler_state.hpp"
#include "tools/ttemu/metal_environment.hpp"

namespace ttc::emulation {
namespace {

constexpr const char* kFooter =
    "Exit codes: 0 ok, 1 an observer did something that could hurt silicon (listed on stderr), 2 wrong "
    "usage,\n"
    "3 the card cannot be made (name taken, memory), 4 --load or --replay cannot be understood, 5 a file "
    "cannot "
    "be written,\n6 rows of --replay could not be played (counted on stderr), 7 the workload ends at its "
    "start or does "
    "not build\n(--metal-env, what it prints is on stderr), 8 anything else "
    "(memory, an error of the system),\n9 a program of the workload never ended.";

constexpr uint32_t kUsualPace = 64;  // programs that may be unread

std::string check_every(const std::string& s) {
  const bool good =
      s.starts_with("every:") && s.size() > 6 && s.find_first_not_of("0123456789", 6) == std::string::npos;
  return good ? "" : "'" + s + "' is not every:N";
}
std::string check_variable(const std::string& s) {
  return s.find('=') != std::string::npos && s.starts_with("TT_METAL_")
             ? ""
             : "'" + s + "' is not TT_METAL_NAME=VALUE";
}
std::string check_trace(const std::string& s) {
  unsigned programs, replays;
  char end;
  return std::sscanf(s.c_str(), "%u:%u%c", &programs, &replays, &end) == 2 && programs && replays
             ? ""
             : "'" + s + "' is not PROGRAMS:REPLAYS";
}
std::string check_step(const std::string& s) {
  double ms;
  unsigned mhz;
  char end;
  return std::sscanf(s.c_str(), "%lf:%u%c", &ms, &mhz, &end) == 2 ? ""
                                                                  : "'" + s + "' is not MILLISECONDS:MHZ";
}

void add_card_options(CLI::App& app, Options& o) {
  app.add_option("--name", o.card.name, "observers attach to emu:NAME")->required();
  app.add_option("--arch", o.card.arch)
      ->check(program::one_of({"wormhole_b0", "blackhole"}))
      ->capture_default_str();
  app.add_option("--board", o.card.board, "n150, n300 / p100, p150")->capture_default_str();
  app.add_option("--harvest", o.harvest,
                 "fused-off Tensix rows (Wormhole, NOC0 y) or columns (Blackhole, NOC0 x)")
      ->check(CLI::Range(0u, 63u))
      ->delimiter(',');
  app.add_option("--harvest-channels", o.card.harvested_channels,
                 "fused-off memory channels (Blackhole, 0 to 7); a p100 lacks one in any case")
      ->delimiter(',');
  app.add_flag("--strict", o.card.strict, "serve every access over a socket; observers get no memory");
  app.add_option("--round-trip-ns", o.card.round_trip_ns, "duration of every 64-byte load");
  app.add_flag("!--no-writes", o.card.writable,
               "grant no process the right to clear log indices (ttcollect --recycle)");
}

void add_clock_options(CLI::App& app, Options& o) {
  app.add_option("--aiclk", o.card.aiclk_mhz, "MHz of the tile clocks")
      ->check(CLI::Range(100u, 3000u))
      ->capture_default_str();
  app.add_option("--drift-ppm", o.card.drift_ppm, "clock error")->check(CLI::Range(-10000, 10000));
  CLI::Option* const steps =
      app.add_option("--clock-step", o.clock_steps, "MILLISECONDS:MHZ after the start, repeatable")
          ->check(check_step);
  app.add_option("--dvfs", o.dvfs,
                 "the clock moves as under firmware that changes it: pll (steps of 6.25 MHz every 1 to 20 "
                 "ms), droop\n"
                 "(ramps of 10 us to 1 s), idle (stops of 1 us to 1 s), all; [:for=SECONDS,seed=N], for=60 "
                 "by default.\n"
                 "With --truth FILE.csv the clock is written to FILE.clock.csv")
      ->excludes(steps);
  app.add_option("--clock-start", o.card.start_cycles,
                 "wall clock at the start (default: 5000000000; with --load, a second after\nthe latest time "
                 "in the memory)");
  app.add_option("--timer-start", o.card.timer_start,
                 "ticks of Blackhole's reference timer (50 MHz) at the start; its low half wraps at 2^32")
      ->check(CLI::Range(uint64_t{0}, uint64_t{1} << 48))
      ->capture_default_str();
  app.add_option("--time", o.time, "real, or virtual: the clock moves only with firmware steps")
      ->check(program::one_of({"real", "virtual"}))
      ->capture_default_str();
}

void add_firmware_options(CLI::App& app, Options& o) {
  app.add_option("--generation", o.generation, "profiler layout")
      ->check(program::one_of({"G1-16", "G1", "G2", "G3", "G4"}, program::Letters::any_case))
      ->capture_default_str();
  app.add_option("--mailbox", o.mailbox,
                 "address of the profiler in L1: M0 to M4, default that of the generation's time; before M2\n"
                 "of Jan 2026 there is no magic word")
      ->check(
          program::one_of({"M0", "M1-early", "M1", "M2-2025", "M2", "M3", "M4"}, program::Letters::any_case));
  app.add_option("--mode", o.mode, "how the firmware was built")
      ->check(program::one_of({"normal", "sum", "accumulate", "trace-only"}))
      ->capture_default_str();
  app.add_option("--ethernet", o.world.ethernet, "active Ethernet tiles that run kernels");
  app.add_option("--idle-ethernet", o.world.idle_ethernet,
                 "further Ethernet tiles that run kernels as idle ones");
  app.add_option("--trace", o.trace, "PROGRAMS:REPLAYS, a trace of that many programs is replayed that often")
      ->check(check_trace);
  app.add_option("--region-bytes", o.world.bytes_per_risc, "DRAM log bytes per RISC")
      ->check(CLI::Range(2112u, 1u << 22))
      ->capture_default_str();
  app.add_option("--landing-ns", o.world.landing_ns,
                 "posted DRAM writes land this much later than the index");
}

void add_metal_options(CLI::App& app, Options& o) {
  app.add_option(
         "--metal-env", o.metal_env,
         "TT_METAL_NAME=VALUE, repeatable: the workload's environment for tt-metal's watcher and debug\n"
         "delays, over that of ttemu itself")
      ->allow_extra_args(false)
      ->check(check_variable);
  app.add_option("--metal-build", o.metal_build, "of tt-metal: a debug build has its asserts")
      ->check(program::one_of({"release", "debug"}))
      ->capture_default_str();
  app.add_option("--metal-key", o.metal_key,
                 "what distinguishes builds in TT_METAL_CACHE: full, or no-delay of versions that leave the "
                 "delay out")
      ->check(program::one_of({"full", "no-delay"}))
      ->capture_default_str();
  app.add_option("--brisc-text", o.brisc_text_bytes,
                 "bytes of BRISC's firmware region; profiler and watcher together need more than the default")
      ->check(CLI::Range(1u, 1u << 20))
      ->capture_default_str();
}

void add_other_profilers(CLI::App& app, Options& o) {
  app.add_option(
         "--streaming", o.streaming,
         "a --workload is recorded by the streaming profiler, in rings in L1: quick-relay takes lanes that "
         "are a\n"
         "quarter full, slow-relay those whose producers wait, no-relay leaves them to be overwritten")
      ->check(program::one_of({"quick-relay", "slow-relay", "no-relay"}));
  app.add_flag("--real-time", o.work.real_time,
               "with --workload: the real-time profiler writes a record a program into L1 of the last core");
}

void add_workload_options(CLI::App& app, Options& o) {
  CLI::Option* workload =
      app.add_option(
             "--workload", o.workload,
             "programs whose cores overlap and wait for each other as on a chip: " + chip::builtin_names() +
                 "\nor a FILE.toml; `ttemu --workload help` prints these, as examples of such files")
          ->each([](const std::string& name) {
            if (name != "help") return;
            for (const char* one : {"matmul", "pipeline", "allreduce", "imbalanced"})
              std::printf("# --workload %s\n%s\n", one, chip::builtin_workload(one));
            throw CLI::Success();
          });
  app.add_option("--cores", o.work.cores, "that run programs; 0: all (default: 8, with --workload all)");
  app.add_option("--dispatch-cores", o.work.dispatch_cores,
                 "further cores that run without end and quick-push");
  app.add_option("--programs", o.work.programs, "0: until stopped")->capture_default_str();
  app.add_flag("--programs-from-stdin", o.work.from_stdin,
               "each line of standard input is a number of further programs to launch; the device is\n"
               "closed when it ends, or after --programs")
      ->excludes(workload);
  app.add_option("--rate", o.work.rate, "programs a second; 0: as fast as it goes")
      ->check(CLI::Range(0.0, 1e7));
  app.add_option("--zones-per-kernel", o.work.zones_per_kernel)
      ->check(CLI::Range(0u, 200u))
      ->capture_default_str();
  app.add_option("--skip-cores", o.work.skip_core_percent, "percent of launches a core is not part of")
      ->check(CLI::Range(0u, 100u));
  app.add_option("--skip-riscs", o.work.skip_risc_percent, "percent of launches a RISC sits out")
      ->check(CLI::Range(0u, 100u));
  app.add_option("--noc-events", o.work.noc_event_percent, "percent of launches a core records NoC events in")
      ->check(CLI::Range(0u, 100u));
  app.add_flag("--perf-counters", o.work.perf_counters,
               "BRISC records counters at the end of a launch (G3, G4)");
  app.add_option("--host-reads", o.host_reads, "every:N programs the host reads results and resets")
      ->check(check_every);
  app.add_option("--pace", o.work.pace_programs,
                 "wait while more than N programs are unread; without it the card\n"
                 "runs on like silicon and loses what is not fetched")
      ->capture_default_str()
      ->expected(0, 1);
  app.add_option("--seed", o.work.seed)->capture_default_str();
  CLI::Option* const wait =
      app.add_flag("--wait-observer", o.wait_observer, "start the workload when an observer has attached");
  program::add_duration_option(app, "--wait-limit", o.wait_limit_ns,
                               "with --wait-observer: start without one after this time")
      ->needs(wait);
}

void add_host_options(CLI::App& app, Options& o) {
  app.add_option(
      "--host-files", o.host_files,
      "directory to write tracy_ops_data.csv and tracy_ops_times.csv to, as the host of a --workload\n"
      "leaves them for reports");
  app.add_option("--host-year", o.host_style.year, "the tt-metal whose messages --host-files holds")
      ->check(CLI::Range(2024u, 2026u))
      ->capture_default_str();
  app.add_flag("--host-signposts", o.host_style.signposts,
               "each pass over the workload's ops is between signposts step_N_start and step_N_end");
  app.add_option("--host-rank", o.host_rank,
                 "--host-files writes to DIR/HOST_rank_N, as a process of several does");
  app.add_option(
      "--host-events", o.host_style.events,
      "also write messages and zones to this file or pipe when they are sent (tools/ttemu/README.md)");
}

void add_source_options(CLI::App& app, Options& o) {
  CLI::Option* profiler =
      app.add_option("--profiler", o.profiler,
                     "what observers find: late is off until they have searched once; the others but on\n"
                     "stay so, and no workload runs. environment: on where TT_METAL_DEVICE_PROFILER is 1, "
                     "else not-built")
          ->check(program::one_of(kProfilerStates))
          ->capture_default_str();
  CLI::Option* load =
      app.add_option("--load", o.load,
                     "memory written by real firmware instead of a workload; waits until each epoch is read")
          ->excludes(app.get_option("--programs-from-stdin"))
          ->excludes(profiler);
  CLI::Option* truth =
      app.add_option("--truth", o.truth, "write what the cores really emitted, as 15-column CSV");
  app.add_option(
      "--truth-unseen", o.truth_unseen,
      "write the part of the truth that no observer can have read: a host reset destroyed it first");
  app.add_option("--fault", o.faults, "NAME[:key=value,...], repeatable; `ttemu --fault help` lists them")
      ->allow_extra_args(false)
      ->each([](const std::string& spec) {
        if (spec != "help") return;
        std::fputs(fault_help().c_str(), stdout);
        throw CLI::Success();
      });
  app.add_option("--contradict", o.contradict,
                 "NAME, repeatable: break one assumption about cards; `ttemu --contradict help` lists\n"
                 "them, and the head of --truth names those of the run")
      ->allow_extra_args(false)
      ->each([](const std::string& name) {
        if (name != "help") return;
        std::fputs(contradiction_help().c_str(), stdout);
        throw CLI::Success();
      });
  app.add_option(
         "--replay", o.replay,
         "play a profile_log_device.csv (6, 12, 13 or 15 columns) instead of a workload; architecture\n"
         "and clock are the file's, time is virtual; waits until each stretch of the log is read")
      ->excludes(app.get_option("--programs-from-stdin"))
      ->excludes(load)
      ->excludes(profiler)
      ->excludes(truth);
  app.add_option("--replay-speed", o.play.speed, "1: at the original pace, the clock following; 0: at once")
      ->check(CLI::Range(0.0, 1e6));
  app.add_option("--replay-chip", o.replay_chip, "the PCIe slot to play (default: that of the first row)");
  app.add_option("--then", o.then,
                 "'OPTIONS' of a further workload on the same card: other firmware is loaded, with the\n"
                 "options of firmware and workload given here and --off-before TIME; repeatable")
      ->allow_extra_args(false)
      ->excludes(load)
      ->excludes(profiler);
}

void add_output_options(CLI::App& app, Options& o) {
  program::add_duration_option(app, "--linger", o.linger_ns,
                               "how long to wait for observers to leave at the end (default: 5s)", {0});
  app.add_flag("--json", o.json, "print a JSON object at the end");
  app.add_flag("--quiet,-q", o.quiet);
}

// The mailbox that tt-metal had when its profiler was of this generation (tt-metal dev_msgs.h).
std::string usual_mailbox(const std::string& generation, const std::string& arch) {
  if (CLI::detail::to_lower(generation) == "g1-16") return arch == "blackhole" ? "M1-early" : "M0";
  if (CLI::detail::to_lower(generation) == "g1") return "M1";
  if (CLI::detail::to_lower(generation) == "g2") return "M2-2025";
  return "M4";
}

void settle_dvfs(Options& o) {
  if (o.card.virtual_time)
    throw program::UsageError(
        "--dvfs moves a clock against real time; leave out --time virtual and --replay");
  try {
    for (const chip::ClockChange& c : chip::clock_changes(chip::read_clock_profile(o.dvfs), o.card.hz))
      o.card.clock_steps.push_back({c.after_ns, c.hz});
  } catch (const chip::WorkloadError& e) {
    throw program::UsageError(e.what());
  }
}

// The streaming profiler excludes the classic and the real-time one, as in tt-metal (STREAMING_PROFILER_DETAILED.md).
void settle_other_profilers(Options& o) {
  if (o.streaming.empty() && !o.work.real_time) return;
  if (!o.work.chip) throw program::UsageError("--streaming and --real-time go with --workload");
  if (o.streaming.empty()) return;
  if (o.work.real_time)
    throw program::UsageError("--streaming and --real-time exclude each other, as in tt-metal");
  if (o.mailbox != "M4" || o.card.arch != "blackhole")
    throw program::UsageError("--streaming is known for --arch blackhole with --mailbox M4 alone");
  if (o.profiler != "on") throw program::UsageError("--streaming goes without --profiler");
  using streaming::Relay;
  o.work.streaming = o.streaming == "quick-relay"  ? Relay::quick
                     : o.streaming == "slow-relay" ? Relay::slow
                                                   : Relay::none;
  o.profiler = "not-built";  // the classic one
  o.work.recorded = false;
}

// A simulated chip's programs have their own zones, RISCs and durations.
void settle_workload(Options& o) {
  if (o.workload.empty()) return;
  if (o.work.skip_core_percent || o.work.skip_risc_percent)
    throw program::UsageError(
        "--workload goes without --skip-cores and --skip-riscs, which are of the plain workload");
  std::string text;
  if (const char* builtin = chip::builtin_workload(o.workload)) {
    text = builtin;
  } else {
    std::ifstream file(o.workload, std::ios::binary);
    if (!file)
      throw program::UsageError("--workload " + o.workload + " is none of " + chip::builtin_names() +
                                ", and there is no such file that can be read");
    text.assign(std::istreambuf_iterator<char>(file), {});
  }
  try {
    o.work.chip = std::make_shared<const chip::ChipWorkload>(chip::read_workload(text, o.workload));
  } catch (const chip::WorkloadError& e) {
    throw program::UsageError(e.what());
  }
  if (!o.cores_given) o.work.cores = 0;
}

void settle_mode(Options& o, const device::Format& format) {
  if (o.mode == "accumulate") {
    o.world.mode = device::Mode::accumulate;
    if (format.generation != device::kG4.generation)
      throw program::UsageError("--mode accumulate exists from mid 2026 on; use it with --generation G4");
  }
  if (!o.trace.empty()) std::sscanf(o.trace.c_str(), "%u:%u", &o.work.trace_programs, &o.work.trace_replays);
  if (o.mode == "trace-only") {
    o.world.mode = device::Mode::trace_only;
    if (format.trace_status == 0)
      throw program::UsageError("--mode trace-only does not exist in " + o.generation +
                                "; use --generation G2 or later");
    if (o.work.dispatch_cores)
      throw program::UsageError("--mode trace-only records no dispatch cores; leave out --dispatch-cores");
    if (o.trace.empty())
      throw program::UsageError(
          "--mode trace-only records replays of traces and nothing else; add --trace, as in 4:3");
  }
}

}  // namespace

void add_options(CLI::App& app, Options& o) {
  app.footer(kFooter);
  o.work.pace_programs = kUsualPace;
  add_card_options(app, o);
  add_clock_options(app, o);
  add_firmware_options(app, o);
  add_workload_options(app, o);
  add_metal_options(app, o);
  add_other_profilers(app, o);
  add_host_options(app, o);
  add_source_options(app, o);
  add_output_options(app, o);
}

std::optional<int> read_following(Options& o) {
  for (const std::string& text : o.then) {
    const auto app = program::command_line_of(kTtemu, "--then 'OPTIONS': a further workload on the card.");
    Options next;
    next.card = o.card;
    next.time = o.time;
    next.work.pace_programs = kUsualPace;
    add_firmware_options(*app, next);
    add_workload_options(*app, next);
    add_metal_options(*app, next);
    program::add_duration_option(
        *app, "--off-before", next.off_before_ns,
        "no profiler is on the card for so long before this workload (default: 500ms)", {0});
    std::vector<std::string> words{"ttemu --then"};
    std::istringstream rest(text);
    for (std::string word; rest >> word;) words.push_back(word);
    std::vector<char*> arguments;
    arguments.reserve(words.size());
    for (std::string& word : words) arguments.push_back(word.data());
    if (const auto ended =
            program::parse_command_line(kTtemu, *app, static_cast<int>(arguments.size()), arguments.data()))
      return ended;
    next.region_given = app->get_option("--region-bytes")->count() > 0;
    next.pace_given = app->get_option("--pace")->count() > 0;
    next.cores_given = app->get_option("--cores")->count() > 0;
    finish_firmware_options(next);
    if (!next.host_reads.empty()) next.work.host_reads_every = std::stoull(next.host_reads.substr(6));
    next.world.pace = next.pace_given && next.work.recorded;
    next.world.virtual_time = next.time == "virtual";
    (o.following.empty() ? o : o.following.back()).work.followed = true;
    o.following.push_back(std::move(next));
  }
  return std::nullopt;
}

void take_given(const CLI::App& app, Options& o) {
  const auto given = [&](const char* name) { return app.get_option(name)->count() > 0; };
  o.arch_given = given("--arch");
  o.board_given = given("--board");
  o.region_given = given("--region-bytes");
  o.pace_given = given("--pace");
  o.cores_given = given("--cores");
  o.clock_start_given = given("--clock-start");
}

void finish_firmware_options(Options& o) {
  o.world.layout = markers::layout_by_name(o.generation);
  if (o.mailbox.empty()) o.mailbox = usual_mailbox(o.generation, o.card.arch);
  o.world.mailbox = markers::mailbox_by_name(o.mailbox);
  const device::Format& format = o.world.layout->format;
  settle_mode(o, format);
  settle_workload(o);
  o.work.chip_hz = o.card.aiclk_mhz * 1'000'000ull;
  o.work.sums = o.mode == "sum";
  if (o.profiler == "environment") {
    const char* asked = std::getenv("TT_METAL_DEVICE_PROFILER");
    o.profiler = asked && std::string_view(asked) == "1" ? "on" : "not-built";
  }
  o.work.recorded = o.profiler != "not-built";
  if (!o.work.recorded && !o.work.chip)
    throw program::UsageError(
        "--profiler not-built goes with --workload; the plain workload does nothing but record");
  settle_other_profilers(o);
  settle_metal_environment(o);
  if (o.profiler == "debug-dump" && format.risc_dram_address_count == 0)
    throw program::UsageError("--profiler debug-dump does not exist in " + o.generation +
                              "; use --generation G3 or G4");
  // Two more markers a RISC with sums, and in the buffers of fixed size before the end of 2025.
  if (!o.region_given && (o.work.sums || !format.guaranteed_when_full)) o.world.bytes_per_risc = 64000;
  const std::vector<std::string> inputs{o.load, o.replay, o.workload};
  program::refuse_output_over_input(o.truth, inputs);
  program::refuse_output_over_input(o.truth_unseen, inputs);
}

void finish_card_options(Options& o) {
  o.world.pace = o.pace_given && o.work.recorded;  // without a profiler nothing is ever unread
  o.card.virtual_time = o.time == "virtual";
  if (!o.host_reads.empty()) o.work.host_reads_every = std::stoull(o.host_reads.substr(6));
  for (const unsigned h : o.harvest)
    (o.card.arch == "wormhole_b0" ? o.card.harvested_rows : o.card.harvested_columns)
        .push_back(static_cast<uint8_t>(h));
  if (o.card.arch == "blackhole" && o.card.board == "n150") o.card.board = "p150";
  for (const std::string& step : o.clock_steps) {
    double ms = 0;
    unsigned mhz = 0;
    std::sscanf(step.c_str(), "%lf:%u", &ms, &mhz);
    o.card.clock_steps.push_back({static_cast<uint64_t>(ms * 1e6), mhz * 1000000ull});
  }
  o.card.hz = o.card.aiclk_mhz * 1000000ull;
  if (!o.dvfs.empty()) settle_dvfs(o);
  for (const std::string& spec : o.faults) add_fault(o.plan, spec);
  o.plan.apply_to(o.card);
  if (!(o.load.empty() && o.replay.empty()) && o.plan.needs_workload)
    throw FaultError("--fault " + std::string(o.plan.needs_workload) +
                     " is of a workload, and --load and --replay run none");
  o.world.faults = o.plan.work;
  for (const std::string& name : o.contradict) o.unlike.add(name);
  if (!(o.load.empty() && o.replay.empty()) && o.unlike.needs_workload())
    throw FaultError("--contradict " + std::string(o.unlike.needs_workload()) +
                     " is of a workload, and --load and --replay run none");
  o.unlike.apply_to(o.card);
  o.unlike.apply_to(o.world, o.work);
  for (Options& next : o.following) o.unlike.apply_to(next.world, next.work);
  if (o.work.chip && o.world.faults.torn_marker.every)
    throw FaultError(
        "--fault roll-over:every makes the clock jump, which --workload does not follow; use within=");
  o.world.virtual_time = o.card.virtual_time;
}

}  // namespace ttc::emulation
