// What may be read of a chip, tile by tile and window by window, against a table written down here by hand: a
// change of the one must be a change of the other.
#include "driver_iface/allow_list.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace ttc::card {
namespace {

// Rows from y = 0 down; T Tensix, E Ethernet, D memory, anything else must never be aimed at.
struct Floor {
  const char* arch;
  std::vector<std::string> rows;
  uint64_t tensix_l1, ethernet_l1, channel;
  std::set<uint64_t> registers;
};

const Floor kFloors[] = {
    {"wormhole_b0",
     {"DEEEEDEEEE", "DTTTTDTTTT", ".TTTTDTTTT", "pTTTTDTTTT", ".TTTTDTTTT", "DTTTTDTTTT", "DEEEEDEEEE",
      "DTTTTDTTTT", ".TTTTDTTTT", ".TTTTDTTTT", "aTTTTDTTTT", "DTTTTDTTTT"},
     0x16E000,
     0x40000,
     uint64_t{2} << 30,
     {0xFFB121F0, 0xFFB121F4, 0xFFB121F8, 0xFFB2002C}},
    {"blackhole",
     {"D.p.....aD.p.....", "DEEEEEEE.DEEEEEEE", "DTTTTTTTsDTTTTTTT", "DTTTTTTTlDTTTTTTT", "DTTTTTTT.DTTTTTTT",
      "DTTTTTTTlDTTTTTTT", "DTTTTTTT.DTTTTTTT", "DTTTTTTTlDTTTTTTT", "DTTTTTTT.DTTTTTTT", "DTTTTTTTlDTTTTTTT",
      "DTTTTTTT.DTTTTTTT", "DTTTTTTT.DTTTTTTT"},
     0x180000,
     0x80000,
     uint64_t{4} << 30,
     {0xFFB121F0, 0xFFB121F4, 0xFFB121F8, 0xFFB20044}},
};

class AllowList : public testing::TestWithParam<Floor> {
 protected:
  const Floor& floor = GetParam();
  const Arch& arch = *arch_by_name(floor.arch);
  char at(unsigned x, unsigned y) const {
    return y < floor.rows.size() && x < floor.rows[y].size() ? floor.rows[y][x] : '.';
  }
  // Bytes of memory the window at `base` may show; -1: it may not be aimed there.
  int64_t expected(char tile, uint64_t base) const {
    const uint64_t l1 = tile == 'T' ? floor.tensix_l1 : tile == 'E' ? floor.ethernet_l1 : 0;
    if (l1) return base == 0 ? static_cast<int64_t>(l1) : base == 0xFFA00000 ? 0 : -1;
    if (tile == 'D') return base < floor.channel ? 2 << 20 : -1;
    return -1;
  }
  int64_t answer(Coord c, bool harvested, uint64_t address) const {
    const auto verdict = reach_of(arch, c, harvested, address);
    const Reach* reach = std::get_if<Reach>(&verdict);
    if (!reach) return -1;
    EXPECT_EQ(reach->base, address & ~uint64_t{0x1FFFFF});
    return static_cast<int64_t>(reach->readable);
  }
};

TEST_P(AllowList, every_window_of_every_coordinate_there_could_be) {
  for (unsigned x = 0; x < 64; ++x)  // six bits name a tile
    for (unsigned y = 0; y < 64; ++y) {
      const Coord c{static_cast<uint8_t>(x), static_cast<uint8_t>(y)};
      for (uint64_t base = 0; base < uint64_t{1} << 33; base += 2 << 20)
        ASSERT_EQ(answer(c, false, base), expected(at(x, y), base))
            << x << "," << y << std::hex << " " << base;
      for (const uint64_t base : {uint64_t{1} << 36, uint64_t{0x80000000} << 4, uint64_t{0x800000000},
                                  uint64_t{0x100080000}, ~uint64_t{0} << 21})
        ASSERT_EQ(answer(c, false, base), expected(at(x, y), base));
    }
}

TEST_P(AllowList, a_harvested_tile_is_never_aimed_at) {
  for (unsigned x = 0; x < 64; ++x)
    for (unsigned y = 0; y < 64; ++y)
      for (const uint64_t base : {uint64_t{0}, uint64_t{0xFFA00000}, uint64_t{2} << 20})
        EXPECT_EQ(answer({static_cast<uint8_t>(x), static_cast<uint8_t>(y)}, true, base), -1);
}

TEST_P(AllowList, memory_ends_where_it_ends) {
  const auto tile = [&](char kind) {
    for (uint8_t x = 0; x < arch.grid_x; ++x)
      for (uint8_t y = 0; y < arch.grid_y; ++y)
        if (at(x, y) == kind) return Coord{x, y};
    return Coord{63, 63};
  };
  for (const char kind : {'T', 'E'}) {
    const uint64_t end = kind == 'T' ? floor.tensix_l1 : floor.ethernet_l1;
    EXPECT_EQ(answer(tile(kind), false, end - 1), static_cast<int64_t>(end));
    EXPECT_EQ(answer(tile(kind), false, end), -1);
  }
  EXPECT_EQ(answer(tile('D'), false, floor.channel - 1), 2 << 20);
  EXPECT_EQ(answer(tile('D'), false, floor.channel), -1);
}

TEST_P(AllowList, every_register_word_of_the_register_window) {
  std::set<uint64_t> readable;
  for (uint64_t a = 0xFFA00000; a < 0xFFC00000; ++a)
    if (register_readable(arch, a)) readable.insert(a);
  EXPECT_EQ(readable, floor.registers);
  for (uint64_t a = 0xFFB11000; a < 0xFFB12000; a += 4) EXPECT_FALSE(register_readable(arch, a)) << "TDMA";
}

TEST_P(AllowList, what_attaching_may_load_more) {
  const bool blackhole = arch.name == "blackhole";
  for (unsigned x = 0; x < 64; ++x)
    for (unsigned y = 0; y < 64; ++y) {
      const Coord c{static_cast<uint8_t>(x), static_cast<uint8_t>(y)};
      const bool tile = at(x, y) == 'T' || at(x, y) == 'E';
      EXPECT_EQ(identity_readable(arch, c, blackhole ? 0xFFB20044 : 0xFFB2002C), tile);
      EXPECT_EQ(identity_readable(arch, c, 0xFFB20100), tile);
      const bool telemetry = blackhole && at(x, y) == 'a';
      for (const uint64_t a : std::initializer_list<uint64_t>{0x80030430, 0x80030434, 0x10000000, 0x1007FFFC})
        EXPECT_EQ(identity_readable(arch, c, a), telemetry) << x << "," << y << std::hex << " " << a;
      for (const uint64_t a :
           std::initializer_list<uint64_t>{0x8003042C, 0x80030438, 0x0FFFFFFC, 0x10080000, 0x10000002,
                                           0xFFB11000, 0, 0xFFB121F0, 0xFFB20104})
        EXPECT_FALSE(identity_readable(arch, c, a)) << std::hex << a;
    }
}

INSTANTIATE_TEST_SUITE_P(Archs, AllowList, testing::ValuesIn(kFloors),
                         [](const auto& of) { return std::string(of.param.arch); });

}  // namespace
}  // namespace ttc::card
