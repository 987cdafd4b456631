#include "collector/sampling/clock_sampler.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "collector/program/json_text.hpp"
#include "driver_iface/allow_list.hpp"
#include "firmware_markers/frame.hpp"

namespace ttc::collect {
namespace {

using card::Access;
using card::Window;

// Examines tiles that are no reference: 12 round trips a tile.
constexpr unsigned kFirstLooks = 3;  // at once, until every tile had its first
constexpr uint64_t kFirstLooksApartNs = 62'500'000, kLooksApartNs = 250'000'000;
constexpr uint64_t kTimerApartNs = 125'000'000;
constexpr uint64_t kCompareApartNs = 62'500'000;                     // host clocks
constexpr uint64_t kDenseForNs = 10'000'000'000;                     // after the frequency moved
constexpr unsigned kWholeEvery = 32;                                 // samples
constexpr HostTime kLongestAlone = 2'000'000'000 * kHostTicksPerNs;  // low rolls over after three seconds
constexpr double kOfBudget = 0.98;
constexpr unsigned kTileReads = 2;  // of a tile that is compared, and of the reference on either side
constexpr size_t kWidthsKept = 4096;
constexpr int64_t kHostStepNs = 1'000'000;

constexpr auto kLowOffset = static_cast<uint32_t>(card::kWallClockLow - card::kRegisterWindow);
constexpr auto kHighOffset = static_cast<uint32_t>(card::kWallClockHigh - card::kRegisterWindow);

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

ClockSampler::ClockSampler(card::Card& card, std::vector<card::Coord> tiles, const SamplerOptions& options)
    : card_(card), rate_hz_(options.rate_hz), first_era_(options.first_era) {
  for (const card::Coord tile : tiles) tiles_.push_back({tile});
  tiles_.front().domain = 0;
  open_domain(tiles.front());
  if (options.reference_timer) timer_ = ReferenceTimer::of(card);
  compare_host_clocks();
}

void ClockSampler::open_domain(card::Coord reference) {
  domains_.emplace_back().reference = reference;
  known_.domains.emplace_back().era = first_era_;
}

unsigned ClockSampler::looks_at_once() const {
  return first_round_over() || domains_.size() > 2 ? 1 : kFirstLooks;
}
uint64_t ClockSampler::looks_apart_ns() const {
  return first_round_over() ? kLooksApartNs : kFirstLooksApartNs;
}

// Before a steady frequency is known, and for a while after it moved.
bool ClockSampler::moving() const {
  const uint64_t now = raw_now_ns();
  if (expected_at_ns_ != 0 && now - expected_at_ns_ < kDenseForNs) return true;
  return std::any_of(known_.domains.begin(), known_.domains.end(), [&](const ClockModels::Domain& d) {
    return d.hz == 0 || (d.last_moved != 0 && now < d.last_moved / kHostTicksPerNs + kDenseForNs);
  });
}

uint64_t ClockSampler::period_ns() const {
  const double looks = tiles_.size() == 1
                           ? 0
                           : looks_at_once() * 3e9 * (kTileReads + 2) / static_cast<double>(looks_apart_ns());
  const double trips = (1 + 2.0 / kWholeEvery) * static_cast<double>(domains_.size());
  const double timer = timer_ ? 1e9 / kTimerApartNs : 0;
  const double most = (kMostRoundTrips * kOfBudget - looks - timer) / trips;
  return static_cast<uint64_t>(1e9 / (moving() ? most : std::min(rate_hz_, most)));
}

// It is the crystal's, which all domains share.
Access ClockSampler::read_timer() {
  ClockRead read{};
  const uint64_t trips_before = card_.transactions().round_trips;
  const Access a = timer_->read(host_, read);
  round_trips_ += card_.transactions().round_trips - trips_before;
  if (a != Access::ok) return a;
  ++timer_reads_;
  inputs_.push_back({ClockInput::Kind::reference, 0, read});
  return Access::ok;
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

// One load: the low word behind the last sample's number. Not plausible: faster than any clock of the chip.
Access ClockSampler::read_low(Domain& domain, bool& plausible) {
  burst_.clear();
  const uint64_t trips_before = card_.transactions().round_trips;
  uint32_t low = 0;
  Access a = card_.aim(Window::control, domain.reference, card::kRegisterWindow);
  const uint64_t before = host_.now();
  if (a == Access::ok) a = card_.load_registers(Window::control, kLowOffset, {&low, 1});
  const uint64_t after = host_.now();
  round_trips_ += card_.transactions().round_trips - trips_before;
  if (a != Access::ok) return a;
  const uint64_t advance = static_cast<uint32_t>(low - static_cast<uint32_t>(domain.last_cycles));
  const ClockRead read{host_.limits(before).earliest, host_.limits(after).latest,
                       domain.last_cycles + advance};
  const double most =
      static_cast<double>(read.after - domain.last_at) * static_cast<double>(rules_.largest_hz) / 16e9;
  plausible = static_cast<double>(advance) <= most + 2;
  burst_.push_back(read);
  return a;
}

Access ClockSampler::sample(Domain& domain) {
  const bool whole = domain.last_at == 0 || ++domain.since_whole >= kWholeEvery ||
                     raw_now_ns() * kHostTicksPerNs - domain.last_at > kLongestAlone;
  bool plausible = false;
  Access a = Access::ok;
  if (!whole) a = read_low(domain, plausible);
  if (a == Access::ok && !plausible) {
    a = read_tile(domain.reference, 1, burst_);
    domain.since_whole = 0;
  }
  if (a != Access::ok) {
    domain.last_at = 0;
    return a;
  }
  domain.last_cycles = burst_.back().cycles;
  domain.last_at = burst_.back().before;
  if (&domain == domains_.data()) {
    const uint64_t tight = width(tightest(burst_));
    if (widths_.size() < kWidthsKept)
      widths_.push_back(tight);
    else
      widths_[width_at_++ % kWidthsKept] = tight;
  }
  if (const auto seen = std::exchange(domain.seen, std::nullopt))
    inputs_.push_back({ClockInput::Kind::seen, number_of(domain), *seen});
  inputs_.push_back({ClockInput::Kind::read, number_of(domain), burst_.back()});
  return Access::ok;
}

// --- domains

// The tile between two reads of the reference. Over these microseconds the frequency is taken as steady.
Access ClockSampler::sample_tile(TileClock& tile) {
  host_.anchor();
  std::vector<ClockRead> first, other, second;
  const card::Coord reference = domains_.front().reference;
  Access a = read_tile(reference, kTileReads, first);
  if (a == Access::ok) a = read_tile(tile.at, kTileReads, other);
  if (a == Access::ok) a = read_tile(reference, kTileReads, second);
  if (a != Access::ok) return a;
  const ClockRead &r0 = tightest(first), &r1 = tightest(second), &t = tightest(other);
  const auto span = static_cast<double>(middle(r1) - middle(r0));
  if (r1.cycles <= r0.cycles) return Access::ok;  // the counter has stopped, or was just reset: no comparison
  const double pace = static_cast<double>(r1.cycles - r0.cycles) / span;  // cycles a host tick
  const double reference_then = static_cast<double>(static_cast<int64_t>(middle(t) - middle(r0))) * pace;
  const double offset = static_cast<double>(static_cast<int64_t>(t.cycles - r0.cycles)) - reference_then;
  const double error = pace * static_cast<double>(width(t) + std::max(width(r0), width(r1))) / 2 * 1.01 + 2;
  join_domain(tile, offset - error, offset + error);
  return Access::ok;
}

void ClockSampler::join_domain(TileClock& tile, double least, double most) {
  const bool agrees = tile.sampled && std::max(tile.least, least) <= std::min(tile.most, most);
  tile.least = agrees ? std::max(tile.least, least) : least;  // otherwise the tile was reset since
  tile.most = agrees ? std::min(tile.most, most) : most;
  tile.sampled = true;
  const uint8_t before = tile.domain;
  if (tile.least <= 0 && 0 <= tile.most) {
    tile.domain = 0;
  } else {
    tile.domain = kNoDomain;
    for (const TileClock& other : tiles_)
      if (&other != &tile && other.sampled && other.domain != 0 && other.domain != kNoDomain &&
          other.least <= tile.most && tile.least <= other.most)
        tile.domain = other.domain;
    if (tile.domain == kNoDomain && domains_.size() < kMostDomains) {
      tile.domain = static_cast<uint8_t>(domains_.size());
      open_domain(tile.at);
    }
  }
  domains_changed_ = domains_changed_ || tile.domain != before;
}

Access ClockSampler::look_at_next() {
  if (next_tile_ >= tiles_.size()) next_tile_ = 1;
  ++looks_made_;
  return sample_tile(tiles_[next_tile_++]);
}

Access ClockSampler::finish_first_round() {
  while (!first_round_over())
    if (look_at_next() == Access::gone) return Access::gone;
  return Access::ok;
}

std::string ClockSampler::take_domains() {
  if (!first_round_over() || !std::exchange(domains_changed_, false)) return {};
  nlohmann::json domains = nlohmann::json::array(), others = nlohmann::json::array();
  for (size_t d = 0; d < domains_.size(); ++d)
    domains.push_back({{"domain", d}, {"reference", {domains_[d].reference.x, domains_[d].reference.y}}});
  for (const TileClock& t : tiles_)
    if (t.domain != 0) others.push_back({t.at.x, t.at.y, t.domain});
  return program::json_text(nlohmann::json{{"domains", domains}, {"tiles", others}});
}

// The domain's tiles against its reference: what a marker of any of them may be off besides.
uint64_t ClockSampler::spread_ticks(const Domain& domain) const {
  if (!first_round_over()) return kNoBound;
  double least = 0, most = 0, reference_least = 0, reference_most = 0;
  const uint8_t number = number_of(domain);
  for (const TileClock& t : tiles_)
    if (t.sampled && t.at == domain.reference) reference_least = t.least, reference_most = t.most;
  for (const TileClock& t : tiles_) {
    if (!t.sampled || t.domain != number || t.at == domain.reference) continue;
    least = std::min(least, t.least - reference_most);
    most = std::max(most, t.most - reference_least);
  }
  const double hz = known_of(domain).hz > 0 ? known_of(domain).hz : 1e8;
  return static_cast<uint64_t>(std::ceil(std::max(-least, most) * 16e9 / hz));
}

// --- results

ClockHead ClockSampler::head(size_t number) const {
  const Domain& domain = domains_[number];
  const ClockModels::Domain& known = known_.domains[number];
  ClockHead h;
  h.domain = static_cast<uint8_t>(number);
  h.reference_x = domain.reference.x;
  h.reference_y = domain.reference.y;
  h.era = known.era;
  h.violations = static_cast<uint32_t>(known.stats.violations);
  h.dwell_ns = static_cast<uint64_t>(known.dwell_ns);
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

Access ClockSampler::sample() {
  host_.anchor();
  const uint64_t now = raw_now_ns();
  if (now - compared_at_ns_ >= kCompareApartNs) {
    compared_at_ns_ = now;
    compare_host_clocks();
  }
  if (timer_ && now >= timer_due_ns_) {
    timer_due_ns_ = now + kTimerApartNs;
    if (read_timer() == Access::gone) return Access::gone;
  }
  for (Domain& d : domains_)
    if (sample(d) == Access::gone) return Access::gone;
  sampled_ns_ += period_ns();
  if (tiles_.size() == 1 || sampled_ns_ < looks_apart_ns()) return Access::ok;
  sampled_ns_ = 0;
  for (unsigned i = looks_at_once(); i > 0; --i)
    if (look_at_next() == Access::gone) return Access::gone;
  return Access::ok;
}

void ClockSampler::seen(card::Coord tile, uint64_t marker_time, uint64_t raw_ns) {
  // The reference's own count is the only one that is exactly the domain's.
  for (Domain& d : domains_) {
    const double hz = known_of(d).hz;
    if (d.reference != tile || d.last_at == 0 || hz == 0) continue;
    const HostTime at = (raw_ns + 1) * kHostTicksPerNs;
    const double since_ns = static_cast<double>(static_cast<int64_t>(at - d.last_at)) / kHostTicksPerNs;
    const uint64_t about = d.last_cycles + static_cast<uint64_t>(std::max(since_ns, 0.0) * hz / 1e9);
    const int64_t behind = markers::clock_difference(about & markers::kClockMask, marker_time);
    const uint64_t cycles = about - static_cast<uint64_t>(behind);
    if (cycles <= d.last_cycles) continue;  // the last read limits more
    const double slack_ns = since_ns - static_cast<double>(cycles - d.last_cycles) * 1e9 / hz;
    if (d.seen && slack_ns >= d.seen_slack_ns) continue;
    d.seen = ClockRead{0, at, cycles};
    d.seen_slack_ns = slack_ns;
  }
}

void ClockSampler::move_inputs(std::vector<ClockInput>& to) {
  to.insert(to.end(), inputs_.begin(), inputs_.end());
  inputs_.clear();
}

void ClockSampler::learn(ClockModels::Known known) {
  for (size_t d = known.domains.size(); d < domains_.size(); ++d)
    known.domains.push_back(known_.domains[d]);  // opened since
  known_ = std::move(known);
}

ClockSampler::Place ClockSampler::place_of(card::Coord tile) const {
  const auto found =
      std::find_if(tiles_.begin(), tiles_.end(), [&](const TileClock& t) { return t.at == tile; });
  if (found == tiles_.end() || found->domain == kNoDomain) return {};
  return {found->domain, domains_[found->domain].reference == tile};
}

uint32_t ClockSampler::next_era() const {
  uint32_t latest = 0;
  for (const ClockModels::Domain& d : known_.domains) latest = std::max(latest, d.era);
  return latest + 1;
}

ClockSampler::Figures ClockSampler::figures() const {
  const ClockModels::Domain& first = known_.domains.front();
  Figures f;
  f.stats = first.stats;
  f.domains = domains_.size();
  f.tiles = tiles_.size();
  f.hz = first.hz;
  f.tile_spread = spread_ticks(domains_.front());
  f.round_trips = round_trips_;
  f.timer_reads = timer_reads_;
  f.crystal = known_.crystal;
  f.host_steps = host_steps_;
  f.steps = known_.steps;
  f.widths = widths_;
  f.uses_tsc = host_.uses_tsc();
  return f;
}

}  // namespace ttc::collect
