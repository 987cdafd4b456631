// ttreport kernels: where the time of kernels goes, by wall time, by core, by line of source.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "collector/program/json_text.hpp"
#include "collector/program/option_names.hpp"
#include "tools/report/text/csv_file.hpp"
#include "tools/report/text/progress.hpp"
#include "tools/report/text/text_table.hpp"
#include "tools/report/text/time_bounds.hpp"
#include "tools/report/zones/zone_stats.hpp"
#include "tools/ttreport/options.hpp"

namespace ttc::tools {
namespace {

using namespace report;
using json = nlohmann::ordered_json;

struct Line {
  std::string name, processor, source, core;
  uint64_t count = 0, cores = 0;
  double total_us = 0, self_us = 0, mean_us = 0, least_us = 0, most_us = 0;
  std::string slowest;      // core of the longest one
  bool no_program = false;  // ZoneStats::Key::no_program
  // The zones that a clock has measured: by cycles, and by the host's clock.
  uint64_t covered = 0;
  double covered_us = 0, covered_self_us = 0, least_measured_ns = -1;
  Measured total, self, most;
  bool most_is_mean = false;  // of a core's zones, as lines of cores have it
  // The true times of those zones lie within so much of their part of what is shown; absent: there are none.
  Number total_bound_us() const { return bound(total, covered_us); }
  Number self_bound_us() const { return bound(self, covered_self_us); }
  Number most_bound_us() const { return bound(most, most_us); }

 private:
  Number bound(const Measured& of, double shown_us) const {
    return covered ? Number(of.bound_of(shown_us * 1000) / 1000) : Number();
  }
};

class KernelsReport : public Report {
 public:
  void options(CLI::App& command) override {
    add_input_options(command, options_);
    add_time_option(command, options_);
    command.add_option("--top", top_, "how many lines; 0: all")->capture_default_str();
    command.add_option("--by", by_, "zone (name and processor), source (file and line), or core")
        ->check(program::one_of({"zone", "source", "core"}))
        ->capture_default_str();
    command.add_option("--sort", sort_, "total, self (without what is nested), mean or max time")
        ->check(program::one_of({"total", "self", "mean", "max"}))
        ->capture_default_str();
    command.add_flag("--firmware", firmware_, "also the firmware's own zones (*-FW)");
    command.add_option("--csv", csv_, "write the table there; - is standard output");
    command.add_option("--json", json_, "write the table there as JSON; - is standard output");
    command.add_flag("--color", color_, "colours also into a file or pipe");
    command.add_flag("--no-color", no_color_, "no colours; NO_COLOR does the same");
  }

  int run() override {
    ZoneStats stats;
    RunListeners listeners;
    listeners.zones.push_back(&stats);
    listeners.on_clock = [&](std::shared_ptr<const DurationClock> clock) {
      stats.measure_with(std::move(clock));
    };
    options_.prefer_zones = true;
    refuse_outputs_over_inputs(options_, {csv_, json_});
    const Run run = read_with_progress(options_, listeners);
    if (run.kind != InputKind::device)
      return say(ReportExit::kUsage,
                 options_.from[0] + " holds no zones; kernels come from a capture or a device log");
    std::vector<Line> lines = by_ == "core" ? by_core(stats, run) : by_zone(stats, run);
    if (options_.time == TimeOf::host) show_measured(lines);
    mention_moved_clock(lines);
    std::stable_sort(lines.begin(), lines.end(),
                     [&](const Line& a, const Line& b) { return key(a) > key(b); });
    const auto middle =
        std::stable_partition(lines.begin(), lines.end(), [](const Line& l) { return !l.no_program; });
    std::vector<Line> others(middle, lines.end());
    lines.erase(middle, lines.end());
    if (lines.empty()) lines.swap(others);  // a log without run host IDs
    Group groups[] = {{"program", std::move(lines)}, {"no program", std::move(others)}};
    for (Group& g : groups) {
      for (const Line& l : g.lines) g.self_us += l.self_us;
      if (top_ > 0 && g.lines.size() > top_) g.lines.resize(top_);
    }
    if (!csv_.empty()) write_csv(groups);
    if (!json_.empty()) write_json(groups);
    if (csv_.empty() && json_.empty()) print(groups);
    return report_remarks(run);
  }

