// One collecting run of one or several devices: attach, drain until it is to stop, report.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "collector/drain/drain.hpp"
#include "collector/host/cpu_set.hpp"
#include "collector/host/real_time.hpp"
#include "collector/record/capture_writer.hpp"
#include "collector/record/flight_recorder.hpp"
#include "collector/sampling/clock_sampler.hpp"
#include "collector/sampling/link_probe.hpp"
#include "driver_iface/guarded_card.hpp"

namespace ttc::collect {

struct RunOptions {
  std::vector<std::string> devices;  // as typed, commas taken apart; or just "all"
  std::string output;                // .ttc of all devices, empty: none
  CaptureOptions capture;            // how it is written; its path is `output`
  FlightOptions flight;              // instead of a capture, where its bytes are not 0
  uint64_t duration_ns = 0;          // 0: until stopped
  uint64_t wait_ns = 0;              // how long to wait for cards and profilers
  std::string layout;
  std::optional<device::Mode> mode;  // how the firmware was built, if the user names it
  std::string metal_home;
  uint64_t ring_bytes = 32u << 20;  // of each device
  std::string group;
  DrainOptions drain;
  double link_share = 0;   // that polls may take of what single loads can carry; 0: all
  CpuSet cpus;             // for every drain thread; empty: by the card's place
  bool pin = true;         // near real cards; where `cpus` are given, always
  bool real_time = false;  // drain threads under SCHED_FIFO, memory locked, as far as permitted
  card::OpenOptions open;
  bool recycle = false;     // empty the cards' logs while programs run
  double recycle_at = 0.5;  // of a log
  std::string audit;        // a line a store and a line a verdict; empty: none
  bool reattach = false;    // a card that was reset or pulled is waited for and collected from again
  bool sync = true;         // model the card's clock
  SamplerOptions sampler;
  bool plain = false;             // no io_uring
  bool descriptor_reads = false;  // payload through the card's descriptor
  bool quiet = false;
  bool verbose = false;                   // print details of attaching, of the host and of the end
  std::string tracy;                      // [ADDR:]PORT to serve Tracy servers at; empty: do not
  std::string metrics;                    // [ADDR:]PORT to serve metrics at; empty: do not
  std::string publish;                    // address of a bus to publish rows to; empty: do not
  std::vector<std::string> publish_with;  // further options of ttfleet agent
  std::function<void()>
      when_begun;  // called once, by the supervisor, when the first device is being collected from
};

struct RealTimeResult {
  RealTimeGrant grant;
  RealTime::Account account;
};

// How long after its time a chunk's newest marker could be read, by the clock model.
struct VisibleAfter {
  uint64_t p50 = 0, p90 = 0, p99 = 0, max = 0;  // ns
  uint64_t bound_ns = 0;                        // the largest of the clock's
  uint64_t without_clock = 0;                   // chunks that no clock segment covered
  std::array<uint64_t, shm::kVisibilityBuckets> chunks{};
};

struct DeviceResult {
  card::Identity identity;
  uint32_t chip = 0;  // column 1 of the device CSV
  std::string layout;
  device::Mode mode = device::Mode::normal;
  uint32_t bytes_per_risc = 0;
  size_t cores = 0, lanes = 0;
  uint64_t programs = 0, markers = 0, frames = 0, chunks = 0, bytes = 0;
  uint64_t epochs = 0, retries = 0, missed_poll_deadlines = 0, sweeps = 0, recovered_words = 0;
  card::Transactions transactions;
  card::Transactions before_collecting;  // of them: attaching and the probe
  LinkProbe link;
  double link_bytes_per_s = 0;      // what the way to the card can carry; 0: not known
  bool link_nominal = false;        // that is by sysfs, not measured
  double lines_per_s_at_most = 0;   // that polls may read (RunOptions::link_share); 0: no limit
  uint64_t lines_beyond_share = 0;  // that polls within their deadline took on top
  card::GuardedCard::Account suspicions;
  uint64_t sweep_p50 = 0, sweep_p99 = 0, sweep_max = 0;
  VisibleAfter visible;                     // when synced
  CpuSet cpus;                              // the drain thread was kept on; empty: on any
  std::string cpus_why;                     // empty if none was requested
  int memory_node = -1;                     // the node requested for the ring; -1: any
  std::optional<RealTimeResult> real_time;  // if it was requested
  std::vector<shm::LossRecord> lost;
  uint64_t names = 0;
  bool recycle_asked = false;
  std::string recycle_refused;  // why the whole card was only observed
  RecycleAccount recycle;
  std::map<std::string, uint64_t> not_recycled;  // why -> how many cores
  double highest_fill = 0;                       // of a log, at any look
  uint64_t returns = 0;                          // times the card came back
  uint64_t workloads = 1;                        // that were collected, one after the other
  std::string loop, live_name, output_backend;
  uint64_t output_bytes = 0, output_lapped_bytes = 0;
  std::string output_error;
  std::vector<shm::LossRecord> output_lost;  // what is in the ring's stream and not in the file
  bool synced = false;
  ClockSampler::Figures clock;          // when synced
  uint64_t clock_bound = kNoBound;      // host ticks, of the latest final segment while the run went on
  std::optional<double> metal_sync_hz;  // what the workload's own host-device sync found, where it ran
  double duration_s = 0;
  std::string ended;    // why, as a sentence part
  std::string failure;  // why it broke off; empty: it did not
  bool card_vanished = false;
};

// A card of `all` that could not be collected from.
struct LeftOut {
  std::string spec;
  std::string why;  // one sentence
};

// The capture file, or files, of all devices.
struct CaptureResult {
  std::vector<std::string> files;  // complete ones
  uint64_t bytes = 0;              // written
  uint64_t dropped_bytes = 0;      // of chunks, by rule
  uint64_t most_memory = 0;        // that waited at once
  std::vector<std::string> remarks;
};

struct RunResult {
  std::vector<DeviceResult> devices;  // by chip number
  std::optional<CaptureResult> capture;
  std::vector<FlightRecording> recordings;
  std::vector<LeftOut> left_out;
  std::vector<std::string> companion_failures;  // of --tracy, --metrics and --publish, sentences
  double duration_s = 0;                        // from the first device's start to the last one's end
};

// Throws DeviceListError, card::OpenError, AttachError, shm::SegmentError or CaptureError before anything was
// collected. Devices named one by one start all or none; of "all", those start that can.
RunResult run(const RunOptions& options);

}  // namespace ttc::collect
