// The account of a core's lanes: until when each is complete, and the intervals of what may be missing. Pure but for the loss log.
//
// The invariant of a lane: every marker with a time up to complete_until was delivered, or is in a recorded interval. Whatever
// moves or keeps it takes a Proof (continuity.hpp), and where there is none, an interval is recorded. All intervals of the drain
// are recorded here, for one of four reasons: no proof that markers follow each other, no proof that the card had room for them,
// words that were announced and are not delivered, and an end of collecting behind which nothing is known.
#pragma once
#include <array>
#include <cstdint>
#include <optional>

#include "collector/continuity/continuity.hpp"
#include "collector/loss/loss_log.hpp"
#include "firmware_markers/device/format.hpp"

namespace ttc::collect {

class CoreAccount {
 public:
  // `log` must outlive the account. `at`: of RISC 0 in the core's first epoch. `riscs`: the core has so many lanes.
  CoreAccount(LossLog& log, const LossLog::Where& at, uint32_t riscs = device::kMaxRiscs)
      : log_(&log), at_(at), riscs_(riscs) {}

  // Device time; 0: not known.
  uint64_t complete_until(uint32_t risc) const { return lanes_[risc].complete_until; }
  uint32_t epoch() const { return at_.epoch; }

  // Markers from `begins` to `until` were delivered. Without a proof markers between complete_until and `begins` may be missing.
  void deliver(uint32_t risc, const std::optional<Proof>& joined, uint64_t begins, uint64_t until);
  // Markers up to `until` were delivered, and an interval that is open stays open.
  void extend(uint32_t risc, const Proof& joined, uint64_t until);
  // Without a proof markers behind complete_until may be missing, until the next delivery of the lane.
  void keep(uint32_t risc, const std::optional<Proof>& joined);
  void keep_all(const std::optional<Proof>& joined);
  // Without a proof markers between the two times may be missing.
  void between(uint32_t risc, const std::optional<Proof>& joined, uint64_t from, uint64_t to);
  // A host reset ended the epoch.
  void begin_epoch(const std::array<std::optional<Proof>, device::kMaxRiscs>& across);

  // Without a proof frames were pushed on the card and are not in the log: from `from` until end_of_drops(). `launches`: at most
  // so many lack markers; 0: not known.
  void room(uint32_t risc, const std::optional<RoomProof>& had_room, uint64_t from, uint64_t launches);
  void room_between(uint32_t risc, const std::optional<RoomProof>& had_room, uint64_t from, uint64_t to);
  void end_of_drops(uint32_t risc, uint64_t to);

  // Words of a log that an index announced and that are not delivered. `to` may be shm::kOpenEnd.
  void undelivered(uint32_t risc, shm::LossCause why, uint64_t from, uint64_t to, uint64_t words);
  // Collecting ends, and it is unknown what follows complete_until.
  void end_open(uint32_t risc, shm::LossCause why);
  // It ends at a known time: open intervals end with it.
  void end_at(uint64_t cycles);

 private:
  LossLog::Where where(uint32_t risc) const {
    return {at_.core_x, at_.core_y, static_cast<uint8_t>(risc), at_.epoch};
  }

  // What follows complete_until may be missing.
  void break_off(uint32_t risc, shm::LossCause why);
  void join_at(uint32_t risc, uint64_t begins);
  void advance(uint32_t risc, uint64_t until);

  struct Lane {
    uint64_t complete_until = 0;
  };
  LossLog* log_;
  LossLog::Where at_;
  uint32_t riscs_;
  std::array<Lane, device::kMaxRiscs> lanes_{};
};

}  // namespace ttc::collect
