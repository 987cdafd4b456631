// The clocks of a card, examined densely: one tile's counter again and again, each time beside another tile's. Brackets of host
// time (CLOCK_MONOTONIC_RAW) around every load; no conclusion depends on where inside of a bracket the load was served, so a
// busy host widens brackets and breaks no conclusion.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "collector/clock/geometry/line_family.hpp"
#include "collector/selftest/tally.hpp"
#include "driver_iface/card.hpp"

namespace ttc::collect::selftest {

// One load of a counter: it showed `cycles` at some moment from `before` to `after`.
struct CounterRead {
  uint64_t before = 0, after = 0;  // ns
  uint64_t cycles = 0;
};

struct ClockFigures {
  uint64_t reads = 0, steps = 0, stops = 0, falls = 0, resets = 0, stretches = 0;
  double hz_least = 0, hz_most = 0;  // of stretches of one frequency; 0: none was long enough
  double largest_step_ppm = 0;
  uint64_t bracket_p50_ns = 0;
  size_t tiles = 0;                        // compared
  double aiclk_least = 0, aiclk_most = 0;  // MHz, as the card reported; 0: it reported none
};

// Finds where a counter's frequency changed, from its reads. Pure.
class FrequencyWatch {
 public:
  explicit FrequencyWatch(Tallies& tallies, ClockFigures& figures) : tallies_(tallies), figures_(figures) {}
  void add(const CounterRead& read);
  void aiclk(uint32_t mhz);  // as the card reports now
  void finish();             // no read will come

 private:
  void begin(const CounterRead& read);
  void end_stretch(bool by_change);
  void compare_aiclk(double hz, double seconds);

  Tallies& tallies_;
  ClockFigures& figures_;
  std::optional<LineFamily> family_;
  CounterRead first_, last_;
  uint64_t in_stretch_ = 0;
  double before_hz_ = 0;           // of the stretch before
  uint64_t changed_ns_ = 0;        // when the last change was found
  uint64_t watched_since_ns_ = 0;  // without a change or a break
  uint32_t mhz_ = 0;
  bool mhz_steady_ = true;  // in this stretch
};

class ClockWatch {
 public:
  // `tiles`: Tensix tiles, one at least.
  ClockWatch(card::Card& card, std::vector<card::Coord> tiles, Tallies& tallies);
  // Reads until then (raw_now_ns). May be called several times.
  card::Access run(uint64_t until_ns);
  ClockFigures finish();

 private:
  struct Look {
    CounterRead read;
    bool whole = false;  // both high halves agree
  };
  card::Access look(card::Coord tile, Look& look);
  void judge_high(card::Coord tile, uint64_t begun, const CounterRead& low, uint32_t high_before,
                  uint32_t high_after);
  void compare(size_t tile, const CounterRead& before, const CounterRead& it, const CounterRead& after);
  bool follow(const CounterRead& read);

  struct TileOffset {
    bool known = false;
    double least = 0, most = 0;  // cycles ahead of the first tile
  };
  card::Card& card_;
  std::vector<card::Coord> tiles_;
  std::vector<TileOffset> offsets_;
  Tallies& tallies_;
  ClockFigures figures_;
  FrequencyWatch frequency_;
  CounterRead last_;
  size_t next_ = 1;
  uint64_t telemetry_due_ns_ = 0;
  std::vector<uint64_t> brackets_;
};

}  // namespace ttc::collect::selftest
