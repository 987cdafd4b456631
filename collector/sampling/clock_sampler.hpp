// Samples the clocks of one card and sorts its tiles into clock domains. Runs on the device's thread, between two sweeps, and never
// waits. Reads leave by move_inputs() for the models (collector/clock/clock_models.hpp), and learn() takes in what these know.
//
// A whole sample of a tile: live high, then low with host time around it, live high again
// (tt-isa-documentation WormholeB0/TensixTile/DebugTimestamper.md; the latch is left to device code, except
// that low's loads set it, as any do). Where both highs agree low belongs to them. Most samples are low alone:
// it rolls over every three seconds at the soonest. Samples are denser while the frequency moves; all round
// trips together, with reads of other tiles, stay below kMostRoundTrips a second.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collector/clock/clock_models.hpp"
#include "collector/sampling/host_ticks.hpp"
#include "collector/sampling/reference_timer.hpp"
#include "driver_iface/card.hpp"
#include "ttcollect/host_time.hpp"

namespace ttc::collect {

struct SamplerOptions {
  double rate_hz = 375;          // while the frequency is steady; otherwise what kMostRoundTrips allows
  uint32_t first_era = 0;        // of counters; earlier ones are those of a card before it was reset
  bool reference_timer = false;  // is read eight times a second where the card has one
};

class ClockSampler {
 public:
  static constexpr unsigned kMostRoundTrips = 1000;  // a second
  static constexpr size_t kMostDomains = 8;
  static constexpr uint8_t kNoDomain = 255;

  // `tiles`: tiles whose markers are to be converted; the first is the reference of domain 0. `card` must outlive it.
  ClockSampler(card::Card& card, std::vector<card::Coord> tiles, const SamplerOptions& options);

  // Examines every tile that was not examined yet, at once. Not while a drain waits: a few hundred round
  // trips.
  card::Access finish_first_round();
  bool first_round_over() const { return looks_made_ + 1 >= tiles_.size(); }

  bool has_reference_timer() const { return timer_.has_value(); }  // it was requested, and is there
  // The time until the next sample.
  uint64_t period_ns() const;
  // A sample of every domain, and now and then a sample of a few other tiles: the first round takes a
  // second and a half.
  card::Access sample();
  // What was read since the last call goes to the end of `to`.
  void move_inputs(std::vector<ClockInput>& to);
  // Later than what was learnt before, by models that had this sampler's inputs only. The rate of samples follows from it, and head().
  void learn(ClockModels::Known known);
  // The frequency is about to move, or did: samples are dense for a while.
  void expect_motion() { expected_at_ns_ = raw_now_ns(); }
  // A marker of that tile with this 44-bit time was on the card at `raw_ns`.
  void seen(card::Coord tile, uint64_t marker_time, uint64_t raw_ns);

  uint32_t first_era() const { return first_era_; }
  uint32_t next_era() const;  // above all that were used, once all inputs were learnt of

  size_t domains() const { return domains_.size(); }
  ClockHead head(size_t domain) const;  // by what was learnt
  // Domains and the tiles that are not of domain 0, as JSON; empty before the first round is over and
  // while there is no change since the last call.
  // Tiles without a domain (more origins than kMostDomains) have number 255: no conversion.
  std::string take_domains();

  // Which domain a tile's markers are converted by; kNoDomain: none, or not known yet.
  struct Place {
    uint8_t domain = kNoDomain;
    bool reference = false;  // it is the one that is read: ClockHead::tile_spread is of all others
  };
  Place place_of(card::Coord tile) const;

  struct Figures {
    ClockEstimator::Stats stats;  // of domain 0
    size_t domains = 0, tiles = 0;
    double hz = 0;
    uint64_t tile_spread = 0;  // host ticks; kNoBound until every tile was examined
    uint64_t round_trips = 0;
    uint64_t timer_reads = 0;
    std::optional<Range> crystal;  // its rate against the host, at the reference timer's last read
    uint64_t host_steps = 0;       // of REALTIME against RAW, by more than a millisecond within a period
    std::vector<ClockEstimator::Step> steps;
    std::vector<uint64_t> widths;  // of samples' tightest reads, the latest 4096, host ticks
    bool uses_tsc = false;
  };
  Figures figures() const;

 private:
  struct Domain {
    card::Coord reference;
    uint64_t last_cycles = 0;
    HostTime last_at = 0;  // 0: the next sample is a whole one
    unsigned since_whole = 0;
    // Of the markers that were seen since the last read, the one that limits most.
    std::optional<ClockRead> seen;
    double seen_slack_ns = 0;
  };
  struct TileClock {
    card::Coord at;
    uint8_t domain = kNoDomain;
    bool sampled = false;
    // Its counter less the domain reference's, in cycles: constant while neither is reset.
    double least = 0, most = 0;
  };

  card::Access read_tile(card::Coord tile, unsigned reads, std::vector<ClockRead>& burst);
  card::Access read_low(Domain& domain, bool& plausible);
  bool moving() const;
  unsigned looks_at_once() const;
  uint64_t looks_apart_ns() const;
  card::Access look_at_next();
  card::Access read_timer();
  card::Access sample_tile(TileClock& tile);
  void join_domain(TileClock& tile, double least, double most);
  card::Access sample(Domain& domain);
  uint8_t number_of(const Domain& domain) const { return static_cast<uint8_t>(&domain - domains_.data()); }
  const ClockModels::Domain& known_of(const Domain& domain) const {
    return known_.domains[number_of(domain)];
  }
  void open_domain(card::Coord reference);
  uint64_t spread_ticks(const Domain& domain) const;
  void compare_host_clocks();

  card::Card& card_;
  ClockRules rules_;
  double rate_hz_;
  uint32_t first_era_;
  uint64_t sampled_ns_ = 0;  // by the periods, since the last poll of another tile
  uint64_t compared_at_ns_ = 0, expected_at_ns_ = 0;
  HostTicks host_;
  std::optional<ReferenceTimer> timer_;
  uint64_t timer_due_ns_ = 0, timer_reads_ = 0;
  HostTicks::Clocks clocks_{};
  std::vector<TileClock> tiles_;
  std::vector<Domain> domains_;
  ClockModels::Known known_;  // of all domains
  std::vector<ClockInput> inputs_;
  size_t next_tile_ = 1, looks_made_ = 0;
  uint64_t round_trips_ = 0, host_steps_ = 0;
  bool domains_changed_ = true;
  std::vector<uint64_t> widths_;
  size_t width_at_ = 0;
  std::vector<ClockRead> burst_;
};

}  // namespace ttc::collect
