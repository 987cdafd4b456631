#include "tools/chip/clock_profile.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <random>

namespace ttc::chip {
namespace {

constexpr uint64_t kUs = 1000, kMs = 1'000'000, kS = 1'000'000'000;
constexpr uint64_t kLowestPll = 16;  // steps below the nominal rate

class Dice {
 public:
  explicit Dice(uint64_t seed) : random_(seed) {}
  uint64_t between(uint64_t least, uint64_t most) { return least + random_() % (most - least + 1); }
  // Short ones are as frequent as long ones.
  uint64_t by_length(uint64_t least_ns, uint64_t most_ns) {
    const double u = static_cast<double>(random_() >> 11) / static_cast<double>(uint64_t{1} << 53);
    return static_cast<uint64_t>(static_cast<double>(least_ns) *
                                 std::pow(static_cast<double>(most_ns) / static_cast<double>(least_ns), u));
  }

 private:
  std::mt19937_64 random_;
};

class Clock {
 public:
  Clock(const ClockProfile& profile, uint64_t nominal_hz)
      : profile_(profile), nominal_(nominal_hz), dice_(profile.seed) {}

  std::vector<ClockChange> changes() {
    while (at_ < profile_.for_ns) {
      const uint64_t kind = draw();
      at_ += kind == 0 ? dice_.between(kMs, 20 * kMs) : dice_.between(20 * kMs, 400 * kMs);
      if (kind == 0) step();
      if (kind == 1) droop();
      if (kind == 2) stop();
    }
    set(0);
    return std::move(changes_);
  }

 private:
  // One of the requested kinds; steps are by far the most frequent.
  uint64_t draw() {
    for (;;) {
      const uint64_t of_100 = dice_.between(0, 99);
      const uint64_t kind = of_100 < 85 ? 0 : of_100 < 96 ? 1 : 2;
      if (kind == 0 ? profile_.pll : kind == 1 ? profile_.droop : profile_.idle) return kind;
    }
  }
  void put(uint64_t hz) {
    if (!changes_.empty() && changes_.back().after_ns >= at_) at_ = changes_.back().after_ns + 1;
    if (changes_.size() == kMostClockChanges)
      throw WorkloadError("--dvfs: more than " + std::to_string(kMostClockChanges) +
                          " changes of the clock; give a shorter for=");
    changes_.push_back({at_, hz});
  }
  void set(uint64_t below) {
    below_ = below;
    put(nominal_ - std::min(nominal_ / 2, below * kPllStepHz));
  }
  void step() {
    const bool down = below_ == 0 || (below_ < kLowestPll && dice_.between(0, 1) == 1);
    set(down ? below_ + 1 : below_ - 1);
  }
  void droop() {
    const uint64_t before = below_, steps = dice_.between(4, 16);
    const uint64_t apart = std::max<uint64_t>(1, dice_.by_length(10 * kUs, kS) / steps);
    for (uint64_t i = 1; i <= steps; ++i, at_ += apart) set(before + i);
    at_ += dice_.by_length(10 * kUs, 100 * kMs);
    for (uint64_t i = steps; i-- > 0; at_ += apart) set(before + i);
  }
  void stop() {
    put(0);
    at_ += dice_.by_length(kUs, kS);
    set(below_);
  }

  const ClockProfile& profile_;
  uint64_t nominal_;
  Dice dice_;
  uint64_t at_ = 0, below_ = 0;
  std::vector<ClockChange> changes_;
};

uint64_t number_in(const std::string& text, const std::string& key, uint64_t most) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value == 0 || value > most)
    throw WorkloadError("--dvfs: " + key + "=" + text + " is no whole number from 1 to " +
                        std::to_string(most));
  return value;
}

}  // namespace

ClockProfile read_clock_profile(const std::string& text) {
  ClockProfile p;
  const size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  p.pll = name == "pll" || name == "all";
  p.droop = name == "droop" || name == "all";
  p.idle = name == "idle" || name == "all";
  if (!p.pll && !p.droop && !p.idle)
    throw WorkloadError("--dvfs: '" + name + "' is none of pll, droop, idle, all; as in all:for=30,seed=2");
  for (size_t at = colon; at != std::string::npos;) {
    const size_t next = text.find(',', at + 1);
    const std::string field = text.substr(at + 1, next == std::string::npos ? next : next - at - 1);
    if (field.starts_with("for="))
      p.for_ns = number_in(field.substr(4), "for", 3600) * kS;
    else if (field.starts_with("seed="))
      p.seed = number_in(field.substr(5), "seed", UINT32_MAX);
    else
      throw WorkloadError("--dvfs: '" + field + "' is neither for=SECONDS nor seed=N");
    at = next;
  }
  return p;
}

std::vector<ClockChange> clock_changes(const ClockProfile& profile, uint64_t nominal_hz) {
  return Clock(profile, nominal_hz).changes();
}

}  // namespace ttc::chip
