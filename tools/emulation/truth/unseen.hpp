// The part of the truth that no observer can have read: markers that a reset of the host destroyed in L1, whose
// index was gone before they landed, or that landed and were reset between two polls of the core's vector. And what is not judged: the
// lane's markers around a reset that breaks a named assumption (index_race.hpp).
// Only kept for workloads whose host resets at any moment; a host that reads results waits until its cores
// are done.
#pragma once
#include <cstdint>
#include <deque>
#include <vector>

#include "driver_iface/emulated_card.hpp"
#include "tools/emulation/truth/truth.hpp"

namespace ttc::emulation {

class Unseen {
 public:
  // A poll may take two copies, and one that began before the words landed may be counted after it.
  static constexpr uint64_t kReadsOfAPoll = 4;

  // `log` null: nothing is distinguished.
  Unseen(const card::EmulatedCard& card, TruthLog* log)
      : card_(card), log_(log), cores_(256), lanes_(256 * device::kMaxRiscs) {}

  bool wanted() const { return log_; }
  // Moves when a rewrite of the core's vector begins, and when it is done.
  uint32_t strikes(uint8_t flat_id) const { return cores_[flat_id].strikes; }

  void add(const TruthRecord& marker) { log_->add(marker); }
  // Markers arrived in a log; `strikes` as it was when they were sent.
  void landed(card::Coord at, uint8_t flat_id, uint32_t strikes, const std::vector<TruthRecord>& markers);
  // A rewrite of the vector begins or ends.
  void strike(card::Coord at, uint8_t flat_id);
  // It begins.
  void epoch_ends(uint8_t flat_id);
  // Markers of a lane (flat id * device::kMaxRiscs + RISC) are sent to its log.
  void pushed(uint32_t lane, const std::vector<TruthRecord>& markers);
  // An index covers other words of the lane's log than those that were sent: until the epoch ends it is not known which epoch's
  // its words are.
  void lane_is_mixed(uint32_t lane);

 private:
  struct Landed {
    uint64_t polls;  // of observers, when they did
    std::vector<TruthRecord> markers;
  };
  struct Core {
    uint32_t strikes = 0;
    std::deque<Landed> fresh;  // since the last strike, while no reader polled
  };

  struct Lane {
    std::vector<TruthRecord> epoch, before;  // sent in this epoch, and in the last one before that had any
    bool mixed = false;
  };

  const card::EmulatedCard& card_;
  TruthLog* log_;
  std::vector<Core> cores_;  // by flat id
  std::vector<Lane> lanes_;
};

}  // namespace ttc::emulation
