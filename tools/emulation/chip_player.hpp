// Plays the simulated chip's programs (tools/chip) on emulated cores: the firmware of each writes its markers act by act, in order
// of time over all cores, when the card's clock gets there. Where this process is late, markers keep the times that they were
// planned for, up to kMostLag; beyond it all that follows is moved, as behind a host that was held up.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "tools/chip/host_files.hpp"
#include "tools/chip/output_file.hpp"
#include "tools/chip/path_file.hpp"
#include "tools/chip/schedule.hpp"
#include "tools/emulation/workload.hpp"
#include "tools/emulation/zone_catalog.hpp"

namespace ttc::emulation {

// Outputs beside the truth; each may be null.
struct ChipOutputs {
  chip::PathFile* path = nullptr;
  chip::HostFiles* host = nullptr;
  chip::OutputFile* output = nullptr;
};

class ChipPlayer {
 public:
  ChipPlayer(World& world, const ZoneCatalog& zones, ZoneLog& log, const WorkloadOptions& options,
             ChipOutputs outputs);

  // Runs until done or `stop`. Ends with a host read, as closing a device does.
  void run(const std::atomic<bool>& stop);
  uint64_t programs_run() const { return played_; }
  uint64_t host_reads() const { return pacing_.host_reads(); }
  uint64_t late_ns() const { return late_ns_; }  // by which the whole was moved
  // The time from the first go message to the last program's end, as simulated.
  uint64_t simulated_cycles() const { return simulated_cycles_; }
  // A checksum of what all programs computed, and how many lost their race.
  uint64_t output_checksum() const { return checksum_; }
  uint64_t races_lost() const { return races_lost_; }
  // The last program never ends: which RISC waits for what.
  const std::string& hung() const { return hung_; }
  // Transactions that debug delays held up, by tile and kind.
  using Delays = std::map<card::Coord, std::array<uint64_t, watcher::kTransactions>>;
  const Delays& delays() const { return delays_; }
  // A zone that the streaming profiler recorded.
  struct StreamedZone {
    card::Coord at;
    uint8_t risc;
    uint32_t program, id;
    uint64_t begin, end;
  };
  const std::vector<StreamedZone>& streamed() const { return streamed_; }
  uint64_t stalls() const;
  const std::vector<streaming::Resident>& residents() const { return residents_; }
  uint32_t real_time_records() const { return real_time_ ? real_time_->written() : 0; }

 private:
  struct Act {
    EmulatedCore* core;
    CoreStep step;
    uint64_t until = 0;  // of a zone of a dispatch core, which is played when it ends
    uint64_t due() const { return std::max(step.at, until); }
  };

  Act act_of(const chip::Launched& now, const chip::Step& step) const;
  std::vector<Act> acts_besides(const chip::Launched& now, const chip::Launched* next) const;
  void play_program(const chip::Launched& now, const chip::Launched* next);
  bool play_in_time(const Act& act);
  void play(const Act& act);
  void stream(const Act& act);
  void open_streaming();
  void close_other_profilers();
  void take_output(const chip::Launched& launched);
  void hang();
  bool wait_until(uint64_t at);
  std::unique_ptr<chip::Launched> next();
  void give_feedback(const chip::Timeline& timeline);
  // The time that the watcher adds to a NoC command of an Ethernet core's kernel: its check, and its delay if the mask has the bit.
  using Held = std::array<uint64_t, watcher::kTransactions>;
  Held held_by_watcher(const WorldCore& core) const;
  uint64_t ethernet_end(const chip::Launched& launched, const WorldCore& core) const;
  void pass_waypoint(const Act& act);
  void mark_idle();
  void mark_standing(const chip::Timeline& timeline);
  void catch_up(uint64_t first);
  void compile(const chip::Launched& launched);
  void add_records(const chip::Launched& launched, const chip::Step& from, CoreStep& step) const;
  void add_ethernet(const chip::Launched& launched, std::vector<Act>& acts) const;
  void start_replay(const chip::Launched& launched);
  void write(const chip::Launched& launched, uint64_t done_before);
  chip::InPass in_pass(const chip::Launched& launched) const;
  uint32_t host_id(const chip::Launched& launched) const;
  bool over() const { return *stop_ || world_.card().lost(); }

  World& world_;
  ZoneLog& log_;
  WorkloadOptions options_;
  ChipOutputs outputs_;
  ChipZones zones_;
  const ZoneCatalog& catalog_;
  std::vector<const Zone*> firmware_zones_;
  std::vector<std::unique_ptr<EmulatedCore>> cores_, ethernet_, dispatch_;
  Pacing pacing_;
  std::unique_ptr<chip::Schedule> schedule_;
  std::set<chip::Pattern> compiled_;
  const std::atomic<bool>* stop_ = nullptr;
  uint64_t played_ = 0;
  uint64_t moved_ = 0;       // by so many cycles times are later than planned, modulo 2^64
  uint64_t last_clock_ = 0;  // a card's clock may restart
  uint64_t late_ns_ = 0;
  uint64_t simulated_cycles_ = 0;
  uint64_t checksum_ = 0, races_lost_ = 0;
  std::string hung_;
  Delays delays_;
  // State of the streaming profiler, by core; the zones that are open there.
  struct Streamed {
    streaming::Rings rings;
    std::array<std::vector<std::pair<uint32_t, uint64_t>>, streaming::kRiscs> open;
    uint32_t program = 0;
  };
  std::map<const EmulatedCore*, Streamed> rings_;
  std::vector<streaming::Resident> residents_;
  std::vector<StreamedZone> streamed_;
  std::optional<streaming::RealTime> real_time_;
};

}  // namespace ttc::emulation
