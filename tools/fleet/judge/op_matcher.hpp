// Rows of different cards that are one op of the job: executions of one launch (host id and replay, or marked step) in the order of each card. Pure, in bounded
// memory: rows wait for those of other cards, up to a number of rows.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <unordered_map>
#include <vector>

#include "tools/fleet/wire/batch.hpp"

namespace ttc::fleet {

struct OpPart {
  uint32_t card = 0;  // number in the caller's list
  uint32_t ns = 0;
  uint64_t end_raw_ns = 0;     // by the card's own host
  uint64_t end_common_ns = 0;  // 0: not known
  uint64_t bound_ns = 0;       // of that
  uint8_t most_x = 0, most_y = 0;
  uint32_t host_bound_ns = kUnknownBoundNs;  // of its begin and of end_raw_ns
};

struct MatchedOp {
  uint64_t op = 0;  // op_of() its rows
  uint16_t replay = 0;
  std::vector<OpPart> parts;  // one a card
};

class OpMatcher {
 public:
  using Take = std::function<void(const MatchedOp&)>;
  OpMatcher(size_t most_waiting, Take take) : most_waiting_(most_waiting), take_(std::move(take)) {}

  void add(const OpRow& row, const OpPart& part);
  void end();  // hands over what waits

 private:
  struct Waiting {
    uint64_t launch = 0;
    MatchedOp op;
    std::vector<bool> has;  // by card
  };
  void hand_over_oldest();

  const size_t most_waiting_;
  const Take take_;
  size_t rows_ = 0;
  uint64_t first_ = 0;                                             // number of the front of waiting_
  std::deque<Waiting> waiting_;                                    // by first appearance
  std::unordered_map<uint64_t, std::deque<uint64_t>> executions_;  // numbers in waiting_, by launch
};

}  // namespace ttc::fleet
