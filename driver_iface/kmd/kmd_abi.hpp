// The ioctls of tt-kmd as structures of our own, every offset pinned. Little endian,
// natural alignment, "in" fields before "out" fields. Request numbers carry no size and no direction. Source:
// tt-kmd ioctl.h@4af7192, memory.c.
#pragma once
#include <cstddef>
#include <cstdint>

namespace ttc::card::kmd {

// All requests that ttcollect makes. RESET_DEVICE (6), PIN_PAGES (7), SET_NOC_CLEANUP (14) and the rest have no
// name here, so no code can make them. Only the recycling writer uses lock_control.
enum class Request : unsigned long {
  get_device_info = 0xFA00,
  query_mappings = 0xFA02,
  get_driver_info = 0xFA05,
  lock_control = 0xFA08,
  allocate_window = 0xFA0B,
  free_window = 0xFA0C,
  configure_window = 0xFA0D,
  set_power_state = 0xFA0F,
};

struct DeviceInfo {
  uint32_t out_size = 20;  // bytes the driver may write from `size` on
  uint32_t size = 0;
  uint16_t vendor = 0, device = 0, subsystem_vendor = 0, subsystem = 0;
  uint16_t bus_dev_fn = 0;  // bits 0-2 function, 3-7 device, 8-15 bus
  uint16_t max_dma_buffer_log2 = 0;
  uint16_t pci_domain = 0;
  uint16_t reserved = 0;
};
static_assert(sizeof(DeviceInfo) == 24);
static_assert(offsetof(DeviceInfo, size) == 4 && offsetof(DeviceInfo, vendor) == 8 &&
              offsetof(DeviceInfo, device) == 10 && offsetof(DeviceInfo, bus_dev_fn) == 16 &&
              offsetof(DeviceInfo, pci_domain) == 20);

struct DriverInfo {
  uint32_t out_size = 12;
  uint32_t size = 0;
  uint32_t api_level = 0;
  uint8_t major = 0, minor = 0, patch = 0, reserved = 0;
};
static_assert(sizeof(DriverInfo) == 16);
static_assert(offsetof(DriverInfo, api_level) == 8 && offsetof(DriverInfo, major) == 12 &&
              offsetof(DriverInfo, minor) == 13 && offsetof(DriverInfo, patch) == 14);

struct Mapping {
  uint32_t id = 0;  // 0 unused, 1/2 BAR0 UC/WC, 3/4 BAR2, 5/6 BAR4
  uint32_t reserved = 0;
  uint64_t mmap_offset = 0;
  uint64_t length = 0;
};
inline constexpr uint32_t kBar0Uncached = 1;
inline constexpr uint32_t kMappings = 8;  // more than there are ids

struct Mappings {
  uint32_t count = kMappings;
  uint32_t reserved = 0;
  Mapping mapping[kMappings];
};
static_assert(sizeof(Mapping) == 24 && offsetof(Mapping, mmap_offset) == 8 &&
              offsetof(Mapping, length) == 16);
static_assert(sizeof(Mappings) == 8 + 24 * kMappings && offsetof(Mappings, mapping) == 8);

struct AllocateWindow {
  uint64_t bytes = 0;  // exactly a class of the chip
  uint64_t zero = 0;
  uint32_t id = 0;  // out from here
  uint32_t reserved = 0;
  uint64_t uncached_offset = 0;  // for mmap
  uint64_t combining_offset = 0;
  uint64_t reserved1 = 0;
};
static_assert(sizeof(AllocateWindow) == 48);
static_assert(offsetof(AllocateWindow, id) == 16 && offsetof(AllocateWindow, uncached_offset) == 24 &&
              offsetof(AllocateWindow, combining_offset) == 32);

struct FreeWindow {
  uint32_t id = 0;
};
static_assert(sizeof(FreeWindow) == 4);

// Unicast: the target goes into x_end and y_end, the start stays zero (tt-kmd wormhole.c, blackhole.c).
struct NocAim {
  uint64_t address = 0;  // a multiple of the window's size
  uint16_t x_end = 0, y_end = 0, x_start = 0, y_start = 0;
  uint8_t noc = 0, multicast = 0;
  uint8_t ordering = 0;   // relaxed: equivalent to the others for reads (tt-kmd ioctl.h)
  uint8_t linked = 0;     // never: it would lock up the driver's own window
  uint8_t static_vc = 0;  // ignored on Wormhole, must be clear on Blackhole
  uint8_t reserved[3] = {};
  uint32_t reserved1[2] = {};
};
static_assert(sizeof(NocAim) == 32);
static_assert(offsetof(NocAim, x_end) == 8 && offsetof(NocAim, y_start) == 14 &&
              offsetof(NocAim, noc) == 16 && offsetof(NocAim, ordering) == 18 &&
              offsetof(NocAim, static_vc) == 20);

struct ConfigureWindow {
  uint32_t id = 0;
  uint32_t zero = 0;
  NocAim aim;
  uint64_t reserved = 0;
};
static_assert(sizeof(ConfigureWindow) == 48 && offsetof(ConfigureWindow, aim) == 8);

// Flag bits that are not stated count as on, so all 15 are stated.
struct PowerState {
  uint32_t argsz = 40;
  uint32_t flags = 0;
  uint8_t reserved = 0;
  uint8_t validity = 0x0F;  // low nibble: flag bits stated; high: settings stated
  uint16_t power_flags = 0;
  uint16_t settings[14] = {};
};
inline constexpr uint16_t kPowerDramPhy = 1u << 1;
inline constexpr uint16_t kPowerTensix = 1u << 2;
static_assert(sizeof(PowerState) == 40);
static_assert(offsetof(PowerState, reserved) == 8 && offsetof(PowerState, validity) == 9 &&
              offsetof(PowerState, power_flags) == 10 && offsetof(PowerState, settings) == 12);

// One of 64 locks of a card, tried for; the descriptor holds it until it is closed.
struct LockControl {
  uint32_t out_size = 1;
  uint32_t operation = 0;  // try
  uint8_t index = 0;
  uint8_t reserved[3] = {};
  uint8_t value = 0;  // out: 1 taken, 0 another process has it
  uint8_t reserved1[3] = {};
};
static_assert(sizeof(LockControl) == 16);
static_assert(offsetof(LockControl, operation) == 4 && offsetof(LockControl, index) == 8 &&
              offsetof(LockControl, value) == 12);

inline constexpr uint16_t kPciVendor = 0x1E52;
inline constexpr uint32_t kApiLevel = 2;

}  // namespace ttc::card::kmd
