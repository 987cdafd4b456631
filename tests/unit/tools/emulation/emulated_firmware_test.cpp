// The emulated firmware of every generation, mailbox, kind of core and mode: what is in the emulated DRAM
// and L1 decodes to what the cores report as emitted.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>

#include "firmware_markers/decoder.hpp"
#include "firmware_markers/discovery.hpp"
#include "tools/emulation/core.hpp"

namespace ttc::emulation {
namespace {

using device::Mode;
using markers::CoreKind;

struct Setup {
  std::string generation = "G4";
  std::string mailbox = "M4";
  Mode mode = Mode::normal;
  std::string arch = "wormhole_b0";
  unsigned ethernet = 0, idle_ethernet = 0;
};

// A card without observers, with the cores the test runs launches on.
struct Rig {
  explicit Rig(const Setup& s)
      : card(card_options(s)),
        path(::testing::TempDir() + "/emulated_firmware_" + std::to_string(getpid()) + ".csv"),
        truth(path),
        world(card, world_options(s), truth),
        zones(8, {world.format().generation, s.arch, true}) {
    cores.push_back(make_core(world, world.cores().front(), zones));
    cores.push_back(make_core(world, world.cores().back(), zones));
    for (const WorldCore& core : world.ethernet()) cores.push_back(make_core(world, core, zones));
  }
  ~Rig() { std::remove(path.c_str()); }

  static card::EmulatedCardOptions card_options(const Setup& s) {
    card::EmulatedCardOptions o;
    o.name = "firmware-test-" + std::to_string(getpid());
    o.arch = s.arch;
    o.board = s.arch == "blackhole" ? "p150" : "n150";
    o.virtual_time = true;
    return o;
  }
  static WorldOptions world_options(const Setup& s) {
    WorldOptions w;
    w.layout = markers::layout_by_name(s.generation);
    w.mailbox = markers::mailbox_by_name(s.mailbox);
    w.mode = s.mode;
    w.ethernet = s.ethernet;
    w.idle_ethernet = s.idle_ethernet;
    return w;
  }

  uint32_t control(const WorldCore& core, uint32_t word) {
    return card.load(core.at, core.control_address + 4 * word);
  }
  uint32_t buffer_word(const WorldCore& core, uint32_t risc, uint32_t word) {
    return card.load(core.at, world.buffer_address(core) + device::kBufferBytes * risc + 4 * word);
  }
  std::vector<uint32_t> log(const WorldCore& core, uint32_t risc) {
    const auto place = markers::log_place(core.flat_id, risc, world.cores_per_bank(),
                                          markers::placement_for(card.arch().name)->dram_base,
                                          world.options().bytes_per_risc);
    std::vector<uint32_t> words(control(core, world.format().host_end + risc));
    for (size_t w = 0; w < words.size(); ++w) words[w] = card.load_dram(place.bank, place.address + 4 * w);
    return words;
  }

