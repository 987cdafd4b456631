#include "tools/ttreport/html_cards.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "collector/program/version.hpp"
#include "tools/report/text/text_table.hpp"

namespace ttc::tools {
namespace {

using namespace report;
using json = nlohmann::ordered_json;

std::string us(double value) {
  return thousands(value, value < 100 ? 1 : 0) + " \u03bcs";
}

// Bounds in the unit that suits them: a tail without a later sample may be off by milliseconds.
std::string bound_text(double ns) {
  if (ns < 10'000) return thousands(ns, 0) + " ns";
  return ns < 1e7 ? thousands(ns / 1e3, 0) + " \u03bcs" : thousands(ns / 1e6, 0) + " ms";
}

json bounds_card(const OpReport& report) {
  const Totals& t = report.totals;
  std::map<std::string, double> limits;
  for (const ReportRow& r : report.rows) {
    if (!r.device_us) continue;
    if (const std::string what = r.limit().what; !what.empty()) limits[what] += *r.device_us;
  }
  std::vector<std::pair<double, std::string>> by_time;
  by_time.reserve(limits.size());
  for (const auto& [what, time] : limits) by_time.emplace_back(time, what);
  std::sort(by_time.rbegin(), by_time.rend());
  json bounds{{"title", "What bounds this run"},
              {"big", t.verdict.empty() ? "no ops" : t.verdict},
              {"tone", t.verdict == "device-bound" ? "good" : "warn"},
              {"lines", json::array({t.verdict_rule})}};
  std::string mix;
  for (size_t i = 0; i < std::min<size_t>(4, by_time.size()) && t.device_us > 0; ++i)
    mix += (i ? ", " : "On the device: ") + by_time[i].second + " " +
           thousands(by_time[i].first / t.device_us * 100, 0) + " %";
  if (!mix.empty()) bounds["lines"].push_back(mix);
  return bounds;
}

json costs_card(const OpReport& report) {
  const Totals& t = report.totals;
  std::vector<std::pair<double, std::string>> costs;
  for (const StackedRow& r : stacked(report, GroupBy::op, true, true))
    costs.emplace_back(r.device_us,
                       r.name + ": " + us(r.device_us) + " in " + std::to_string(r.count) + " ops");
  if (t.gap_us > 0) costs.emplace_back(t.gap_us, "gaps between ops: " + us(t.gap_us));
  std::stable_sort(costs.begin(), costs.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  json list = json::array();
  for (size_t i = 0; i < std::min<size_t>(3, costs.size()); ++i) list.push_back(costs[i].second);
  return {{"title", "Biggest three costs"}, {"list", std::move(list)}};
}

json time_card(const Totals& t) {
  return {
      {"title", "Time on the device"},
      {"big", us(t.busy_us)},
      {"lines", json::array({t.overlap_us > 0.5
                                 ? us(t.overlap_us) + " of kernel time ran beside other ops and counts once"
                                 : "no ops overlap",
                             "first start to last end " + us(t.span_us)})}};
}

json lost_card(const Run& run) {
  const std::vector<std::string> lost = notices(run);
  json card{
      {"title", "What was lost"},
      {"big", lost.empty() ? "nothing known" : std::to_string(run.account.losses.size()) + " intervals"},
      {"tone", lost.empty() ? "good" : "warn"},
      {"lines", json::array()}};
  for (size_t i = 0; i < std::min<size_t>(6, lost.size()); ++i) card["lines"].push_back(lost[i]);
  if (run.account.losses.empty() && !lost.empty()) card["big"] = std::to_string(lost.size()) + " remarks";
  return card;
}

// The figure that matters is the bound that nearly all markers have. The last stretch of a run has no later sample of the
// clock: its bound is large, and of it alone.
json clock_card(const Run& run, const ClockBounds& clocks) {
  json card{{"title", "Clock quality"}, {"lines", json::array()}};
  for (const auto& [chip, stretches] : clocks.chips()) {
    const auto known = run.account.clocks.find(chip);
    const double most = ClockBounds::bound_of_share(stretches, 0.99);
    std::string text = "chip " + std::to_string(chip) + ": host times within " +
                       bound_text(ClockBounds::bound_of_share(stretches, 0.5)) + " for half of the run and " +
                       bound_text(most) + " for 99 % of it";
    if (const double worst = ClockBounds::bound_of_share(stretches, 1); worst > 2 * most)
      text += "; at its worst, mostly the tail, " + bound_text(worst);
    if (known != run.account.clocks.end() && known->second.eras > 1)
      text += "; " + std::to_string(known->second.eras) + " eras of its counter";
    card["lines"].push_back(text);
  }
  if (clocks.chips().empty())
    card["lines"].push_back(
        "this input holds no clock model; times are cycles of each card's own clock, and cards are not on "
        "one time");
  return card;
}

std::string made_at() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char when[40];
  std::strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S UTC", &parts);
  utsname u{};
  uname(&u);
  return std::string(when) + " by " + program::version_of("ttreport") + ", " + u.sysname + " " + u.release;
}

}  // namespace

json summary_cards(const Run& run, const OpReport& report, const ClockBounds& clocks) {
  return json::array({bounds_card(report), costs_card(report), time_card(report.totals), lost_card(run),
                      clock_card(run, clocks)});
}

json environment_rows(const Run& run, const OpReport& report, const std::vector<std::string>& inputs) {
  json all = json::array();
  const auto put = [&](const std::string& name, const std::string& value) { all.push_back({name, value}); };
  for (const std::string& one : inputs) {
    std::error_code ignored;
    const auto size = std::filesystem::file_size(one, ignored);
    put("Input", one + (ignored ? "" : " (" + thousands(static_cast<double>(size), 0) + " bytes)"));
  }
  for (const auto& [chip, d] : run.devices) {
    std::string text = (d.name.empty() ? "" : d.name + ", ") +
                       (d.arch.empty() ? "architecture unknown" : d.arch) + ", " +
                       std::to_string(d.clock_mhz) + " MHz";
    if (d.worker_cores) text += ", " + std::to_string(d.worker_cores) + " worker cores";
    if (const auto layout = run.account.layouts.find(chip);
        layout != run.account.layouts.end() && !layout->second.empty())
      text += ", firmware layout " + layout->second;
    put("Chip " + std::to_string(chip), text);
  }
  for (const auto& [name, value] : run.account.environment) {
    std::string title = name;
    // Names of variables stay as they are, ours begin as the others here do.
    if (std::islower(static_cast<unsigned char>(title[0])))
      title[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(title[0])));
    put(title, value);
  }
  put("Peaks", report.arch.name + ": " + thousands(report.arch.dram_gb_s, 0) + " GB/s of DRAM, " +
                   thousands(report.arch.hifi2, 2) + " TFLOPs a core at HiFi2, " +
                   thousands(report.arch.worker_cores, 0) + " cores");
  if (!run.host.empty())
    put("Host data", std::to_string(run.host.ops.size()) + " messages of ops, " +
                         std::to_string(run.host.signposts.size()) + " signposts");
  for (const std::string& n : report.remarks) put("Note", n);
  put("Page made", made_at());
  return all;
}

}  // namespace ttc::tools
