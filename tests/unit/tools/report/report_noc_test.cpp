// NoC traces for tt-npe: places, sends over the fabric as one event, clocks of several devices, and what is
// left out because tt-npe would end on it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tools/report/noc/noc_traces.hpp"
#include "tools/report/noc/npe.hpp"

namespace ttc::report {
namespace {

namespace fs = std::filesystem;
using markers::MarkerType;
using nlohmann::json;

// Numbers of February 2026.
enum : uint8_t {
  kRead = 1,
  kWrite = 11,
  kReadWithState = 4,
  kMulticast = 15,
  kSend = 33,
  kScatter = 39,
  k1D = 40,
  k2D = 41
};
constexpr uint8_t kNoc0 = 1, kNoc1 = 2;

uint64_t word(std::initializer_list<int> bytes) {
  uint64_t w = 0;
  unsigned shift = 0;
  for (const int b : bytes) {
    w |= static_cast<uint64_t>(b & 0xff) << shift;
    shift += 8;
  }
  return w;
}
uint64_t local(uint8_t type, int x, int y, uint8_t noc = kNoc0, int chunks = 2) {
  return word({type, x, y, 0, 0, noc, chunks, 0});
}
uint64_t fabric(int x, int y, int routing, uint8_t type = kSend) {
  return word({type, x, y, 0, 0, kNoc0 | routing << 4, 0, 0});
}
uint64_t route_1d(uint32_t field) {
  return uint64_t{k1D} | uint64_t{field} << 8;
}

class NocTracesTest : public testing::Test {
 protected:
  NocTracesTest() {
    fs::create_directory(directory_);
    run_.zones = {{}, {"BRISC-KERNEL", "k.cc", 1, ZoneClass::kernel}, {"INNER", "k.cc", 2, ZoneClass::none}};
    add_device(0, "wormhole_b0");
  }
  ~NocTracesTest() override { fs::remove_all(directory_); }

  void add_device(uint32_t chip, const char* arch, uint32_t cores = 64) {
    run_.devices[chip] = {chip, "", arch, 1000, cores, {}};
    traces_.device(run_.devices[chip]);
  }
  static Event zone(uint64_t time, bool start, uint32_t which = 1) {
    return {time, 0, which, 1, start ? MarkerType::zone_start : MarkerType::zone_end, ZoneClass::kernel};
  }
  // A kernel from 1000 to 9000 around events at 2000, 2010, ...
  void kernel(int x, int y, const std::vector<uint64_t>& words, uint32_t chip = 0, uint64_t shift = 0) {
    std::vector<Event> batch{zone(1000 + shift, true)};
    uint64_t time = 2000 + shift;
    for (const uint64_t w : words) {
      batch.push_back({time, w, 0, markers::kNocTraceId, MarkerType::ts_data, ZoneClass::none});
      time += 10;
    }
    batch.push_back(zone(9000 + shift, false));
    feed(x, y, batch, chip);
  }
  void feed(int x, int y, const std::vector<Event>& batch, uint32_t chip = 0) {
    traces_.events({{chip, kProgram << 10 | chip, -1, -1},
                    {static_cast<uint8_t>(x), static_cast<uint8_t>(y), LogRisc::brisc},
                    batch});
  }
  json trace(uint32_t chip = 0) {
    if (!written_) written_ = traces_.write(directory_, run_);
    std::ifstream in(directory_ + "/noc_trace_dev" + std::to_string(chip) + "_ID" +
                     std::to_string(kProgram << 10 | chip) + ".json");
    return in ? json::parse(in) : json();
  }
  json events(uint32_t chip = 0) {
    json only = json::array();
    for (const json& e : trace(chip))
      if (e.contains("type")) only.push_back(e);
    return only;
  }
  bool reported(const std::string& part) const {
    for (const std::string& n : traces_.remarks())
      if (n.find(part) != n.npos) return true;
    return false;
  }

