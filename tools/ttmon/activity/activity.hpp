// The recent activity of a card's cores, from the newest chunks of its ring: busy cores, top zones, top ops.
//
// A program is timed from its first firmware zone's begin to its last one's end, over all cores. Those of one op are summed up
// by its name where the workload's host side is known, the others by host id.
//
// Reading is bounded: a sample decodes at most a budget of ring bytes and passes over older ones, so that a monitor takes the
// same small part of a CPU whatever the card records. `read_share` is the part of the ring's growth that was decoded.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "shm/reader.hpp"
#include "tools/pipeline/pipeline.hpp"
#include "tools/viewers/host/host_tracks.hpp"
#include "tools/viewers/programs.hpp"

namespace ttc::tools {

struct TimeSum {
  uint64_t ns = 0, count = 0, longest_ns = 0;
  void add(uint64_t took_ns);
  void add(const TimeSum& other);
};

// Adds up zones by name, programs by op, and what cores did. A zone of one id inside another of the same id: the inner end
// ends the outer start.
class TimeSums : public Format {
 public:
  void begin(const Session& session) override;
  void frame(const FrameEvents& frame) override;
  void loss(const shm::LossRecord&) override { ++losses_; }
  void names_changed() override { by_id_.clear(); }
  void telemetry(uint32_t, const shm::TelemetryRecord& record) override { telemetry_ = record; }
  void host(std::span<const uint64_t> chunk) override;
  void end() override {}

  // Markers between are missing: a zone that is open ends elsewhere, and of programs parts are unknown.
  void missed();
  void clear();
  // Adds programs that have ended to the sums; `all`: every program that was read.
  void settle(bool all);
  // Sums by host id that are small go, when there are more than `most`.
  void keep_longest_programs(size_t most);
  // Names of programs from the host side of another source. Null if there is none.
  void set_op_names(const OpNames* names) { other_names_ = names; }

  uint64_t losses() const { return losses_; }
  const std::map<std::string, TimeSum>& zones() const { return zones_; }
  struct ProgramKey {
    uint32_t chip = 0, host_id = 0;
    bool operator<(const ProgramKey& o) const {
      return std::tie(chip, host_id) < std::tie(o.chip, o.host_id);
    }
  };
  const std::map<std::string, TimeSum>& ops() const { return ops_; }           // by name
  const std::map<ProgramKey, TimeSum>& programs() const { return programs_; }  // of which no name is known
  const std::optional<shm::TelemetryRecord>& telemetry() const { return telemetry_; }
  const Session& session() const { return session_; }  // the last that began
  // Time of the main zone by core (x, y) and RISC since the last call.
  using BusyTimes = std::map<std::pair<uint8_t, uint8_t>, std::map<uint8_t, uint64_t>>;
  BusyTimes take_busy_times() { return std::exchange(busy_, {}); }

 private:
  TimeSum& sum_of(const FrameEvents& f, uint16_t id);

  Session session_;
  std::map<uint32_t, uint32_t> mhz_;              // by chip
  std::unordered_map<uint64_t, uint64_t> open_;   // begin by chip, core, RISC and id
  std::unordered_map<uint64_t, TimeSum*> by_id_;  // into zones_, by table of names and id
  const std::string* name_of(const ProgramKey& key) const;

  std::map<std::string, TimeSum> zones_, ops_;
  std::map<ProgramKey, TimeSum> programs_;
  std::map<uint32_t, Programs> open_programs_;  // by chip
  std::vector<uint64_t> ns_;                    // of the current frame, by marker
  HostTracks host_;
  HostWriter nowhere_;
  const OpNames* other_names_ = nullptr;
  uint64_t latest_ns_ = 0;
  BusyTimes busy_;
  std::optional<shm::TelemetryRecord> telemetry_;
  uint64_t losses_ = 0;
};

struct CoreBusy {
  uint8_t x = 0, y = 0;  // NOC0 physical
  double share = 0;      // of the stretch, of the core's busiest RISC; 0 to 1
};

struct NamedSum {
  std::string name;
  TimeSum sum;
};

// The longest by time, at most so many; a program without a name is called by its host id.
std::vector<NamedSum> longest_zones(const TimeSums& sums, size_t most);
std::vector<NamedSum> longest_ops(const TimeSums& sums, size_t most);

// Plain values of one sample.
struct Activity {
  std::string arch, board;
  double stretch_s = 0;   // that the shares are of; 0: no words came
  double read_share = 1;  // of the ring's bytes since the first sample
  std::vector<CoreBusy> cores;
  std::optional<double> log_fill;  // of the fullest log that was read in this sample, 0 to 1
  std::vector<NamedSum> zones, programs;
  bool op_names = false;  // of programs: some have the name of their op
  std::optional<shm::TelemetryRecord> telemetry;
};

class ActivityReader {
 public:
  // Throws SegmentError.
  explicit ActivityReader(const std::string& live_name);

  // Decodes what came since the last sample, at most `budget_bytes` of it. `now_raw_ns`: CLOCK_MONOTONIC_RAW. `log_words`: of
  // a lane's log, 0 where that is not known. `names_of`: names of ops by the workload's process number (0: not known); may return null.
  using NamesOf = std::function<const OpNames*(uint64_t workload_pid)>;
  Activity look(uint64_t budget_bytes, uint64_t now_raw_ns, uint64_t log_words, const NamesOf& names_of);
  void clear() { sums_.clear(); }

 private:
  struct Stretch {
    uint64_t from_ns = 0, to_ns = 0;
    uint32_t fullest_words = 0;
    bool any_words = false;
  };
  Stretch read(uint64_t now_raw_ns, bool passed_over);

  shm::Reader reader_;
  Pipeline pipeline_;
  TimeSums sums_;
  uint64_t workload_pid_ = 0;  // of the last session chunk
  uint64_t last_look_ns_ = 0;  // 0: there was none
  uint64_t grown_bytes_ = 0, read_bytes_ = 0;
};

}  // namespace ttc::tools
