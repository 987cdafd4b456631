// `ttcollect sync`: examines only the clocks of one or several cards, for a while. Needs no profiler,
// takes no segment, disturbs no collector beside it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "collector/sampling/clock_sampler.hpp"
#include "driver_iface/card.hpp"

namespace ttc::collect {

struct SyncOptions {
  std::vector<std::string> devices;  // as typed, commas taken apart; or just "all"
  uint64_t duration_ns = 10'000'000'000;
  SamplerOptions sampler;
  card::OpenOptions open;
};

struct SyncResult {
  card::Identity identity;
  uint32_t chip = 0;
  ClockHead head;  // of domain 0
  ClockSampler::Figures figures;
  std::vector<ClockSegment> segments;  // of domain 0, all final
  struct Aiclk {
    HostTime at;
    uint32_t mhz;
  };
  std::vector<Aiclk> aiclk;  // as reported by the card; empty if it reports none
  double seconds = 0;
  bool vanished = false;
  enum class Timer : uint8_t { not_requested, absent, read };
  Timer timer = Timer::not_requested;
};

// Runs until the time is over or a signal (INT, TERM) comes. Throws DeviceListError, card::OpenError.
std::vector<SyncResult> sync(const SyncOptions& options);

// What is known of a result.
struct SyncSummary {
  double hz = 0;          // of the last piece of one frequency; 0: none was found
  double nominal_hz = 0;  // the PLL's nearest step
  double drift_ppm = 0;
  double offset_ns = 0;          // RAW when the counter would have been 0 at that frequency
  double conditional_share = 0;  // of the time covered
  // Percentiles over time, ns.
  struct Percentiles {
    double p50 = 0, p99 = 0, max = 0;
  };
  Percentiles conditional, hard;
  struct Brackets {
    double min = 0, p50 = 0, p90 = 0, p99 = 0, max = 0;
  } brackets;
};
SyncSummary summary_of(const SyncResult& result);

std::string sync_table(const std::vector<SyncResult>& results);
std::string sync_json(const std::vector<SyncResult>& results);
// Frequency and bound over time, brackets by size, shares of bounds and why the widest is wide.
std::string sync_svg(const std::vector<SyncResult>& results);

}  // namespace ttc::collect