  // A row of the truth, without the columns that come from names.
  using Row = std::string;
  static Row row(const WorldCore& core, std::string_view risc, uint16_t id, uint64_t time, uint64_t data,
                 uint32_t host, uint32_t trace, std::string_view type) {
    return "0," + std::to_string(core.at.x) + "," + std::to_string(core.at.y) + "," + std::string(risc) +
           "," + std::to_string(id) + "," + std::to_string(time) + "," + std::to_string(data) + "," +
           std::to_string(host) + ",," + (trace ? std::to_string(trace) : "") + "," + std::string(type);
  }
  // Rows as above, from the file: without the zone's name, line, source file and meta data.
  std::vector<Row> true_rows() {
    truth.convert({"any", 1000, 1}, {});
    std::ifstream file(path);
    std::vector<Row> rows;
    std::string line;
    for (size_t n = 0; std::getline(file, line); ++n) {
      if (n < 2) continue;
      std::vector<std::string> columns;
      for (size_t at = 0; at <= line.size();) {
        const size_t comma = std::min(line.find(',', at), line.size());
        columns.push_back(line.substr(at, comma - at));
        at = comma + 1;
      }
      std::string joined;
      for (size_t c = 0; c < 10; ++c) joined += columns[c] + ",";
      rows.push_back(joined + columns[11]);
    }
    std::sort(rows.begin(), rows.end());
    return rows;
  }
  void decode_into(std::vector<Row>& rows, const WorldCore& core, uint32_t risc,
                   std::span<const uint32_t> words, Mode mode = Mode::normal) {
    markers::LaneDecoder decoder(markers::Lane{&world.format(), static_cast<uint8_t>(risc), core.flat_id});
    markers::Batch batch;
    decoder.decode(words, batch);
    EXPECT_EQ(decoder.anomalies().unparsable_words + decoder.anomalies().overrun_frames, 0u);
    for (const markers::Frame& f : batch.frames())
      for (const markers::Marker& m : batch.markers(f)) {
        if (m.flags & (markers::kStale | markers::kDuplicate)) continue;
        const bool data = m.type == markers::MarkerType::zone_total ||
                          m.type == markers::MarkerType::ts_data ||
                          m.type == markers::MarkerType::ts_data_16b;
        rows.push_back(row(core, markers::risc_name(core.kind, risc, mode), m.id, m.time_cycles,
                           data ? batch.payload(m.payload) : 0, f.host_id, f.trace_counter,
                           markers::to_string(m.type)));
      }
  }
  std::vector<Row> decoded_rows() {
    std::vector<Row> rows;
    for (const auto& core : cores)
      for (uint32_t r = 0; r < core->where().riscs; ++r)
        decode_into(rows, core->where(), r, log(core->where(), r));
    std::sort(rows.begin(), rows.end());
    return rows;
  }

