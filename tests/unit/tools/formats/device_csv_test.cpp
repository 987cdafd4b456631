// The device CSV of every era, to the letter.
#include "tools/formats/device_csv.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tools/pipeline/pipeline.hpp"

namespace ttc::tools {
namespace {

using namespace device;

constexpr const char* kFwNote = "BRISC-FW,fw/brisc.cc,417,KERNEL_PROFILER";
constexpr const char* kKernelNote = "BRISC-KERNEL,fw/brisck.cc,53,KERNEL_PROFILER";
constexpr const char* kZoneNote = "STEP,/k/a,b.cpp,12,KERNEL_PROFILER";
const uint16_t kFw = markers::hash16(kFwNote), kKernel = markers::hash16(kKernelNote),
               kZone = markers::hash16(kZoneNote);

// One launch of BRISC on tile (1,2): zone, data of both sizes, event, total.
std::vector<uint32_t> launch_words() {
  const auto high = [](PacketType type, uint16_t id) { return marker_high(type, id, 0); };
  return {0,
          0,
          kG4.identity(0, 9, 3),
          1024,
          high(kZoneStart, kFw),
          100,
          high(kZoneEnd, kFw),
          200,
          high(kZoneStart, kKernel),
          110,
          high(kZoneEnd, kKernel),
          190,
          high(kZoneStart, kZone),
          120,
          high(kTsData, 12345),
          130,
          1,
          2,
          high(kTsEvent, 7),
          140,
          high(kTsData16B, 9191),
          150,
          0,
          5,
          0,
          6,
          high(kZoneEnd, kZone),
          160,
          high(kZoneTotal, kZone),
          33};
}

std::vector<uint64_t> text_chunk(shm::ChunkKind kind, const std::string& text) {
  shm::ChunkHeader h;
  h.bytes = static_cast<uint32_t>(sizeof h + text.size());
  h.kind = kind;
  std::vector<uint64_t> chunk((h.bytes + 7) / 8);
  std::memcpy(chunk.data(), &h, sizeof h);
  std::memcpy(reinterpret_cast<char*>(chunk.data()) + sizeof h, text.data(), text.size());
  return chunk;
}

std::vector<uint64_t> words_chunk(const std::vector<uint32_t>& words) {
  shm::ChunkHeader h;
  h.kind = shm::ChunkKind::device_words;
  h.core_x = 1;
  h.core_y = 2;
  h.generation = 4;
  h.flat_id = 9;
  h.span_count = 1;
  shm::SpanEntry s;
  s.risc = 0;
  s.word_count = static_cast<uint32_t>(words.size());
  s.data_offset = sizeof h + sizeof s;
  h.bytes = static_cast<uint32_t>(s.data_offset + 4 * words.size());
  std::vector<uint64_t> chunk((h.bytes + 7) / 8);
  auto* to = reinterpret_cast<char*>(chunk.data());
  std::memcpy(to, &h, sizeof h);
  std::memcpy(to + sizeof h, &s, sizeof s);
  std::memcpy(to + s.data_offset, words.data(), 4 * words.size());
  return chunk;
}

std::string exported(const FormatOptions& options) {
  const std::string path = testing::TempDir() + "/device_csv-" + std::to_string(getpid());
  Output out(path, false);
  Pipeline pipeline({}, false);
  DeviceCsv csv(out, options);
  pipeline.push(text_chunk(shm::ChunkKind::session,
                           R"({"chip":0,"arch":"blackhole","aiclk_mhz":1350,"max_compute_cores":110})"),
                csv);
  pipeline.push(
      text_chunk(shm::ChunkKind::names, std::string(kFwNote) + "\n" + kKernelNote + "\n" + kZoneNote + "\n"),
      csv);
  pipeline.push(words_chunk(launch_words()), csv);
  csv.end();
  out.commit();
  std::ifstream in(path);
  std::string text((std::istreambuf_iterator<char>(in)), {});
  std::filesystem::remove(path);
  return text;
}

std::string id(uint32_t type, uint32_t hash) {
  return std::to_string(type << 16 | hash);
}

TEST(DeviceCsv, has_15_columns_in_time_order) {
  const std::string fw = id(0, kFw), kernel = id(0, kKernel), zone = id(0, kZone);
  EXPECT_EQ(exported({}),
            "ARCH: blackhole, CHIP_FREQ[MHz]: 1350, Max Compute Cores: 110\n"
            "PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, run "
            "host ID, "
            "trace id, trace id counter, zone name, type, source line, source file, meta data\n"
            "0,1,2,BRISC," +
                fw +
                ",100,0,1024,,3,BRISC-FW,ZONE_START,417,fw/brisc.cc,\n"
                "0,1,2,BRISC," +
                zone +
                ",100,33,1024,,3,STEP,ZONE_TOTAL,12,/k/a;b.cpp,\n"
                "0,1,2,BRISC," +
                kernel +
                ",110,0,1024,,3,BRISC-KERNEL,ZONE_START,53,fw/brisck.cc,\n"
                "0,1,2,BRISC," +
                zone +
                ",120,0,1024,,3,STEP,ZONE_START,12,/k/a;b.cpp,\n"
                "0,1,2,BRISC,12345,130,4294967298,1024,,3,,TS_DATA,0,,\n"
                "0,1,2,BRISC,7,140,0,1024,,3,,TS_EVENT,0,,\n"
                "0,1,2,BRISC,9191,150,5,1024,,3,,TS_DATA_16B,0,,{\"data_2\":6}\n"
                "0,1,2,BRISC," +
                zone +
                ",160,0,1024,,3,STEP,ZONE_END,12,/k/a;b.cpp,\n"
                "0,1,2,BRISC," +
                kernel +
                ",190,0,1024,,3,BRISC-KERNEL,ZONE_END,53,fw/brisck.cc,\n"
                "0,1,2,BRISC," +
                fw + ",200,0,1024,,3,BRISC-FW,ZONE_END,417,fw/brisc.cc,\n");
}

TEST(DeviceCsv, had_13_columns_in_log_order) {
  const std::string fw = id(0, kFw), kernel = id(0, kKernel), zone = id(0, kZone);
  EXPECT_EQ(exported({13, {}, {}}),
            "ARCH: blackhole, CHIP_FREQ[MHz]: 1350\n"
            "PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, run "
            "host ID,  "
            "zone name, type, source line, source file, meta data\n"
            "0,1,2,BRISC," +
                fw +
                ",100,0,1024,BRISC-FW,ZONE_START,417,fw/brisc.cc,\n"
                "0,1,2,BRISC," +
                fw +
                ",200,0,1024,BRISC-FW,ZONE_END,417,fw/brisc.cc,\n"
                "0,1,2,BRISC," +
                kernel +
                ",110,0,1024,BRISC-KERNEL,ZONE_START,53,fw/brisck.cc,\n"
                "0,1,2,BRISC," +
                kernel +
                ",190,0,1024,BRISC-KERNEL,ZONE_END,53,fw/brisck.cc,\n"
                "0,1,2,BRISC," +
                zone +
                ",120,0,1024,STEP,ZONE_START,12,/k/a;b.cpp,\n"
                "0,1,2,BRISC,12345,130,4294967298,1024,,TS_DATA,0,,\n"
                "0,1,2,BRISC,7,140,0,1024,,TS_EVENT,0,,\n"
                "0,1,2,BRISC,9191,150,5,1024,,TS_DATA_16B,0,,{\"data_2\":6}\n"
                "0,1,2,BRISC," +
                zone +
                ",160,0,1024,STEP,ZONE_END,12,/k/a;b.cpp,\n"
                "0,1,2,BRISC," +
                zone + ",100,33,1024,STEP,ZONE_TOTAL,12,/k/a;b.cpp,\n");
}

TEST(DeviceCsv, had_12_columns_with_phases_and_wide_ids) {
  EXPECT_EQ(exported({12, {}, {}}),
            "ARCH: blackhole, CHIP_FREQ[MHz]: 1350\n"
            "PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], stat value, "
            "Run ID, "
            "zone name, zone phase, source line, source file\n"
            "0,1,2,BRISC," +
                id(0, kFw) +
                ",100,0,1024,BRISC-FW,begin,417,fw/brisc.cc\n"
                "0,1,2,BRISC," +
                id(1, kFw) +
                ",200,0,1024,BRISC-FW,end,417,fw/brisc.cc\n"
                "0,1,2,BRISC," +
                id(0, kKernel) +
                ",110,0,1024,BRISC-KERNEL,begin,53,fw/brisck.cc\n"
                "0,1,2,BRISC," +
                id(1, kKernel) +
                ",190,0,1024,BRISC-KERNEL,end,53,fw/brisck.cc\n"
                "0,1,2,BRISC," +
                id(0, kZone) +
                ",120,0,1024,STEP,begin,12,/k/a;b.cpp\n"
                "0,1,2,BRISC," +
                id(3, 12345) +
                ",130,4294967298,1024,,TS_DATA,0,\n"
                "0,1,2,BRISC," +
                id(4, 7) +
                ",140,0,1024,,TS_EVENT,0,\n"
                "0,1,2,BRISC," +
                id(5, 9191) +
                ",150,5,1024,,TS_DATA_16B,0,\n"
                "0,1,2,BRISC," +
                id(1, kZone) +
                ",160,0,1024,STEP,end,12,/k/a;b.cpp\n"
                "0,1,2,BRISC," +
                id(2, kZone) + ",100,33,1024,STEP,sum,12,/k/a;b.cpp\n");
}

TEST(DeviceCsv, had_6_columns_with_fixed_ids_for_the_firmwares_zones) {
  EXPECT_EQ(exported({6, {}, {}}),
            "Chip clock is at 1.35 GHz\n"
            "PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset]\n"
            "0,1,2,BRISC,1,100\n"
            "0,1,2,BRISC," +
                id(2, kZone) +
                ",100\n"
                "0,1,2,BRISC,2,110\n"
                "0,1,2,BRISC," +
                id(0, kZone) +
                ",120\n"
                "0,1,2,BRISC," +
                id(3, 12345) +
                ",130\n"
                "0,1,2,BRISC," +
                id(4, 7) +
                ",140\n"
                "0,1,2,BRISC," +
                id(5, 9191) +
                ",150\n"
                "0,1,2,BRISC," +
                id(1, kZone) +
                ",160\n"
                "0,1,2,BRISC,3,190\n"
                "0,1,2,BRISC,4,200\n");
}

TEST(DeviceCsv, takes_another_order_when_reported) {
  const auto times = [](const std::string& text) {
    std::vector<std::string> all;
    for (size_t at = text.find("\n0,1,2"); at != std::string::npos; at = text.find("\n0,1,2", at + 1)) {
      size_t comma = at;
      for (int i = 0; i < 5; ++i) comma = text.find(',', comma + 1);
      all.push_back(text.substr(comma + 1, 3));
    }
    return all;
  };
  EXPECT_EQ(times(exported({15, {}, Order::log})), times(exported({13, {}, {}})));
  EXPECT_EQ(times(exported({12, {}, Order::time})), times(exported({15, {}, {}})));
}

}  // namespace
}  // namespace ttc::tools
