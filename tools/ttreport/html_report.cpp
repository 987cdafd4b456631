// ttreport html: one page that holds everything and asks for nothing.
#include <sys/utsname.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "collector/program/version.hpp"
#include "tools/report/draw/core_heat.hpp"
#include "tools/report/ops/op_report.hpp"
#include "tools/report/ops/steps.hpp"
#include "tools/report/page/html_page.hpp"
#include "tools/report/text/text_table.hpp"
#include "tools/report/zones/zone_keeper.hpp"
#include "tools/ttreport/options.hpp"

namespace ttc::tools {
namespace {

using namespace report;
using json = nlohmann::ordered_json;

json number(const Number& n) {
  return n && std::isfinite(*n) ? json(*n) : json(nullptr);
}

// Kernel times of the cores of the longest programs, within a number of entries.
class CoresOfPrograms {
 public:
  struct Core {
    uint8_t x, y;
    uint64_t took, start;
  };
  void program(const DeviceOp& op, std::span<const OpBuilder::CoreTime> cores) {
    if (op.kernel.cycles() < least_) return;
    auto& list = all_[op.launch];
    for (const auto& c : cores)
      if (c.kernel.cycles())
        list.second.push_back({c.x, c.y, c.kernel.cycles(), c.kernel.begin - op.kernel.begin});
    list.first = op.kernel.cycles();
    entries_ += list.second.size();
    if (entries_ > kMost) shrink();
  }
  const std::vector<Core>* of(const Launch& launch) const {
    const auto it = all_.find(launch);
    return it == all_.end() ? nullptr : &it->second.second;
  }

 private:
  static constexpr size_t kMost = 200'000;
  void shrink() {
    std::vector<uint64_t> lengths;
    for (const auto& [launch, list] : all_) lengths.push_back(list.first);
    std::nth_element(lengths.begin(), lengths.begin() + static_cast<ptrdiff_t>(lengths.size() / 2),
                     lengths.end());
    least_ = lengths[lengths.size() / 2] + 1;
    std::erase_if(all_, [&](const auto& one) { return one.second.first < least_; });
    entries_ = 0;
    for (const auto& [launch, list] : all_) entries_ += list.second.size();
  }
  std::map<Launch, std::pair<uint64_t, std::vector<Core>>, LaunchLess> all_;
  uint64_t least_ = 0;
  size_t entries_ = 0;
};

class HtmlReport : public Report {
 public:
  void options(CLI::App& command) override {
    add_input_options(command, options_);
    command.add_option("-o,--output", output_, "the page; - is standard output")->required();
    command.add_option("--title", title_, "heading of the page (default: the input's name)");
    command
        .add_option("--zones", most_zones_,
                    "how many zones the timeline keeps, those of the longest programs")
        ->capture_default_str();
    command.add_option("--arch", report_options_.arch,
                       "wormhole, blackhole, bh20 or n1, where the input does not say");
    command.add_flag("--tracing-mode", report_options_.tracing_mode,
                     "do not sort by host time, which replays do not have");
  }

  int run() override {
    refuse_outputs_over_inputs(options_, {output_});
    ZoneStats stats;
    ZoneKeeper keeper(most_zones_);
    stats.on_span = [&](const ZoneSpan& span) { keeper.add(span); };
    HeatMap heat;
    CoresOfPrograms cores;
    RunListeners listeners;
    listeners.zones = {&stats, &heat};
    listeners.programs = {[&](const auto& op, auto list) {
      heat.program(op, list);
      cores.program(op, list);
    }};
    const Run run = read_with_progress(options_, listeners);
    keeper.end();
    const OpTable table = table_of(run);
    report_options_.ignore_signposts = report_options_.print_signposts = true;
    report_options_.merge_devices = false;
    const OpReport report = make_report(table, report_options_);
    json data;
    const std::string name = std::filesystem::path(options_.from[0]).filename();
    data["title"] = title_.empty() ? name : title_;
    data["subtitle"] = subtitle(run, report);
    data["cards"] = summary(run, report);
    put_ops(report, run, data);
    put_cores(heat, run, cores, data);
    put_zones(keeper, run, data);
    data["kernels"] = kernels(stats, run);
    data["steps"] = steps(table);
    data["environment"] = environment(run, report);
    Output out(output_, false);
    out.append(html_page(data["title"].get<std::string>() + " - ttreport", data));
    out.commit();
    return tell(run);
  }

 private:
  static std::string subtitle(const Run& run, const OpReport& report) {
    std::string text = std::to_string(report.totals.device_ops) + " ops on " +
                       std::to_string(std::max<size_t>(1, report.devices)) +
                       (report.devices > 1 ? " devices" : " device") + ", " + report.arch.name;
    if (run.account.markers)
      text += ", " + thousands(static_cast<double>(run.account.markers), 0) + " markers";
    return text;
  }