  card::EmulatedCard card;
  std::string path;
  TruthLog truth;
  World world;
  ZoneCatalog zones;
  std::vector<std::unique_ptr<EmulatedCore>> cores;
};

Launch launch_of(uint32_t program) {
  Launch launch;
  launch.host_id = program;
  launch.zones = 6 + program % 5;
  launch.seed = program * 7 + program / 4;
  launch.payload_every = 2;
  launch.enabled[3] = program % 4 != 0;
  launch.for_this_core = program % 9 != 0;
  launch.sums = program % 2 == 0;
  launch.noc_events = program % 3 == 0 ? 150 : 0;  // more than a buffer holds
  launch.perf_counters = program % 6 == 1;
  return launch;
}

void expect_decoded_is_true(const Setup& setup, bool traces = false) {
  SCOPED_TRACE(setup.generation + " " + setup.mailbox + " " + setup.arch);
  Rig rig(setup);
  for (uint32_t program = 1; program <= 30; ++program)
    for (auto& core : rig.cores) {
      if (traces && program % 5 == 0) core->replay_started(0);
      core->run(launch_of(program));
    }
  const auto truth = rig.true_rows();
  EXPECT_GT(truth.size(), 1000u);
  EXPECT_EQ(rig.decoded_rows(), truth);
}

TEST(EmulatedFirmware, every_generation_writes_what_it_says) {
  for (const markers::Layout& layout : markers::layouts())
    expect_decoded_is_true({std::string(layout.name), "M4"}, layout.format.trace.bits != 0);
}

TEST(EmulatedFirmware, ethernet_cores_of_both_kinds_and_architectures) {
  for (const char* arch : {"wormhole_b0", "blackhole"})
    for (const char* mailbox : {"M1", "M2", "M4"}) {
      expect_decoded_is_true({"G3", mailbox, Mode::normal, arch, 2, 1});
      expect_decoded_is_true({"G4", mailbox, Mode::normal, arch, 1, 2}, true);
    }
}

TEST(EmulatedFirmware, an_ethernet_core_has_its_own_place_and_number_of_riscs) {
  Rig rig({"G4", "M4", Mode::normal, "blackhole", 1, 1});
  ASSERT_EQ(rig.world.ethernet().size(), 2u);
  EXPECT_EQ(rig.world.ethernet()[0].kind, CoreKind::active_ethernet);
  EXPECT_EQ(rig.world.ethernet()[1].kind, CoreKind::idle_ethernet);
  EXPECT_EQ(rig.world.ethernet()[0].control_address, 0x980u);
  EXPECT_EQ(rig.world.ethernet()[0].riscs, 2u);
  Rig old({"G1", "M1", Mode::normal, "blackhole", 1, 0});
  EXPECT_EQ(old.world.ethernet()[0].riscs, 1u) << "one erisc until Aug 2025";
  EXPECT_EQ(old.world.ethernet()[0].control_address, 0x100u + 1392);
  Rig wormhole({"G4", "M4", Mode::normal, "wormhole_b0", 1, 1});
  EXPECT_EQ(wormhole.world.ethernet()[0].control_address, 0x3E510u);
  EXPECT_EQ(wormhole.world.ethernet()[1].control_address, 0x27C0u);
}

TEST(EmulatedFirmware, mailboxes_lie_where_tt_metal_has_them) {
  const std::map<std::string, uint32_t> wormhole = {{"M1-early", 0x890}, {"M1", 0x8B0}, {"M2-2025", 0x970},
                                                    {"M2", 0x970},       {"M3", 0xA00}, {"M4", 0xB00}};
  for (const auto& [mailbox, address] : wormhole) {
    SCOPED_TRACE(mailbox);
    Rig rig({"G3", mailbox});
    const WorldCore& core = rig.world.cores().front();
    EXPECT_EQ(core.control_address, address);
    EXPECT_EQ(rig.card.load(core.at, address - 16) == markers::kWorkerMagic,
              markers::mailbox_by_name(mailbox)->has_magic);
    EXPECT_EQ(rig.control(core, rig.world.format().flat_id), core.flat_id);
  }
  Rig early({"G1", "M1-early", Mode::normal, "blackhole"});
  EXPECT_EQ(early.world.cores().front().control_address, 0x8C0u) << "this build had its mailbox at 0x40";
}

TEST(EmulatedFirmware, every_ethernet_tile_is_prepared_though_none_runs) {
  Rig rig({"G4", "M4"});
  size_t prepared = 0;
  for (const card::Tile& tile : rig.card.tiles())
    if (tile.kind == card::TileKind::ethernet)
      prepared += rig.card.load(tile.at, 0x3E510 + 4 * rig.world.format().dram_address) == 0x20;
  EXPECT_EQ(prepared, 16u);
}

TEST(EmulatedFirmware, sums_are_two_totals_a_risc_at_the_time_of_its_fw_start) {
  Rig rig({"G3"});
  Launch launch;
  launch.sums = true;
  launch.payload_every = 0;
  rig.cores[0]->run(launch);
  const WorldCore& core = rig.cores[0]->where();
  const auto words = rig.log(core, 2);
  ASSERT_EQ(words.size(), 12u + 4 * launch.zones + 4);
  EXPECT_EQ(markers::packet_type(words[words.size() - 4]), device::kZoneTotal);
  EXPECT_GT(words[words.size() - 3], 0u);
  EXPECT_EQ(rig.decoded_rows(), rig.true_rows());
}

TEST(EmulatedFirmware, trace_only_pushes_a_replays_frame_at_the_next_one_and_keeps_the_last_in_l1) {
  for (const char* generation : {"G2", "G3", "G4"}) {
    SCOPED_TRACE(generation);
    Rig rig({generation, "M4", Mode::trace_only});
    const device::Format& f = rig.world.format();
    EmulatedCore& traced = *rig.cores[0];
    const WorldCore& core = traced.where();
    Launch launch;
    launch.zones = 0;
    traced.run(launch);
    EXPECT_EQ(rig.control(core, f.device_end), 12u);
    EXPECT_EQ(rig.buffer_word(core, 0, device::kFwStartWord), device::kUnsetWord) << "no replay, no marker";
    for (uint32_t replay = 1; replay <= 3; ++replay) {
      traced.replay_started(0);
      EXPECT_EQ(rig.buffer_word(core, 0, 0), 0x80000000u) << "not valid yet";
      EXPECT_EQ(rig.buffer_word(core, 0, 3), replay);
      EXPECT_EQ(rig.control(core, f.trace_status), device::kExpectFwStart);
      for (int program = 0; program < 3; ++program) traced.run(launch);
      EXPECT_EQ(rig.buffer_word(core, 0, 0), 0u);
      EXPECT_EQ(rig.control(core, f.trace_status), device::kExpectEnds);
    }
    EXPECT_EQ(rig.control(core, f.run_counter), 0u);
    EXPECT_EQ(rig.control(core, f.host_end + 1), 0u);
    const auto words = rig.log(core, 0);
    EXPECT_EQ(words.size(), 2 * 16u) << "two of three";
    std::vector<Rig::Row> rows;
    rig.decode_into(rows, core, 0, words, Mode::trace_only);
    std::vector<uint32_t> last;
    for (uint32_t w = 0; w < rig.control(core, f.device_end); ++w)
      last.push_back(rig.buffer_word(core, 0, w));
    last.resize(12);  // in G2 the quick push's END is behind them
    last[2] = f.identity(0, core.flat_id, 0);
    rig.decode_into(rows, core, 0, last, Mode::trace_only);
    traced.close();
    std::sort(rows.begin(), rows.end());
    auto truth = rig.true_rows();
    EXPECT_EQ(truth.size(), 3 * 4u + 2 * 2u);
    if (f.quick_push_ends_late) {
      // Its END is in the next replay's frame, before that one's FW START: no reader takes it for its own.
      const std::string late = "," + std::to_string(rig.zones.quick_push().id) + ",";
      std::erase_if(
          truth, [&](const Rig::Row& r) { return r.find(late) != r.npos && r.find("ZONE_END") != r.npos; });
    }
    EXPECT_EQ(rows, truth);
  }
}

// Accumulate mode has no frames a decoder of launches could take apart: the words themselves are examined.
TEST(EmulatedFirmware, accumulate_keeps_launches_in_l1_until_nearly_full) {
  Rig rig({"G4", "M4", Mode::accumulate});
  const device::Format& f = rig.world.format();
  EmulatedCore& core = *rig.cores[1];
  const WorldCore& at = core.where();
  Launch launch;
  launch.zones = 10;  // FW, kernel and 10 zones: 48 words a launch
  for (uint32_t program = 1; program <= 9; ++program) {
    launch.host_id = program;
    core.run(launch);
    EXPECT_EQ(rig.control(at, f.host_end), 0u);
    EXPECT_EQ(rig.control(at, f.device_end), 12 + 48 * program);
    EXPECT_EQ(rig.buffer_word(at, 0, device::kIdIdentity), 0u) << "unstamped until it is pushed";
  }
  EXPECT_EQ(rig.control(at, f.run_counter), 0u);
  core.run(launch);  // 492 of 512
  const auto first = rig.log(at, 0);
  EXPECT_EQ(first.size(), 492u);
  EXPECT_EQ(rig.control(at, f.device_end), 0u);
  EXPECT_EQ(rig.control(at, f.run_counter), 1u) << "counts pushes";
  EXPECT_EQ(first[device::kIdIdentity], f.identity(0, at.flat_id, 0));
  EXPECT_EQ(first[device::kIdHost], 0u);
  EXPECT_EQ(first[device::kFwStartWord], device::kUnsetWord);
  for (int program = 0; program < 10; ++program) core.run(launch);
  const auto both = rig.log(at, 0);
  ASSERT_EQ(both.size(), 984u);
  const uint32_t* second = both.data() + 492;
  EXPECT_EQ(markers::packet_id(second[device::kFwStartWord]), rig.zones.dram_push().id);
  EXPECT_EQ(markers::packet_id(second[device::kKernelEndWord]), rig.zones.noc_flush().id);
  EXPECT_LT(markers::marker_time(second[device::kFwEndWord], second[device::kFwEndWord + 1]),
            markers::marker_time(second[device::kFirstCustomWord], second[device::kFirstCustomWord + 1]))
      << "the push before this one";
  const auto ncrisc = rig.log(at, 1);
  EXPECT_EQ(ncrisc[492 + device::kFwStartWord], device::kUnsetWord) << "only BRISC has them";
  EXPECT_EQ(rig.truth.count(), 5 * 20 * 24u + 2 * 4u);
}

TEST(EmulatedFirmware, accumulate_drops_zones_of_a_launch_too_long_and_goes_on) {
  Rig rig({"G4", "M4", Mode::accumulate});
  EmulatedCore& core = *rig.cores[0];
  Launch launch;
  launch.zones = 200;
  core.run(launch);
  EXPECT_EQ(rig.log(core.where(), 3).size(), 512u);
  core.run(launch);
  EXPECT_EQ(rig.log(core.where(), 3).size(), 1024u);
}

}  // namespace
}  // namespace ttc::emulation
