#include "collector/inspect/sync_run.hpp"

#include <signal.h>
#include <time.h>

#include <algorithm>
#include <cmath>

#include "collector/inspect/device_list.hpp"
#include "driver_iface/guarded_card.hpp"
#include "ttcollect/host_time.hpp"

namespace ttc::collect {
namespace {

using card::Access;

constexpr uint64_t kTelemetryNs = 62'500'000;

volatile sig_atomic_t end_asked = 0;

struct Subject {
  Subject(const ChosenDevice& device, const SyncOptions& options)
      : card(card::open_card(device.spec, options.open)),
        sampler(card, tensix_tiles(card), options.sampler),
        models(options.sampler.first_era) {
    result.identity = card.identity();
    result.chip = device.chip;
    if (options.sampler.reference_timer)
      result.timer = sampler.has_reference_timer() ? SyncResult::Timer::read : SyncResult::Timer::absent;
  }

  static std::vector<card::Coord> tensix_tiles(const card::Card& card) {
    std::vector<card::Coord> tiles;
    for (const card::Tile& t : card.tiles())
      if (t.kind == card::TileKind::tensix && !t.harvested) tiles.push_back(t.at);
    return tiles;
  }

  void take() {
    std::vector<ClockInput> inputs;
    sampler.move_inputs(inputs);
    models.grow(sampler.domains());
    models.take(inputs);
    learn();
  }
  void finish() {
    models.finish();
    learn();
  }
  void learn() {
    sampler.learn(models.known());
    const std::vector<ClockSegment> of_first = std::move(models.take_final().front());
    result.segments.insert(result.segments.end(), of_first.begin(), of_first.end());
  }
  void sample() {
    if (result.vanished) return;
    result.vanished = sampler.sample() == Access::gone || card.health() == card::Health::gone;
    take();
    const uint64_t now = raw_now_ns();
    if (now - reported_at_ns < kTelemetryNs) return;
    reported_at_ns = now;
    const card::Telemetry t = card.telemetry();
    if (t.aiclk_mhz) result.aiclk.push_back({now * kHostTicksPerNs, *t.aiclk_mhz});
  }

  card::GuardedCard card;
  ClockSampler sampler;
  ClockModels models;
  SyncResult result;
  uint64_t reported_at_ns = 0;
};

void wait_until(uint64_t monotonic_ns) {
  const timespec until{static_cast<time_t>(monotonic_ns / 1'000'000'000),
                       static_cast<long>(monotonic_ns % 1'000'000'000)};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);  // a signal ends it, as it should
}

// The value at which `share` of the total weight is reached.
double percentile(const std::vector<std::pair<double, double>>& sorted, double total, double share) {
  double sum = 0;
  for (const auto& [value, weight] : sorted)
    if ((sum += weight) >= share * total) return value;
  return sorted.empty() ? 0 : sorted.back().first;
}

SyncSummary::Percentiles over_time(const std::vector<ClockSegment>& segments, bool hard) {
  std::vector<std::pair<double, double>> bounds;
  double total = 0;
  for (const ClockSegment& s : segments) {
    if (!hard && s.kind != BoundKind::conditional) continue;
    const auto weight = static_cast<double>(s.host_to - s.host_from);
    bounds.emplace_back(static_cast<double>(hard ? s.hard_bound : s.bound) / kHostTicksPerNs, weight);
    total += weight;
  }
  std::sort(bounds.begin(), bounds.end());
  return {percentile(bounds, total, 0.5), percentile(bounds, total, 0.99), percentile(bounds, total, 1)};
}

}  // namespace

std::vector<SyncResult> sync(const SyncOptions& options) {
  check_device_list(options.devices);
  const std::vector<std::string> present =
      names_all(options.devices) ? card::present_cards() : std::vector<std::string>{};
  if (names_all(options.devices) && present.empty())
    throw card::OpenError("--device all: no card is present; `ttcollect list` shows what is there");
  std::vector<std::unique_ptr<Subject>> subjects;
  for (const ChosenDevice& device : choose_devices(options.devices, present))
    subjects.push_back(std::make_unique<Subject>(device, options));

  struct sigaction act {};
  act.sa_handler = [](int) { end_asked = 1; };
  sigaction(SIGINT, &act, nullptr);
  sigaction(SIGTERM, &act, nullptr);

  const uint64_t begun = monotonic_now_ns();
  for (const auto& s : subjects) s->result.vanished = s->sampler.finish_first_round() == Access::gone;
  const auto any_left = [&] {
    return std::any_of(subjects.begin(), subjects.end(), [](const auto& s) { return !s->result.vanished; });
  };
  for (uint64_t due = monotonic_now_ns(); !end_asked && due < begun + options.duration_ns && any_left();) {
    wait_until(due);
    uint64_t period = ~uint64_t{0};
    for (const auto& s : subjects) {
      s->sample();
      period = std::min(period, s->sampler.period_ns());
    }
    due = std::max(due + period, monotonic_now_ns());
  }
  std::vector<SyncResult> results;
  for (const auto& s : subjects) {
    s->finish();
    s->result.head = s->sampler.head(0);
    s->result.figures = s->sampler.figures();
    s->result.seconds = static_cast<double>(monotonic_now_ns() - begun) / 1e9;
    results.push_back(std::move(s->result));
  }
  return results;
}

SyncSummary summary_of(const SyncResult& r) {
  SyncSummary s;
  s.conditional = over_time(r.segments, false);
  s.hard = over_time(r.segments, true);
  double covered = 0, conditional = 0;
  for (const ClockSegment& segment : r.segments) {
    const auto ticks = static_cast<double>(segment.host_to - segment.host_from);
    covered += ticks;
    conditional += segment.kind == BoundKind::conditional ? ticks : 0;
  }
  s.conditional_share = covered > 0 ? conditional / covered : 0;
  s.hz = r.figures.hz;
  if (s.hz > 0) {
    s.nominal_hz = std::max(1.0, std::round(s.hz / kPllStepHz)) * kPllStepHz;
    s.drift_ppm = (s.hz / s.nominal_hz - 1) * 1e6;
    const ClockSegment& last = r.segments.back();
    s.offset_ns = static_cast<double>(last.host_to) / kHostTicksPerNs -
                  static_cast<double>(last.to_cycles) / s.hz * 1e9;
  }
  std::vector<uint64_t> widths = r.figures.widths;
  std::sort(widths.begin(), widths.end());
  const auto at = [&](double share) {
    return widths.empty() ? 0.0
                          : static_cast<double>(
                                widths[static_cast<size_t>(share * static_cast<double>(widths.size() - 1))]) /
                                kHostTicksPerNs;
  };
  s.brackets = {at(0), at(0.5), at(0.9), at(0.99), at(1)};
  return s;
}

}  // namespace ttc::collect
