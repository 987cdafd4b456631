// Conditions on a rank's rows that make every rank of the job cut its flight recorder. Pure: time is the time of the rows.
//
//   p99:OP>5%   the 99th percentile of an op's last minute is so much above that of its last hour; OP: a name, a host id, or * for each
//   step>100ms  the time between the first ops of two replays of a trace
//   lag>10ms    this rank ended its n-th op so much later than the first rank did
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tools/fleet/wire/batch.hpp"
#include "tools/fleet/wire/control.hpp"
#include "tools/fleet/wire/op_codes.hpp"

namespace ttc::fleet {

struct TriggerRule {
  enum class Kind : uint8_t { p99, step, lag };
  Kind kind = Kind::step;
  std::string text;            // as given
  std::optional<uint64_t> op;  // p99; none: each
  double percent = 0;
  uint64_t ns = 0;
};
// `wrong`: a sentence.
std::optional<TriggerRule> parse_trigger_rule(std::string_view text, std::string& wrong);

// Durations of one op by logarithm, each bucket 0.6 % wide.
class DurationCounts {
 public:
  void add(uint32_t duration_ns) { ++counts_[bucket(duration_ns)], ++total_; }
  void add(const DurationCounts& other);
  void take_away(const DurationCounts& other);
  uint64_t total() const { return total_; }
  double quantile(double share) const;  // the upper edge of its bucket
  bool empty() const { return total_ == 0; }

 private:
  static uint16_t bucket(uint32_t ns);
  std::map<uint16_t, uint32_t> counts_;
  uint64_t total_ = 0;
};

class Triggers {
 public:
  static constexpr uint64_t kMinuteNs = 60'000'000'000;
  static constexpr size_t kHourMinutes = 60;
  static constexpr uint64_t kLeastNow = 100, kLeastBefore = 1000;  // ops, for a percentile to be one
  static constexpr size_t kMostOps = 256;

  // `name_of`: of an op_of(), for sentences.
  using NameOf = std::function<std::string(uint64_t op)>;
  explicit Triggers(uint64_t minute_ns = kMinuteNs, NameOf name_of = {})
      : minute_ns_(minute_ns), name_of_(std::move(name_of)) {}

  // Empty, or why not.
  std::string arm(const std::string& text);
  bool disarm(const std::string& text);
  std::vector<std::string> armed() const;
  bool any(TriggerRule::Kind kind) const;

  // Each: why to dump, where a rule holds.
  std::optional<std::string> op(const OpRow& row);
  std::optional<std::string> progress(const Progress& of, uint32_t own_rank);

 private:
  struct Op {
    DurationCounts now, before;
    std::deque<DurationCounts> minutes;
    uint64_t minute = 0;
  };
  struct Chip {
    uint16_t replay = 0;
    uint64_t begin_ns = 0;
  };
  std::optional<std::string> judge_minute(uint64_t which, Op& op);
  std::optional<std::string> step(const OpRow& row);

  const uint64_t minute_ns_;
  const NameOf name_of_;
  std::vector<TriggerRule> rules_;
  std::unordered_map<uint64_t, Op> ops_;  // by op_of()
  std::map<uint8_t, Chip> chips_;
  std::deque<Progress> first_;  // who was first to have so many ops, by ops
};

}  // namespace ttc::fleet
