// The collector's log of what may be missing, per lane. Every interval goes out as a loss chunk when it is
// opened, when its count has doubled, when it closes and at the end, so that ring, file and final report
// agree. Bounded: see LossMerge.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "collector/loss/loss_merge.hpp"

namespace ttc::collect {

class LossLog {
 public:
  using Publish = std::function<void(const shm::LossRecord&)>;
  // `earlier`: intervals of the same session that are closed or will stay open; ids go on behind them.
  explicit LossLog(Publish publish, std::vector<shm::LossRecord> earlier = {});

  // A lane of the one device that this account is of: no device in it.
  struct Where {
    uint8_t core_x, core_y, risc;
    uint32_t epoch;
  };

  // An interval with both ends. Returns the id of the one it is in.
  uint64_t record(const Where& where, shm::LossCause cause, shm::LossPrecision precision,
                  uint64_t from_cycles, uint64_t to_cycles, uint64_t words, uint64_t launches);
  // One that lasts until close(); opening an open one of the same lane and cause adds to its runs. `launches`: at most so many
  // lack markers; 0: not known.
  void open(const Where& where, shm::LossCause cause, uint64_t from_cycles, uint64_t launches);
  void close(const Where& where, shm::LossCause cause, uint64_t to_cycles);
  void report_open();  // publishes what is still open, with its final counts
  bool is_open(const Where& where, shm::LossCause cause) const;

  const std::vector<shm::LossRecord>& intervals() const { return intervals_; }
  uint64_t count(shm::LossCause cause) const { return counts_[static_cast<size_t>(cause)]; }

 private:
  struct Open {
    uint64_t id = 0;
    uint64_t launches = 0;  // of this loss; its interval may hold earlier ones
    uint64_t ended = 0;     // where the interval ended before; 0: it is a new one
  };
  // Unique: eight bits each of x, y, RISC and cause. Epochs share an open interval.
  static uint32_t key(const Where& where, shm::LossCause cause);
  static shm::LossRecord loss_of(const Where& where, shm::LossCause cause, shm::LossPrecision precision,
                                 uint64_t from_cycles, uint64_t to_cycles);
  shm::LossRecord& add(shm::LossRecord loss);

  Publish publish_;
  std::vector<shm::LossRecord> intervals_;  // by id
  std::array<uint64_t, static_cast<size_t>(shm::LossCause::kinds)> counts_{};
  LossMerge merge_;
  std::map<uint32_t, Open> open_;  // by lane and cause
};

}  // namespace ttc::collect
