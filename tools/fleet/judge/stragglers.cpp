#include "tools/fleet/judge/stragglers.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "tools/fleet/clock/common_clock.hpp"

namespace ttc::fleet {
namespace {

// There are three rules: two for cards, one for ranks.
constexpr double kLevel = Stragglers::kFalseShare / 3;

double normal_tail(double z) {
  return std::erfc(z / std::sqrt(2.0)) / 2;
}

template <class Map>
auto largest(const Map& map) {
  return std::max_element(map.begin(), map.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; });
}

}  // namespace

double binomial_tail(uint64_t n, uint64_t k, double p) {
  if (k == 0) return 1;
  if (k > n || p <= 0) return 0;
  if (p >= 1) return 1;
  double sum = 0;
  const auto all = static_cast<double>(n);
  for (uint64_t i = k; i <= n; ++i) {
    const auto of = static_cast<double>(i);
    const double term = std::exp(std::lgamma(all + 1) - std::lgamma(of + 1) - std::lgamma(all - of + 1) +
                                 of * std::log(p) + (all - of) * std::log1p(-p));
    sum += term;
    if (of > all * p && term < sum * 1e-15) break;  // they only become smaller
  }
  return std::min(sum, 1.0);
}

Stragglers::Stragglers(size_t most_waiting, std::function<void(const Step&)> on_step)
    : step_(std::move(on_step)),
      matcher_(most_waiting, [this](const MatchedOp& op) { compare(op); }),
      steps_of_([this](const StepLateness& step) { take(step); }) {}

void Stragglers::add(Card card, const OpRow& row, uint64_t end_ns, uint64_t bound_ns) {
  const auto [number, fresh] = numbers_.try_emplace(card, static_cast<uint32_t>(cards_.size()));
  if (fresh) cards_.push_back(card);
  matcher_.add(row,
               {number->second, row.duration_ns, row.begin_ns + row.duration_ns, end_ns, bound_ns, row.most_x,
                row.most_y, row.flags & OpRow::kDeviceClock ? kUnknownBoundNs : row.bound_ns});
}

void Stragglers::end() {
  matcher_.end();
  steps_of_.end();
}

void Stragglers::compare(const MatchedOp& op) {
  if (op.parts.size() < 2 || op.parts.size() * 2 < cards_.size()) {
    unmatched_ += op.parts.size();
    return;
  }
  ++ops_;
  steps_of_.op(op);
  count_order(op);
}

void Stragglers::count_order(const MatchedOp& op) {
  const OpPart *last = nullptr, *before = nullptr;
  for (const OpPart& p : op.parts) {
    if (p.end_common_ns == 0) continue;
    if (!last || p.end_common_ns > last->end_common_ns)
      before = last, last = &p;
    else if (!before || p.end_common_ns > before->end_common_ns)
      before = &p;
  }
  if (!before) return;
  const Sequence order =
      order_of(before->end_common_ns, before->bound_ns, last->end_common_ns, last->bound_ns);
  ++(order == Sequence::unknown ? unknown_order_ : in_order_);
}

void Stragglers::Held::add(const HeldStep& step) {
  ++steps;
  in_gaps += step.in_gap;
  late_ns += static_cast<double>(step.late_ns);
  late_bound.add(step.late_bound_ns);
  by_op[step.op] += static_cast<double>(step.late_ns);
  ++cores[{step.op, {step.most_x, step.most_y}}];
}

Straggler Stragglers::Held::as_straggler() const {
  Straggler s;
  s.steps = steps, s.in_gaps = in_gaps * 2 > steps, s.late_steps = late;
  const auto of = static_cast<double>(steps);
  s.late_ns = late_ns / of;
  if (late_bound.ns()) s.late_bound_ns = *late_bound.ns() / of;
  if (ran) {
    const CardLateness mean = lateness({});
    s.late_ns = mean.late_ns, s.late_bound_ns = mean.late_bound_ns;
  }
  if (by_op.empty()) return s;
  s.op = largest(by_op)->first;
  uint64_t most = 0;
  for (const auto& [of, times] : cores)
    if (of.first == s.op && times > most) most = times, std::tie(s.most_x, s.most_y) = of.second;
  return s;
}

CardLateness Stragglers::Held::lateness(Card card) const {
  if (bounded.steps == 0) return {card, ran, all_late_ns / static_cast<double>(ran), {}, {}};
  const auto of = static_cast<double>(bounded.steps);
  return {card, bounded.steps, bounded.late_ns / of, *bounded.late.ns() / of, *bounded.own.ns() / of};
}

