// Every Tenstorrent function on this machine's PCI buses, with a driver or without, and what the kernel reports
// about it: sysfs, /proc, /dev. No card is opened. Of config space only what libpci takes from sysfs
// is used; a function without a driver is listed and never read. A driver's attribute (clock, serial,
// firmware) costs the driver one read of the chip, as any monitor's look does (tt-kmd enumerate.c).
//
// Works for any user. What this user may not read, or the driver does not report, is left empty and listed in
// `hidden`.
#pragma once
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace ttc::card {

// The directories in which the machine is examined. A container may have its host's trees elsewhere.
struct SystemRoots {
  std::string sys = "/sys";
  std::string proc = "/proc";
  std::string dev = "/dev";
};
SystemRoots roots_below(const std::string& directory);

// A process that has the node open.
struct Opener {
  int pid = 0;       // 0: a process of another pid namespace
  std::string name;  // empty: not known
  unsigned descriptors = 0;
  bool observer = false;  // every descriptor is power aware (O_APPEND): looks on, does not run a workload
  unsigned windows = 0;   // it has allocated; 0 also when debugfs is not ours to read
};

struct Link {
  std::string speed, width;  // as sysfs has them: "16.0 GT/s PCIe", "16"; empty: not known
};

struct PciFunction {
  std::string bdf;  // DDDD:BB:DD.F
  uint16_t device_id = 0;
  std::string arch;    // wormhole_b0, blackhole, grayskull; empty: a device id that is not known
  std::string driver;  // bound to it; empty: none
  Link link, best_link;
  int numa_node = -1;      // -1: the firmware does not report it
  std::string local_cpus;  // a CPU list, as in "0-15,32-47"

  // Both are set only where tt-kmd is bound.
  std::optional<unsigned> ordinal;  // of the node
  std::string node;                 // /dev/tenstorrent/N
  std::string by_id;                // the node's name that does not change; empty: none
  std::optional<unsigned> chip;     // tt-metal's number: UMD counts the nodes by PCI address
  std::string driver_version, firmware, board, serial, asic_id;
  std::optional<unsigned> aiclk_mhz;
  std::optional<double> temperature_c;
  std::vector<Opener> openers;  // by pid
  int umd_owner_pid = 0;        // has started the device through UMD; 0: no process

  std::vector<std::string> remarks;  // for users, a sentence part each
  std::vector<std::string> hidden;   // what could not be read and why, likewise
};

// One sentence: what could not be examined, and why.
struct InventoryError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// `place` leaves out what the driver would have to read from the chip (all its attributes but what names the
// card) and who has the nodes open: for a collector that needs the place of its card alone.
enum class Detail : uint8_t { everything, place };

// Returns the functions in order of PCI address. A machine without a PCI bus is no error. Throws InventoryError when
// there is one that cannot be read.
std::vector<PciFunction> tenstorrent_functions(const SystemRoots& roots = {},
                                               Detail detail = Detail::everything);

// The product of a 64-bit board id, as on the box; empty when the code is not known.
std::string board_of_serial(uint64_t board_id);

}  // namespace ttc::card
