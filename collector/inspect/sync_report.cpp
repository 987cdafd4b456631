// The result of `ttcollect sync` as a table and as JSON.
#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "collector/inspect/sync_run.hpp"
#include "collector/program/json_text.hpp"

namespace ttc::collect {
namespace {

using json = nlohmann::ordered_json;

[[gnu::format(printf, 2, 3)]] void line(std::string& to, const char* format, ...) {
  char text[400];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  to += text;
  to += '\n';
}

// "41 ns", "1.20 us", "17.9 ms"
std::string duration(double ns) {
  char text[32];
  if (ns < 1000)
    std::snprintf(text, sizeof text, "%.0f ns", ns);
  else if (ns < 1e6)
    std::snprintf(text, sizeof text, "%.2f us", ns / 1e3);
  else if (ns < 1e9)
    std::snprintf(text, sizeof text, "%.1f ms", ns / 1e6);
  else
    std::snprintf(text, sizeof text, "%.1f s", ns / 1e9);
  return text;
}

double since_start(const SyncResult& r, HostTime t) {
  return r.segments.empty()
             ? 0
             : static_cast<double>(static_cast<int64_t>(t - r.segments.front().host_from)) / 16e9;
}

double hz_of(const ClockSegment& s) {
  return static_cast<double>(s.to_cycles - s.from_cycles) * 16e9 /
         static_cast<double>(s.host_to - s.host_from);
}

// Shares of the time covered, by the kind and the size of the bound.
struct Shares {
  double up_to_100_ns = 0, up_to_1_us = 0, up_to_10_us = 0, wider = 0, hard = 0;
};

Shares shares_of(const SyncResult& r) {
  Shares s;
  double covered = 0;
  for (const ClockSegment& segment : r.segments) {
    const auto ticks = static_cast<double>(segment.host_to - segment.host_from);
    const double ns = static_cast<double>(segment.bound) / kHostTicksPerNs;
    covered += ticks;
    double& share = segment.kind != BoundKind::conditional ? s.hard
                    : ns <= 100                            ? s.up_to_100_ns
                    : ns <= 1000                           ? s.up_to_1_us
                    : ns <= 10'000                         ? s.up_to_10_us
                                                           : s.wider;
    share += ticks;
  }
  for (double* share : {&s.up_to_100_ns, &s.up_to_1_us, &s.up_to_10_us, &s.wider, &s.hard})
    *share = covered > 0 ? *share / covered : 0;
  return s;
}

constexpr size_t kWidestTold = 3;
constexpr double kTogetherS = 0.02;  // segments of one movement
constexpr double kLongReadGapNs = 5e6;

struct Wide {
  double at_s, bound_ns;
  std::string why;
};

// Time between segment `i` and the one in front of it.
double jump_before(const SyncResult& r, size_t i) {
  if (i == 0 || i >= r.segments.size() || r.segments[i].era != r.segments[i - 1].era) return 0;
  return static_cast<double>(r.segments[i].host_from - r.segments[i - 1].host_to) / kHostTicksPerNs;
}

// What made the bound of segment `i` wide, as the segments beside it show.
std::string why_wide(const SyncResult& r, size_t i) {
  const ClockSegment& s = r.segments[i];
  const double ns = static_cast<double>(s.host_to - s.host_from) / kHostTicksPerNs;
  const double jumps = jump_before(r, i) + jump_before(r, i + 1);
  if (jumps > 0) return "the counter stood, or was read late, for up to " + duration(jumps + ns);
  if (s.kind != BoundKind::conditional && ns > kLongReadGapNs) return "no read for " + duration(ns);
  if (s.kind != BoundKind::conditional) return "the reads contradict the condition, or there are too few";
  const auto mhz = [&](size_t from, bool back) {
    double found = hz_of(r.segments[from]);
    for (size_t k = from;
         std::abs(since_start(r, r.segments[k].host_from) - since_start(r, s.host_from)) < kTogetherS;
         back ? --k : ++k) {
      found = hz_of(r.segments[k]);
      if (k == 0 || k + 1 == r.segments.size()) break;
    }
    return found / 1e6;
  };
  char text[96];
  std::snprintf(text, sizeof text, "the frequency moved: %.1f, %.1f, %.1f MHz", mhz(i, true), hz_of(s) / 1e6,
                mhz(i, false));
  return text;
}

// The widest bounds, one of those that lie together.
std::vector<Wide> widest(const SyncResult& r) {
  std::vector<size_t> order(r.segments.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return r.segments[a].bound > r.segments[b].bound; });
  std::vector<Wide> list;
  for (const size_t i : order) {
    const double at = since_start(r, r.segments[i].host_from);
    if (std::any_of(list.begin(), list.end(),
                    [&](const Wide& w) { return std::abs(w.at_s - at) < kTogetherS; }))
      continue;
    list.push_back({at, static_cast<double>(r.segments[i].bound) / kHostTicksPerNs, why_wide(r, i)});
    if (list.size() == kWidestTold) break;
  }
  return list;
}

void describe(std::string& to, const SyncResult& r) {
  const SyncSummary s = summary_of(r);
  line(to, "%s  %s %s, chip %u, %.1f s%s", r.identity.spec.c_str(),
       std::string(r.identity.arch->name).c_str(), r.identity.board.c_str(), r.chip, r.seconds,
       r.vanished ? ", then the card went away" : "");
  if (s.hz > 0) {
    line(to, "  frequency   %.6f MHz, %+.3f ppm off the PLL step %.2f MHz%s", s.hz / 1e6, s.drift_ppm,
         s.nominal_hz / 1e6,
         r.aiclk.empty() ? "" : (", AICLK " + std::to_string(r.aiclk.back().mhz) + " MHz").c_str());
    line(to, "  offset      cycle 0 is %.9f s %s the start of CLOCK_MONOTONIC_RAW at that frequency",
         std::abs(s.offset_ns) / 1e9, s.offset_ns < 0 ? "before" : "after");
    line(to, "  bound       %s in the median, 99 %% %s, conditional for %.1f %% of the time; hard %s",
         duration(s.conditional.p50).c_str(), duration(s.conditional.p99).c_str(), 100 * s.conditional_share,
         duration(s.hard.p50).c_str());
  } else {
    line(to, "  frequency   no steady one found; %zu segments with hard bounds, %s in the median",
         r.segments.size(), duration(s.hard.p50).c_str());
  }
  const Shares shares = shares_of(r);
  line(to,
       "  shares      %.1f %% of the time within 100 ns, %.1f %% 1 us, %.1f %% 10 us, %.1f %% wider; hard "
       "%.1f %%",
       100 * shares.up_to_100_ns, 100 * shares.up_to_1_us, 100 * shares.up_to_10_us, 100 * shares.wider,
       100 * shares.hard);
  for (const Wide& w : widest(r))
    line(to, "              at %.3f s %s: %s", w.at_s, duration(w.bound_ns).c_str(), w.why.c_str());
  line(to,
       "  condition   steps of %u ppm and more; between them as even changes as the reads allow, and %.1f "
       "ppm/s; "
       "%.0f ms without a step are relied on; it moved otherwise %llu times",
       r.head.least_step_ppm, r.head.wander_ppb_per_s / 1e3, static_cast<double>(r.head.dwell_ns) / 1e6,
       static_cast<unsigned long long>(r.figures.stats.violations));
  line(to, "  brackets    %s at best, %s median, 90 %% %s, 99 %% %s, %s at worst; %llu of %llu samples wide",
       duration(s.brackets.min).c_str(), duration(s.brackets.p50).c_str(), duration(s.brackets.p90).c_str(),
       duration(s.brackets.p99).c_str(), duration(s.brackets.max).c_str(),
       static_cast<unsigned long long>(r.figures.stats.wide),
       static_cast<unsigned long long>(r.figures.stats.samples));
  line(to, "  steps       %llu; counter stood %llu times, was reset %llu times",
       static_cast<unsigned long long>(r.figures.stats.steps),
       static_cast<unsigned long long>(r.figures.stats.stops),
       static_cast<unsigned long long>(r.figures.stats.eras));
  for (const auto& step : r.figures.steps)
    line(to, "              at %.3f to %.3f s: %.3f to %.3f MHz", since_start(r, step.after),
         since_start(r, step.before), step.hz_before / 1e6, step.hz_after / 1e6);
  line(to, "  domains     %zu; %zu tiles, those of the first agree within %s", r.figures.domains,
       r.figures.tiles, duration(static_cast<double>(r.figures.tile_spread) / kHostTicksPerNs).c_str());
  line(to, "  cost        %.0f round trips a second; host time from %s",
       static_cast<double>(r.figures.round_trips) / r.seconds,
       r.figures.uses_tsc ? "the time stamp counter" : "clock_gettime");
}

json to_json(const SyncSummary::Percentiles& p) {
  return {{"p50", p.p50}, {"p99", p.p99}, {"max", p.max}};
}

json to_json(const SyncResult& r) {
  const SyncSummary s = summary_of(r);
  const Shares shares = shares_of(r);
  json wide = json::array();
  for (const Wide& w : widest(r))
    wide.push_back({{"at_s", w.at_s}, {"bound_ns", w.bound_ns}, {"why", w.why}});
  json series = json::array(), steps = json::array(), aiclk = json::array();
  for (const ClockSegment& segment : r.segments)
    series.push_back({since_start(r, segment.host_from), hz_of(segment),
                      static_cast<double>(segment.bound) / kHostTicksPerNs, to_string(segment.kind)});
  for (const auto& step : r.figures.steps)
    steps.push_back({{"after_s", since_start(r, step.after)},
                     {"before_s", since_start(r, step.before)},
                     {"hz_before", step.hz_before},
                     {"hz_after", step.hz_after}});
  for (const auto& a : r.aiclk) aiclk.push_back({since_start(r, a.at), a.mhz});
  json j{{"spec", r.identity.spec},
         {"chip", r.chip},
         {"arch", r.identity.arch->name},
         {"board", r.identity.board},
         {"seconds", r.seconds},
         {"vanished", r.vanished},
         {"hz", s.hz},
         {"nominal_hz", s.nominal_hz},
         {"drift_ppm", s.drift_ppm},
         {"offset_ns", s.offset_ns},
         {"conditional_share", s.conditional_share},
         {"conditional_bound_ns", to_json(s.conditional)},
         {"hard_bound_ns", to_json(s.hard)},
         {"condition",
          {{"dwell_ns", r.head.dwell_ns},
           {"least_step_ppm", r.head.least_step_ppm},
           {"wander_ppm_per_s", r.head.wander_ppb_per_s / 1e3},
           {"largest_hz", r.head.largest_hz}}},
         {"shares",
          {{"within_100_ns", shares.up_to_100_ns},
           {"within_1_us", shares.up_to_1_us},
           {"within_10_us", shares.up_to_10_us},
           {"wider", shares.wider},
           {"hard", shares.hard}}},
         {"violations", r.figures.stats.violations},
         {"stops", r.figures.stats.stops},
         {"eras", r.figures.stats.eras},
         {"samples", r.figures.stats.samples},
         {"wide_samples", r.figures.stats.wide},
         {"brackets_ns",
          {{"min", s.brackets.min},
           {"p50", s.brackets.p50},
           {"p90", s.brackets.p90},
           {"p99", s.brackets.p99},
           {"max", s.brackets.max}}},
         {"domains", r.figures.domains},
         {"tiles", r.figures.tiles},
         {"tile_spread_ns", static_cast<double>(r.figures.tile_spread) / kHostTicksPerNs},
         {"round_trips", r.figures.round_trips},
         {"realtime_minus_raw_ns", r.head.realtime_minus_raw_ns},
         {"boottime_minus_raw_ns", r.head.boottime_minus_raw_ns}};
  j["steps"] = std::move(steps);
  j["widest"] = std::move(wide);
  j["aiclk_mhz"] = std::move(aiclk);
  j["segments"] = std::move(series);  // [s, Hz, bound ns, kind]
  return j;
}

// Two cards are on one host time line: the errors add up at worst.
double between_ns(const SyncSummary& a, const SyncSummary& b) {
  return a.conditional.p99 + b.conditional.p99;
}

}  // namespace

std::string sync_table(const std::vector<SyncResult>& results) {
  std::string text;
  for (const SyncResult& r : results) describe(text, r);
  for (size_t i = 0; i < results.size(); ++i)
    for (size_t j = i + 1; j < results.size(); ++j)
      line(text, "%s to %s: markers of the two are within %s of each other's time line (99 %%, conditional)",
           results[i].identity.spec.c_str(), results[j].identity.spec.c_str(),
           duration(between_ns(summary_of(results[i]), summary_of(results[j]))).c_str());
  return text;
}

std::string sync_json(const std::vector<SyncResult>& results) {
  json devices = json::array(), between = json::array();
  for (const SyncResult& r : results) devices.push_back(to_json(r));
  for (size_t i = 0; i < results.size(); ++i)
    for (size_t j = i + 1; j < results.size(); ++j)
      between.push_back(
          {{"chips", {results[i].chip, results[j].chip}},
           {"conditional_bound_ns_p99", between_ns(summary_of(results[i]), summary_of(results[j]))}});
  return program::json_text(json{{"devices", std::move(devices)}, {"between", std::move(between)}});
}

}  // namespace ttc::collect
