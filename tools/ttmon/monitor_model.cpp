#include "tools/ttmon/monitor_model.hpp"

#include <algorithm>
#include <cstdio>
#include <set>
#include <tuple>

namespace ttc::tools {
namespace {

using shm::Counter;

uint64_t grown(const CardSample& before, const CardSample& now, Counter counter) {
  return now.count(counter) > before.count(counter) ? now.count(counter) - before.count(counter) : 0;
}

std::string many(uint64_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string losses_of(const CardSample& now) {
  const uint64_t lost = now.count(Counter::loss_intervals);
  return lost ? many(lost, "interval") + " of loss so far" : "";
}

// The counts of lost words and launches; an interval that is open grows.
uint64_t amount_of(const CardSample& sample) {
  uint64_t amount = 0;
  for (const auto& [cause, sum] : sample.lost) amount += sum.words + sum.launches;
  return amount;
}

// `before`: null at the first sample.
HealthState health_of(const CardSample* before, const CardSample& now, uint64_t last_loss_ns) {
  if (now.writer == Writer::ended) return {Health::stopped, "its collector ended"};
  if (now.writer == Writer::died)
    return {Health::stopped, "its collector ended abnormally; what it published can be read"};
  if (last_loss_ns && now.at_ns - last_loss_ns < kLosingHoldNs) return {Health::losing, losses_of(now)};
  if (now.heartbeat_ns && now.at_ns > now.heartbeat_ns && now.at_ns - now.heartbeat_ns > kNoSweepNs) {
    char text[96];
    std::snprintf(text, sizeof text, "no sweep for %.1f s: between two workloads, or without a CPU",
                  static_cast<double>(now.at_ns - now.heartbeat_ns) / 1e9);
    return {Health::lagging, text};
  }
  if (before)
    if (const uint64_t late = grown(*before, now, Counter::missed_poll_deadlines))
      return {Health::lagging, many(late, "poll") + " came after the deadline"};
  if (before)
    if (const uint64_t recycles = grown(*before, now, Counter::recycles))
      return {Health::recycling, many(recycles, "core") + " recycled"};
  if (now.count(Counter::cores) == 0) return {Health::waiting, "no core is collected from yet"};
  return {Health::collecting, losses_of(now)};
}

}  // namespace

const char* to_string(Health health) {
  constexpr const char* kNames[] = {"collecting", "waiting", "recycling", "lagging", "losing", "stopped"};
  return kNames[static_cast<size_t>(health)];
}

void Series::add(std::optional<double> value) {
  values.push_back(value);
  if (values.size() > kKept) values.pop_front();
}

void CardView::add(const CardSample& next) {
  if (next.session != sample.session) *this = CardView{};
  const bool first = sample.at_ns == 0;
  const double seconds = first ? 0 : static_cast<double>(next.at_ns - sample.at_ns) / 1e9;
  std::optional<double> programs_per_s, markers_per_s, losses_per_s;
  footprint.reset();
  if (seconds > 0 && next.writer == Writer::live) {
    const auto rate = [&](Counter c) { return static_cast<double>(grown(sample, next, c)) / seconds; };
    programs_per_s = rate(Counter::programs);
    markers_per_s = rate(Counter::markers);
    losses_per_s = rate(Counter::loss_intervals);
    footprint = {rate(Counter::round_trips), rate(Counter::card_bytes), rate(Counter::window_moves), {}};
    if (const uint64_t carried = next.count(Counter::link_bytes_per_s))
      footprint->link_share = footprint->bytes_per_s / static_cast<double>(carried);
  }
  programs.add(programs_per_s);
  markers.add(markers_per_s);
  losses.add(losses_per_s);
  link.add(footprint ? footprint->link_share : std::nullopt);
  log_fill.add(next.activity.log_fill);
  clock_bound.add(next.clocks.empty() ? std::nullopt : std::optional(next.clocks.front().bound_ns));
  if (!first && (grown(sample, next, Counter::loss_intervals) || amount_of(next) > amount_of(sample)))
    last_loss_ns = next.at_ns;
  health = health_of(first ? nullptr : &sample, next, last_loss_ns);
  sample = next;
}

const char* to_string(Sorting sorting) {
  constexpr const char* kNames[] = {"time", "count", "mean", "longest", "name"};
  return kNames[static_cast<size_t>(sorting)];
}

Sorting next_of(Sorting sorting) {
  return sorting == Sorting::name ? Sorting::time : static_cast<Sorting>(static_cast<int>(sorting) + 1);
}

std::vector<NamedSum> sorted(std::vector<NamedSum> rows, Sorting sorting) {
  const auto key = [sorting](const NamedSum& row) -> uint64_t {
    switch (sorting) {
      case Sorting::time:
        return row.sum.ns;
      case Sorting::count:
        return row.sum.count;
      case Sorting::mean:
        return row.sum.count ? row.sum.ns / row.sum.count : 0;
      case Sorting::longest:
        return row.sum.longest_ns;
      case Sorting::name:
        break;
    }
    return 0;
  };
  std::sort(rows.begin(), rows.end(), [&](const NamedSum& a, const NamedSum& b) {
    return std::tuple(key(b), std::string_view(a.name)) < std::tuple(key(a), std::string_view(b.name));
  });
  return rows;
}

void MonitorModel::add(const std::vector<CardSample>& samples) {
  std::set<std::string> names;
  for (const CardSample& sample : samples) {
    names.insert(sample.live_name);
    cards_[sample.live_name].add(sample);
  }
  std::erase_if(cards_, [&](const auto& card) { return !names.contains(card.first); });
}

}  // namespace ttc::tools
