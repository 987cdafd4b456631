// Writes a directory of firmware memory (tools/pipeline/memory_image.hpp): what emulated cores left in L1 and DRAM, and the rows that
// they report as emitted. The directory is removed with the writer.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/emulation/core.hpp"

namespace ttc::emulation {

struct Imaged {
  std::string generation = "G4", mailbox = "M4";
  device::Mode mode = device::Mode::normal;
  std::string arch = "wormhole_b0";
  bool sums = false;
  bool dispatch = false;  // one core more, that runs without end
  bool ethernet = false;  // instead of Tensix cores
  bool no_log = false;    // the host has given the cores no DRAM address: all is in L1
  unsigned overruns = 0;  // one of so many launches
};

using Lines = std::vector<std::string>;

// Lines behind the head, sorted: an image is read core by core, the truth was written launch by launch.
inline Lines csv_rows(const std::string& path) {
  std::ifstream file(path);
  Lines rows;
  std::string line;
  for (size_t n = 0; std::getline(file, line); ++n)
    if (n >= 2) rows.push_back(line);
  std::sort(rows.begin(), rows.end());
  return rows;
}

class ImageWriter {
 public:
  explicit ImageWriter(const Imaged& what)
      : what_(what),
        card_(card_options()),
        truth_(directory() + ".truth.csv"),
        world_(card_, world_options(), truth_),
        zones_(8, {world_.format().generation, what.arch, what.ethernet}) {
    std::filesystem::remove_all(directory());
    std::filesystem::create_directories(directory());
    if (what.ethernet)
      for (const WorldCore& core : world_.ethernet()) cores_.push_back(make_core(world_, core, zones_));
    else
      for (const size_t i : {0, 9}) cores_.push_back(make_core(world_, world_.cores()[i], zones_));
    if (what.dispatch) {
      world_.is_dispatch_core(world_.cores().back());
      dispatch_ = make_core(world_, world_.cores().back(), zones_, true);
    }
    for_all([&](EmulatedCore& core) { begin(core.where()); });
    write_meta();
    write_remarks();
  }
  ~ImageWriter() {
    std::filesystem::remove_all(directory());
    std::remove((directory() + ".truth.csv").c_str());
  }

  static std::string directory() {
    return ::testing::TempDir() + "/memory_image_" + std::to_string(getpid());
  }
  void add_epoch(uint32_t programs, bool last) {
    if (dispatch_ && epoch_ == 0) dispatch_->dispatch_open(0);
    for (uint32_t n = 0; n < programs; ++n) run(++program_);
    if (dispatch_ && last) dispatch_->dispatch_close();
    world_.land_all();
    const std::string folder = directory() + "/epoch000" + std::to_string(epoch_++);
    std::filesystem::create_directory(folder);
    for_all([&](EmulatedCore& core) { dump(folder, core.where()); });
    for_all([&](EmulatedCore& core) {
      world_.host_reset(core.where());
      begin(core.where());
    });
  }
  Lines true_rows() {
    for (auto& core : cores_) core->close();
    truth_.convert({what_.arch, 1000, 1}, names_);
    return csv_rows(directory() + ".truth.csv");
  }

