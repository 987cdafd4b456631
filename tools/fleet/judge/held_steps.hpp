// How late each card came in each step of a job, and which one held the step up. Pure.
//
// The time of an op, with the gap before it, is the median over the cards; a card's difference from it changes the card's lateness.
// In a collective all cards wait for the last one, so a late card takes less time and an early one more. Such ops are recognised by this:
// in them a card's time falls with its lateness, by the same amount. They change no lateness, and after one of them all cards are
// equally late again.
//
// A step is a replay of a trace, or kOpsAStep ops where there are no replays. The card whose lateness grew most within a step held it up, where
// that is a material part of the step. How sure that is for the one step: Grubbs' test, of that growth against those of all cards.
//
// Clocks have bounds (late_bound.hpp). The medians are the same for all cards, so that two cards are compared by their own times alone: their
// lateness differs from the true difference by no more than the bounds of both. What a card took longer than the medians has theirs as well,
// op by op, since another card may be the median each time.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tools/fleet/judge/late_bound.hpp"
#include "tools/fleet/judge/op_matcher.hpp"

namespace ttc::fleet {

struct HeldStep {
  uint64_t number = 0;         // counts steps
  uint16_t replay = 0;         // 0: of no replay
  uint64_t ns = 0;             // what it takes: medians together
  uint64_t end_common_ns = 0;  // of the card that held it up; 0: not known
  uint32_t card = 0;
  uint64_t late_ns = 0;                 // what the step took longer because of it
  std::optional<double> late_bound_ns;  // the true time lies within so much of it
  std::optional<double> own_bound_ns;   // the same against another card: of both together
  bool another_within_bounds = false;   // another card may be as late
  uint64_t op = 0;                      // with most of that
  bool in_gap = false;                  // it began late there: its host or what it waited for, not its cores
  uint8_t most_x = 0, most_y = 0;       // the core that took longest in it
  std::optional<double> p_value;        // that the scatter of cards alone gives so much; none: too few cards
};

struct StepLateness {
  uint64_t ns = 0;  // of the step
  struct OfCard {
    uint32_t card = 0;
    double late_ns = 0;                                 // within the step
    std::optional<double> own_bound_ns, late_bound_ns;  // as HeldStep has them
  };
  std::vector<OfCard> cards;     // that ran it
  std::optional<HeldStep> held;  // none: no card was materially late
};

class HeldSteps {
 public:
  static constexpr size_t kOpsAStep = 16;
  static constexpr double kMaterial = 0.01;  // of the step

  using Take = std::function<void(const StepLateness&)>;
  explicit HeldSteps(Take take) : take_(std::move(take)) {}

  // Cards are of several hosts from now on, each with a clock of its own.
  void hosts_differ() { hosts_differ_ = true; }
  void op(const MatchedOp& op);
  void end();

  // The op in which a card came latest, over all of its steps.
  struct LateOp {
    uint64_t op = 0;
    double late_ns = 0;              // in all executions together
    double in_gaps_ns = 0;           // of that: it began late
    uint8_t most_x = 0, most_y = 0;  // the core that took longest mostly
  };
  std::optional<LateOp> latest_op_of(uint32_t card) const;

  // The ops that took most time, and how late each card came in them.
  struct OpTimes {
    uint64_t op = 0;
    double ns = 0;  // medians together
    uint64_t executions = 0;
    bool collective = false;                          // cards wait in it for each other
    std::vector<double> late_ns;                      // by card, in the mean; 0 where it did not run
    std::vector<std::optional<double>> own_bound_ns;  // of these, against another card
  };
  std::vector<OpTimes> longest_ops(size_t most) const;

 private:
  static constexpr size_t kOpenSteps = 8;      // replays that are compared at once
  static constexpr uint64_t kLeastPairs = 32;  // cards times executions, before an op counts as a collective
  static constexpr double kCollective = -0.5;  // slope
  static constexpr size_t kMostOps = 100'000;  // whose slope is kept
  static constexpr size_t kMostOpsOfCard = 1024;

  struct Card {
    double late_ns = 0;
    uint64_t end_raw_ns = 0;              // of its op before
    uint32_t bound_ns = kUnknownBoundNs;  // of that
    uint64_t op = ~uint64_t{0};           // which one that was
    struct Op {
      double late_ns = 0, in_gaps_ns = 0;
      LateBound bound;
      uint64_t executions = 0;
      uint64_t votes = 0;  // for the core below, less those for others
      uint8_t most_x = 0, most_y = 0;
    };
    std::unordered_map<uint64_t, Op> by_op;
  };
  struct OfCard {
    bool came = false;
    double late_ns = 0;  // within the step
    double most_ns = 0;  // of its ops
    uint64_t op = 0;
    bool in_gap = false;
    uint8_t most_x = 0, most_y = 0;
    uint64_t end_common_ns = 0;
    LateBound bound;
    uint64_t next_op = 0;  // one more than the number of the op that was added to `bound` last
    size_t ops = 0;        // that are part of its lateness
  };
  struct Step {
    size_t ops = 0, compared = 0;
    double ns = 0;
    LateBound medians;  // of the ops that are compared
    std::vector<OfCard> cards;
  };
  // The slope of the cards' times against their lateness.
  struct Slope {
    double xy = 0, xx = 0;
    uint64_t pairs = 0;
    double ns = 0;  // medians together
    uint64_t executions = 0;
  };

  // What one card took in an op.
  struct Took {
    double ns = 0;
    bool follows = false;  // since the end of its op before
    LateBound bound;
  };
  bool is_collective(uint64_t op) const;
  std::vector<Took> took(const MatchedOp& op);
  void add_bound(OfCard& of, const Took& took, uint32_t before, uint32_t end) const;
  void note_slope(const MatchedOp& op, const std::vector<double>& more, double median);
  static void note_late_op(Card& card, uint64_t op, const OpPart& part, double more, double more_gap,
                           const std::optional<double>& bound);
  void close(uint16_t replay, const Step& step);
  static HeldStep held_by(uint32_t card, const Step& step, const StepLateness& all);
  Step& step_of(uint16_t replay);
  Card& card(uint32_t number);

  const Take take_;
  bool hosts_differ_ = false;
  std::vector<Card> cards_;
  std::deque<std::pair<uint16_t, Step>> open_;  // by replay, in order of appearance
  std::unordered_map<uint64_t, Slope> slopes_;  // by op
  uint64_t ops_ = 0, steps_ = 0;
};

// The chance that the largest of `values`, drawn from one normal distribution, lies so far from the others. None if there are fewer than three.
std::optional<double> grubbs_p(const std::vector<double>& values);

}  // namespace ttc::fleet
