#include "tools/ttemu/runs.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <utility>

#include "collector/program/json_text.hpp"
#include "collector/program/option_units.hpp"
#include "tools/emulation/chip_player.hpp"
#include "tools/emulation/loader.hpp"
#include "tools/emulation/profiler_state.hpp"
#include "tools/replay/replay_report.hpp"
#include "tools/ttemu/truth_files.hpp"

namespace ttc::emulation {

std::atomic<bool> stop{false};

namespace {

// A session on the clock of another boot: 18 minutes further on at 1 GHz.
constexpr uint64_t kFutureCycles = uint64_t{1} << 40;

std::string log_directory() {
  return std::string(std::getenv("TT_METAL_PROFILER_DIR")) + "/.logs";
}

// Called after the workload closed: observers take what is left, then the card goes.
void leave(card::EmulatedCard& card, uint64_t linger_ns) {
  if (!card.lost()) card.announce_leaving();
  const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(linger_ns);
  while (card.observers() > 0 && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // observers set the pace
}

int report(const Options& o, const card::EmulatedCard& card, nlohmann::ordered_json more,
           nlohmann::ordered_json facts) {
  if (!more.is_null()) facts.update(more);
  const card::AccessAccount a = card.account();
  facts["round_trips"] = a.round_trips;
  facts["register_loads"] = a.register_loads;
  facts["window_moves"] = a.window_moves;
  facts["descriptor_bytes"] = a.descriptor_bytes;
  facts["index_writes"] = a.index_writes;
  facts["violations"] = a.violations;
  for (const std::string& name : o.unlike.names()) facts["contradicts"].push_back(name);
  const auto hits = card.fault_hits();
  for (size_t i = 0; i < hits.size(); ++i)
    facts["faults"].push_back(
        {{"fault", i < o.plan.card_names.size() ? o.plan.card_names[i] : "reset"}, {"hits", hits[i]}});
  if (!o.card.virtual_time)
    for (const card::ClockPiece& p : card.clock_pieces())
      facts["clock"].push_back({{"host_ns", p.host_ns}, {"cycles", p.cycles}, {"hz", p.hz}});
  if (o.json)
    std::printf("%s\n", program::json_text(facts).c_str());
  else if (!o.quiet)
    say(EmulatorExit::kOk, program::json_text(facts));
  for (const std::string& v : card.violations()) say(EmulatorExit::kViolation, "violation: " + v);
  return a.violations ? EmulatorExit::kViolation : EmulatorExit::kOk;
}

void wait_for_observer(const card::EmulatedCard& card, const Options& o) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(o.wait_limit_ns);
  while (card.observers() == 0 && !stop && (o.wait_limit_ns == 0 || std::chrono::steady_clock::now() < until))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (card.observers() == 0 && !stop && !o.quiet)
    std::fprintf(stderr, "ttemu: no observer came within %s; the workload starts\n",
                 program::duration_text(o.wait_limit_ns).c_str());
}

int run_image(Options& o) {
  const tools::MemoryImage image(o.load);
  o.card.arch = image.placement->arch;
  o.card.board = o.card.arch == "blackhole" ? "p150" : "n150";
  // The firmware that recorded these times has run: the card's clock is past them, whatever clock that was.
  if (const auto latest = latest_time(image); latest && !o.clock_start_given)
    o.card.start_cycles = *latest + o.card.hz;
  card::EmulatedCard card(o.card);
  ImageLoader loader(card, image);
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
    if (!loader.wait_read(stop, o.work.no_observer_ns)) break;  // the reset was detected, as in a workload
    loader.load_epoch(epoch);
    all_read = loader.wait_read(stop, o.work.no_observer_ns);
  }
  const uint64_t unread = loader.unread_words();
  if (!stop) leave(card, o.linger_ns);
  return report(o, card, {},
                {{"epochs_loaded", std::min(epoch + 1, image.epochs)}, {"unread_words", unread}});
}

// A session that is over when this one begins: its frames and buffers are all that is left of it.
void run_earlier_session(const Options& o, card::EmulatedCard& card, const ZoneCatalog& zones) {
  WorldOptions world_options = o.world;
  world_options.pace = false;
  world_options.faults = {};
  if (o.world.faults.stale_dram.future) world_options.clock_offset = kFutureCycles;
  WorkloadOptions work = o.work;
  work.programs = o.world.faults.stale_dram.programs;
  work.rate = 0;
  work.host_reads_every = 0;
  TruthLog nobody("");
  ZoneLog nowhere("");
  World earlier(card, world_options, nobody);
  Workload(earlier, zones, nowhere, work).run(stop);
}

// Throws program::UsageError if the card has fewer tiles than the options request.
void check_tiles(const Options& o, const World& world) {
  if (const size_t asked = o.world.ethernet + o.world.idle_ethernet; asked > world.ethernet().size())
    throw program::UsageError("--ethernet and --idle-ethernet need " + std::to_string(asked) +
                              " tiles; this card has " + std::to_string(world.ethernet().size()));
  for (const auto& [option, asked] :
       {std::pair<const char*, size_t>{"--cores", o.work.cores}, {"--dispatch-cores", o.work.dispatch_cores}})
    if (asked > world.cores().size())
      throw program::UsageError(std::string(option) + " needs " + std::to_string(asked) +
                                " cores; this card has " + std::to_string(world.cores().size()));
}

ZoneCatalog catalog_of(const Options& o) {
  return ZoneCatalog(o.work.zones_per_kernel + 8, {o.world.layout->format.generation, o.card.arch,
                                                   o.world.ethernet + o.world.idle_ethernet > 0});
}

// Adds only what the workload records: zones of two catalogs may share a hash.
void add_names(markers::ZoneNames& names, const ZoneCatalog& zones, bool chip) {
  for (const auto* zone : zones.firmware_zones()) names.add_zone_string(zone->zone_string);
  for (uint32_t i = 0; i < zones.kernel_zones(); ++i)
    for (const auto* zone : zones.kernel_zones_of(i)) names.add_zone_string(zone->zone_string);
  if (!chip) return;
  const ChipZones chip_zones(zones);
  for (const Zone* zone : chip_zones.all()) names.add_zone_string(zone->zone_string);
}

struct WorkloadFacts {
  uint64_t programs = 0, host_reads = 0, steps = 0, host_strikes = 0, overruns = 0, index_races = 0;
  uint64_t late_ns = 0, simulated_cycles = 0, stalls = 0, real_time_records = 0;
  std::vector<ChipPlayer::StreamedZone> streamed;
  nlohmann::ordered_json residents = nlohmann::ordered_json::array();
  ChipPlayer::Delays delays;
  uint64_t checksum = 0, races_lost = 0;
  std::string hung;
  template <class Any>
  void add(const Any& workload, const World& world) {
    programs += workload.programs_run(), host_reads += workload.host_reads(), steps += world.steps();
    host_strikes += world.host_strikes(), overruns += world.overruns();
    index_races += world.index_races();
  }
};

void warn_of_absent(const std::map<watcher::LogicalCore, watcher::Masks>& absent, const char* kind) {
  for (const auto& [core, masks] : absent)
    say(EmulatorExit::kOk, std::string("the workload warns: no ") + kind + " core (" +
                               std::to_string(core.x) + "," + std::to_string(core.y) +
                               ") to insert debug delays on");
}

// The host's writes when it opens the device, whether the watcher is on or not: the masks of the cores that were listed, and zeros.
void write_watcher_blocks(const Options& o, const World& world, card::EmulatedCard& card) {
  if (!o.work.watcher) return;
  const WatcherSetup& w = *o.work.watcher;
  std::set<uint8_t> columns, rows;
  for (const WorldCore& core : world.cores()) columns.insert(core.at.x), rows.insert(core.at.y);
  std::map<card::Coord, uint32_t> channel;  // of Ethernet tiles that are there
  for (const card::Coord at : watcher::ethernet_channels(o.card.arch)) {
    const auto here = [&](const WorldCore& core) { return core.at == at; };
    if (std::any_of(world.prepared().begin(), world.prepared().end(), here))
      channel.emplace(at, static_cast<uint32_t>(channel.size()));
  }
  std::map<watcher::LogicalCore, watcher::Masks> workers = watcher::worker_masks(w.settings, 0);
  std::map<watcher::LogicalCore, watcher::Masks> ethernet = watcher::ethernet_masks(w.settings, 0);
  for (const WorldCore& core : world.prepared()) {
    const bool tensix = core.kind == markers::CoreKind::tensix;
    const watcher::LogicalCore logical =
        tensix
            ? watcher::LogicalCore{static_cast<uint32_t>(
                                       std::distance(columns.begin(), columns.find(core.at.x))),
                                   static_cast<uint32_t>(std::distance(rows.begin(), rows.find(core.at.y)))}
            : watcher::LogicalCore{0, channel.at(core.at)};
    const auto own = (tensix ? workers : ethernet).extract(logical);
    if (const watcher::Waypoints* waypoints = w.waypoints_of(core.kind))
      waypoints->write(card, core.at, w.settings.watcher);
    if (const watcher::DelayRecord* record = w.record_of(core.kind))
      record->write(card, core.at, own ? own.mapped() : watcher::Masks{});
  }
  if (o.quiet) return;
  warn_of_absent(workers, "worker");
  warn_of_absent(ethernet, "Ethernet");
}

nlohmann::ordered_json watcher_facts(const WatcherSetup& w) {
  return {{"on", w.settings.watcher},
          {"sanitises", w.built.sanitises},
          {"delay_cycles", w.built.delay_cycles},
          {"delays_by", w.built.delays_by()},
          {"from_cache", w.built.from_cache},
          {"brisc_text_bytes", w.built.brisc_text_bytes}};
}

void play(const Options& o, World& world, const ZoneCatalog& zones, ZoneLog& log, ChipFiles& files,
          WorkloadFacts& facts) {
  if (o.work.chip) {
    ChipPlayer player(world, zones, log, o.work, files.outputs());
    player.run(stop);
    facts.add(player, world);
    facts.late_ns += player.late_ns();
    facts.simulated_cycles += player.simulated_cycles();
    facts.stalls += player.stalls();
    facts.checksum ^= player.output_checksum();
    facts.races_lost += player.races_lost();
    facts.hung = player.hung();
    facts.real_time_records += player.real_time_records();
    for (const streaming::Resident& resident : player.residents())
      facts.residents.push_back(
          {{"tile", {resident.tile().x, resident.tile().y}}, {"address", resident.address()}});
    facts.streamed.insert(facts.streamed.end(), player.streamed().begin(), player.streamed().end());
    for (const auto& [tile, times] : player.delays())
      for (size_t t = 0; t < times.size(); ++t) facts.delays[tile][t] += times[t];
  } else {
    Workload workload(world, zones, log, o.work);
    workload.run(stop);
    facts.add(workload, world);
  }
}

// A paced card gives observers the time to notice that the firmware is gone; silicon would not. A collector reads every
// core's vector again and again; one that waits for a profiler reads the first core alone.
void wait_until_noticed(const World& world, card::EmulatedCard& card, const Options& o) {
  if (!o.world.pace || world.cores().size() < 2) return;
  constexpr uint64_t kTripsOfTwoSweeps = 1000;
  const card::Coord second = world.cores()[1].at;
  const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(o.work.no_observer_ns);
  uint64_t reads = card.control_reads(second), trips = card.account().round_trips;
  while (!stop && !card.lost() && card.observers() > 0 && std::chrono::steady_clock::now() < until) {
    if (card.account().round_trips > trips + kTripsOfTwoSweeps) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // observers set the pace
    const uint64_t now = card.control_reads(second);
    if (now != std::exchange(reads, now)) trips = card.account().round_trips;
  }
}

// Other firmware is loaded on the card that observers have open, and another workload runs. The firmware of `world` is what was
// there before; the new one takes its place.
void run_following(const Options& o, card::EmulatedCard& card, const ZoneCatalog& zones, TruthLog& truth,
                   TruthLog* unseen, std::unique_ptr<World>& world, ChipFiles& files, WorkloadFacts& facts) {
  world->unload();
  const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(o.off_before_ns);
  while (!stop && !card.lost() && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the time that the option gives
  wait_until_noticed(*world, card, o);
  if (stop || card.lost()) return;
  ZoneLog log(log_directory());
  world = std::make_unique<World>(card, o.world, truth, unseen);
  check_tiles(o, *world);
  write_watcher_blocks(o, *world, card);
  play(o, *world, zones, log, files, facts);
}

int run_workload(Options& o) {
  card::EmulatedCard card(o.card);
  const ZoneCatalog zones = catalog_of(o);
  if (o.world.faults.stale_dram.programs) run_earlier_session(o, card, zones);
  TruthLog truth(o.truth), unseen(o.truth_unseen);
  TruthLog* const report_unseen = o.truth_unseen.empty() ? nullptr : &unseen;
  auto world = std::make_unique<World>(card, o.world, truth, report_unseen);
  check_tiles(o, *world);
  WorkloadFacts facts;
  ChipFiles files;
  open_chip_files(o, card, files);
  {
    ZoneLog log(log_directory(), o.world.faults.names);
    show_profiler_state(*world, o.profiler);
    write_watcher_blocks(o, *world, card);
    card.announce();
    if (o.wait_observer) wait_for_observer(card, o);
    await_profiler(*world, o.profiler, stop);
    play(o, *world, zones, log, files, facts);
  }
  markers::ZoneNames names;
  add_names(names, zones, o.work.chip != nullptr);
  for (const Options& next : o.following) {
    if (!facts.hung.empty()) break;
    const ZoneCatalog next_zones = catalog_of(next);
    add_names(names, next_zones, next.work.chip != nullptr);
    run_following(next, card, next_zones, truth, report_unseen, world, files, facts);
  }
  leave(card, o.linger_ns);

  uint32_t cores = 0;
  for (const card::Tile& t : card.tiles()) cores += t.kind == card::TileKind::tensix && !t.harvested;
  const TruthLog::Header header{o.card.arch, o.card.aiclk_mhz, cores, o.unlike.names()};
  truth.convert(header, names);
  unseen.convert(header, names);
  files.close();
  if (!o.dvfs.empty() && !o.truth.empty()) write_clock(file_beside(o.truth, "clock"), card.clock_pieces());
  nlohmann::ordered_json more;
  const bool watched =
      o.work.watcher && (o.work.watcher->settings.watcher || o.work.watcher->settings.delay_named);
  if (watched) more["watcher"] = watcher_facts(*o.work.watcher);
  if (watched && o.work.chip && !o.truth.empty()) write_delays(file_beside(o.truth, "delays"), facts.delays);
  if (o.work.chip) {
    more["simulated_cycles"] = facts.simulated_cycles;
    more["output_checksum"] = chip::hex_of(facts.checksum);
    more["races_lost"] = facts.races_lost;
  }
  if (o.work.real_time) more["real_time_records"] = facts.real_time_records;
  if (o.work.streaming) {
    more["streamed_zones"] = facts.streamed.size();
    more["stalls"] = facts.stalls;
    more["residents"] = facts.residents;
    if (!o.truth.empty()) write_streamed(file_beside(o.truth, "streamed"), facts.streamed);
  }
  if (!facts.hung.empty()) more["hung"] = facts.hung;
  const int code = report(o, card, std::move(more),
                          {{"programs", facts.programs},
                           {"host_reads", facts.host_reads},
                           {"markers", truth.count()},
                           {"firmware_steps", facts.steps},
                           {"host_strikes", facts.host_strikes},
                           {"overruns", facts.overruns},
                           {"index_races", facts.index_races},
                           {"unseen_markers", unseen.count()},
                           {"late_ns", facts.late_ns},
                           {"card_lost", card.lost()}});
  if (facts.hung.empty() || code != EmulatorExit::kOk) return code;
  return say(EmulatorExit::kHung,
             "the workload hangs: " + facts.hung +
                 (o.work.operation_timeout_ns == 0
                      ? ""
                      : "\nTT_THROW: TIMEOUT: device timeout, potential hang detected, the "
                        "device is unrecoverable"));
}

// Takes over the card that the file was written on, as far as the file describes it.
void fit_card(Options& o, const ReplayPlan& plan) {
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
    for (const uint8_t line : unused_rows(plan, *board)) o.harvest.push_back(line);
}

void write_zone_log(const std::vector<std::string>& zone_strings) {
  std::vector<Zone> zones;
  zones.reserve(zone_strings.size());
  for (const std::string& zone_string : zone_strings)
    zones.push_back({zone_string, markers::hash16(zone_string)});
  std::vector<const Zone*> compiled;
  compiled.reserve(zone_strings.size());
  for (const Zone& zone : zones) compiled.push_back(&zone);
  ZoneLog(log_directory()).compiled(compiled);
}

int run_replay(Options& o) {
  if (o.mode != "normal")
    throw program::UsageError("--replay plays a file, whatever firmware made it; leave out --mode");
  std::ifstream file(o.replay, std::ios::binary);
  if (!file)
    throw tools::DeviceLogError(o.replay + " cannot be opened; --replay takes a profile_log_device.csv");
  ReplayPlan plan = plan_replay(file, o.replay, o.replay_chip);
  fit_card(o, plan);
  o.time = "virtual";
  o.pace_given = false;
  finish_card_options(o);
  constexpr uint64_t kBefore = 1'000'000;  // cycles the card has been there when the first launch begins
  o.card.start_cycles = plan.begin() - std::min(kBefore, plan.begin());
  card::EmulatedCard card(o.card);
  plan.drop_cores_not_in(card.tiles());
  if (plan.has_ethernet()) o.world.ethernet = static_cast<unsigned>(card.tiles().size());
  if (!o.quiet)
    for (const std::string& text : sentences_about(plan, o.replay, o.world)) say(EmulatorExit::kOk, text);
  TruthLog nothing("");
  World world(card, o.world, nothing);
  write_zone_log(plan.names.zone_strings);
  o.play.hz = o.card.hz;
  o.play.no_observer_ns = o.work.no_observer_ns;
  ReplayPlayer player(world, plan, o.play);
  card.announce();
  if (o.wait_observer) wait_for_observer(card, o);
  player.play(stop);
  leave(card, o.linger_ns);
  const uint64_t left_out = plan.account.unplayed_rows() + plan.skipped_lines();
  const int code = report(o, card, {},
                          {{"rows", plan.account.rows},
                           {"rows_left_out", left_out},
                           {"repeated_rows", plan.account.repeated},
                           {"launches", player.launches()},
                           {"host_reads", player.host_reads()},
                           {"unread_words", player.unread_words()}});
  return code == EmulatorExit::kOk && left_out ? EmulatorExit::kRowsLeftOut : code;
}

}  // namespace

void ensure_profiler_directory(const std::string& card, char** argv) {
  if (const char* set = std::getenv("TT_METAL_PROFILER_DIR"); set && *set) return;
  const std::string base = std::filesystem::temp_directory_path() / ("ttemu-" + std::to_string(getuid()));
  mkdir(base.c_str(), 0700);
  struct stat info {};
  if (lstat(base.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != getuid())
    throw card::OpenError(base + " is not a directory of this user; set TT_METAL_PROFILER_DIR");
  setenv("TT_METAL_PROFILER_DIR", (base + "/" + card).c_str(), 1);
  setenv("TTEMU_OWN_PROFILER_DIR", "1", 1);  // remove it at the end
  // If a loader was started by name to run this program, as in the tarball, the file of the process is the loader.
  std::error_code none;
  const auto file = std::filesystem::read_symlink("/proc/self/exe", none).filename().string();
  execvp(file.starts_with("ld-linux") ? argv[0] : "/proc/self/exe", argv);
  throw card::OpenError(std::string("cannot start again with TT_METAL_PROFILER_DIR set: ") +
                        std::strerror(errno));
}

int run(Options& o) {
  if (!o.replay.empty()) return run_replay(o);
  finish_card_options(o);
  return o.load.empty() ? run_workload(o) : run_image(o);
}

}  // namespace ttc::emulation
