// The monitor's view of each card, from samples of its collector: health, rates, history. Pure: plain values in, plain
// values out; the only time in it is that of the samples.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/ttmon/card_sample.hpp"

namespace ttc::tools {

enum class Health : uint8_t {
  collecting,
  waiting,    // no core is collected from
  recycling,  // indices of cores were set to 0 since the sample before
  lagging,    // polls came late, or no sweep came for kNoSweepNs
  losing,     // intervals of loss were recorded, or grew, within kLosingHoldNs
  stopped,    // no collector writes any more
};
const char* to_string(Health health);

inline constexpr uint64_t kNoSweepNs = 1'000'000'000;
inline constexpr uint64_t kLosingHoldNs = 5'000'000'000;

struct HealthState {
  Health health = Health::collecting;
  std::string why;  // a sentence part; may be empty
};

// A figure and its latest values, the newest last. A value is none where it was not known.
struct Series {
  static constexpr size_t kKept = 240;
  enum class Unit : uint8_t { per_s, share, ns };
  const char* name;
  Unit unit;
  std::deque<std::optional<double>> values{};
  void add(std::optional<double> value);
  std::optional<double> now() const { return values.empty() ? std::nullopt : values.back(); }
};

// The activity of a collector on its card between two samples.
struct Footprint {
  double reads_per_s = 0, bytes_per_s = 0, re_aims_per_s = 0;
  std::optional<double> link_share;  // of what the way to the card can carry; none: that is not known
};

struct CardView {
  CardSample sample;  // the newest
  HealthState health;
  std::optional<Footprint> footprint;  // none: one sample only
  Series programs{"programs/s", Series::Unit::per_s}, markers{"markers/s", Series::Unit::per_s},
      losses{"losses/s", Series::Unit::per_s}, link{"link", Series::Unit::share},
      log_fill{"log fill", Series::Unit::share}, clock_bound{"clock bound", Series::Unit::ns};
  uint64_t last_loss_ns = 0;  // of the sample that had new intervals, or longer ones; 0: none had

  // Takes the next sample. One of another session restarts the card's history.
  void add(const CardSample& next);
};

enum class Sorting : uint8_t { time, count, mean, longest, name };
const char* to_string(Sorting sorting);
Sorting next_of(Sorting sorting);
// Equal rows are in the order of their names.
std::vector<NamedSum> sorted(std::vector<NamedSum> rows, Sorting sorting);

class MonitorModel {
 public:
  // Cards that are not among them any more go.
  void add(const std::vector<CardSample>& samples);
  const std::map<std::string, CardView>& cards() const { return cards_; }  // by live name

 private:
  std::map<std::string, CardView> cards_;
};

}  // namespace ttc::tools