 private:
  // Shares of time are taken within a group.
  struct Group {
    const char* role;
    std::vector<Line> lines;
    double self_us = 0;
  };

  static constexpr ptrdiff_t kBehindTimes = 10;  // columns of the printed table

  double key(const Line& l) const {
    return sort_ == "self"   ? l.self_us
           : sort_ == "mean" ? l.mean_us
           : sort_ == "max"  ? l.most_us
                             : l.total_us;
  }
  Number key_bound(const Line& l) const {
    if (sort_ == "self") return l.self_bound_us();
    if (sort_ == "max") return l.most_is_mean ? Number() : l.most_bound_us();
    const Number total = l.total_bound_us();
    return total && sort_ == "mean" ? Number(*total / static_cast<double>(l.count)) : total;
  }

  // Zones that no clock has measured keep the time of their cycles.
  static void show_measured(std::vector<Line>& lines) {
    for (Line& l : lines) {
      if (!l.covered) continue;
      l.total_us += l.total.ns / 1000 - std::exchange(l.covered_us, l.total.ns / 1000);
      l.self_us += l.self.ns / 1000 - std::exchange(l.covered_self_us, l.self.ns / 1000);
      l.mean_us = l.total_us / static_cast<double>(l.count);
      if (l.most_is_mean) l.most_us = l.mean_us;
      if (l.most_is_mean || l.covered < l.count) continue;
      l.least_us = l.least_measured_ns / 1000;
      l.most_us = l.most.ns / 1000;
    }
  }

  void mention_moved_clock(const std::vector<Line>& lines) const {
    if (options_.time == TimeOf::host) return;
    constexpr double kShare = 0.005;  // no crystal is off by as much
    const auto off = [](const Line& l) {
      return l.covered && std::abs(l.total.ns - l.covered_us * 1000) > kShare * l.total.ns + l.total.bound_ns;
    };
    const auto count = std::count_if(lines.begin(), lines.end(), off);
    if (count)
      say(ReportExit::kOk,
          "the card's clock moved: the times of " + std::to_string(count) +
              " lines are cycles at its nominal rate, and their bounds cover what is wrong with "
              "that; --time host shows times by the host's clock");
  }

  bool wanted(const Zone& z) const { return firmware_ || z.zone_class != ZoneClass::firmware; }

  static void add(Measured& to, const Measured& more) { to.ns += more.ns, to.bound_ns += more.bound_ns; }
  static void add_measured(Line& l, const ZoneStats::Times& times, uint32_t mhz) {
    l.covered += times.count;
    l.covered_us += static_cast<double>(times.cycles) / mhz;
    l.covered_self_us += static_cast<double>(times.self_cycles) / mhz;
    add(l.total, times.sum);
    add(l.self, times.self);
  }

