#include "collector/selftest/clock_watch.hpp"

#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "collector/clock/clock_estimator.hpp"
#include "driver_iface/allow_list.hpp"
#include "ttcollect/host_time.hpp"

namespace ttc::collect::selftest {
namespace {

using card::Access;
using card::Window;

constexpr ClockRules kClockRules{};
constexpr uint64_t kDwellNs = kClockRules.longest_step_gap_ns;
constexpr uint64_t kEveryNs = 250'000;
constexpr uint64_t kTelemetryNs = 50'000'000;   // the driver reads the chip for it
constexpr uint64_t kStretchNs = 2'000'000'000;  // then a new one is begun, of the same frequency
constexpr uint64_t kEstablishedNs = 5'000'000;  // a stretch that long has a frequency
constexpr uint64_t kLongNs = 100'000'000;       // and this long one that is compared with the card's report
constexpr uint64_t kUsableBracketNs = 100'000;  // wider: the host was elsewhere
constexpr uint64_t kLongestGapNs = 2'000'000;   // between two reads, so that a change can be detected
constexpr uint64_t kStandsNs = 20'000;          // a counter that did not move in this time
constexpr double kAiclkTolerance = 0.02;
constexpr LineFamily::Range kSlopes{0.1, 1000};  // ns a cycle: 1 MHz to 10 GHz
constexpr size_t kMostBrackets = 1u << 20;

double wander_ns(double ns) {
  return kClockRules.wander_ppb_per_s * 1e-9 * (ns * 1e-9) * (ns * 1e-9) / 2 * 1e9;
}

std::string text_of(const char* format, double a, double b = 0) {
  char text[120];
  std::snprintf(text, sizeof text, format, a, b);
  return text;
}

}  // namespace

// --- one frequency after another

void FrequencyWatch::begin(const CounterRead& read) {
  first_ = last_ = read;
  family_.emplace(kSlopes, LineFamily::Range{-1e4, 1e11});
  family_->pass_below(0, static_cast<double>(read.after - read.before));
  family_->pass_above(1, 0);
  in_stretch_ = 1;
  mhz_steady_ = true;
  if (watched_since_ns_ == 0) watched_since_ns_ = read.before;
}

void FrequencyWatch::aiclk(uint32_t mhz) {
  if (mhz_ != 0 && mhz != mhz_) mhz_steady_ = false;
  mhz_ = mhz;
  figures_.aiclk_least = figures_.aiclk_least == 0 ? mhz : std::min<double>(figures_.aiclk_least, mhz);
  figures_.aiclk_most = std::max<double>(figures_.aiclk_most, mhz);
}

void FrequencyWatch::compare_aiclk(double hz, double seconds) {
  if (mhz_ == 0 || !mhz_steady_ || seconds * 1e9 < static_cast<double>(kLongNs)) return;
  const double off = hz / 1e6 / mhz_ - 1;
  const std::string seen = text_of("%.2f MHz measured, %.0f MHz reported", hz / 1e6, mhz_);
  if (std::abs(off) <= kAiclkTolerance)
    tallies_.agrees(Id::aiclk), tallies_.describe(Id::aiclk, seen);
  else
    tallies_.speaks_against(Id::aiclk, seen);
}

void FrequencyWatch::end_stretch(bool by_change) {
  const uint64_t length = last_.before - first_.before;
  before_hz_ = 0;
  if (!family_ || family_->empty() || length < kEstablishedNs) return;
  const LineFamily::Range slopes = family_->slopes();
  const double hz = 1e9 / ((slopes.low + slopes.high) / 2);
  if (1e9 / slopes.high > static_cast<double>(kClockRules.largest_hz))
    tallies_.speaks_against(Id::clock_limit, text_of("%.2f MHz", hz / 1e6));
  else
    tallies_.agrees(Id::clock_limit),
        tallies_.describe(Id::clock_limit, text_of("%.2f MHz at most", std::max(hz, figures_.hz_most) / 1e6));
  figures_.hz_least = figures_.hz_least == 0 ? hz : std::min(figures_.hz_least, hz);
  figures_.hz_most = std::max(figures_.hz_most, hz);
  ++figures_.stretches;
  compare_aiclk(hz, static_cast<double>(length) / 1e9);
  if (length >= 1'000'000'000) tallies_.agrees(Id::wander);
  if (by_change) before_hz_ = hz;
}

void FrequencyWatch::add(const CounterRead& read) {
  if (read.after - read.before > kLongestGapNs) return;  // counts as a gap
  if (!family_) return begin(read);
  const auto cycles = static_cast<double>(read.cycles - first_.cycles);
  const auto from = static_cast<double>(read.before - first_.before),
             to = static_cast<double>(read.after - first_.before);
  if (read.cycles == last_.cycles) {
    if (read.before > last_.after + kStandsNs) ++figures_.stops;
    end_stretch(false);
    family_.reset();
    watched_since_ns_ = 0;
    last_ = read;
    return;
  }
  if (read.before - first_.before > kStretchNs) {
    end_stretch(false);
    return begin(read);
  }
  LineFamily with = *family_;
  with.pass_below(cycles, to + wander_ns(to));
  with.pass_above(cycles + 1, from - wander_ns(to));
  if (!with.empty()) {
    family_ = with;
    last_ = read;
    ++in_stretch_;
    if (read.before - watched_since_ns_ > kDwellNs) {
      tallies_.agrees(Id::one_change);
      watched_since_ns_ = read.before;
    }
    return;
  }
  if (read.before > last_.after + kLongestGapNs) {  // several changes may have gone by unseen
    end_stretch(false);
    watched_since_ns_ = changed_ns_ = 0;
    return begin(read);
  }
  // The frequency has changed since the stretch began.
  const double earlier_hz = before_hz_;
  end_stretch(true);
  const bool known = earlier_hz != 0 && before_hz_ != 0;
  const double ppm = known ? std::abs(before_hz_ / earlier_hz - 1) * 1e6 : 0;
  if (known && ppm < kClockRules.least_step_ppm) {
    tallies_.speaks_against(Id::wander, text_of("%.1f ppm off after %.2f s", ppm,
                                                static_cast<double>(last_.before - first_.before) / 1e9));
  } else {
    ++figures_.steps;
    figures_.largest_step_ppm = std::max(figures_.largest_step_ppm, ppm);
    const uint64_t apart = changed_ns_ ? read.before - changed_ns_ : ~uint64_t{0};
    if (apart < kDwellNs * 4 / 5)  // a change is found some samples late
      tallies_.speaks_against(Id::one_change,
                              text_of("two changes within %.0f ms", static_cast<double>(apart) / 1e6));
    changed_ns_ = read.before;
  }
  watched_since_ns_ = read.before;
  begin(read);
}

void FrequencyWatch::finish() {
  end_stretch(false);
  family_.reset();
}

// --- the card

ClockWatch::ClockWatch(card::Card& card, std::vector<card::Coord> tiles, Tallies& tallies)
    : card_(card),
      tiles_(std::move(tiles)),
      offsets_(tiles_.size()),
      tallies_(tallies),
      frequency_(tallies_, figures_) {}

// High half live, low half, the latched high half, the live one again.
Access ClockWatch::look(card::Coord tile, Look& look) {
  constexpr auto kLow = static_cast<uint32_t>(card::kWallClockLow & (card::kWindowBytes - 1));
  uint32_t high_before = 0, low = 0, latched = 0, high_after = 0;
  Access a = card_.aim(Window::control, tile, card::kRegisterWindow);
  const uint64_t begun = raw_now_ns();
  if (a == Access::ok) a = card_.load_registers(Window::control, kLow + 4, {&high_before, 1});
  look.read.before = raw_now_ns();
  if (a == Access::ok) a = card_.load_registers(Window::control, kLow, {&low, 1});
  look.read.after = raw_now_ns();
  if (a == Access::ok) a = card_.load_registers(Window::control, kLow + 8, {&latched, 1});
  if (a == Access::ok) a = card_.load_registers(Window::control, kLow + 4, {&high_after, 1});
  if (a != Access::ok) return a;
  ++figures_.reads;
  look.whole = high_before == high_after;
  look.read.cycles = uint64_t{high_after} << 32 | low;
  if (!look.whole) {
    judge_high(tile, begun, look.read, high_before, high_after);
  } else if (high_before != 0) {
    if (latched == high_before)
      tallies_.agrees(Id::wall_latch);
    else
      tallies_.speaks_against(Id::wall_latch, text_of("%.0f latched, %.0f live", latched, high_before));
  }
  return Access::ok;
}

// The high half has moved between two loads of it with the low half's between. Where the low half has counted further since its
// roll-over than it can have since the first load of the high half began, that one showed an old half.
void ClockWatch::judge_high(card::Coord tile, uint64_t begun, const CounterRead& low, uint32_t high_before,
                            uint32_t high_after) {
  if (high_after != high_before + 1 || tile != tiles_.front()) return;
  const double since_roll_over = static_cast<double>(low.cycles & 0xffffffffu);
  const double possible =
      static_cast<double>(low.after - begun) * static_cast<double>(kClockRules.largest_hz) / 1e9;
  if (since_roll_over > possible + 2 && since_roll_over < 1e9)
    tallies_.speaks_against(Id::wall_high, text_of("the old half was shown %.1f us after the roll-over",
                                                   (since_roll_over - possible) * 1e9 /
                                                       static_cast<double>(kClockRules.largest_hz) / 1e3));
}

// False: the counter cannot be followed across this read.
bool ClockWatch::follow(const CounterRead& read) {
  const CounterRead earlier = std::exchange(last_, read);
  if (earlier.after == 0) return true;
  if (read.cycles >= earlier.cycles) {
    tallies_.agrees(Id::clock_forward);
    if (read.cycles >> 32 == (earlier.cycles >> 32) + 1) tallies_.agrees(Id::wall_high);
    return true;
  }
  frequency_.finish();
  if (read.cycles < earlier.cycles / 2) {
    ++figures_.resets;
    tallies_.speaks_against(Id::reset_cuts,
                            "a tile's clock began again at 0, and loads went on being answered");
  } else {
    ++figures_.falls;
    tallies_.speaks_against(Id::clock_forward, text_of("it fell by %.0f cycles",
                                                       static_cast<double>(earlier.cycles - read.cycles)));
  }
  for (TileOffset& offset : offsets_) offset.known = false;
  return false;
}

void ClockWatch::compare(size_t tile, const CounterRead& before, const CounterRead& it,
                         const CounterRead& after) {
  if (after.cycles < before.cycles || after.after - before.before > kUsableBracketNs) return;
  const double least = static_cast<double>(it.cycles) - static_cast<double>(after.cycles) - 1;
  const double most = static_cast<double>(it.cycles) - static_cast<double>(before.cycles) + 1;
  TileOffset& offset = offsets_[tile];
  if (!offset.known) {
    offset = {true, least, most};
    figures_.tiles = static_cast<size_t>(
        std::count_if(offsets_.begin(), offsets_.end(), [](const TileOffset& o) { return o.known; }));
    return;
  }
  if (least > offset.most || most < offset.least) {
    tallies_.speaks_against(Id::one_pll,
                            text_of("a tile moved by %.0f cycles against another",
                                    least > offset.most ? least - offset.most : offset.least - most));
    offset = {true, least, most};
    return;
  }
  tallies_.agrees(Id::one_pll);
  offset = {true, std::max(offset.least, least), std::min(offset.most, most)};
}

Access ClockWatch::run(uint64_t until_ns) {
  const auto gone = [](Access a) { return a == Access::gone; };
  for (uint64_t due = raw_now_ns(); raw_now_ns() < until_ns; due += kEveryNs) {
    Look before, it, after;
    if (const Access a = look(tiles_.front(), before); a != Access::ok) {
      if (gone(a)) return a;
      continue;
    }
    if (before.whole && follow(before.read)) frequency_.add(before.read);
    if (brackets_.size() < kMostBrackets) brackets_.push_back(before.read.after - before.read.before);
    if (tiles_.size() > 1) {
      const Access a = look(tiles_[next_], it), b = look(tiles_.front(), after);
      if (gone(a) || gone(b)) return Access::gone;
      if (a == Access::ok && b == Access::ok && before.whole && it.whole && after.whole &&
          follow(after.read)) {
        frequency_.add(after.read);
        compare(next_, before.read, it.read, after.read);
      }
      if (++next_ == tiles_.size()) next_ = 1;
    }
    const uint64_t now = raw_now_ns();
    if (now >= telemetry_due_ns_) {
      if (const card::Telemetry t = card_.telemetry(); t.aiclk_mhz) frequency_.aiclk(*t.aiclk_mhz);
      telemetry_due_ns_ = now + kTelemetryNs;
    }
    if (now > due + kEveryNs) due = now - kEveryNs;
    if (due + kEveryNs > now) {
      const timespec rest{0, static_cast<long>(due + kEveryNs - now)};
      nanosleep(&rest, nullptr);  // a signal may end it early, which is harmless
    }
  }
  return Access::ok;
}

ClockFigures ClockWatch::finish() {
  frequency_.finish();
  if (!brackets_.empty()) {
    std::nth_element(brackets_.begin(), brackets_.begin() + static_cast<ptrdiff_t>(brackets_.size() / 2),
                     brackets_.end());
    figures_.bracket_p50_ns = brackets_[brackets_.size() / 2];
  }
  return figures_;
}

}  // namespace ttc::collect::selftest
