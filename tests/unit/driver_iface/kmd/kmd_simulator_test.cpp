// What the driver card reads of a chip, read from the vendor's public simulator where one is given: TTSIM_LIB
// names libttsim_wh.so or libttsim_bh.so. The library ends the process on any access that it does not support or
// that would be wrong, so reaching the end of a test proves that every address and every aim was one a chip
// has. Interface: ttsim docs/libttsim_api.md@56694c8. Without the library the tests are skipped; that of the
// encoders is not.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <cstring>

#include "driver_iface/allow_list.hpp"
#include "driver_iface/kmd/kmd_tiles.hpp"
#include "driver_iface/model/window_registers.hpp"

namespace ttc::card::kmd {
namespace {

class Simulator {
 public:
  explicit Simulator(const char* path) : library_(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    if (!library_) return;
    get("libttsim_init", init_);
    get("libttsim_pci_config_rd32", config_);
    get("libttsim_pci_mem_rd_bytes", read_);
    get("libttsim_pci_mem_wr_bytes", write_);
    get("libttsim_clock", clock_);
    init_();
    arch = arch_by_pci_device(static_cast<uint16_t>(config_(0, 0) >> 16));
    bar0_ = uint64_t{config_(0, 0x14)} << 32 | (config_(0, 0x10) & ~0xFu);
    // Neither is the driver's own, nor one that its Blackhole would touch stride registers for.
    window_ = arch && arch->name == "wormhole_b0" ? 160 : 40;
  }
  bool loaded() const { return library_ != nullptr; }

  void aim(Coord at, uint64_t base) {
    NocAim a;
    a.address = base;
    a.x_end = at.x;
    a.y_end = at.y;
    const WindowWords words = encode_window(*arch, a);
    const uint32_t count = window_words(*arch);
    for (uint32_t i = 0; i < count; ++i)
      write_(bar0_ + kWindowRegisters + 4 * (uint64_t{count} * window_ + i), &words[i], 4);
  }
  template <class T>
  T load(Coord at, uint64_t address) {
    aim(at, address & ~(kWindowBytes - 1));
    T value{};
    read_(bar0_ + window_in_bar0(*arch, window_) + address % kWindowBytes, &value, sizeof value);
    return value;
  }
  void store(Coord at, uint64_t address, uint64_t value) {
    aim(at, address & ~(kWindowBytes - 1));
    write_(bar0_ + window_in_bar0(*arch, window_) + address % kWindowBytes, &value, sizeof value);
  }
  uint32_t bar0(uint64_t offset) {
    uint32_t value = 0;
    read_(bar0_ + offset, &value, sizeof value);
    return value;
  }
  void clock(uint32_t steps) { clock_(steps); }

  const Arch* arch = nullptr;