  std::vector<Line> by_zone(const ZoneStats& stats, const Run& run) const {
    std::map<std::string, Line> lines;
    for (const auto& [zone_risc, e] : stats.entries()) {
      const Zone& z = run.zones[zone_risc.zone];
      if (!wanted(z)) continue;
      const std::string source = z.file.empty() ? "" : z.file + ":" + std::to_string(z.line);
      const std::string processor = kRiscNames[static_cast<size_t>(zone_risc.risc)];
      std::string key = z.name;
      key += '\n';
      key += source;
      if (by_ != "source") key += processor;
      if (zone_risc.no_program) key += "\nno program";
      Line& l = lines[key];
      l.no_program = zone_risc.no_program;
      const uint32_t mhz = run.mhz(e.longest.launch.chip);
      const auto us = [&](uint64_t cycles) { return static_cast<double>(cycles) / mhz; };
      l.name = z.name.empty() ? "(unnamed)" : z.name;
      if (l.processor.find(processor) == std::string::npos)
        l.processor += (l.processor.empty() ? "" : " ") + processor;
      l.source = source;
      l.least_us = l.count ? std::min(l.least_us, us(e.least)) : us(e.least);
      if (us(e.most) >= l.most_us) {
        l.most_us = us(e.most);
        l.slowest = std::to_string(e.longest.lane.x) + "," + std::to_string(e.longest.lane.y);
      }
      add_measured(l, e.times, mhz);
      if (e.longest_measured.ns >= l.most.ns) l.most = e.longest_measured;
      if (e.times.count && (l.least_measured_ns < 0 || e.shortest_measured.ns < l.least_measured_ns))
        l.least_measured_ns = e.shortest_measured.ns;
      l.count += e.count;
      l.total_us += us(e.cycles);
      l.self_us += us(e.self_cycles);
      l.cores = std::max<uint64_t>(l.cores, e.cores.size());
      l.mean_us = l.total_us / static_cast<double>(l.count);
    }
    std::vector<Line> all;
    all.reserve(lines.size());
    for (auto& [name, line] : lines) all.push_back(std::move(line));
    return all;
  }

  std::vector<Line> by_core(const ZoneStats& stats, const Run& run) const {
    std::map<uint32_t, Line> lines;
    for (const auto& [zone_risc, e] : stats.entries()) {
      if (run.zones[zone_risc.zone].zone_class != ZoneClass::kernel) continue;
      for (const auto& [core, share] : e.cores) {
        Line& l = lines[core];
        const uint32_t chip = core >> 16;
        l.no_program = l.no_program || zone_risc.no_program;
        const double us = static_cast<double>(share.cycles) / run.mhz(chip);
        l.core = std::to_string(core >> 8 & 0xff) + "," + std::to_string(core & 0xff);
        l.name = "chip " + std::to_string(chip) + ", core " + l.core;
        const std::string processor = kRiscNames[static_cast<size_t>(zone_risc.risc)];
        if (l.processor.find(processor) == std::string::npos)
          l.processor += (l.processor.empty() ? "" : " ") + processor;
        l.most_is_mean = true;
        add_measured(l, share.times, run.mhz(chip));
        l.self = l.total;
        l.covered_self_us = l.covered_us;
        l.count += share.count;
        l.total_us += us;
        l.self_us += us;
        l.most_us = std::max(l.most_us, share.count ? us / static_cast<double>(share.count) : 0);
        l.mean_us = l.total_us / static_cast<double>(std::max<uint64_t>(1, l.count));
        l.cores = 1;
      }
    }
    std::vector<Line> all;
    all.reserve(lines.size());
    for (auto& [core, line] : lines) all.push_back(std::move(line));
    return all;
  }

  void print(std::span<const Group> groups) const {
    print(groups[0]);
    if (groups[1].lines.empty()) return;
    std::printf(
        "\nZones of no program: of cores that dispatch, whose kernels run as long as the device does\n");
    print(groups[1]);
  }

