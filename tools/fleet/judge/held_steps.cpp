#include "tools/fleet/judge/held_steps.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>
#include <utility>

namespace ttc::fleet {
namespace {

// The lower one of an even number: of two cards the faster shows what an op takes.
double lower_median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

std::optional<double> grubbs_p(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  if (values.size() < 3) return std::nullopt;
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double v : values) squares += (v - mean) * (v - mean);
  const double largest = *std::max_element(values.begin(), values.end());
  if (squares <= 0) return 1;
  const double g = (largest - mean) / std::sqrt(squares / (n - 1));
  const double rest = (n - 1) * (n - 1) - n * g * g;
  if (rest <= 0) return 0;  // all others are equal
  const double t = std::sqrt(n * (n - 2) * g * g / rest);
  const boost::math::students_t distribution(n - 2);
  return std::min(1.0, n * boost::math::cdf(boost::math::complement(distribution, t)));
}

HeldSteps::Card& HeldSteps::card(uint32_t number) {
  if (number >= cards_.size()) cards_.resize(number + 1);
  return cards_[number];
}

bool HeldSteps::is_collective(uint64_t op) const {
  const auto known = slopes_.find(op);
  return known != slopes_.end() && known->second.pairs >= kLeastPairs && known->second.xx > 0 &&
         known->second.xy / known->second.xx < kCollective;
}

void HeldSteps::note_slope(const MatchedOp& op, const std::vector<double>& more, double median) {
  if (slopes_.size() >= kMostOps && !slopes_.contains(op.op)) return;
  std::vector<double> late;
  late.reserve(op.parts.size());
  for (const OpPart& p : op.parts) late.push_back(card(p.card).late_ns);
  const double middle = lower_median(late);
  Slope& slope = slopes_[op.op];
  for (size_t i = 0; i < late.size(); ++i) {
    const double x = late[i] - middle;
    slope.xy += x * more[i], slope.xx += x * x;
    ++slope.pairs;
  }
  slope.ns += median;
  ++slope.executions;
}

HeldSteps::Step& HeldSteps::step_of(uint16_t replay) {
  auto found = std::find_if(open_.begin(), open_.end(), [&](const auto& one) { return one.first == replay; });
  if (found != open_.end() && replay == 0 && found->second.ops >= kOpsAStep) {
    close(0, found->second);
    found->second = {};
  }
  if (found != open_.end()) return found->second;
  open_.emplace_back(replay, Step());
  if (open_.size() > kOpenSteps) {
    close(open_.front().first, open_.front().second);
    open_.pop_front();
  }
  return open_.back().second;
}

// The core by majority vote (Boyer and Moore): the only one that took longest in more than half of the executions, if there is one.
void HeldSteps::note_late_op(Card& c, uint64_t which, const OpPart& p, double more, double more_gap,
                             const std::optional<double>& bound) {
  if (c.by_op.size() >= kMostOpsOfCard && !c.by_op.contains(which)) return;
  Card::Op& op = c.by_op[which];
  op.late_ns += more, op.in_gaps_ns += more_gap;
  op.bound.add(bound);
  ++op.executions;
  if (op.votes == 0) op.most_x = p.most_x, op.most_y = p.most_y;
  op.most_x == p.most_x&& op.most_y == p.most_y ? ++op.votes : --op.votes;
}

std::optional<HeldSteps::LateOp> HeldSteps::latest_op_of(uint32_t number) const {
  if (number >= cards_.size() || cards_[number].by_op.empty()) return std::nullopt;
  const auto& all = cards_[number].by_op;
  const auto most = std::max_element(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second.late_ns, b.first) < std::pair(b.second.late_ns, a.first);
  });
  return LateOp{most->first, most->second.late_ns, most->second.in_gaps_ns, most->second.most_x,
                most->second.most_y};
}

// The time of each card since its previous op; the op alone if the previous one was not among those compared.
std::vector<HeldSteps::Took> HeldSteps::took(const MatchedOp& op) {
  std::vector<Took> all;
  all.reserve(op.parts.size());
  for (const OpPart& p : op.parts) {
    const Card& c = card(p.card);
    Took& one = all.emplace_back();
    one.follows = ops_ && c.op == ops_ - 1 && p.end_raw_ns > c.end_raw_ns;
    one.ns = one.follows ? static_cast<double>(p.end_raw_ns - c.end_raw_ns) : p.ns;
    if (one.follows)
      one.bound.add_following(c.bound_ns, p.host_bound_ns, false);
    else
      one.bound.add_alone(p.host_bound_ns);
    if (hosts_differ_) one.bound.add_drift(one.ns);
  }
  return all;
}

void HeldSteps::add_bound(OfCard& of, const Took& took, uint32_t before, uint32_t end) const {
  if (took.follows)
    of.bound.add_following(before, end, ops_ && of.next_op == ops_);
  else
    of.bound.add_alone(end);
  of.next_op = ops_ + 1;
  ++of.ops;
  if (hosts_differ_) of.bound.add_drift(took.ns);
}

