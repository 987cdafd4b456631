// Messages of a job's stream in, rows and their account out. Memory is bounded by ranks, not by rows. Pure.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "tools/fleet/clock/common_clock.hpp"
#include "tools/fleet/wire/batch.hpp"
#include "tools/fleet/wire/control.hpp"
#include "tools/fleet/wire/op_codes.hpp"

namespace ttc::fleet {

// Positions [from, to) of rows.
struct Positions {
  uint64_t from = 0, to = 0;
};

// Rows of one session, epoch and kind of a rank.
class Account {
 public:
  static constexpr size_t kMostGaps = 4096;

  // `from_middle`: positions before the first rows that come do not count as missing: they are older than what is read.
  explicit Account(bool from_middle = false) : from_middle_(from_middle) {}

  // The rows of [from, from + rows) that are here for the first time: all or none, as batches are stored whole.
  bool take(uint64_t from, uint64_t rows);
  void declare_lost(uint64_t from, uint64_t rows) { declared_.push_back({from, from + rows}); }

  uint64_t rows() const { return rows_; }
  uint64_t before() const { return before_; }  // rows in front of the first, where it is read from the middle
  uint64_t again() const { return again_; }    // rows that came twice, and were passed over
  uint64_t missing() const;                    // before the last that came, or that is known to be lost
  uint64_t declared() const;                   // of them, those that an interval of loss covers

 private:
  std::vector<Positions> holes() const;

  bool from_middle_;
  uint64_t next_ = 0, rows_ = 0, again_ = 0, before_ = 0;
  std::vector<Positions> gaps_;  // in order
  std::vector<Positions> declared_;
};

class Ingest {
 public:
  static constexpr size_t kMostRanks = 1 << 16;

  struct Rank {
    Identity who;
    std::map<std::tuple<uint64_t, uint32_t, RowKind>, Account> accounts;  // by session, epoch and kind
    tools::RankClock clock;
    ClockRow latest_clock;
    uint64_t card_losses = 0;  // intervals of its cards
    std::string state;         // the latest, as text
  };
  struct Taken {
    uint32_t rank = 0;  // number in ranks()
    const BatchHeader& header;
  };
  // Rows that are here for the first time.
  struct Rows {
    std::function<void(const Taken&, const std::vector<OpRow>&)> ops;
    std::function<void(const Taken&, const std::vector<LossRow>&)> losses;
    std::function<void(const Taken&, const std::vector<ClockRow>&)> clocks;
    std::function<void(const Taken&, const std::vector<TelemetryRow>&)> telemetry;
  };
  explicit Ingest(Rows rows) : rows_(std::move(rows)) {}

  // Must be called before the first message: older ones are not read (Account).
  void from_middle() { from_middle_ = true; }
  void take(std::string_view subject, std::string_view data);

  const std::vector<Rank>& ranks() const { return ranks_; }
  const OpCodes& op_codes() const { return codes_; }       // of all ranks
  uint64_t refused() const { return refused_; }            // messages
  const std::string& why_refused() const { return why_; }  // the last of them
  // The offset from a rank's RAW to the common time at an instant. Ranks of different references have no common time.
  ClockOffset common_at(const Rank& rank, uint64_t raw_ns) const;

 private:
  void refuse(std::string_view subject, const std::string& why);
  void rows_of(const Batch& batch, uint32_t number);
  void take_clock(Rank& rank, const ClockRow& row);

  const Rows rows_;
  std::vector<Rank> ranks_;
  std::map<std::string, uint32_t> numbers_;  // by prefix
  OpCodes codes_;
  bool from_middle_ = false;
  uint64_t reference_ = 0;  // that rows named last
  uint64_t refused_ = 0;
  std::string why_;
};

}  // namespace ttc::fleet
