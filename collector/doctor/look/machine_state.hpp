// What the findings are derived from, as plain values: the machine as one pass over /proc, /sys and /dev showed it.
// machine_reader.hpp fills it; tests fill it by hand. What could not be read is absent.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "collector/doctor/look/kernel_cache.hpp"
#include "collector/host/cpu_set.hpp"
#include "collector/host/process_environment.hpp"
#include "driver_iface/pci/node_users.hpp"
#include "driver_iface/pci_functions.hpp"

namespace ttc::collect::doctor {

// Blackhole's firmware counts its heartbeat up every 100 ms (tt-zephyr-platforms lib/tenstorrent/bh_arc/telemetry.c);
// Wormhole's rate is not known here, and neither is verified on silicon.
constexpr unsigned kHeartbeatGapMs = 700;

// Sensors of the function's hwmon, in its units (1/1000 degree, microwatt).
struct Sensor {
  std::string name;  // temp1, power1
  uint64_t input = 0;
  uint64_t limit = 0;  // _max
};

struct CardState {
  card::PciFunction function;
  card::UmdLock lock;
  bool node_readable = true;          // by this user
  bool driver_lists_openers = false;  // /proc/driver/tenstorrent/N/pids is there: forks are not in it
  bool resetting = false;             // the driver answers ENODATA
  std::vector<uint64_t> heartbeat;    // tt_heartbeat, twice, heartbeat_gap_ms apart; empty: not published
  unsigned heartbeat_gap_ms = kHeartbeatGapMs;
  std::optional<unsigned> therm_trips;  // tt_therm_trip_count
  std::string iommu;  // iommu_group/type: DMA, DMA-FQ, identity; empty: the function is in no group
  std::vector<Sensor> sensors;
};

struct EmulatedCardState {
  std::string name;
  int holder_pid = 0;  // its ttemu; 0: not found
};

// A process that holds a card, waits for one, or was named with --for.
struct ProcessState {
  int pid = 0, parent = 0, session = 0;
  char state = '?';  // as in /proc/PID/stat
  std::string name, command;
  double age_s = 0;
  bool session_leader_lives = true;
  bool ignores_hangup = false;  // as under nohup
  bool may_be_read = true;      // maps and environment are ours to read
  std::optional<Environment> environment;

  std::vector<std::string> holds;            // cards: /dev/tenstorrent/N, emu:NAME
  std::vector<std::string> holds_exclusive;  // of those, by a descriptor with O_EXCL
  bool looks_on = false;                     // every card it holds, it holds as an observer
  std::vector<unsigned> waits_for_chip;      // ordinals N whose CHIP_IN_USE lock a thread waits for now

  std::string metal_library;            // mapped libtt_metal or _ttnn; empty: none
  bool metal_replaced = false;          // that file has been replaced since
  bool metal_lacks_tracy = false;       // that file holds the sentence of a build without Tracy
  bool tracy_library = false;           // a Tracy client's library is mapped
  std::string tracy_version;            // of Tracy, from that file's name; empty if it has none
  unsigned tracy_protocol = 0;          // as its client announces it; 0: not known
  bool memory_refused = false;          // the client's memory may not be read
  bool has_real_time_profiler = false;  // that library has the code of it
  std::string metal_home,
      metal_home_from;  // of its environment, resolved, and the variable; empty: none that is there
  // Python packages of Tenstorrent where its interpreter has its own: name and version, by name.
  std::vector<std::pair<std::string, std::string>> packages;
  std::string packages_at;                    // that directory
  std::vector<std::string> names_in_library;  // variables in question that the mapped library contains
  bool names_searched = false;
  std::string zone_log_directory;  // empty: not known
  bool has_zone_logs = false;
  KernelCache kernels;  // of a profiled workload without zone logs
};

// A Tracy client listens on the first of these that is free (tracy public/client/TracyProfiler.cpp).
constexpr unsigned kFirstTracyPort = 8086, kLastTracyPort = 8105;

struct Listener {
  unsigned port = 0;
  int pid = 0;               // 0: the process is not visible to this user
  std::string name;          // of the process
  unsigned connections = 0;  // established on that port
};

// A collector that is running.
struct CollectorState {
  std::string live_name, device;
  int pid = 0;
  uint64_t dropped_launches = 0;  // by full logs on the card
};

struct HostState {
  bool is_live = false;                         // the machine this runs on, not a tree below --root
  std::optional<uint64_t> shm_free;             // bytes; no value: there is no /dev/shm
  std::optional<uint64_t> memlock;              // bytes, soft limit; no value: unlimited or not known
  int io_uring_disabled = 0;                    // /proc/sys/kernel/io_uring_disabled
  int io_uring_error = 0;                       // errno of a trial; 0: it works, or was not tried
  std::optional<double> cpu_quota;              // CPUs this cgroup may use
  std::optional<uint64_t> memory_left;          // bytes, below this cgroup's limit
  CpuSet allowed;                               // CPUs this process may run on; empty: not known
  std::map<std::string, CpuSet> governors;      // by cpufreq governor
  std::map<std::string, unsigned> idle_us;      // exit latency of idle states that are enabled, by name
  std::optional<std::string> installed_driver;  // of dkms, when it has one version only
};

struct MachineState {
  std::vector<CardState> cards;
  std::vector<EmulatedCardState> emulated;
  std::vector<ProcessState> processes;  // by pid
  std::vector<Listener> listeners;      // on Tracy's ports
  std::vector<CollectorState> collectors;
  HostState host;
  int only_pid = 0;                 // --for
  std::vector<std::string> hidden;  // what could not be read and why, a sentence part each
  unsigned chip_reads = 0;          // reads of a chip that the driver did for this look

  const ProcessState* process(int pid) const;
};

// "pid 12 (python3)", as far as it is known.
std::string who(const ProcessState& process);
// The same, with how long it runs and what it holds.
std::string held(const ProcessState& process);
// "3 h 12 min"
std::string duration_in_words(double seconds);
// Whether it runs tt-metal, as far as is visible: its library is mapped, UMD's lock is its, or it is an emulated card's workload.
bool is_workload(const MachineState& machine, const ProcessState& process);
// Profilers besides the one that ttcollect reads that it runs, or may run, each with what it excludes. By its environment and build.
std::vector<std::string> other_profilers_of(const MachineState& machine, const ProcessState& process);
// The node that a device is, as it may be typed (0, pci:..., by-id); an emulated card and an unknown one as they are.
std::string node_of(const MachineState& machine, const std::string& device);

}  // namespace ttc::collect::doctor