void HeldSteps::op(const MatchedOp& op) {
  const std::vector<Took> all = took(op);
  std::vector<double> times, more, gaps;
  times.reserve(all.size()), more.reserve(all.size()), gaps.reserve(all.size());
  std::optional<double> median_bound = 0;  // the median is off by no more than the card that is off most
  for (const Took& one : all) {
    times.push_back(one.ns);
    median_bound = median_bound && one.bound.ns() ? std::optional(std::max(*median_bound, *one.bound.ns()))
                                                  : std::nullopt;
  }
  const double median = lower_median(times);
  for (size_t i = 0; i < all.size(); ++i) {
    more.push_back(times[i] - median);
    gaps.push_back(times[i] - op.parts[i].ns);
  }
  const double gap = lower_median(gaps);
  note_slope(op, more, median);
  const bool collective = is_collective(op.op);
  Step& step = step_of(op.replay);
  ++step.ops;
  step.ns += median;
  if (!collective) ++step.compared, step.medians.add(median_bound);
  for (size_t i = 0; i < op.parts.size(); ++i) {
    const OpPart& p = op.parts[i];
    Card& c = card(p.card);
    if (p.card >= step.cards.size()) step.cards.resize(p.card + 1);
    OfCard& of = step.cards[p.card];
    of.came = true;
    of.end_common_ns = p.end_common_ns;
    const uint32_t before = c.bound_ns;
    c.end_raw_ns = p.end_raw_ns, c.op = ops_, c.bound_ns = p.host_bound_ns;
    if (collective) {
      c.late_ns = 0;
      continue;
    }
    note_late_op(c, op.op, p, more[i], gaps[i] - gap, all[i].bound.ns());
    add_bound(of, all[i], before, p.host_bound_ns);
    c.late_ns += more[i];
    of.late_ns += more[i];
    if (more[i] <= of.most_ns) continue;
    of.most_ns = more[i], of.op = op.op, of.most_x = p.most_x, of.most_y = p.most_y;
    of.in_gap = gaps[i] - gap > more[i] / 2;
  }
  ++ops_;
}

HeldStep HeldSteps::held_by(uint32_t card, const Step& step, const StepLateness& all) {
  const OfCard& of = step.cards[card];
  HeldStep held;
  held.ns = all.ns;
  held.card = card, held.late_ns = static_cast<uint64_t>(of.late_ns);
  held.op = of.op, held.in_gap = of.in_gap, held.most_x = of.most_x, held.most_y = of.most_y;
  held.end_common_ns = of.end_common_ns;
  const auto own =
      std::find_if(all.cards.begin(), all.cards.end(), [&](const auto& c) { return c.card == card; });
  held.own_bound_ns = own->own_bound_ns, held.late_bound_ns = own->late_bound_ns;
  for (const StepLateness::OfCard& other : all.cards)
    if (other.card != card && own->own_bound_ns && other.own_bound_ns &&
        of.late_ns - other.late_ns <= *own->own_bound_ns + *other.own_bound_ns)
      held.another_within_bounds = true;
  return held;
}

void HeldSteps::close(uint16_t replay, const Step& step) {
  if (step.ops == 0) return;
  StepLateness result;
  result.ns = static_cast<uint64_t>(std::max(step.ns, 0.0));
  const uint64_t number = steps_++;
  std::vector<double> late;
  std::optional<uint32_t> latest;
  for (uint32_t i = 0; i < step.cards.size(); ++i) {
    if (!step.cards[i].came) continue;
    late.push_back(step.cards[i].late_ns);
    LateBound own = step.cards[i].bound, late_bound = own;
    late_bound.add(step.medians.ns());
    if (step.cards[i].ops != step.compared) own = late_bound;  // then medians are not the same for all
    result.cards.push_back({i, step.cards[i].late_ns, own.ns(), late_bound.ns()});
    if (!latest || step.cards[i].late_ns > step.cards[*latest].late_ns) latest = i;
  }
  if (const OfCard& of = step.cards[*latest]; of.late_ns >= kMaterial * step.ns && of.late_ns > 0) {
    HeldStep& held = result.held.emplace(held_by(*latest, step, result));
    held.number = number, held.replay = replay;
    held.p_value = grubbs_p(late);
  }
  take_(result);
}

std::vector<HeldSteps::OpTimes> HeldSteps::longest_ops(size_t most) const {
  std::vector<OpTimes> all;
  for (const auto& [op, slope] : slopes_)
    all.push_back({op, slope.ns, slope.executions, is_collective(op), {}, {}});
  std::sort(all.begin(), all.end(),
            [](const OpTimes& a, const OpTimes& b) { return std::pair(b.ns, a.op) < std::pair(a.ns, b.op); });
  all.resize(std::min(all.size(), most));
  for (OpTimes& one : all)
    for (const Card& c : cards_) {
      const auto known = c.by_op.find(one.op);
      const bool ran = known != c.by_op.end() && known->second.executions;
      const double executions = ran ? static_cast<double>(known->second.executions) : 1;
      one.late_ns.push_back(ran ? known->second.late_ns / executions : 0);
      const bool always = ran && known->second.executions == one.executions;
      const auto bound = always ? known->second.bound.ns() : std::optional<double>();
      one.own_bound_ns.push_back(bound ? std::optional(*bound / executions) : std::nullopt);
    }
  return all;
}

void HeldSteps::end() {
  for (const auto& [replay, step] : open_) close(replay, step);
  open_.clear();
}

}  // namespace ttc::fleet