  static std::string us(double value) { return thousands(value, value < 100 ? 1 : 0) + " \u03bcs"; }

  json summary(const Run& run, const OpReport& report) const {
    const Totals& t = report.totals;
    json cards = json::array();
    std::map<std::string, double> limits;
    for (const ReportRow& r : report.rows)
      if (r.device_us && !r.limit.what.empty()) limits[r.limit.what] += *r.device_us;
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
    cards.push_back(std::move(bounds));

    std::vector<std::pair<double, std::string>> costs;
    for (const StackedRow& r : stacked(report, GroupBy::op, true, true))
      costs.emplace_back(r.device_us,
                         r.name + ": " + us(r.device_us) + " in " + std::to_string(r.count) + " ops");
    if (t.gap_us > 0) costs.emplace_back(t.gap_us, "gaps between ops: " + us(t.gap_us));
    std::stable_sort(costs.begin(), costs.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    json list = json::array();
    for (size_t i = 0; i < std::min<size_t>(3, costs.size()); ++i) list.push_back(costs[i].second);
    cards.push_back({{"title", "Biggest three costs"}, {"list", std::move(list)}});

    cards.push_back({{"title", "Time on the device"},
                     {"big", us(t.busy_us)},
                     {"lines", json::array({t.overlap_us > 0.5
                                                ? us(t.overlap_us) +
                                                      " of kernel time ran beside other ops and counts once"
                                                : "no ops overlap",
                                            "first start to last end " + us(t.span_us)})}});
    const std::vector<std::string> lost = notices(run);
    json lost_card{
        {"title", "What was lost"},
        {"big", lost.empty() ? "nothing known" : std::to_string(run.account.losses.size()) + " intervals"},
        {"tone", lost.empty() ? "good" : "warn"},
        {"lines", json::array()}};
    for (size_t i = 0; i < std::min<size_t>(6, lost.size()); ++i) lost_card["lines"].push_back(lost[i]);
    if (run.account.losses.empty() && !lost.empty())
      lost_card["big"] = std::to_string(lost.size()) + " remarks";
    cards.push_back(std::move(lost_card));

    json clock{{"title", "Clock quality"}, {"lines", json::array()}};
    for (const auto& [chip, c] : run.account.clocks)
      clock["lines"].push_back("chip " + std::to_string(chip) + ": host times within " +
                               thousands(c.last_bound_ns, 0) + " ns at the end, " +
                               thousands(c.worst_bound_ns, 0) + " ns at worst" +
                               (c.eras > 1 ? ", " + std::to_string(c.eras) + " eras of its counter" : ""));
    if (run.account.clocks.empty())
      clock["lines"].push_back(
          "this input holds no clock model; times are cycles of each card's own clock, and cards are not on "
          "one time");
    cards.push_back(std::move(clock));
    return cards;
  }

  static void put_ops(const OpReport& report, const Run&, json& data) {
    data["opkeys"] = {"id",        "total",    "name",  "device",   "us",    "gap",
                      "cores",     "dram",     "flops", "fidelity", "limit", "waits",
                      "imbalance", "nokernel", "rule",  "shares",   "call",  "sign"};
    json ops = json::array();
    for (const ReportRow& r : report.rows)
      ops.push_back({r.op.id, number(r.total_percent), r.op.signpost() ? r.op.code : r.figures.text,
                     r.op.device ? json(*r.op.device) : json(nullptr), number(r.device_us), number(r.gap_us),
                     r.op.signpost() ? json(nullptr) : number(r.figures.cores),
                     number(r.figures.dram_percent), number(r.figures.flops_percent), r.figures.fidelity,
                     r.limit.what, r.waits.who, number(r.imbalance_percent), number(r.dispatch_percent),
                     r.limit.why, r.waits.why, r.op.call_count ? json(*r.op.call_count) : json(nullptr),
                     r.op.signpost() ? 1 : 0});
    data["ops"] = std::move(ops);
    data["opindex"] = nullptr;
    size_t index = 0;
    json at = json::object();
    for (const ReportRow& r : report.rows) {
      if (r.op.call_count)
        at[key(r.op.device.value_or(0), *r.op.call_count, r.op.session.value_or(0))] = index;
      ++index;
    }
    data["opindex"] = std::move(at);
  }
  static std::string key(uint32_t device, uint64_t id, uint32_t session) {
    return std::to_string(device) + "/" + std::to_string(id) + "/" + std::to_string(session);
  }
  static int64_t index_of(const DeviceOp& op, const json& data) {
    const auto it = data["opindex"].find(key(op.launch.chip, op.launch.host_id, op.session));
    return it == data["opindex"].end() ? -1 : it->get<int64_t>();
  }

  static void put_cores(const HeatMap& heat, const Run& run, const CoresOfPrograms& programs, json& data) {
    json cores = json::array();
    std::map<std::tuple<uint32_t, uint8_t, uint8_t>, size_t> place;
    for (const auto& [chip, grid] : heat.chips())
      for (const auto& [at, h] : grid) {
        place[{chip, at.first, at.second}] = cores.size();
        const auto ns = [mhz = run.mhz(chip)](uint64_t cycles) { return cycles * 1000 / mhz; };
        cores.push_back({chip, at.first, at.second, ns(h.time), ns(h.wait), ns(h.behind), ns(h.start)});
      }
    json by_op = json::object();
    for (const DeviceOp& op : run.ops) {
      const auto* list = programs.of(op.launch);
      const int64_t index = index_of(op, data);
      if (!list || index < 0) continue;
      json flat = json::array();
      for (const auto& c : *list) {
        flat.push_back(place[{op.launch.chip, c.x, c.y}]);
        flat.push_back(to_ns(c.took, run.mhz(op.launch.chip)));
        flat.push_back(to_ns(c.start, run.mhz(op.launch.chip)));
      }
      by_op[std::to_string(index)] = std::move(flat);
    }
    data["cores"] = std::move(cores);
    data["opcores"] = std::move(by_op);
  }

  template <class Values>
  static std::string packed(const Values& values) {
    return base64(values.data(), values.size() * sizeof values[0]);
  }

  void put_zones(const ZoneKeeper& keeper, const Run& run, json& data) const {
    data["lanes"] = json::array();
    data["zonenames"] = json::array();
    data["zones"] = nullptr;
    if (keeper.kept() == 0) return;
    std::map<Launch, int64_t, LaunchLess> op_of;
    for (const DeviceOp& op : run.ops) op_of[op.launch] = index_of(op, data);
    struct Shown {
      const ZoneSpan* span;
      int64_t op;
    };
    std::map<std::tuple<uint32_t, uint8_t, uint8_t, LogRisc, uint8_t>, std::vector<Shown>> lanes;
    std::map<uint32_t, uint64_t> origin;
    for (const auto& [launch, spans] : keeper.launches())
      for (const ZoneSpan& s : spans) {
        const auto it = op_of.find(launch);
        lanes[{launch.chip, s.lane.x, s.lane.y, s.lane.risc, s.lane.twin}].push_back(
            {&s, it == op_of.end() ? -1 : it->second});
        const auto [first, fresh] = origin.try_emplace(launch.chip, s.begin);
        first->second = std::min(first->second, s.begin);
      }
    std::vector<double> begin;
    std::vector<float> length;
    std::vector<uint16_t> lane, zone;
    std::vector<int32_t> op;
    std::vector<uint8_t> depth;
    std::map<uint32_t, uint16_t> zone_number;
    const bool captured = std::any_of(run.devices.begin(), run.devices.end(),
                                      [](const auto& one) { return !one.second.name.empty(); });
    for (auto& [where, shown] : lanes) {
      std::stable_sort(shown.begin(), shown.end(),
                       [](const Shown& a, const Shown& b) { return a.span->begin < b.span->begin; });
      const auto& [chip, x, y, risc, twin] = where;
      const double ns_per_cycle = 1000.0 / run.mhz(chip);
      for (const Shown& s : shown) {
        const auto [number, fresh] =
            zone_number.try_emplace(s.span->zone, static_cast<uint16_t>(zone_number.size()));
        if (fresh) {
          const Zone& z = run.zones[s.span->zone];
          data["zonenames"].push_back({z.name.empty() ? "(unnamed)" : z.name,
                                       z.file.empty() ? "" : z.file + ":" + std::to_string(z.line)});
        }
        begin.push_back(static_cast<double>(s.span->begin - origin[chip]) * ns_per_cycle);
        length.push_back(static_cast<float>(static_cast<double>(s.span->end - s.span->begin) * ns_per_cycle));
        lane.push_back(static_cast<uint16_t>(data["lanes"].size()));
        zone.push_back(number->second);
        op.push_back(static_cast<int32_t>(s.op));
        depth.push_back(static_cast<uint8_t>(std::min<uint32_t>(s.span->depth, 12)));
      }
      const bool logged = captured && run.devices.at(chip).name.empty();
      data["lanes"].push_back(std::to_string(chip) + (logged ? " (log): " : ": ") + std::to_string(x) + "-" +
                              std::to_string(y) + " " + processor_name({x, y, risc, twin}));
    }
    data["zones"] = {{"begin", packed(begin)}, {"length", packed(length)}, {"lane", packed(lane)},
                     {"zone", packed(zone)},   {"op", packed(op)},         {"depth", packed(depth)}};
    data["zonenote"] = keeper.dropped_launches()
                           ? "those of the longest programs; " + std::to_string(keeper.dropped_launches()) +
                                 " shorter ones are left out"
                           : "";
  }

  static json kernels(const ZoneStats& stats, const Run& run) {
    json all = json::array();
    std::vector<std::pair<uint64_t, ZoneStats::Key>> order;
    for (const auto& [zone, e] : stats.entries()) order.emplace_back(e.cycles, zone);
    std::sort(order.rbegin(), order.rend());
    for (size_t i = 0; i < std::min<size_t>(order.size(), 2000); ++i) {
      const auto& e = stats.entries().at(order[i].second);
      const Zone& z = run.zones[order[i].second.zone];
      const double per_us = run.mhz(e.longest.launch.chip);
      const auto first = static_cast<size_t>(
          std::find_if(e.histogram.begin(), e.histogram.end(), [](uint32_t n) { return n > 0; }) -
          e.histogram.begin());
      size_t last = ZoneStats::kBuckets;
      while (last > first + 1 && e.histogram[last - 1] == 0) --last;
      json counts = json::array();
      for (size_t b = first; b < last; ++b) counts.push_back(e.histogram[b]);
      const double bucket_ns = std::ldexp(1.0, static_cast<int>(first) - 1) * 1000 / per_us;
      all.push_back({z.name.empty() ? "(unnamed)" : z.name,
                     kRiscNames[static_cast<size_t>(order[i].second.risc)] +
                         std::string(order[i].second.no_program ? " (no program)" : ""),
                     e.count, e.cores.size(), static_cast<double>(e.cycles) / per_us,
                     static_cast<double>(e.self_cycles) / per_us,
                     static_cast<double>(e.cycles) / per_us / static_cast<double>(e.count),
                     static_cast<double>(e.least) / per_us, static_cast<double>(e.most) / per_us,
                     z.file.empty() ? "" : z.file + ":" + std::to_string(z.line),
                     json::array({bucket_ns, std::move(counts)})});
    }
    return all;
  }

  static json steps(const OpTable& table) {
    const Steps found = find_steps(table, {});
    json rows = json::array(), total = json::array();
    std::vector<double> walls, devices, overheads, dispatches;
    for (const Step& s : found.steps) {
      rows.push_back({s.name + (s.counted ? "" : " (left out)"), s.ops, number(s.wall_us), s.device_us,
                      number(s.overhead_percent()), number(s.dispatch_us())});
      if (!s.counted) continue;
      devices.push_back(s.device_us);
      if (s.wall_us) walls.push_back(*s.wall_us), overheads.push_back(*s.overhead_percent());
      if (s.dispatch_us()) dispatches.push_back(*s.dispatch_us());
    }
    if (found.steps.size() > 1) {
      const Spread w = spread(walls), d = spread(devices), o = spread(overheads), p = spread(dispatches);
      const auto line = [&](const char* name, double Spread::*of) {
        total.push_back({name, nullptr, w.*of, d.*of, o.*of, p.*of});
      };
      line("mean", &Spread::mean);
      line("median", &Spread::median);
      line("min", &Spread::least);
      line("max", &Spread::most);
    }
    return {{"how", "Here " + found.how + "."}, {"rows", std::move(rows)}, {"summary", std::move(total)}};
  }

  json environment(const Run& run, const OpReport& report) const {
    json all = json::array();
    const auto put = [&](const std::string& name, const std::string& value) { all.push_back({name, value}); };
    for (const std::string& one : options_.from) {
      std::error_code ignored;
      const auto size = std::filesystem::file_size(one, ignored);
      put("Input", one + (ignored ? "" : " (" + thousands(static_cast<double>(size), 0) + " bytes)"));
    }
    for (const auto& [chip, d] : run.devices) {
      std::string text = (d.name.empty() ? "" : d.name + ", ") +
                         (d.arch.empty() ? "architecture not told" : d.arch) + ", " +
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
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    gmtime_r(&now, &parts);
    char when[40];
    std::strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S UTC", &parts);
    utsname u{};
    uname(&u);
    put("Page made",
        std::string(when) + " by " + program::version_of("ttreport") + ", " + u.sysname + " " + u.release);
    return all;
  }

  RunOptions options_;
  ReportOptions report_options_;
  std::string output_, title_;
  size_t most_zones_ = 100'000;
};

}  // namespace

std::unique_ptr<Report> make_html_report() {
  return std::make_unique<HtmlReport>();
}

}  // namespace ttc::tools