// Ranks within the step, from -(n - 1) / 2 to (n - 1) / 2, divided by their standard deviation.
void Stragglers::rank_cards(const StepLateness& step) {
  std::vector<StepLateness::OfCard> order = step.cards;
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.late_ns < b.late_ns; });
  const double material = HeldSteps::kMaterial * static_cast<double>(step.ns);
  const bool bounded = std::all_of(order.begin(), order.end(), [&](const auto& c) {
    return c.own_bound_ns && c.late_bound_ns && *c.late_bound_ns <= material;
  });
  if (!bounded && left_out_.size() < kShownLeftOut) left_out_.push_back(steps_);
  const auto n = static_cast<double>(order.size());
  const double deviation = std::sqrt((n * n - 1) / 12);
  for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && order[end].late_ns <= order[begin].late_ns) ++end;
    const double middle = static_cast<double>(begin + end - 1) / 2;  // of equal ones
    for (size_t i = begin; i < end; ++i) {
      Held& held = by_card_[cards_[order[i].card]];
      ++held.ran;
      held.ranks += (middle - (n - 1) / 2) / deviation;
      held.all_late_ns += order[i].late_ns;
      if (bounded) {
        ++held.bounded.steps, held.bounded.late_ns += order[i].late_ns;
        held.bounded.own.add(order[i].own_bound_ns), held.bounded.late.add(order[i].late_bound_ns);
      }
      held.late += order[i].late_ns >= material;
    }
  }
}

void Stragglers::take(const StepLateness& step) {
  if (step.cards.size() > 1) rank_cards(step);
  ++steps_;
  if (!step.held) return;
  ++held_steps_;
  held_within_bounds_ += step.held->another_within_bounds;
  const Card by = cards_[step.held->card];
  by_card_[by].add(*step.held);
  by_rank_[by.rank].add(*step.held);
  if (step_) step_({*step.held, by});
}

// The smaller one of the two rules', times the number of cards.
double Stragglers::p_of(const Held& held) const {
  const auto cards = static_cast<double>(cards_.size());
  double p = binomial_tail(steps_, held.steps, 1 / cards);
  if (held.ran >= kLeastSteps && held.late * 2 > held.ran)
    p = std::min(p, normal_tail(held.ranks / std::sqrt(static_cast<double>(held.ran))));
  return std::min(1.0, cards * p);
}

bool Stragglers::one_card_has_most(uint32_t rank, uint64_t steps) const {
  return std::any_of(by_card_.begin(), by_card_.end(),
                     [&](const auto& of) { return of.first.rank == rank && of.second.steps * 2 > steps; });
}

std::vector<CardLateness> Stragglers::lateness() const {
  std::vector<CardLateness> all;
  for (const auto& [card, held] : by_card_)
    if (held.ran) all.push_back(held.lateness(card));
  std::stable_sort(all.begin(), all.end(),
                   [](const CardLateness& a, const CardLateness& b) { return a.late_ns > b.late_ns; });
  return all;
}

std::vector<Straggler> Stragglers::named() const {
  std::vector<Straggler> all;
  const auto cards = static_cast<double>(cards_.size());
  for (const auto& [card, held] : by_card_) {
    const double p = p_of(held);
    if (p >= kLevel) continue;
    Straggler s = held.as_straggler();
    s.card = card, s.p_value = p;
    if (const auto op = steps_of_.latest_op_of(numbers_.at(card))) {
      s.op = op->op, s.most_x = op->most_x, s.most_y = op->most_y;
      s.in_gaps = op->in_gaps_ns * 2 > op->late_ns;
    }
    all.push_back(s);
  }
  std::map<uint32_t, uint32_t> cards_of;
  for (const Card& c : cards_) ++cards_of[c.rank];
  const auto ranks = static_cast<double>(cards_of.size());
  for (const auto& [rank, held] : by_rank_) {
    if (cards_of.size() < 2 || cards_of[rank] < 2 || one_card_has_most(rank, held.steps)) continue;
    const double p = std::min(1.0, ranks * binomial_tail(steps_, held.steps, cards_of[rank] / cards));
    if (p >= kLevel) continue;
    all.push_back(held.as_straggler());
    all.back().card.rank = rank, all.back().whole_rank = true, all.back().p_value = p;
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Straggler& a, const Straggler& b) { return a.steps > b.steps; });
  return all;
}

}  // namespace ttc::fleet
