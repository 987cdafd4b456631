// Directories of firmware memory: what emulated firmware of every generation, mode and mailbox left in L1 and
// DRAM comes out of the pipeline as what the cores report as emitted. (Memory written by real firmware is in
// markers_golden_test.)
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tools/emulation/core.hpp"
#include "tools/formats/device_csv.hpp"
#include "tools/pipeline/image_source.hpp"
#include "tools/pipeline/pipeline.hpp"

namespace ttc::emulation {
namespace {

using device::Mode;

struct Imaged {
  std::string generation = "G4", mailbox = "M4";
  Mode mode = Mode::normal;
  std::string arch = "wormhole_b0";
  bool sums = false;
  bool dispatch = false;  // one core more, that runs without end
  bool ethernet = false;  // instead of Tensix cores
  bool no_log = false;    // the host has given the cores no DRAM address: all is in L1
  unsigned overruns = 0;  // one of so many launches
};

using Lines = std::vector<std::string>;

// Lines behind the head, sorted: an image is read core by core, the truth was written launch by launch.
Lines csv_rows(const std::string& path) {
  std::ifstream file(path);
  Lines rows;
  std::string line;
  for (size_t n = 0; std::getline(file, line); ++n)
    if (n >= 2) rows.push_back(line);
  std::sort(rows.begin(), rows.end());
  return rows;
}

// The first few lines of `from` that are not in `what`, both sorted. A repeated row counts as often as it is there.
Lines without(const Lines& from, const Lines& what) {
  Lines rest;
  std::set_difference(from.begin(), from.end(), what.begin(), what.end(), std::back_inserter(rest));
  if (rest.size() > 3) rest[2] = std::to_string(rest.size()) + " in all", rest.resize(3);
  return rest;
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
      launch.zones = what_.mode == Mode::trace_only ? 0 : 5;
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

Lines exported_rows() {
  const std::string path = ImageWriter::directory() + "/exported.csv";
  tools::Output out(path, true);
  tools::DeviceCsv csv(out, {});
  tools::Pipeline pipeline({}, false);
  tools::ImageSource source(ImageWriter::directory());
  std::vector<uint64_t> chunk;
  while (source.next(chunk) == tools::Source::Next::chunk) pipeline.push(chunk, csv);
  pipeline.finish(csv);
  csv.end();
  out.commit();
  return csv_rows(path);
}

void expect_equal(const Imaged& what, uint32_t programs = 12, uint32_t epochs = 3) {
  SCOPED_TRACE(what.generation + " " + what.mailbox + " " + what.arch);
  ImageWriter image(what);
  for (uint32_t e = 0; e < epochs; ++e) image.add_epoch(programs, e + 1 == epochs);
  const auto got = exported_rows();
  const auto wanted = image.true_rows();
  EXPECT_GT(wanted.size(), 20u);
  EXPECT_EQ(without(wanted, got), Lines()) << "missing";
  EXPECT_EQ(without(got, wanted), Lines()) << "invented";
}

constexpr const char* kArchitectures[] = {"wormhole_b0", "blackhole"};
constexpr const char* kPairs[][2] = {{"G1-16", "M0"},   {"G1", "M1-early"}, {"G1", "M1"}, {"G2", "M1"},
                                     {"G2", "M2-2025"}, {"G3", "M2"},       {"G3", "M3"}, {"G4", "M4"}};

TEST(MemoryImage, every_generation_and_mailbox_on_both_architectures) {
  for (const char* arch : kArchitectures)
    for (const auto& [generation, mailbox] : kPairs) expect_equal({generation, mailbox, Mode::normal, arch});
}

TEST(MemoryImage, sums_and_buffers_that_overran) {
  for (const char* generation : {"G3", "G4"}) {
    expect_equal({.generation = generation, .sums = true});
    expect_equal({.generation = generation, .overruns = 4});
  }
}

TEST(MemoryImage, trace_only_with_the_last_replay_in_l1) {
  for (const char* arch : kArchitectures)
    for (const auto& [generation, mailbox] : kPairs)
      if (markers::layout_by_name(generation)->format.trace_status)
        expect_equal({generation, mailbox, Mode::trace_only, arch}, 12, 1);
}

TEST(MemoryImage, accumulated_launches_with_the_rest_in_l1) {
  for (const char* arch : kArchitectures) {
    expect_equal({.mode = Mode::accumulate, .arch = arch}, 60, 1);
    expect_equal({.mode = Mode::accumulate, .arch = arch, .dispatch = true}, 60, 1);
    expect_equal({.mode = Mode::accumulate, .arch = arch, .ethernet = true}, 60, 1);
  }
}

// Its own launch is 0, which shows no 16-bit id.
TEST(MemoryImage, a_dispatch_core_does_not_hide_how_wide_ids_are) {
  for (const auto& [generation, mailbox] : kPairs) {
    Imaged what{generation, mailbox};
    what.dispatch = true;
    expect_equal(what);
  }
}

TEST(MemoryImage, ethernet_cores) {
  for (const char* arch : kArchitectures)
    for (const auto& [generation, mailbox] : kPairs)
      if (markers::mailbox_by_name(mailbox)->ethernet_offset) {
        Imaged what{generation, mailbox, Mode::normal, arch};
        what.ethernet = true;
        expect_equal(what);
      }
}

// The first firmware waits for its log without end; the others continue, and each launch clears the one before.
TEST(MemoryImage, cores_that_were_given_no_log) {
  for (const auto& [generation, mailbox] : kPairs) {
    if (markers::layout_by_name(generation)->format.early_2025) continue;
    Imaged what{generation, mailbox};
    what.no_log = true;
    expect_equal(what, 1, 4);
  }
}

// --- what is not read

std::string refusal() {
  try {
    tools::ImageSource source(ImageWriter::directory());
  } catch (const tools::SourceError& e) {
    return e.what();
  }
  return "none";
}
void name_generation(const std::string& generation) {
  const std::string path = ImageWriter::directory() + "/meta.json";
  auto meta = nlohmann::json::parse(std::ifstream(path));
  meta["gen"] = generation;
  std::ofstream(path) << meta;
}
void set_word(const std::string& name, uint32_t word, uint32_t value) {
  std::fstream file(ImageWriter::directory() + name, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(4 * word);
  file.write(reinterpret_cast<const char*>(&value), 4);
}

TEST(MemoryImage, a_generation_that_is_not_read_is_refused_by_its_name) {
  ImageWriter image({.generation = "G3"});
  image.add_epoch(5, true);
  EXPECT_EQ(refusal(), "none");
  name_generation("g3b");
  EXPECT_NE(refusal().find("G3b"), std::string::npos) << refusal();
  EXPECT_NE(refusal().find("July 2026"), std::string::npos) << refusal();
}

TEST(MemoryImage, a_description_that_is_not_json_is_refused_by_its_file) {
  ImageWriter image({.generation = "G3"});
  image.add_epoch(5, true);
  const std::string path = ImageWriter::directory() + "/meta.json";
  std::ofstream(path) << "{ nope";
  EXPECT_EQ(refusal(), path + " is not JSON");
}

// The cores that show nothing of it yet do not count then.
TEST(MemoryImage, debug_dump_on_one_core_is_refused_in_one_sentence) {
  ImageWriter image({.generation = "G3"});
  image.add_epoch(5, false);
  image.add_epoch(5, true);
  set_word("/epoch0001/cv_01_01.bin", device::kG3.risc_dram_address + 1u, 0xffffffff);
  const std::string why = refusal();
  const size_t at = why.find("debug dump at");
  ASSERT_NE(at, std::string::npos) << why;
  EXPECT_EQ(why.find("G4", at), std::string::npos) << why;  // in front of it is a path, of random letters
}

TEST(MemoryImage, a_profiler_that_never_ran_is_refused) {
  ImageWriter image({.no_log = true});
  image.add_epoch(0, true);
  EXPECT_NE(refusal().find("profiler not set up"), std::string::npos) << refusal();
  name_generation("g9");
  EXPECT_NE(refusal().find("'g9'"), std::string::npos) << refusal();
}

}  // namespace
}  // namespace ttc::emulation
