// Samples the clocks of one card and publishes the model: clock chunks with final segments, the live table
// with everything. The device thread's, between two sweeps; it never waits except in close().
//
// One sample of a tile: live high, then low several times with host time around each, live high again (format
// sheet 8; the latch is left to device code, except that low's loads set it, as any do). Where both highs
// agree every low belongs to them. Round trips: reads + 2 a sample and domain, and once a period a look at
// one other tile.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collector/clock_estimator.hpp"
#include "collector/host_ticks.hpp"
#include "collector/publisher.hpp"
#include "driver_iface/card.hpp"

namespace ttc::collect {

struct SamplerOptions {
  double rate_hz = 16;
  unsigned reads = 8;  // a sample
};

class ClockSampler {
 public:
  static constexpr unsigned kMostRoundTrips = 1000;  // a second
  static constexpr size_t kMostDomains = 8;
  static constexpr uint64_t kTelemetryNs = 100'000'000;

  // `tiles`: whose markers are to be converted; the first is the reference of domain 0. Neither is null.
  ClockSampler(card::Card& card, std::vector<card::Coord> tiles, Publisher& publisher,
               shm::SegmentWriter& segment, const SamplerOptions& options);

  // Looks at every tile once, sorts them into domains and says so in the standing area. `suspect` tiles are
  // taken for the reference's until they answer.
  card::Access measure_domains();

  uint64_t next_due_ns() const { return due_ns_; }  // CLOCK_MONOTONIC
  card::Access poll(uint64_t now_ns);
  // A marker of that tile with this 44-bit time was on the card at `raw_ns`.
  void seen(card::Coord tile, uint64_t marker_time, uint64_t raw_ns);

  // The last samples, so that markers up to now get conditional bounds, and everything as final segments.
  // Takes four periods when `card_answers`.
  void close(bool card_answers);

  struct Figures {
    ClockEstimator::Stats stats;  // of domain 0
    size_t domains = 0, tiles = 0;
    double hz = 0;
    uint64_t bound = kNoBound;  // of domain 0's latest final segment
    uint64_t tile_spread = 0;
    uint64_t round_trips = 0;
    uint64_t host_steps = 0;  // of REALTIME against RAW, by more than a millisecond within a period
    std::vector<ClockEstimator::Step> steps;
    std::vector<uint64_t> widths;  // of samples' tightest reads, the latest 4096, host ticks
    bool uses_tsc = false;
  };
  Figures figures() const;

  // What became final, for who wants to draw it: domain 0.
  const std::vector<ClockSegment>& history() const { return history_; }
  void keep_history() { keep_history_ = true; }

 private:
  struct Domain {
    Domain(const ClockRules& rules, uint8_t number, card::Coord at)
        : reference(at), estimator(rules, number) {}
    card::Coord reference;
    ClockEstimator estimator;
    std::vector<ClockSegment> fresh;   // final, not yet in a chunk
    std::vector<ClockSegment> recent;  // final, for the live table
    uint64_t bound = kNoBound;
  };
  struct TileClock {
    card::Coord at;
    uint8_t domain = 0;
    bool looked = false;
    // Its counter less the domain reference's, in cycles: constant while neither is reset.
    double least = 0, most = 0;
  };

  card::Access read_tile(card::Coord tile, unsigned reads, std::vector<ClockRead>& burst);
  card::Access look_at(TileClock& tile);
  void join_domain(TileClock& tile, double least, double most);
  card::Access sample(Domain& domain);
  void take_final(Domain& domain, const ClockSegment& segment);
  void publish_table();
  void publish_fresh();
  void publish_domains();
  ClockHead head_of(const Domain& domain) const;
  uint64_t spread_ticks(const Domain& domain) const;
  void publish_telemetry(uint64_t now_ns);
  void count();
  void compare_host_clocks();

  card::Card& card_;
  Publisher& publisher_;
  shm::SegmentWriter& segment_;
  ClockRules rules_;
  unsigned reads_;
  HostTicks host_;
  HostTicks::Clocks clocks_{};
  std::vector<TileClock> tiles_;
  std::vector<Domain> domains_;
  size_t next_tile_ = 1;
  uint64_t due_ns_ = 0, telemetry_due_ns_ = 0;
  unsigned periods_ = 0;
  uint64_t round_trips_ = 0, host_steps_ = 0;
  bool domains_changed_ = false;
  bool keep_history_ = false;
  std::vector<uint64_t> widths_;
  size_t width_at_ = 0;
  std::vector<ClockSegment> history_;
  std::vector<ClockRead> burst_;
};

}  // namespace ttc::collect
