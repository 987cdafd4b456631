// Which cards and which ranks of a job hold steps up more often than chance gives. Pure, in bounded memory.
//
// Two tests of each card over the steps (held_steps.hpp), each with a p-value times the number of cards:
// - where all cards are alike, each of `n` holds up one step in `n`: the binomial distribution. It finds a card that is late now and then.
// - where all are alike, each is as often among the late ones as among the early ones: the sum of its ranks. It finds a card that is always a
//   little late, also where single steps are held up by others. It counts for cards that were materially late in more than half of the steps.
// A rank of several cards is named by the first test of the steps that any of its cards held up, unless one card of it has most of them. The
// share of jobs in which something is named although all are alike is kFalseShare at most, as long as steps are independent.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "tools/fleet/judge/held_steps.hpp"
#include "tools/fleet/judge/op_matcher.hpp"
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
  bool whole_rank = false;  // of several cards; then card.chip means nothing
  uint64_t steps = 0;       // held up
  uint64_t late_steps = 0;  // materially late in, of a card
  double p_value = 1;       // that chance gives any card, or any rank, as much
  double late_ns = 0;       // mean of steps as CardLateness has them, of a card; of those held up, of a rank
  std::optional<double> late_bound_ns;  // the true time lies within so much of it
  uint64_t op = 0;                      // with most of it
  bool in_gaps = false;                 // it began that op late, rather than took longer in it
  uint8_t most_x = 0, most_y = 0;       // the core that took longest in that op most often
};

// How late a card came in the mean of the steps that it ran: of those in which the bound of each card's lateness is no larger than what is material
// (HeldSteps::kMaterial), where there are any, else of all.
struct CardLateness {
  Card card;
  uint64_t steps = 0;
  double late_ns = 0;
  std::optional<double> late_bound_ns;  // the true time lies within so much of it
  std::optional<double> own_bound_ns;   // the same against another card: of both together
};

class Stragglers {
 public:
  static constexpr size_t kMostWaiting = 1 << 20;  // rows, 40 bytes each
  static constexpr double kFalseShare = 0.01;      // of all rules together
  static constexpr uint64_t kLeastSteps = 8;       // for ranks to have a normal sum
  static constexpr size_t kShownLeftOut = 20;

  struct Step : HeldStep {
    Card by;
  };
  // `step`: each that a card held up.
  explicit Stragglers(size_t most_waiting = kMostWaiting, std::function<void(const Step&)> step = {});
  Stragglers(const Stragglers&) = delete;
  Stragglers& operator=(const Stragglers&) = delete;

  // `end_common_ns` 0: not known.
  void add(Card card, const OpRow& row, uint64_t end_common_ns, uint64_t bound_ns);
  // Cards are of several hosts from now on.
  void hosts_differ() { steps_of_.hosts_differ(); }
  // Must be called after the last row.
  void end();

  size_t cards() const { return cards_.size(); }
  uint64_t steps() const { return steps_; }
  uint64_t held() const { return held_steps_; }  // by a card, as far as one was materially late
  uint64_t ops() const { return ops_; }
  uint64_t unmatched() const { return unmatched_; }     // rows of ops that fewer than half of the cards sent
  uint64_t ends_in_order() const { return in_order_; }  // ops whose last card is certain by the clocks
  uint64_t ends_unknown() const { return unknown_order_; }  // whose last cards' bounds overlap
  uint64_t held_within_bounds() const {
    return held_within_bounds_;
  }                                            // of held(): another card may be as late
  std::vector<Straggler> named() const;        // most steps first
  std::vector<CardLateness> lateness() const;  // the latest first
  // The first steps that have no part in lateness() where others have.
  const std::vector<uint64_t>& left_out() const { return left_out_; }
  const std::vector<Card>& all_cards() const { return cards_; }
  // late_ns of each in the order of all_cards().
  std::vector<HeldSteps::OpTimes> longest_ops(size_t most) const { return steps_of_.longest_ops(most); }

 private:
  struct Held {
    uint64_t ran = 0, late = 0;
    double ranks = 0;  // sum of standardised ranks
    double all_late_ns = 0;
    struct {  // of the steps in which no card's lateness is off by as much as is material
      uint64_t steps = 0;
      double late_ns = 0;
      LateBound own, late;
    } bounded;
    uint64_t steps = 0, in_gaps = 0;
    double late_ns = 0;
    LateBound late_bound;
    std::map<uint64_t, double> by_op;
    std::map<std::pair<uint64_t, std::pair<uint8_t, uint8_t>>, uint64_t> cores;  // by op
    void add(const HeldStep& step);
    Straggler as_straggler() const;
    CardLateness lateness(Card card) const;
  };
  void compare(const MatchedOp& op);
  void count_order(const MatchedOp& op);
  void take(const StepLateness& step);
  void rank_cards(const StepLateness& step);
  double p_of(const Held& held) const;
  bool one_card_has_most(uint32_t rank, uint64_t steps) const;

  const std::function<void(const Step&)> step_;
  std::map<Card, uint32_t> numbers_;
  std::vector<Card> cards_;
  OpMatcher matcher_;
  HeldSteps steps_of_;
  std::map<Card, Held> by_card_;
  std::map<uint32_t, Held> by_rank_;
  std::vector<uint64_t> left_out_;
  uint64_t steps_ = 0, held_steps_ = 0, held_within_bounds_ = 0, ops_ = 0, unmatched_ = 0, in_order_ = 0,
           unknown_order_ = 0;
};

// The chance of `k` or more of `n`, each with `p`.
double binomial_tail(uint64_t n, uint64_t k, double p);

}  // namespace ttc::fleet
