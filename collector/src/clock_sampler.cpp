#include "collector/clock_sampler.hpp"

#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "collector/host_time.hpp"
#include "driver_iface/arch.hpp"
#include "firmware_markers/frame.hpp"

namespace ttc::collect {
namespace {

using card::Access;
using card::Window;

constexpr unsigned kTileReads = 2;      // of a tile that is compared, and of the reference on either side
constexpr unsigned kPeriodsAChunk = 8;  // final segments go out twice a second by default
constexpr size_t kRecentInTable = 48;   // final segments of a domain in the live table
constexpr size_t kWidthsKept = 4096;
constexpr int kLastSamples = 4;  // two unconfirmed ones, and one that may be missed
constexpr int64_t kHostStepNs = 1'000'000;

constexpr auto kLowOffset = static_cast<uint32_t>(card::kWallClockLow - card::kRegisterWindow);
constexpr auto kHighOffset = static_cast<uint32_t>(card::kWallClockHigh - card::kRegisterWindow);

void append(std::vector<std::byte>& to, const void* bytes, size_t count) {
  const auto* from = static_cast<const std::byte*>(bytes);
  to.insert(to.end(), from, from + count);
}

std::vector<std::byte> body_of(const ClockHead& head, std::span<const ClockSegment> segments) {
  std::vector<std::byte> body;
  append(body, &head, sizeof head);
  if (!segments.empty()) append(body, segments.data(), segments.size_bytes());
  return body;
}

HostTime width(const ClockRead& r) {
  return r.after - r.before;
}
const ClockRead& tightest(std::span<const ClockRead> burst) {
  return *std::min_element(burst.begin(), burst.end(),
                           [](const ClockRead& a, const ClockRead& b) { return width(a) < width(b); });
}
HostTime middle(const ClockRead& r) {
  return r.before + width(r) / 2;
}

}  // namespace

ClockSampler::ClockSampler(card::Card& card, std::vector<card::Coord> tiles, Publisher& publisher,
                           shm::SegmentWriter& segment, const SamplerOptions& options)
    : card_(card), publisher_(publisher), segment_(segment), reads_(options.reads) {
  rules_.period_ns = static_cast<uint64_t>(1e9 / options.rate_hz);
  // A look at another tile costs the same again, and there may be more domains than one.
  const auto fits = static_cast<unsigned>(kMostRoundTrips / options.rate_hz / 2);
  reads_ = std::clamp(std::min(reads_, fits > 4 ? fits - 4 : 1u), 1u,
                      static_cast<unsigned>(ClockEstimator::kMostReads));
  rules_.reads_a_sample = reads_;
  for (const card::Coord tile : tiles) tiles_.push_back({tile});
  domains_.emplace_back(rules_, uint8_t{0}, tiles.front());
  compare_host_clocks();
}

void ClockSampler::compare_host_clocks() {
  const HostTicks::Clocks before = clocks_;
  clocks_ = HostTicks::compare();
  if (before.raw_ns != 0 &&
      std::abs(clocks_.realtime_minus_raw_ns - before.realtime_minus_raw_ns) > kHostStepNs)
    ++host_steps_;
}

// --- reading

// `suspect` and `refused`: no sample this time.
Access ClockSampler::read_tile(card::Coord tile, unsigned reads, std::vector<ClockRead>& burst) {
  burst.clear();
  const uint64_t trips_before = card_.transactions().round_trips;
  uint32_t high[2] = {}, low = 0;
  Access a = card_.aim(Window::control, tile, card::kRegisterWindow);
  if (a == Access::ok) a = card_.load_registers(Window::control, kHighOffset, {&high[0], 1});
  for (unsigned i = 0; i < reads && a == Access::ok; ++i) {
    const uint64_t before = host_.now();
    a = card_.load_registers(Window::control, kLowOffset, {&low, 1});
    const uint64_t after = host_.now();
    if (a == Access::ok) burst.push_back({host_.limits(before).earliest, host_.limits(after).latest, low});
  }
  if (a == Access::ok) a = card_.load_registers(Window::control, kHighOffset, {&high[1], 1});
  round_trips_ += card_.transactions().round_trips - trips_before;
  if (a != Access::ok) return a;
  // The low word rolls over every three seconds at the soonest, a burst takes microseconds: its lows are on
  // one side of a roll-over or the other. Where the observer was held up for longer they may be on both of
  // several.
  if (high[1] - high[0] > 1) return Access::suspect;
  for (ClockRead& r : burst) {
    const uint64_t top = high[0] == high[1] || r.cycles >= uint64_t{1} << 31 ? high[0] : high[1];
    r.cycles |= top << 32;
  }
  return Access::ok;
}

Access ClockSampler::sample(Domain& domain) {
  const Access a = read_tile(domain.reference, reads_, burst_);
  if (a != Access::ok) return a;
  if (&domain == domains_.data()) {
    const uint64_t tight = width(tightest(burst_));
    if (widths_.size() < kWidthsKept)
      widths_.push_back(tight);
    else
      widths_[width_at_++ % kWidthsKept] = tight;
  }
  domain.estimator.add(burst_);
  for (const ClockSegment& s : domain.estimator.take_final()) {
    take_final(domain, s);
    domain.bound = s.bound;
  }
  if (domain.recent.size() > kRecentInTable)
    domain.recent.erase(domain.recent.begin(), domain.recent.end() - kRecentInTable);
  return Access::ok;
}

void ClockSampler::take_final(Domain& domain, const ClockSegment& segment) {
  domain.fresh.push_back(segment);
  domain.recent.push_back(segment);
  if (keep_history_ && segment.domain == 0) history_.push_back(segment);
}

// --- domains

// The tile between two looks at the reference. Over these microseconds the frequency is taken as steady.
Access ClockSampler::look_at(TileClock& tile) {
  host_.anchor();
  std::vector<ClockRead> first, other, second;
  const card::Coord reference = domains_.front().reference;
  Access a = read_tile(reference, kTileReads, first);
  if (a == Access::ok) a = read_tile(tile.at, kTileReads, other);
  if (a == Access::ok) a = read_tile(reference, kTileReads, second);
  if (a != Access::ok) return a;
  const ClockRead &r0 = tightest(first), &r1 = tightest(second), &t = tightest(other);
  const auto span = static_cast<double>(middle(r1) - middle(r0));
  if (r1.cycles <= r0.cycles) return Access::ok;  // it stands, or was just reset: nothing to compare
  const double pace = static_cast<double>(r1.cycles - r0.cycles) / span;  // cycles a host tick
  const double reference_then = static_cast<double>(static_cast<int64_t>(middle(t) - middle(r0))) * pace;
  const double offset = static_cast<double>(static_cast<int64_t>(t.cycles - r0.cycles)) - reference_then;
  const double error = pace * static_cast<double>(width(t) + std::max(width(r0), width(r1))) / 2 * 1.01 + 2;
  join_domain(tile, offset - error, offset + error);
  return Access::ok;
}

void ClockSampler::join_domain(TileClock& tile, double least, double most) {
  const bool agrees = tile.looked && std::max(tile.least, least) <= std::min(tile.most, most);
  tile.least = agrees ? std::max(tile.least, least) : least;  // otherwise the tile was reset since
  tile.most = agrees ? std::min(tile.most, most) : most;
  const bool was_looked_at = std::exchange(tile.looked, true);
  const uint8_t before = tile.domain;
  if (tile.least <= 0 && 0 <= tile.most) {
    tile.domain = 0;
  } else {
    tile.domain = 0xff;
    for (const TileClock& other : tiles_)
      if (&other != &tile && other.looked && other.domain != 0 && other.domain != 0xff &&
          other.least <= tile.most && tile.least <= other.most)
        tile.domain = other.domain;
    if (tile.domain == 0xff && domains_.size() < kMostDomains) {
      tile.domain = static_cast<uint8_t>(domains_.size());
      domains_.emplace_back(rules_, tile.domain, tile.at);
    }
  }
  domains_changed_ = domains_changed_ || !was_looked_at || tile.domain != before;
}

Access ClockSampler::measure_domains() {
  for (size_t i = 1; i < tiles_.size(); ++i)
    if (look_at(tiles_[i]) == Access::gone) return Access::gone;
  publish_domains();
  return Access::ok;
}

// Tiles without a domain of their own (more origins than kMostDomains) have number 255: no conversion.
void ClockSampler::publish_domains() {
  domains_changed_ = false;
  nlohmann::json domains = nlohmann::json::array();
  for (size_t d = 0; d < domains_.size(); ++d)
    domains.push_back({{"domain", d}, {"reference", {domains_[d].reference.x, domains_[d].reference.y}}});
  nlohmann::json others = nlohmann::json::array();  // those that are not of domain 0
  for (const TileClock& t : tiles_)
    if (t.domain != 0) others.push_back({t.at.x, t.at.y, t.domain});
  segment_.add_standing(shm::ChunkKind::clock_domains,
                        nlohmann::json{{"domains", domains}, {"tiles", others}}.dump());
}

// The domain's tiles against its reference: what a marker of any of them may be off besides.
uint64_t ClockSampler::spread_ticks(const Domain& domain) const {
  double least = 0, most = 0, reference_least = 0, reference_most = 0;
  const auto number = static_cast<size_t>(&domain - domains_.data());
  for (const TileClock& t : tiles_)
    if (t.looked && t.at == domain.reference) reference_least = t.least, reference_most = t.most;
  for (const TileClock& t : tiles_) {
    if (!t.looked || t.domain != number || t.at == domain.reference) continue;
    least = std::min(least, t.least - reference_most);
    most = std::max(most, t.most - reference_least);
  }
  const double hz = domain.estimator.hz() > 0 ? domain.estimator.hz() : 1e8;
  return static_cast<uint64_t>(std::ceil(std::max(-least, most) * 16e9 / hz));
}

// --- publishing

ClockHead ClockSampler::head_of(const Domain& domain) const {
  ClockHead h;
  h.domain = static_cast<uint8_t>(&domain - domains_.data());
  h.reference_x = domain.reference.x;
  h.reference_y = domain.reference.y;
  h.era = domain.estimator.era();
  h.violations = static_cast<uint32_t>(domain.estimator.stats().violations);
  h.dwell_ns = rules_.period_ns * rules_.dwell_periods;
  h.least_step_ppm = rules_.least_step_ppm;
  h.wander_ppb_per_s = rules_.wander_ppb_per_s;
  h.largest_hz = rules_.largest_hz;
  h.tile_spread = spread_ticks(domain);
  h.raw_ns = clocks_.raw_ns;
  h.realtime_minus_raw_ns = clocks_.realtime_minus_raw_ns;
  h.boottime_minus_raw_ns = clocks_.boottime_minus_raw_ns;
  h.host_compare_ns = clocks_.error_ns;
  return h;
}

// Every domain's head, recent and provisional segments, each body behind its length in bytes.
void ClockSampler::publish_table() {
  std::vector<std::byte> table;
  for (Domain& d : domains_) {
    std::vector<ClockSegment> segments = d.recent;
    const std::vector<ClockSegment> later = d.estimator.provisional();
    segments.insert(segments.end(), later.begin(), later.end());
    const std::vector<std::byte> body = body_of(head_of(d), segments);
    const uint64_t length = body.size();
    if (table.size() + sizeof length + length > shm::ClockTableWriter::capacity() * 8) break;
    append(table, &length, sizeof length);
    append(table, body.data(), body.size());
  }
  std::vector<uint64_t> words(table.size() / 8);
  std::memcpy(words.data(), table.data(), words.size() * 8);
  segment_.set_clock(words);
}

void ClockSampler::publish_fresh() {
  for (Domain& d : domains_) {
    publisher_.publish_body(shm::ChunkKind::clock, body_of(head_of(d), d.fresh));
    d.fresh.clear();
  }
}

void ClockSampler::publish_telemetry(uint64_t now_ns) {
  if (now_ns < telemetry_due_ns_) return;
  telemetry_due_ns_ = now_ns + kTelemetryNs;
  const card::Telemetry t = card_.telemetry();
  shm::TelemetryRecord record;
  record.host_ns = raw_now_ns();
  record.known = (t.aiclk_mhz ? 1u : 0u) | (t.power_mw ? 2u : 0u) | (t.temperature_mc ? 4u : 0u);
  if (record.known == 0) return;
  record.aiclk_mhz = t.aiclk_mhz.value_or(0);
  record.power_mw = t.power_mw.value_or(0);
  record.temperature_mc = t.temperature_mc.value_or(0);
  publisher_.publish_body(shm::ChunkKind::telemetry, std::as_bytes(std::span(&record, 1)));
}

void ClockSampler::count() {
  using shm::Counter;
  const auto& stats = domains_.front().estimator.stats();
  segment_.set(Counter::clock_samples, stats.samples);
  segment_.set(Counter::clock_steps, stats.steps);
  segment_.set(Counter::clock_violations, stats.violations);
  segment_.set(Counter::clock_eras, stats.eras);
  segment_.set(Counter::clock_hz, static_cast<uint64_t>(domains_.front().estimator.hz()));
  const uint64_t bound = domains_.front().bound;
  segment_.set(Counter::clock_bound_ns, bound == kNoBound ? 0 : bound / kHostTicksPerNs);
}

// --- the schedule

Access ClockSampler::poll(uint64_t now_ns) {
  if (now_ns < due_ns_) return Access::ok;
  due_ns_ = due_ns_ == 0
                ? now_ns + rules_.period_ns
                : due_ns_ + (now_ns - due_ns_) / rules_.period_ns * rules_.period_ns + rules_.period_ns;
  host_.anchor();
  compare_host_clocks();
  for (Domain& d : domains_)
    if (sample(d) == Access::gone) return Access::gone;
  if (tiles_.size() > 1) {
    if (next_tile_ >= tiles_.size()) next_tile_ = 1;
    if (look_at(tiles_[next_tile_++]) == Access::gone) return Access::gone;
    if (domains_changed_) publish_domains();
  }
  publish_telemetry(now_ns);
  if (++periods_ % kPeriodsAChunk == 0) publish_fresh();
  publish_table();
  count();
  return Access::ok;
}

void ClockSampler::seen(card::Coord tile, uint64_t marker_time, uint64_t raw_ns) {
  // Only the reference's own count is exactly the domain's.
  for (Domain& d : domains_) {
    if (d.reference != tile) continue;
    const HostTime at = (raw_ns + 1) * kHostTicksPerNs;
    const uint64_t about = d.estimator.cycles_about(at);
    const int64_t behind = markers::clock_difference(about & markers::kClockMask, marker_time);
    if (about != 0) d.estimator.seen(about - static_cast<uint64_t>(behind), at);
  }
}

void ClockSampler::close(bool card_answers) {
  for (int i = 0; card_answers && i < kLastSamples; ++i) {
    const uint64_t now = monotonic_now_ns();
    if (due_ns_ > now) {
      const timespec until{static_cast<time_t>(due_ns_ / 1'000'000'000),
                           static_cast<long>(due_ns_ % 1'000'000'000)};
      while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
      }
    }
    card_answers = poll(monotonic_now_ns()) == Access::ok;
  }
  for (Domain& d : domains_) {
    d.estimator.finish();
    for (const ClockSegment& s : d.estimator.take_final()) take_final(d, s);
  }
  publish_fresh();
  publish_table();
  count();
}

ClockSampler::Figures ClockSampler::figures() const {
  const Domain& d = domains_.front();
  Figures f;
  f.stats = d.estimator.stats();
  f.domains = domains_.size();
  f.tiles = tiles_.size();
  f.hz = d.estimator.hz();
  f.bound = d.bound;
  f.tile_spread = spread_ticks(d);
  f.round_trips = round_trips_;
  f.host_steps = host_steps_;
  f.steps.assign(d.estimator.steps().begin(), d.estimator.steps().end());
  f.widths = widths_;
  f.uses_tsc = host_.uses_tsc();
  return f;
}

}  // namespace ttc::collect
