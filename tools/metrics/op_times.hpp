// Times of ops, gaps and steps as sums that only grow: the pipeline's end for metrics.
//
// An op is a program of a chip, as every other output has it: from the first start of its kernels to the last end; of one without kernels
// its firmware's. A gap is the time from the latest end of the ops before to an op's start, 0 where they overlap. A step is a replay
// of a trace, from its first op's start to the next replay's, or a pair of marks step_N_start and step_N_end of the workload.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "tools/tables/device_tables.hpp"

namespace ttc::tools {

class TimeHistogram {
 public:
  static constexpr std::array<uint64_t, 19> kBoundsNs{
      1'000,      2'000,       5'000,       10'000,      20'000,       50'000,     100'000,
      200'000,    500'000,     1'000'000,   2'000'000,   5'000'000,    10'000'000, 20'000'000,
      50'000'000, 100'000'000, 200'000'000, 500'000'000, 1'000'000'000};

  void add(uint64_t ns);
  // The counts by bucket, the last one without a bound; not cumulative.
  const std::array<uint64_t, kBoundsNs.size() + 1>& counts() const { return counts_; }
  uint64_t count() const { return count_; }
  uint64_t sum_ns() const { return sum_ns_; }

 private:
  std::array<uint64_t, kBoundsNs.size() + 1> counts_{};
  uint64_t count_ = 0, sum_ns_ = 0;
};

struct OpSums {
  TimeHistogram duration, gap;
};

// The sums of one device.
struct DeviceSums {
  static constexpr uint64_t kIdleNs = 1'000'000'000;  // a longer gap is no wait for the host: nothing was run
  std::map<std::string, OpSums> ops;                  // by code
  TimeHistogram replays;
  uint64_t busy_ns = 0;  // at least one op ran
  uint64_t gap_ns = 0, idle_ns = 0;
  std::string arch, board;
  shm::TelemetryRecord telemetry;  // what is known of it
};

class OpTimes : public Format {
 public:
  // Further codes of a device are counted as kOther; ops that no message of the workload names as kUnnamed.
  static constexpr size_t kMostCodes = 40;
  static constexpr const char* kOther = "other";
  static constexpr const char* kUnnamed = "unnamed";

  void begin(const Session& session) override;
  void frame(const FrameEvents& frame) override;
  void loss(const shm::LossRecord&) override {}
  void names_changed() override;
  void telemetry(uint32_t chip, const shm::TelemetryRecord& record) override;
  void host(std::span<const uint64_t> chunk) override;
  void end() override;

  // Sets the name of a session's sums; to be called before its first chunk. Sessions of one name are summed up.
  void name_session(uint64_t session, const std::string& name) { names_[session] = name; }
  // Chunks of the session were not read. Programs that had begun before `read_ns` (CLOCK_MONOTONIC_RAW) may be cut: they are no ops.
  void missed(uint64_t session, uint64_t read_ns);
  // Nothing came from the session's device for a while: what has ended is not waited for.
  void quiet(uint64_t session);

  const std::map<std::string, DeviceSums>& devices() const { return devices_; }  // by name
  const TimeHistogram& marked_steps() const { return marked_steps_; }

 private:
  struct Rows {  // what refers to programs that are open
    Tables tables;
    DeviceTables of{tables, TTCOLLECT_OPS};
  };
  struct Chip {
    Session session;
    DeviceSums* sums = nullptr;
    std::unique_ptr<Rows> rows;
    uint64_t not_before_ns = 0;
    std::optional<uint64_t> last_end_ns, replay_begin_ns;
    uint16_t replay = 0;
  };
  // Names of ops by chip and host id. Those that were not looked up for kMostNames others go.
  class Names {
   public:
    void add(uint64_t key, std::string name);
    const std::string* find(uint64_t key);

   private:
    static constexpr size_t kMostNames = 1 << 16;
    std::unordered_map<uint64_t, std::string> young_, old_;
  };
  Chip* chip_of(uint64_t session);
  void take(Chip& chip);
  void count(Chip& chip, const ttcollect_op& op);
  OpSums& sums_of(Chip& chip, const ttcollect_op& op);
  void mark(std::string_view text, int64_t raw_ns);

  std::map<uint64_t, std::string> names_;      // by session
  std::map<std::string, DeviceSums> devices_;  // nodes stay where they are
  std::map<uint32_t, Chip> chips_;             // by number
  Names op_names_;
  std::map<std::string, int64_t> begun_steps_;  // when, by number
  TimeHistogram marked_steps_;
};

}  // namespace ttc::tools
