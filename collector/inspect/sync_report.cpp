// The result of `ttcollect sync` as a table and as JSON.
#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "collector/inspect/sync_bounds.hpp"
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

std::pair<double, double> ppm_of(const Range& rate) {
  return {(rate.low - 1) * 1e6, (rate.high - 1) * 1e6};
}

std::string crystal_text(const ClockSampler::Figures& f) {
  if (!f.crystal) return "its rate is not known yet";
  char text[80];
  const auto [least, most] = ppm_of(*f.crystal);
  std::snprintf(text, sizeof text, "%+.3f to %+.3f ppm against the host", least, most);
  return text;
}

// Null: it was not read.
json timer_json(const SyncResult& r) {
  if (r.timer != SyncResult::Timer::read) return nullptr;
  json crystal = nullptr;
  if (r.figures.crystal) crystal = {ppm_of(*r.figures.crystal).first, ppm_of(*r.figures.crystal).second};
  return {{"reads", r.figures.timer_reads}, {"crystal_ppm", std::move(crystal)}};
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
  line(to, "  shares      %s", text_of(bound_shares_of(r)).c_str());
  for (const WideBound& w : widest_bounds(r)) line(to, "              %s", text_of(w).c_str());
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
  if (r.timer == SyncResult::Timer::absent) line(to, "  crystal     no reference timer can be read");
  if (r.timer == SyncResult::Timer::read)
    line(to, "  crystal     %s, by %llu reads of the reference timer", crystal_text(r.figures).c_str(),
         static_cast<unsigned long long>(r.figures.timer_reads));
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
  const BoundShares shares = bound_shares_of(r);
  json wide = json::array();
  for (const WideBound& w : widest_bounds(r))
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
  j["reference_timer"] = timer_json(r);
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
