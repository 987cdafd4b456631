// What the driver model holds of a chip, a descriptor and a mapping.
#pragma once
#include <sys/mman.h>

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "driver_iface/emu/emu_access.hpp"
#include "driver_iface/emu/emu_client.hpp"
#include "driver_iface/model/driver_model.hpp"

namespace ttc::card::kmd {

using emu::Page;

struct WindowClass {
  uint32_t first, count;  // the driver's own is not counted
  uint64_t bytes;
  uint64_t base;  // in BAR0; 4 GiB windows follow it at 512 MiB
};
inline constexpr WindowClass kWormholeClasses[] = {
    {0, 156, 1u << 20, 0}, {156, 10, 2u << 20, 0x09C00000}, {166, 19, 16u << 20, 0x0B000000}};
inline constexpr WindowClass kBlackholeClasses[] = {{0, 201, 2u << 20, 0},
                                                    {202, 8, uint64_t{4} << 30, uint64_t{512} << 20}};

inline std::span<const WindowClass> classes_of(const Arch& arch) {
  if (arch.name == "wormhole_b0") return kWormholeClasses;
  return kBlackholeClasses;
}
inline const WindowClass* class_of(const Arch& arch, uint32_t id) {
  for (const WindowClass& c : classes_of(arch))
    if (id >= c.first && id < c.first + c.count) return &c;
  return nullptr;
}
inline uint64_t window_offset(const WindowClass& c, uint32_t id) {
  return c.base + (id - c.first) * c.bytes;
}

// What a window is aimed at, as the chip understands it.
struct Target {
  enum Kind { nowhere, l1, dram, registers, telemetry, timer } kind = nowhere;
  Coord tile;  // physical
};

struct DriverModel::Chip {
  ModelNode options;
  emu::Admitted admitted;
  Page* page = nullptr;
  const Arch* arch = nullptr;
  std::map<uint32_t, int> owner;     // window: descriptor
  std::map<uint32_t, NocAim> aimed;  // window registers
  std::set<Coord> silent, off;
  bool present = true, link_dead = false, in_reset = false, powers_down_later = false;
  std::optional<unsigned> maps_until_busy;
  uint64_t generation = 0;
  std::vector<uint16_t> power;
  uint64_t window_moves = 0;
  std::vector<std::string> hazards;
  std::map<uint8_t, int> locks;  // -> descriptor

  ~Chip() {
    if (page) munmap(page, sizeof(Page));
  }
  bool at_least(unsigned minor) const {
    return options.major > 2 || (options.major == 2 && options.minor >= minor);
  }
  std::string path() const { return "/dev/tenstorrent/" + std::to_string(options.ordinal); }
  bool is_off(Coord c) const { return page->harvested[c.y * arch->grid_x + c.x] || off.count(c); }
  std::optional<uint32_t> channel_off() const {
    for (uint32_t c = 0; c < arch->channels; ++c)
      if (is_off(arch->ports(c)[0])) return c;
    return std::nullopt;
  }
  uint32_t enabled_columns() const;

  // Which tile answers at a NoC coordinate. Blackhole moves fused-off columns to the end and memory to x 17
  // and 18.
  std::optional<Coord> physical(Coord asked) const;
  Target target(const NocAim& aim) const;
  uint32_t register_at(const NocAim& aim, const Target& to, uint64_t address);
};

struct DriverModel::Descriptor {
  Chip* chip;
  int pid;
  bool observer;  // the program under test
  int flags;
  uint64_t generation;
  uint64_t number;  // order of opening
  PowerState vote;  // validity 0x0F, flags 0: contributes nothing
  bool closed = false;
};

struct DriverModel::Area {
  uint8_t* at;
  size_t bytes;
  int fd;
  bool window;
  uint32_t id;          // of the window
  uint64_t bar_offset;  // of a BAR page
  bool zapped = false;
};

}  // namespace ttc::card::kmd