  void print(const Group& group) const {
    const bool color = wants_color(STDOUT_FILENO, color_, no_color_);
    const bool bounds = std::any_of(group.lines.begin(), group.lines.end(),
                                    [&](const Line& l) { return key_bound(l).has_value(); });
    std::vector<TextColumn> columns{{"Self %"},
                                    {by_ == "core" ? "Core" : "Zone", true, 0, 16},
                                    {"Processor", true, 4},
                                    {"Count"},
                                    {"Cores", false, 5},
                                    {"Total \u03bcs"},
                                    {"Self \u03bcs", false, 3},
                                    {"Mean \u03bcs"},
                                    {"Min \u03bcs", false, 7},
                                    {"Max \u03bcs", false, 2},
                                    {"Slowest", false, 6},
                                    {"Source", true, 1, 20}};
    if (bounds) columns.insert(columns.begin() + kBehindTimes, {"\u00b1 " + sort_, false, 2});
    TextTable table(std::move(columns));
    SharedRank rank;
    for (const Line& l : group.lines) {
      const Number bound = key_bound(l);
      const bool shared = rank.shares(key(l), bound);
      std::vector<TextCell> cells{
          {(shared ? "= " : "") + thousands(group.self_us > 0 ? l.self_us / group.self_us * 100 : 0, 1)},
          {l.name, Ink::cyan},
          {l.processor},
          {std::to_string(l.count)},
          {std::to_string(l.cores)},
          {thousands(l.total_us, 1)},
          {thousands(l.self_us, 1)},
          {thousands(l.mean_us, 2)},
          {thousands(l.least_us, 2)},
          {thousands(l.most_us, 2)},
          {l.slowest},
          {l.source, Ink::grey}};
      if (bounds) cells.insert(cells.begin() + kBehindTimes, {written_bound(bound)});
      table.row(std::move(cells));
    }
    std::fputs(table.text(static_cast<size_t>(terminal_columns(STDOUT_FILENO, 0)), color).c_str(), stdout);
    std::fputs(rank.legend().c_str(), stdout);
    uint64_t outside = 0;
    for (const Line& l : group.lines) outside += l.count - l.covered;
    if (outside && bounds)
      std::printf(
          "%llu zones are outside of \u00b1 and count as their cycles: the clock model has no bound of them, "
          "or "
          "a hard one, as of what was before its first samples\n",
          static_cast<unsigned long long>(outside));
  }

  void write_csv(std::span<const Group> groups) const {
    Cells cells;
    cells.header = {"Name",      "Processor", "Source",   "Count",    "Cores",        "Total [us]",
                    "Self [us]", "Mean [us]", "Min [us]", "Max [us]", "Slowest Core", "Group"};
    const auto us = [](double value) {
      char text[64];
      std::snprintf(text, sizeof text, "%.3f", value);
      return std::string(text);
    };
    for (const Group& group : groups)
      for (const Line& l : group.lines)
        cells.rows.push_back({l.name, l.processor, l.source, std::to_string(l.count), std::to_string(l.cores),
                              us(l.total_us), us(l.self_us), us(l.mean_us), us(l.least_us), us(l.most_us),
                              l.slowest, group.role});
    Output out(csv_, false);
    write_cells(cells, out);
    out.commit();
  }

  void write_json(std::span<const Group> groups) const {
    const auto number = [](const Number& n) { return n ? json(*n) : json(nullptr); };
    json all = json::array();
    for (const Group& group : groups)
      for (const Line& l : group.lines)
        all.push_back({{"name", l.name},
                       {"processor", l.processor},
                       {"source", l.source},
                       {"count", l.count},
                       {"cores", l.cores},
                       {"total_us", l.total_us},
                       {"self_us", l.self_us},
                       {"mean_us", l.mean_us},
                       {"min_us", l.least_us},
                       {"max_us", l.most_us},
                       {"total_bound_us", number(l.total_bound_us())},
                       {"self_bound_us", number(l.self_bound_us())},
                       {"bounded_total_us", l.covered_us},
                       {"zones_without_bound", l.count - l.covered},
                       {"slowest_core", l.slowest},
                       {"group", group.role}});
    Output out(json_, false);
    out.append(program::json_text(json{{"by", by_}, {"kernels", std::move(all)}}, 1) + "\n");
    out.commit();
  }

  RunOptions options_;
  std::string by_ = "zone", sort_ = "total", csv_, json_;
  size_t top_ = 20;
  bool firmware_ = false, color_ = false, no_color_ = false;
};

}  // namespace

std::unique_ptr<Report> make_kernels_report() {
  return std::make_unique<KernelsReport>();
}

}  // namespace ttc::tools