 private:
  card::EmulatedCardOptions card_options() const {
    card::EmulatedCardOptions o;
    o.name = "image-test-" + std::to_string(getpid());
    o.arch = what_.arch;
    o.board = what_.arch == "blackhole" ? "p150" : "n150";
    o.virtual_time = true;
    return o;
  }
  WorldOptions world_options() const {
    WorldOptions w;
    w.layout = markers::layout_by_name(what_.generation);
    w.mailbox = markers::mailbox_by_name(what_.mailbox);
    w.mode = what_.mode;
    w.bytes_per_risc = 64000;
    w.ethernet = what_.ethernet ? 2 : 0;
    w.faults.overrun.every = what_.overruns;
    return w;
  }
  void for_all(const std::function<void(EmulatedCore&)>& what) {
    for (auto& core : cores_) what(*core);
    if (dispatch_) what(*dispatch_);
  }
  void begin(const WorldCore& core) {
    if (what_.no_log) card_.store(core.at, core.control_address + 4u * world_.format().dram_address, 0);
  }
  void run(uint32_t program) {
    const bool traced = world_.format().trace.bits != 0 && !what_.no_log;  // counted by a push
    for (auto& core : cores_) {
      if (traced && program % 4 == 1) core->replay_started(0);
      Launch launch;
      launch.host_id = program;
      launch.zones = what_.mode == device::Mode::trace_only ? 0 : 5;
      launch.seed = program;
      launch.sums = what_.sums;
      launch.enabled[3] = program % 3 != 0;
      core->run(launch);
    }
    if (dispatch_) dispatch_->dispatch_step(20);
  }
  void dump(const std::string& folder, const WorldCore& core) {
    const device::Format& f = world_.format();
    const auto l1 = [&](uint32_t address, size_t count) {
      std::vector<uint32_t> words(count);
      for (size_t w = 0; w < count; ++w)
        words[w] = card_.load(core.at, address + static_cast<uint32_t>(4 * w));
      return words;
    };
    const auto vector = l1(core.control_address, f.control_words);
    put(folder + "/cv" + place(core) + ".bin", vector);
    put(folder + "/l1" + place(core) + ".bin",
        l1(world_.buffer_address(core), size_t{core.riscs} * device::kBufferWords));
    for (uint32_t r = 0; r < core.riscs && !what_.no_log; ++r) {
      const auto log = markers::log_place(core.flat_id, r, world_.cores_per_bank(),
                                          markers::placement_for(what_.arch)->dram_base, 64000);
      std::vector<uint32_t> words(vector[f.host_end + r]);
      for (size_t w = 0; w < words.size(); ++w) words[w] = card_.load_dram(log.bank, log.address + 4 * w);
      put(folder + "/dram" + place(core) + "_r" + std::to_string(r) + ".bin", words);
    }
  }
  static std::string place(const WorldCore& core) {
    char text[16];
    std::snprintf(text, sizeof text, "_%02u_%02u", core.at.x, core.at.y);
    return text;
  }
  static void put(const std::string& path, const std::vector<uint32_t>& words) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(words.data()), static_cast<std::streamsize>(4 * words.size()));
  }
  void write_meta() {
    const auto& kind = markers::placement_for(what_.arch)->place(cores_.front()->where().kind);
    const uint32_t control = cores_.front()->where().control_address;
    std::string generation = what_.generation.substr(0, 2);
    generation[0] = 'g';
    nlohmann::json j{{"arch", what_.arch.substr(0, 1) + "h"},
                     {"gen", generation},
                     {"C", world_.cores_per_bank()},
                     {"P", 64000},
                     {"base", markers::placement_for(what_.arch)->dram_base},
                     {"layout",
                      {{"CV_ADDR", control},
                       {"BUF_ADDR", control + 4u * world_.format().control_words},
                       {"MAILBOX_BASE", kind.mailbox_base}}}};
    if (markers::mailbox_by_name(what_.mailbox)->has_magic) {
      j["layout"]["CORE_INFO_ADDR"] = control - 256;
      j["layout"]["OFF_MAGIC"] = 240;
    }
    for_all([&](EmulatedCore& core) {
      const WorldCore& c = core.where();
      j["cores"].push_back({{"x", c.at.x}, {"y", c.at.y}, {"flat", c.flat_id}});
    });
    std::ofstream(directory() + "/meta.json") << j;
  }

  void write_remarks() {
    std::ofstream log(directory() + "/zone_src_locations.log");
    const auto note = [&](const Zone* zone) {
      log << "'#pragma message: " << zone->zone_string << "'\n";
      names_.add_zone_string(zone->zone_string);
    };
    for (const Zone* zone : zones_.firmware_zones()) note(zone);
    for (uint32_t i = 0; i < zones_.kernel_zones(); ++i)
      for (const Zone* zone : zones_.kernel_zones_of(i)) note(zone);
  }

  Imaged what_;
  card::EmulatedCard card_;
  TruthLog truth_;
  World world_;
  ZoneCatalog zones_;
  markers::ZoneNames names_;
  std::vector<std::unique_ptr<EmulatedCore>> cores_;
  std::unique_ptr<EmulatedCore> dispatch_;
  uint32_t program_ = 0, epoch_ = 0;
};

}  // namespace ttc::emulation
