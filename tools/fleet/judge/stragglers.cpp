#include "tools/fleet/judge/stragglers.hpp"

#include <algorithm>
#include <cmath>

#include "tools/fleet/clock/common_clock.hpp"

namespace ttc::fleet {
namespace {

constexpr size_t kMostSeen = 1 << 16;  // launches of a card whose executions are numbered
constexpr size_t kOpenSteps = 8;       // replays that are compared at once

uint64_t launch_of(const OpRow& row) {
  return uint64_t{row.host_id} << 16 | row.replay;
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

void Stragglers::add(Card card, const OpRow& row, uint64_t end_ns, uint64_t bound_ns) {
  auto& executions = seen_[card];
  if (executions.size() >= kMostSeen) executions.clear();
  const uint64_t launch = launch_of(row);
  const uint64_t key = launch << 16 | (executions[launch]++ & 0xffff);
  const auto [place, fresh] = place_.try_emplace(key, next_);
  if (fresh) key_of_[next_++] = key;
  Op& op = waiting_[place->second];
  op.parts.push_back({card, row.duration_ns, row.most_x, row.most_y, end_ns, bound_ns});
  ++rows_waiting_;
  while (rows_waiting_ > most_waiting_) oldest_out();
}

void Stragglers::oldest_out() {
  const auto it = waiting_.begin();
  const uint64_t key = key_of_[it->first];
  compare(key, it->second);
  rows_waiting_ -= it->second.parts.size();
  place_.erase(key);
  key_of_.erase(it->first);
  waiting_.erase(it);
}

void Stragglers::end() {
  while (!waiting_.empty()) oldest_out();
  for (const auto& [replay, step] : open_) close(step);
  open_.clear();
}

void Stragglers::compare(uint64_t key, const Op& op) {
  if (op.parts.size() < 2 || op.parts.size() * 2 < seen_.size()) {
    unmatched_ += op.parts.size();
    return;
  }
  ++ops_;
  std::vector<uint32_t> times;
  times.reserve(op.parts.size());
  for (const Part& p : op.parts) times.push_back(p.ns);
  // The lower one of an even number: of two cards the faster says what it takes.
  const auto middle = times.begin() + static_cast<ptrdiff_t>((times.size() - 1) / 2);
  std::nth_element(times.begin(), middle, times.end());
  const double median = *middle;
  const auto host_id = static_cast<uint32_t>(key >> 32);
  const auto replay = static_cast<uint32_t>(key >> 16 & 0xffff);
  if (replay == 0 && open_[0].ops >= kOpsAStep) {
    close(open_[0]);
    open_[0] = {};
  }
  Step& step = open_[replay];
  ++step.ops;
  step.ns += median;
  for (const Part& p : op.parts) {
    ++cores_[p.card][{p.x, p.y}];
    const double excess = p.ns - median;
    if (excess <= 0) continue;
    step.excess[p.card] += excess;
    step.by_op[p.card][host_id] += excess;
  }
  while (open_.size() > kOpenSteps) {
    const auto oldest = open_.begin()->first == 0 ? std::next(open_.begin()) : open_.begin();
    close(oldest->second);
    open_.erase(oldest);
  }
  auto ends = op.parts;
  std::erase_if(ends, [](const Part& p) { return p.end_ns == 0; });
  if (ends.size() < 2) return;
  std::partial_sort(ends.begin(), ends.begin() + 2, ends.end(),
                    [](const Part& a, const Part& b) { return a.end_ns > b.end_ns; });
  const bool known =
      order_of(ends[0].end_ns, ends[0].bound_ns, ends[1].end_ns, ends[1].bound_ns) != Sequence::unknown;
  ++(known ? in_order_ : unknown_order_);
}

void Stragglers::close(const Step& step) {
  if (step.ops == 0) return;
  ++steps_;
  if (step.excess.empty()) return;
  const auto most = largest(step.excess);
  if (most->second < kMaterial * step.ns) return;
  Held& held = held_[most->first];
  ++held.steps;
  held.excess_ns += most->second;
  for (const auto& [host_id, ns] : step.by_op.at(most->first)) held.by_op[host_id] += ns;
}

std::vector<Straggler> Stragglers::named() const {
  std::vector<Straggler> all;
  const auto cards = static_cast<double>(seen_.size());
  for (const auto& [card, held] : held_) {
    const double p = std::min(1.0, cards * binomial_tail(steps_, held.steps, 1 / cards));
    if (p >= kFalseShare) continue;
    Straggler s;
    s.card = card, s.steps = held.steps, s.p_value = p;
    s.excess_ns = held.excess_ns / static_cast<double>(held.steps);
    s.host_id = largest(held.by_op)->first;
    const auto& cores = cores_.at(card);
    std::tie(s.x, s.y) = largest(cores)->first;
    all.push_back(s);
  }
  std::sort(all.begin(), all.end(), [](const Straggler& a, const Straggler& b) { return a.steps > b.steps; });
  return all;
}

}  // namespace ttc::fleet
