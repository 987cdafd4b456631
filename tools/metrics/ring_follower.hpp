// The rings of some collectors, followed within a budget of CPU time: sums of ops, and what was read and passed over.
//
// A look takes what came since the last one. Where that takes more of a CPU than kShare in the long run, nothing is read for a while, and
// reading begins again with what is collected then: sums of ops are those of a sample, and the devices' own counters are whole.
// Segments that a collector's process publishes beside a device's own (the workload's host side) are followed with it.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "shm/reader.hpp"
#include "tools/metrics/op_times.hpp"
#include "tools/pipeline/pipeline.hpp"

namespace ttc::tools {

// CPU time that may be used: what kShare of the time brought, at most kMostNs of it.
class CpuCredit {
 public:
  static constexpr uint64_t kOneIn = 125;  // 0.8 %
  static constexpr int64_t kMostNs = 2'000'000'000, kResumeNs = 500'000'000;

  // `now_ns` of any clock, `used_ns` by this process since it began.
  void update(uint64_t now_ns, uint64_t used_ns);
  // May anything be read? After the credit was used up, not before kResumeNs are there.
  bool reads() const { return reads_; }

 private:
  int64_t credit_ns_ = kMostNs;
  uint64_t now_ns_ = 0, used_ns_ = 0;
  bool begun_ = false, reads_ = true;
};

struct Followed {
  uint64_t segment_bytes = 0;                 // in shared memory: the ring and the areas beside it
  uint64_t written_bytes = 0;                 // to the ring, since the collector began
  uint64_t read_bytes = 0, passed_bytes = 0;  // by this reader
  double log_fill = 0;                        // of the fullest log on the card, when it was last read
};

class RingFollower {
 public:
  // Live names without live:. Throws SegmentError where one is not there.
  explicit RingFollower(std::vector<std::string> names);

  // `now_ns`: CLOCK_MONOTONIC_RAW. `cpu_ns`: of this process.
  void look(uint64_t now_ns, uint64_t cpu_ns);
  const OpTimes& times() const { return times_; }
  const std::map<std::string, Followed>& devices() const { return followed_; }  // by live name

 private:
  struct One {
    explicit One(shm::Reader of) : reader(std::move(of)) {}
    shm::Reader reader;
    uint64_t last_words_ns = 0;  // when words came; 0: none since they were last taken for complete
    bool done = false;
    bool of_a_device = false;
    bool missed = false;  // chunks in front of the next one were not read
  };
  void attach(const std::string& name, bool of_a_device, shm::StartAt start);
  void attach_new();
  void begin_again(uint64_t now_ns);
  void read(One& one, Followed& followed, uint64_t now_ns);
  void take(One& one, std::span<const uint64_t> chunk, uint64_t now_ns);
  void finish(One& one);

  const std::vector<std::string> names_;
  CpuCredit credit_;
  OpTimes times_;
  std::unique_ptr<Pipeline> pipeline_;
  std::map<std::string, One> ones_;  // by live name
  std::map<std::string, Followed> followed_;
  uint64_t began_ns_ = 0;
  uint32_t fullest_words_ = 0;
  bool rested_ = false;
};

}  // namespace ttc::tools
