// Which card of which rank held steps up. Pure, in bounded memory: rows wait for those of other cards, up to a number of rows.
//
// Cards of a job run the same ops. Of each op the median over the cards is what it takes; what a card takes longer is its excess.
// (In a collective the card that is late takes less than the others, who wait for it: only the excess counts.) A step is a replay of
// a trace, or kOpsAStep ops where there are no replays. The card with the largest excess of a step held it up, where that is a
// material part of the step. A card is named when it held up more steps than chance gives any card: by the binomial distribution,
// times the number of cards. The rule's share of false names is kFalseShare, as long as steps are independent.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tools/fleet/wire/batch.hpp"

namespace ttc::fleet {

struct Card {
  uint32_t rank = 0;  // number in the caller's list of ranks
  uint8_t chip = 0;
  bool operator==(const Card&) const = default;
  bool operator<(const Card& o) const { return rank != o.rank ? rank < o.rank : chip < o.chip; }
};

struct Straggler {
  Card card;
  uint64_t steps = 0;    // held up
  double p_value = 1;    // that chance gives any card so many
  double excess_ns = 0;  // mean of those steps
  uint32_t host_id = 0;  // the op with most of the excess
  uint8_t x = 0, y = 0;  // the core that took longest in it most often
};

class Stragglers {
 public:
  static constexpr size_t kOpsAStep = 16;
  static constexpr size_t kMostWaiting = 1 << 20;  // rows, 32 bytes each
  static constexpr double kMaterial = 0.01;        // of the step
  static constexpr double kFalseShare = 0.01;

  // `most_waiting`: of sources that come one after another, all their rows.
  explicit Stragglers(size_t most_waiting = kMostWaiting) : most_waiting_(most_waiting) {}

  // `end_common_ns` 0: not known.
  void add(Card card, const OpRow& row, uint64_t end_common_ns, uint64_t bound_ns);
  // No row will come.
  void end();

  uint64_t steps() const { return steps_; }
  uint64_t ops() const { return ops_; }
  uint64_t unmatched() const { return unmatched_; }     // rows of ops that fewer than half of the cards sent
  uint64_t ends_in_order() const { return in_order_; }  // ops whose last card is certain by the clocks
  uint64_t ends_unknown() const { return unknown_order_; }  // whose last cards' bounds overlap
  std::vector<Straggler> named() const;                     // most steps first

 private:
  struct Part {
    Card card;
    uint32_t ns = 0;
    uint8_t x = 0, y = 0;
    uint64_t end_ns = 0, bound_ns = 0;
  };
  struct Op {
    std::vector<Part> parts;
  };
  struct Step {
    size_t ops = 0;
    double ns = 0;
    std::map<Card, double> excess;
    std::map<Card, std::map<uint32_t, double>> by_op;
  };
  struct Held {
    uint64_t steps = 0;
    double excess_ns = 0;
    std::map<uint32_t, double> by_op;
    std::map<std::pair<uint8_t, uint8_t>, uint64_t> cores;
  };
  void compare(uint64_t key, const Op& op);
  void close(const Step& step);
  void oldest_out();

  const size_t most_waiting_;
  size_t rows_waiting_ = 0;
  std::map<Card, std::unordered_map<uint64_t, uint32_t>> seen_;  // executions so far, by host id and replay
  std::map<uint64_t, Op> waiting_;                               // by order of appearance
  std::unordered_map<uint64_t, uint64_t> place_;   // of host id, replay and execution in waiting_
  std::unordered_map<uint64_t, uint64_t> key_of_;  // and back
  uint64_t next_ = 0;
  std::map<uint32_t, Step> open_;  // by replay; 0: no replays
  std::map<Card, Held> held_;
  std::map<Card, std::map<std::pair<uint8_t, uint8_t>, uint64_t>> cores_;
  uint64_t steps_ = 0, ops_ = 0, unmatched_ = 0, in_order_ = 0, unknown_order_ = 0;
};

// The chance of `k` or more of `n`, each with `p`.
double binomial_tail(uint64_t n, uint64_t k, double p);

}  // namespace ttc::fleet
