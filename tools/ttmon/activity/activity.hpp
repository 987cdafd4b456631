// What the cores of a card did of late, from the newest chunks of its ring: busy cores, top zones, top programs.
//
// Reading is bounded: a sample decodes at most a budget of ring bytes and passes over older ones, so that a monitor takes the
// same small part of a CPU whatever the card records. `read_share` says how much of the ring's growth was decoded.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "shm/reader.hpp"
#include "tools/pipeline/pipeline.hpp"

namespace ttc::tools {

struct TimeSum {
  uint64_t ns = 0, count = 0, longest_ns = 0;
  void add(uint64_t took_ns);
};

// Adds up zones by name, launches by host id, and what cores did. A zone of one id inside another of the same id: the
// inner end ends the outer start.
class TimeSums : public Format {
 public:
  void begin(const Session& session) override;
  void frame(const FrameEvents& frame) override;
  void loss(const shm::LossRecord&) override { ++losses_; }
  void names_changed() override { by_id_.clear(); }
  void telemetry(uint32_t, const shm::TelemetryRecord& record) override { telemetry_ = record; }
  void end() override {}

  // Markers between are missing: a zone that is open ends elsewhere.
  void missed() { open_.clear(); }
  void clear();
  // Host ids that took little go, when there are more than `most`.
  void keep_longest_programs(size_t most);

  uint64_t losses() const { return losses_; }
  const std::map<std::string, TimeSum>& zones() const { return zones_; }
  const std::map<uint32_t, TimeSum>& programs() const {
    return programs_;
  }  // main zones of all RISCs together
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
  std::map<std::string, TimeSum> zones_;
  std::map<uint32_t, TimeSum> programs_;
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

// Plain values of one sample.
struct Activity {
  std::string arch, board;
  double stretch_s = 0;   // that the shares are of; 0: no words came
  double read_share = 1;  // of the ring's bytes since the first sample
  std::vector<CoreBusy> cores;
  std::optional<double> log_fill;  // of the fullest log that was read in this sample, 0 to 1
  std::vector<NamedSum> zones, programs;
  std::optional<shm::TelemetryRecord> telemetry;
};

class ActivityReader {
 public:
  // Throws SegmentError.
  explicit ActivityReader(const std::string& live_name);

  // Decodes what came since the last sample, at most `budget_bytes` of it. `now_raw_ns`: CLOCK_MONOTONIC_RAW. `log_words`: of
  // a lane's log, 0 where that is not known.
  Activity look(uint64_t budget_bytes, uint64_t now_raw_ns, uint64_t log_words);
  void clear() { sums_.clear(); }

 private:
  struct Stretch {
    uint64_t from_ns = 0, to_ns = 0;
    uint32_t fullest_words = 0;
  };
  Stretch read(uint64_t now_raw_ns, bool passed_over);

  shm::Reader reader_;
  Pipeline pipeline_;
  TimeSums sums_;
  uint64_t last_look_ns_ = 0;  // 0: there was none
  uint64_t grown_bytes_ = 0, read_bytes_ = 0;
};

}  // namespace ttc::tools
