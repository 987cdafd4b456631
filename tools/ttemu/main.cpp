// ttemu: an emulated card and the workload on it, in one process. Observers attach with --device emu:NAME.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "tools/emulation/fault_plan.hpp"
#include "tools/emulation/loader.hpp"
#include "tools/emulation/profiler_state.hpp"
#include "tools/emulation/workload.hpp"
#include "tools/replay/replay.hpp"
#include "tools/replay/replay_report.hpp"

namespace {

using namespace ttc;

enum Exit { kOk = 0, kViolation = 1, kUsage = 2, kCard = 3, kLoad = 4, kFile = 5, kRowsLeftOut = 6 };

constexpr const char* kFooter =
    "Exit codes: 0 ok, 1 an observer did something that could hurt silicon (listed on stderr), 2 wrong "
    "usage,\n"
    "3 the card cannot be made (name taken, memory), 4 --load or --replay cannot be understood, 5 a file "
    "cannot "
    "be written,\n6 rows of --replay could not be played (counted on stderr).";

// A session on the clock of another boot: 18 minutes further on at 1 GHz.
constexpr uint64_t kFutureCycles = uint64_t{1} << 40;

std::atomic<bool> stop{false};

struct Options {
  card::EmulatedCardOptions card;
  emulation::WorldOptions world;
  emulation::WorkloadOptions work;
  std::string generation = "G4", mailbox, mode = "normal", trace;
  std::string profiler = "on", time = "real", load, replay, truth, truth_unseen, host_reads;
  std::vector<unsigned> harvest;
  std::vector<std::string> clock_steps, faults;
  emulation::FaultPlan plan;
  emulation::ReplayOptions play;
  std::optional<uint32_t> replay_chip;
  double linger_s = 5;
  bool arch_given = false, board_given = false;
  bool wait_observer = false, json = false, quiet = false;
};

struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

int say(Exit code, const std::string& what) {
  std::fprintf(stderr, "ttemu: %s\n", what.c_str());
  return code;
}

// tt-metal keeps its zone logs below TT_METAL_PROFILER_DIR, and a collector learns that from the environment
// the process was started with. So the process starts itself again with the variable set.
void ensure_profiler_directory(const std::string& card, char** argv) {
  if (const char* set = std::getenv("TT_METAL_PROFILER_DIR"); set && *set) return;
  const std::string base = std::filesystem::temp_directory_path() / ("ttemu-" + std::to_string(getuid()));
  mkdir(base.c_str(), 0700);
  struct stat info {};
  if (lstat(base.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != getuid())
    throw card::OpenError(base + " is not a directory of this user; set TT_METAL_PROFILER_DIR");
  setenv("TT_METAL_PROFILER_DIR", (base + "/" + card).c_str(), 1);
  setenv("TTEMU_OWN_PROFILER_DIR", "1", 1);  // remove it at the end
  execv("/proc/self/exe", argv);
  throw card::OpenError(std::string("cannot start again with TT_METAL_PROFILER_DIR set: ") +
                        std::strerror(errno));
}

std::string log_directory() {
  return std::string(std::getenv("TT_METAL_PROFILER_DIR")) + "/.logs";
}

// After the workload closed: observers take what is left, then the card goes.
void leave(card::EmulatedCard& card, double linger_s) {
  if (!card.lost()) card.announce_leaving();
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(linger_s);
  while (card.observers() > 0 && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // observers set the pace
}

int report(const Options& o, const card::EmulatedCard& card, nlohmann::ordered_json facts) {
  const card::AccessAccount a = card.account();
  facts["round_trips"] = a.round_trips;
  facts["register_loads"] = a.register_loads;
  facts["window_moves"] = a.window_moves;
  facts["descriptor_bytes"] = a.descriptor_bytes;
  facts["index_writes"] = a.index_writes;
  facts["violations"] = a.violations;
  const auto hits = card.fault_hits();
  for (size_t i = 0; i < hits.size(); ++i)
    facts["faults"].push_back({{"fault", o.plan.card_names[i]}, {"hits", hits[i]}});
  if (!o.card.virtual_time)
    for (const card::ClockPiece& p : card.clock_pieces())
      facts["clock"].push_back({{"host_ns", p.host_ns}, {"cycles", p.cycles}, {"hz", p.hz}});
  if (o.json)
    std::printf("%s\n", facts.dump().c_str());
  else if (!o.quiet)
    std::fprintf(stderr, "ttemu: %s\n", facts.dump().c_str());
  for (const std::string& v : card.violations()) say(kViolation, "violation: " + v);
  return a.violations ? kViolation : kOk;
}

void wait_for_observer(const card::EmulatedCard& card) {
  while (card.observers() == 0 && !stop) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

int run_image(Options& o) {
  const tools::MemoryImage image(o.load);
  o.card.arch = image.placement->arch;
  o.card.board = o.card.arch == "blackhole" ? "p150" : "n150";
  card::EmulatedCard card(o.card);
  emulation::ImageLoader loader(card, image);
  std::filesystem::create_directories(log_directory());
  {
    std::ofstream log(log_directory() + "/zone_src_locations.log", std::ios::trunc);
    for (const std::string& zone_string : image.zone_strings)
      log << "'#pragma message: " << zone_string << "'\n";
  }
  loader.reset();
  loader.load_epoch(0);
  card.announce();
  unsigned epoch = 0;
  bool all_read = loader.wait_read(stop, o.work.no_observer_ns);
  while (all_read && ++epoch < image.epochs) {
    loader.reset();
    if (!loader.wait_read(stop, o.work.no_observer_ns)) break;  // seen, as between two programs of a workload
    loader.load_epoch(epoch);
    all_read = loader.wait_read(stop, o.work.no_observer_ns);
  }
  const uint64_t unread = loader.unread_words();
  if (!stop) leave(card, o.linger_s);
  return report(o, card, {{"epochs_loaded", std::min(epoch + 1, image.epochs)}, {"unread_words", unread}});
}

// A session that is over when this one begins: its frames and buffers are all that is left of it.
void run_earlier_session(const Options& o, card::EmulatedCard& card, const emulation::ZoneCatalog& zones) {
  emulation::WorldOptions world_options = o.world;
  world_options.pace = false;
  world_options.faults = {};
  if (o.world.faults.stale_dram.future) world_options.clock_offset = kFutureCycles;
  emulation::WorkloadOptions work = o.work;
  work.programs = o.world.faults.stale_dram.programs;
  work.rate = 0;
  work.host_reads_every = 0;
  emulation::TruthLog nobody("");
  emulation::ZoneLog nowhere("");
  emulation::World earlier(card, world_options, nobody);
  emulation::Workload(earlier, zones, nowhere, work).run(stop);
}

int run_workload(Options& o) {
  card::EmulatedCard card(o.card);
  const emulation::ZoneCatalog zones(
      o.work.zones_per_kernel + 8,
      {o.world.layout->format.generation, o.card.arch, o.world.ethernet + o.world.idle_ethernet > 0});
  if (o.world.faults.stale_dram.programs) run_earlier_session(o, card, zones);
  emulation::TruthLog truth(o.truth), unseen(o.truth_unseen);
  emulation::World world(card, o.world, truth, o.truth_unseen.empty() ? nullptr : &unseen);
  if (const size_t asked = o.world.ethernet + o.world.idle_ethernet; asked > world.ethernet().size())
    throw UsageError("--ethernet and --idle-ethernet ask for " + std::to_string(asked) +
                     " tiles; this card has " + std::to_string(world.ethernet().size()));
  emulation::ZoneLog log(log_directory(), o.world.faults.names);
  emulation::Workload workload(world, zones, log, o.work);
  emulation::show_profiler_state(world, o.profiler);
  card.announce();
  if (o.wait_observer) wait_for_observer(card);
  emulation::await_profiler(world, o.profiler, stop);
  workload.run(stop);
  leave(card, o.linger_s);

  markers::ZoneNames names;
  for (const auto* zone : zones.firmware_zones()) names.add_zone_string(zone->zone_string);
  for (uint32_t i = 0; i < zones.kernel_zones(); ++i)
    for (const auto* zone : zones.kernel_zones_of(i)) names.add_zone_string(zone->zone_string);
  uint32_t cores = 0;
  for (const card::Tile& t : card.tiles()) cores += t.kind == card::TileKind::tensix && !t.harvested;
  const emulation::TruthLog::Header header{o.card.arch, o.card.aiclk_mhz, cores};
  truth.convert(header, names);
  unseen.convert(header, names);
  return report(o, card,
                {{"programs", workload.programs_run()},
                 {"host_reads", workload.host_reads()},
                 {"markers", truth.count()},
                 {"firmware_steps", world.steps()},
                 {"host_strikes", world.host_strikes()},
                 {"overruns", world.overruns()},
                 {"unseen_markers", unseen.count()},
                 {"card_lost", card.lost()}});
}

void finish_options(Options& o, bool pace_given);

// The card that the file was written on, as far as it says.
void fit_card(Options& o, const emulation::ReplayPlan& plan) {
  const tools::DeviceLogHead& head = plan.head;
  if (!head.arch.empty() && !o.arch_given) {
    if (!card::arch_by_name(head.arch))
      throw tools::DeviceLogError(o.replay + " is of architecture '" + head.arch +
                                  "', which is not emulated; --arch wormhole_b0 plays it as that");
    o.card.arch = head.arch;
  }
  if (!o.board_given)
    o.card.board = o.card.arch == "blackhole" ? "p150" : head.max_compute_cores == 64 ? "n300" : "n150";
  o.card.aiclk_mhz = head.chip_mhz;
  o.card.max_compute_cores = head.max_compute_cores;
  const card::Board* board = card::board_by_name(o.card.board);
  if (board && o.harvest.empty())
    for (const uint8_t line : emulation::unused_rows(plan, *board)) o.harvest.push_back(line);
}

void write_zone_log(const std::vector<std::string>& zone_strings) {
  std::vector<emulation::Zone> zones;
  zones.reserve(zone_strings.size());
  for (const std::string& zone_string : zone_strings)
    zones.push_back({zone_string, markers::hash16(zone_string)});
  std::vector<const emulation::Zone*> compiled;
  compiled.reserve(zone_strings.size());
  for (const emulation::Zone& zone : zones) compiled.push_back(&zone);
  emulation::ZoneLog(log_directory()).compiled(compiled);
}

int run_replay(Options& o) {
  if (o.mode != "normal")
    throw UsageError("--replay plays a file, whatever firmware made it; leave out --mode");
  std::ifstream file(o.replay, std::ios::binary);
  if (!file)
    throw tools::DeviceLogError(o.replay + " cannot be opened; --replay takes a profile_log_device.csv");
  emulation::ReplayPlan plan = emulation::plan_replay(file, o.replay, o.replay_chip);
  fit_card(o, plan);
  o.time = "virtual";
  finish_options(o, false);
  constexpr uint64_t kBefore = 1'000'000;  // cycles the card has been there when the first launch begins
  o.card.start_cycles = plan.begin() - std::min(kBefore, plan.begin());
  card::EmulatedCard card(o.card);
  plan.drop_cores_not_in(card.tiles());
  if (plan.has_ethernet()) o.world.ethernet = static_cast<unsigned>(card.tiles().size());
  if (!o.quiet)
    for (const std::string& text : emulation::sentences_about(plan, o.replay, o.world)) say(kOk, text);
  emulation::TruthLog nothing("");
  emulation::World world(card, o.world, nothing);
  write_zone_log(plan.names.zone_strings);
  o.play.hz = o.card.hz;
  o.play.no_observer_ns = o.work.no_observer_ns;
  emulation::ReplayPlayer player(world, plan, o.play);
  card.announce();
  if (o.wait_observer) wait_for_observer(card);
  player.play(stop);
  leave(card, o.linger_s);
  const uint64_t left_out = plan.account.unplayed_rows() + plan.skipped_lines();
  const int code = report(o, card,
                          {{"rows", plan.account.rows},
                           {"rows_left_out", left_out},
                           {"repeated_rows", plan.account.repeated},
                           {"launches", player.launches()},
                           {"host_reads", player.host_reads()},
                           {"unread_words", player.unread_words()}});
  return code == kOk && left_out ? kRowsLeftOut : code;
}

// The mailbox that tt-metal had when its profiler was of this generation (tt-metal dev_msgs.h).
std::string usual_mailbox(const std::string& generation, const std::string& arch) {
  if (CLI::detail::to_lower(generation) == "g1-16") return arch == "blackhole" ? "M1-early" : "M0";
  if (CLI::detail::to_lower(generation) == "g1") return "M1";
  if (CLI::detail::to_lower(generation) == "g2") return "M2-2025";
  return "M4";
}

// The profiler's layout, mailbox and mode, which must go together.
void finish_firmware_options(Options& o, bool region_given) {
  o.world.layout = markers::layout_by_name(o.generation);
  if (o.mailbox.empty()) o.mailbox = usual_mailbox(o.generation, o.card.arch);
  o.world.mailbox = markers::mailbox_by_name(o.mailbox);
  const device::Format& format = o.world.layout->format;
  if (o.mode == "accumulate") {
    o.world.mode = device::Mode::accumulate;
    if (format.generation != device::kG4.generation)
      throw UsageError("--mode accumulate exists from mid 2026 on; use it with --generation G4");
  }
  if (!o.trace.empty()) std::sscanf(o.trace.c_str(), "%u:%u", &o.work.trace_programs, &o.work.trace_replays);
  if (o.mode == "trace-only") {
    o.world.mode = device::Mode::trace_only;
    if (format.trace_status == 0)
      throw UsageError("--mode trace-only does not exist in " + o.generation +
                       "; use --generation G2 or later");
    if (o.work.dispatch_cores)
      throw UsageError("--mode trace-only records no dispatch cores; leave out --dispatch-cores");
    if (o.trace.empty())
      throw UsageError(
          "--mode trace-only records replays of traces and nothing else; add --trace, as in 4:3");
  }
  o.work.sums = o.mode == "sum";
  if (o.profiler == "debug-dump" && format.risc_dram_address_count == 0)
    throw UsageError("--profiler debug-dump does not exist in " + o.generation +
                     "; use --generation G3 or G4");
  // Two more markers a RISC with sums, and in the buffers of fixed size before the end of 2025.
  if (!region_given && (o.work.sums || !format.guaranteed_when_full)) o.world.bytes_per_risc = 64000;
}

void finish_options(Options& o, bool pace_given) {
  o.world.pace = pace_given;
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
  for (const std::string& spec : o.faults) emulation::add_fault(o.plan, spec);
  o.plan.apply_to(o.card);
  if (!(o.load.empty() && o.replay.empty()) && o.plan.needs_workload)
    throw emulation::FaultError("--fault " + std::string(o.plan.needs_workload) +
                                " is of a workload, and --load and --replay run none");
  o.world.faults = o.plan.work;
  o.world.virtual_time = o.card.virtual_time;
}

int run(Options& o, bool pace_given) {
  if (!o.replay.empty()) return run_replay(o);
  finish_options(o, pace_given);
  return o.load.empty() ? run_workload(o) : run_image(o);
}

std::string check_every(const std::string& s) {
  const bool good =
      s.starts_with("every:") && s.size() > 6 && s.find_first_not_of("0123456789", 6) == std::string::npos;
  return good ? "" : "'" + s + "' is not every:N";
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

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("An emulated Tenstorrent card with a profiled workload on it.", "ttemu");
  app.footer(kFooter);
  app.set_version_flag("--version", "ttemu " TTC_VERSION);
  Options o;
  o.work.pace_programs = 64;
  app.add_option("--name", o.card.name, "observers attach to emu:NAME")->required();
  CLI::Option* arch = app.add_option("--arch", o.card.arch)
                          ->check(CLI::IsMember({"wormhole_b0", "blackhole"}))
                          ->capture_default_str();
  CLI::Option* board =
      app.add_option("--board", o.card.board, "n150, n300 / p100, p150")->capture_default_str();
  app.add_option("--harvest", o.harvest,
                 "fused-off Tensix rows (Wormhole, NOC0 y) or columns (Blackhole, NOC0 x)")
      ->delimiter(',');
  app.add_option("--harvest-channels", o.card.harvested_channels,
                 "fused-off memory channels (Blackhole, 0 to 7); a p100 lacks one in any case")
      ->delimiter(',');
  app.add_option("--aiclk", o.card.aiclk_mhz, "MHz of the tile clocks")
      ->check(CLI::Range(100u, 3000u))
      ->capture_default_str();
  app.add_option("--drift-ppm", o.card.drift_ppm, "clock error")->check(CLI::Range(-10000, 10000));
  app.add_option("--clock-step", o.clock_steps, "MILLISECONDS:MHZ after the start, repeatable")
      ->check(check_step);
  app.add_option("--clock-start", o.card.start_cycles, "wall clock at the start")->capture_default_str();
  app.add_option("--time", o.time, "real, or virtual: the clock moves only with firmware steps")
      ->check(CLI::IsMember({"real", "virtual"}))
      ->capture_default_str();
  app.add_flag("!--no-writes", o.card.writable,
               "grant nobody the right to clear log indices (ttcollect --recycle)");
  app.add_flag("--strict", o.card.strict, "serve every access over a socket; observers get no memory");
  app.add_option("--round-trip-ns", o.card.round_trip_ns, "charge every 64-byte load so much");
  app.add_option("--generation", o.generation, "profiler layout")
      ->check(CLI::IsMember({"G1-16", "G1", "G2", "G3", "G4"}, CLI::ignore_case))
      ->capture_default_str();
  app.add_option("--mailbox", o.mailbox,
                 "where the profiler lies in L1: M0 to M4, default that of the generation's time; before M2\n"
                 "of Jan 2026 there is no magic word")
      ->check(CLI::IsMember({"M0", "M1-early", "M1", "M2-2025", "M2", "M3", "M4"}, CLI::ignore_case));
  app.add_option("--mode", o.mode, "how the firmware was built")
      ->check(CLI::IsMember({"normal", "sum", "accumulate", "trace-only"}))
      ->capture_default_str();
  CLI::Option* profiler =
      app.add_option("--profiler", o.profiler,
                     "what observers find: late is off until they have looked in vain; the others but on\n"
                     "stay so, and no workload runs")
          ->check(CLI::IsMember(emulation::kProfilerStates))
          ->capture_default_str();
  app.add_option("--ethernet", o.world.ethernet, "active Ethernet tiles that run kernels");
  app.add_option("--idle-ethernet", o.world.idle_ethernet,
                 "further Ethernet tiles that run kernels as idle ones");
  app.add_option("--trace", o.trace,
                 "PROGRAMS:REPLAYS, so many programs are a trace that is replayed so often")
      ->check(check_trace);
  CLI::Option* region = app.add_option("--region-bytes", o.world.bytes_per_risc, "DRAM log bytes per RISC")
                            ->check(CLI::Range(2112u, 1u << 22))
                            ->capture_default_str();
  app.add_option("--landing-ns", o.world.landing_ns, "posted DRAM writes land so much later than the index");
  app.add_option("--cores", o.work.cores, "that run programs; 0: all")->capture_default_str();
  app.add_option("--dispatch-cores", o.work.dispatch_cores, "further cores that run for ever and quick-push");
  app.add_option("--programs", o.work.programs, "0: until stopped")->capture_default_str();
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
  CLI::Option* pace = app.add_option("--pace", o.work.pace_programs,
                                     "wait while more than N programs are unread; without it the card\n"
                                     "runs on like silicon and loses what is not fetched")
                          ->capture_default_str()
                          ->expected(0, 1);
  app.add_option("--seed", o.work.seed)->capture_default_str();
  CLI::Option* load =
      app.add_option("--load", o.load,
                     "memory written by real firmware instead of a workload; waits until each epoch is read")
          ->excludes(profiler);
  CLI::Option* truth =
      app.add_option("--truth", o.truth, "write what the cores really emitted, as 15-column CSV");
  app.add_option(
      "--truth-unseen", o.truth_unseen,
      "of the truth, write what no observer can have known: a reset of the host destroyed it first");
  app.add_option("--fault", o.faults, "NAME[:key=value,...], repeatable; `ttemu --fault help` lists them")
      ->allow_extra_args(false)
      ->each([](const std::string& spec) {
        if (spec != "help") return;
        std::fputs(emulation::fault_help().c_str(), stdout);
        throw CLI::Success();
      });
  app.add_option(
         "--replay", o.replay,
         "play a profile_log_device.csv (6, 12, 13 or 15 columns) instead of a workload; architecture\n"
         "and clock are the file's, time is virtual; waits until each stretch of the log is read")
      ->excludes(load)
      ->excludes(profiler)
      ->excludes(truth);
  app.add_option("--replay-speed", o.play.speed, "1: at the original pace, the clock following; 0: at once")
      ->check(CLI::Range(0.0, 1e6));
  app.add_option("--replay-chip", o.replay_chip, "the PCIe slot to play (default: that of the first row)");
  app.add_flag("--wait-observer", o.wait_observer, "start the workload when an observer has attached");
  app.add_option("--linger", o.linger_s, "seconds to wait for observers to leave at the end")
      ->capture_default_str();
  app.add_flag("--json", o.json, "print a JSON object at the end");
  app.add_flag("--quiet,-q", o.quiet);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? kOk : kUsage;
  }
  std::signal(SIGINT, [](int) { stop = true; });
  std::signal(SIGTERM, [](int) { stop = true; });
  std::signal(SIGPIPE, SIG_IGN);
  try {
    ensure_profiler_directory(o.card.name, argv);
    finish_firmware_options(o, region->count() > 0);
    o.arch_given = arch->count() > 0;
    o.board_given = board->count() > 0;
    const int code = run(o, pace->count() > 0);
    if (std::getenv("TTEMU_OWN_PROFILER_DIR")) {
      std::error_code ignored;  // a leftover log is harmless and is replaced at the next start
      std::filesystem::remove_all(std::getenv("TT_METAL_PROFILER_DIR"), ignored);
    }
    return code;
  } catch (const UsageError& e) {
    return say(kUsage, e.what());
  } catch (const emulation::FaultError& e) {
    return say(kUsage, e.what());
  } catch (const card::OpenError& e) {
    return say(kCard, e.what());
  } catch (const tools::ImageError& e) {
    return say(kLoad, e.what());
  } catch (const tools::DeviceLogError& e) {
    return say(kLoad, e.what());
  } catch (const std::exception& e) {
    return say(kFile, e.what());
  }
}