  static constexpr uint32_t kProgram = 5;
  const std::string directory_ =
      (fs::temp_directory_path() / ("report-noc-" + std::to_string(getpid()))).string();
  report::Run run_;
  NocTraces traces_{run_.zones, std::nullopt};
  std::optional<size_t> written_;
};

TEST_F(NocTracesTest, places_are_physical_whatever_the_core_used) {
  // Row 3 is harvested: virtual row 20 is physical row 4. DRAM at 5,11 in the numbering of NOC_1 is 4,0.
  for (const int y : {1, 2, 4}) kernel(1, y, {});
  kernel(2, 1,
         {local(kRead, 18, 20), local(kRead, 4, 0, kNoc1), local(kWrite, 25, 17),
          local(kReadWithState, 18, 20)});
  const json e = events();
  ASSERT_EQ(e.size(), 4u);
  EXPECT_EQ(e[0]["dx"], 1);
  EXPECT_EQ(e[0]["dy"], 4);
  EXPECT_EQ(e[1]["dx"], 5);
  EXPECT_EQ(e[1]["dy"], 11);
  EXPECT_EQ(e[2]["dx"], 9);  // Ethernet
  EXPECT_EQ(e[2]["dy"], 6);
  EXPECT_FALSE(e[3].contains("dx"));
  EXPECT_EQ(e[0]["num_bytes"], 64);
}

TEST_F(NocTracesTest, blackhole_has_its_own_places) {
  add_device(0, "blackhole", 130);
  for (const int x : {1, 2, 4}) kernel(x, 2, {});  // column 3 is harvested
  kernel(5, 2, {local(kRead, 3, 7), local(kRead, 18, 15), local(kRead, 22, 25)});
  const json e = events();
  ASSERT_EQ(e.size(), 3u);
  EXPECT_EQ(e[0]["dx"], 4);
  EXPECT_EQ(e[0]["dy"], 7);
  EXPECT_EQ(e[1]["dx"], 9);  // bank 5, port 0
  EXPECT_EQ(e[1]["dy"], 2);
  EXPECT_EQ(e[2]["dx"], 2);  // Ethernet channel 2
  EXPECT_EQ(e[2]["dy"], 1);
}

TEST_F(NocTracesTest, a_send_over_the_fabric_is_one_event) {
  // Low latency: two hops forward, then written on one device; the packet goes to the router at 9,0.
  kernel(1, 1, {fabric(19, 18, 1), route_1d(0b01'10'10), local(kWrite, 25, 16, kNoc1, 4)});
  const json e = events();
  ASSERT_EQ(e.size(), 1u);
  EXPECT_EQ(e[0]["type"], "FABRIC_UNICAST_WRITE");
  EXPECT_EQ(e[0]["fabric_send"], json({{"eth_chan", 0}, {"start_distance", 3}, {"range", 1}}));
  EXPECT_EQ(e[0]["noc"], "NOC_1");
  EXPECT_EQ(e[0]["num_bytes"], 128);
  EXPECT_EQ(e[0]["timestamp"], 2020);
  EXPECT_EQ(e[0]["dst"], json::array({{{"dx", 2}, {"dy", 1}, {"noc", "NOC_0"}, {"num_bytes", 128}}}));
  EXPECT_FALSE(e[0].contains("dx"));
  EXPECT_TRUE(reported("topology.json"));
}

TEST_F(NocTracesTest, routes_of_a_line_and_of_a_mesh) {
  kernel(1, 1,
         {fabric(18, 18, 0), route_1d(2 << 4 | 3), local(kWrite, 18, 17),  //
          fabric(18, 18, 2), word({k2D, 1, 2, 0, 1}), local(kWrite, 24, 16)});
  const json e = events();
  ASSERT_EQ(e.size(), 2u);
  EXPECT_EQ(e[0]["fabric_send"], json({{"eth_chan", 9}, {"start_distance", 3}, {"range", 2}}));
  EXPECT_EQ(e[1]["fabric_send"],
            json({{"eth_chan", 2}, {"ns_hops", 1}, {"e_hops", 2}, {"w_hops", 0}, {"is_mcast", true}}));
}

TEST_F(NocTracesTest, chunks_of_a_scattered_write_share_the_packet) {
  const auto chunk = [](int x, int bytes) {
    return word({kScatter, x, 18, 0, bytes, bytes >> 8, 2, kNoc0 | 1 << 4});
  };
  kernel(1, 1, {chunk(18, 300), chunk(19, 300), route_1d(1), local(kWrite, 25, 16, kNoc0, 16)});
  const json e = events();
  ASSERT_EQ(e.size(), 1u);
  ASSERT_EQ(e[0]["dst"].size(), 2u);
  EXPECT_EQ(e[0]["dst"][0]["num_bytes"], 300);
  EXPECT_EQ(e[0]["dst"][1]["num_bytes"], 212);  // what is left of 512
  EXPECT_EQ(e[0]["dst"][1]["dx"], 2);
}

TEST_F(NocTracesTest, a_mux_passes_on) {
  kernel(1, 1, {fabric(18, 18, 1), route_1d(1), local(kWrite, 19, 18)});  // to the core 2,1
  kernel(2, 1, {local(kWrite, 25, 17, kNoc1)});
  const json e = events();
  ASSERT_EQ(e.size(), 1u) << "the mux's own write is within the send";
  EXPECT_EQ(e[0]["fabric_send"]["eth_chan"], 8);
  EXPECT_EQ(e[0]["fabric_send"]["fabric_mux"], json({{"x", 2}, {"y", 1}, {"noc", "NOC_1"}}));
}

TEST_F(NocTracesTest, what_is_incomplete_is_told_and_the_rest_kept) {
  kernel(1, 1, {fabric(18, 18, 1), local(kRead, 18, 18), route_1d(1), fabric(18, 18, 1), route_1d(1)});
  const json e = events();
  ASSERT_EQ(e.size(), 1u);
  EXPECT_EQ(e[0]["type"], "READ");
  EXPECT_TRUE(reported("2 sends over the fabric that lack"));
  EXPECT_TRUE(reported("routings of the fabric without their write"));
}

TEST_F(NocTracesTest, events_far_apart_are_no_group) {
  const auto event = [](uint64_t time, uint64_t w) {
    return Event{time, w, 0, markers::kNocTraceId, MarkerType::ts_data, ZoneClass::none};
  };
  feed(1, 1,
       {zone(1000, true), event(2000, fabric(18, 18, 1)), event(2010, route_1d(1)),
        event(9000, local(kWrite, 25, 16)), event(9100, local(kRead, 18, 18)), zone(9900, false)});
  EXPECT_EQ(events().size(), 1u);
  EXPECT_TRUE(reported("implausibly far apart"));
}

TEST_F(NocTracesTest, zones_nest_and_every_processor_has_one) {
  const Event read{2000, local(kRead, 18, 18), 0, markers::kNocTraceId, MarkerType::ts_data, ZoneClass::none};
  feed(1, 1, {zone(900, false, 2), zone(1000, true), zone(1100, true, 2), read, zone(3000, false)});
  feed(2, 1, {read});
  std::vector<std::string> phases;
  for (const json& e : trace())
    if (e.contains("zone"))
      phases.push_back(e["zone"].get<std::string>() + e["zone_phase"].get<std::string>());
  EXPECT_EQ(phases, (std::vector<std::string>{"BRISC-KERNELZONE_START", "BRISC-KERNELZONE_END"}));
  EXPECT_EQ(events().size(), 1u);
  EXPECT_TRUE(reported("2 zone markers without their partner"));
  EXPECT_TRUE(reported("1 events of processors that have no zone"));
}

TEST_F(NocTracesTest, places_that_are_none_are_left_out) {
  kernel(1, 1, {local(kRead, 14, 3), local(kRead, 18, 18)});
  EXPECT_EQ(events().size(), 1u);
  EXPECT_TRUE(reported("1 events that went to a place the chip does not have"));
}

// Cards whose clocks are at different counts and run at different speeds.
collect::ClockMap clock(uint64_t cycles, double cycles_per_ns) {
  collect::ClockSegment s;
  s.from_cycles = cycles;
  s.host_from = 1'000'000;
  s.host_to = s.host_from + uint64_t{1'000'000} * collect::kHostTicksPerNs;
  s.to_cycles = cycles + static_cast<uint64_t>(1'000'000 * cycles_per_ns);
  s.flags = collect::kFinalSegment;
  collect::ClockMap map;
  map.update({}, {&s, 1});
  return map;
}

TEST_F(NocTracesTest, times_of_several_devices_are_those_of_the_lowest) {
  add_device(1, "wormhole_b0");
  traces_.clock(0, clock(1000, 1.0));
  traces_.clock(1, clock(501'000, 1.25));
  kernel(1, 1, {local(kRead, 18, 18)});
  kernel(1, 1, {local(kRead, 18, 18)}, 1, 500'000);
  EXPECT_EQ(events(0)[0]["timestamp"], 2000);
  // 1000 cycles of the second card after its beginning are 800 ns, and so 800 cycles of the first.
  EXPECT_EQ(events(1)[0]["timestamp"], 1000 + 800);
  EXPECT_FALSE(reported("nothing relates"));
}

TEST_F(NocTracesTest, sync_info_of_the_workload_relates_devices_too) {
  add_device(1, "wormhole_b0");
  std::ofstream(directory_ + "/sync_device_info.csv")
      << "device id,core_x, core_y,device,host_tracy,host_real,write_overhead,host_start,delay,frequency,"
         "tracy_ratio,tracy_base_time,device_frequency_ratio,device_shift\n"
         "    0,1,2,1,1,1.00,0,0,1.00,1.0,1.0,0,1.0,0\n"
         "    1,1,2,1,1,1.00,0,0,1.00,1.0,1.0,0,1.5,-2000\n";
  kernel(1, 1, {local(kRead, 18, 18)});
  kernel(1, 1, {local(kRead, 18, 18)}, 1);
  EXPECT_EQ(events(0)[0]["timestamp"], 2000);
  EXPECT_EQ(events(1)[0]["timestamp"], 1000);
}

TEST_F(NocTracesTest, devices_that_nothing_relates_are_reported) {
  add_device(1, "wormhole_b0");
  std::ofstream(directory_ + "/sync_device_info.csv")  // as of runs whose devices were not compared
      << "device id,device_frequency_ratio,device_shift\n0,1.0,0\n1,1.0,0\n";
  kernel(1, 1, {local(kRead, 18, 18)});
  kernel(1, 1, {local(kRead, 18, 18)}, 1);
  EXPECT_EQ(events(1)[0]["timestamp"], 2000);
  EXPECT_TRUE(reported("nothing relates"));
}

TEST_F(NocTracesTest, one_device_has_a_topology_of_its_own) {
  kernel(1, 1, {word({kMulticast, 18, 18, 18, 18, kNoc0, 2})});
  ASSERT_EQ(events().size(), 1u);
  std::ifstream in(directory_ + "/topology.json");
  const json topology = json::parse(in);
  EXPECT_EQ(topology["cluster_type"], "N150");
  EXPECT_EQ(topology["fabric_config"], "DISABLED");
}

// Heads of two versions of npe_analyze_noc_trace_dir.py: the later one has more columns.
TEST(Npe, shares_are_found_by_the_names_in_the_head) {
  const auto old = read_npe_table(
      "Opname   Op ID   NoC Util   DRAM BW Util   Cong Impact   % Overall Cycles\n"
      "-----\n"
      "Matmul   3       12.50%        4.00%          -1.25%        99.00%\n"
      "... 7 operations omitted; use -m $NUM_ROWS to display more\n");
  ASSERT_TRUE(old.has_value());
  ASSERT_EQ(old->size(), 1u);
  EXPECT_EQ((*old)[0].op, 3u);
  EXPECT_FALSE((*old)[0].trace.has_value());
  EXPECT_EQ((*old)[0].noc, 12.5);
  EXPECT_EQ((*old)[0].dram, 4.0);
  EXPECT_EQ((*old)[0].congestion, -1.25);
  EXPECT_FALSE((*old)[0].multicast.has_value());
  const auto now = read_npe_table(
      "\033[1mOpname Op ID Metal Trace ID NoC Util McastWr NoC Util DRAM BW Util Cong Impact % Overall "
      "Cycles ETH "
      "BW Util (per core)\033[0m\n"
      "UnknownOP 9 21474836482 1.00% 2.00% 3.00% nan% 5.00%  (0,1,2):3.4% (0,1,3):0.0%\n"
      "average link util                : 1.0% \n");
  ASSERT_TRUE(now.has_value());
  ASSERT_EQ(now->size(), 1u);
  EXPECT_EQ((*now)[0].trace, uint64_t{5} << 32 | 2);
  EXPECT_EQ((*now)[0].noc, 1.0);
  EXPECT_EQ((*now)[0].multicast, 2.0);
  EXPECT_FALSE((*now)[0].congestion.has_value());
  EXPECT_EQ((*now)[0].ethernet, "(0,1,2):3.4% (0,1,3):0.0%");
  EXPECT_FALSE(read_npe_table("Matmul 3 12.50% 4.00% 1.25% 99.00%\n").has_value());
}

}  // namespace
}  // namespace ttc::report