 private:
  template <class F>
  void get(const char* name, F& function) {
    void* symbol = dlsym(library_, name);
    ASSERT_NE(symbol, nullptr) << name;
    std::memcpy(&function, &symbol, sizeof function);
  }
  void* library_;
  uint64_t bar0_ = 0;
  uint32_t window_ = 0;
  void (*init_)() = nullptr;
  uint32_t (*config_)(uint32_t, uint32_t) = nullptr;
  void (*read_)(uint64_t, void*, uint32_t) = nullptr;
  void (*write_)(uint64_t, const void*, uint32_t) = nullptr;
  void (*clock_)(uint32_t) = nullptr;
};

// One a process: the library can be started once.
Simulator* simulator() {
  static const char* const kPath = std::getenv("TTSIM_LIB");
  static Simulator* const kOne = kPath ? new Simulator(kPath) : nullptr;
  return kOne;
}

class OnSimulator : public testing::Test {
 protected:
  void SetUp() override {
    if (!simulator()) GTEST_SKIP() << "TTSIM_LIB names no simulator library";
    ASSERT_TRUE(simulator()->loaded()) << "TTSIM_LIB cannot be loaded";
    ASSERT_NE(arch(), nullptr);
  }
  static const Arch* arch() { return simulator()->arch; }
  static TileMap tiles() {
    const LoadAt load = [](Coord at, uint64_t address) -> std::optional<uint32_t> {
      if (!identity_readable(*arch(), at, address)) return std::nullopt;
      return simulator()->load<uint32_t>(at, address);
    };
    return TileMap(*arch(), true, load, "simulator");
  }
};

TEST_F(OnSimulator, the_health_page_names_the_chips_own_tile) {
  const uint32_t id = simulator()->bar0(arch()->bar0_node_id);
  const Coord at{static_cast<uint8_t>(id & 0x3f), static_cast<uint8_t>(id >> 6 & 0x3f)};
  EXPECT_EQ(arch()->kind_at(at), arch()->name == "blackhole" ? TileKind::pcie : TileKind::arc);
  if (arch()->name == "blackhole") {
    EXPECT_TRUE(simulator()->bar0(0x1FD04100) & 1u << 14);
  }
}

TEST_F(OnSimulator, every_tile_it_has_is_found_under_its_own_name) {
  const TileMap map = tiles();
  size_t tensix = 0, ethernet = 0;
  for (const Tile& t : map.tiles()) {
    if (t.harvested) continue;
    (t.kind == TileKind::tensix ? tensix : ethernet) += 1;
    const auto id = simulator()->load<uint32_t>(map.aim_at(t.at), arch()->node_id_address);
    EXPECT_EQ(id & 0xfff, t.at.x | uint32_t{t.at.y} << 6);
  }
  // It simulates chips without harvesting; two of Blackhole's Ethernet tiles are absent.
  EXPECT_EQ(tensix, arch()->name == "blackhole" ? 140u : 80u);
  EXPECT_EQ(ethernet, arch()->name == "blackhole" ? 12u : 16u);
  for (const std::string& note : map.remarks()) ADD_FAILURE() << note;
}

TEST_F(OnSimulator, memory_of_every_tile_is_where_a_window_shows_it) {
  const TileMap map = tiles();
  for (const Tile& t : map.tiles()) {
    if (t.harvested) continue;
    const uint64_t last =
        (t.kind == TileKind::tensix ? arch()->tensix_l1_bytes : arch()->ethernet_l1_bytes) - 8;
    simulator()->store(map.aim_at(t.at), last, 0x1122334455660000u + t.at.x * 256u + t.at.y);
  }
  for (const Tile& t : map.tiles()) {
    if (t.harvested) continue;
    const uint64_t last =
        (t.kind == TileKind::tensix ? arch()->tensix_l1_bytes : arch()->ethernet_l1_bytes) - 8;
    EXPECT_EQ(simulator()->load<uint64_t>(map.aim_at(t.at), last),
              0x1122334455660000u + t.at.x * 256u + t.at.y);
  }
}

TEST_F(OnSimulator, every_channel_of_memory_is_reached_under_every_numbering) {
  TileMap map = tiles();
  const auto views = arch()->dram_views();
  for (unsigned way = 0; way < map.memory_numberings(); ++way) {
    map.use_memory_numbering(way);
    for (uint32_t v = 0; v < views.size(); ++v)
      simulator()->store(map.aim_at(views[v].endpoint), views[v].offset + 4096, 0x77u + 100 * way + v);
    for (uint32_t v = 0; v < views.size(); ++v)
      for (const Coord port : arch()->ports(views[v].channel))
        EXPECT_EQ(simulator()->load<uint64_t>(map.aim_at(port), views[v].offset + 4096),
                  0x77u + 100 * way + v)
            << "way " << way << " view " << v;
  }
}

// The numbering that the simulator's table has reaches the physical ports that a window can also be aimed at
// directly.
TEST_F(OnSimulator, its_own_numbering_is_one_of_those_known) {
  if (arch()->name != "blackhole") GTEST_SKIP() << "Wormhole's are physical";
  TileMap map = tiles();
  map.use_memory_numbering(1);
  for (uint32_t channel = 4; channel < 8; ++channel) {
    const Coord port = arch()->ports(channel)[0];  // x = 9
    simulator()->store(map.aim_at(port), 8192, 0x9900u + channel);
    EXPECT_EQ(simulator()->load<uint64_t>(port, 8192), 0x9900u + channel);
  }
}

TEST_F(OnSimulator, the_clock_runs_and_is_read_by_the_words_that_may_be) {
  const Coord tile = arch()->name == "blackhole" ? Coord{1, 2} : Coord{1, 1};
  const auto before = simulator()->load<uint32_t>(tile, kWallClockLow);
  simulator()->clock(1000);
  EXPECT_EQ(simulator()->load<uint32_t>(tile, kWallClockLow), before + 1000);
  EXPECT_EQ(simulator()->load<uint32_t>(tile, kWallClockHigh), 0u);
  EXPECT_EQ(simulator()->load<uint32_t>(tile, kWallClockLatched), 0u);
}

// The values are made by hand, from the layout of the registers.
TEST(WindowRegisters, hold_what_the_driver_s_sources_say) {
  NocAim a;
  a.address = 5u << 21;
  a.x_end = 3;
  a.y_end = 9;
  const Arch& wormhole = *arch_by_name("wormhole_b0");
  EXPECT_EQ(encode_window(wormhole, a), (WindowWords{5u | 3u << 15 | 9u << 21, 0, 0}));
  a.ordering = 1;
  a.noc = 1;
  EXPECT_EQ(encode_window(wormhole, a), (WindowWords{5u | 3u << 15 | 9u << 21, 1u << 7 | 1u << 9, 0}));
  const Arch& blackhole = *arch_by_name("blackhole");
  EXPECT_EQ(encode_window(blackhole, a), (WindowWords{5, 3u << 11 | 9u << 17, 1u << 3 | 1u << 6}));
  EXPECT_EQ(window_in_bar0(wormhole, 157), 0x09E00000u);
  EXPECT_EQ(window_in_bar0(blackhole, 200), 0x19000000u);
}

TEST(WindowRegisters, what_is_encoded_is_what_is_meant) {
  for (const char* name : {"wormhole_b0", "blackhole"}) {
    const Arch& arch = *arch_by_name(name);
    for (uint16_t x = 0; x < 64; ++x)
      for (uint16_t y = 0; y < 64; ++y)
        for (const uint64_t address : {uint64_t{0}, uint64_t{0xFFA00000}, uint64_t{0x7FFE00000}}) {
          NocAim a;
          a.address = address;
          a.x_end = x;
          a.y_end = y;
          const NocAim back = decode_window(arch, encode_window(arch, a));
          ASSERT_EQ(std::memcmp(&a, &back, sizeof a), 0) << name << " " << x << "," << y;
        }
  }
}

}  // namespace
}  // namespace ttc::card::kmd
