// ttreport html: one self-contained page that makes no requests.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tools/report/draw/core_heat.hpp"
#include "tools/report/ops/op_report.hpp"
#include "tools/report/ops/steps.hpp"
#include "tools/report/page/html_page.hpp"
#include "tools/report/text/text_table.hpp"
#include "tools/report/zones/zone_keeper.hpp"
#include "tools/ttreport/html_cards.hpp"
#include "tools/ttreport/html_timeline.hpp"
#include "tools/ttreport/options.hpp"
#include "tools/viewers/host/host_bars.hpp"

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
  void program(const DeviceOp& op, std::span<const CoreTime> cores) {
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

// An object of the page whose keys are distinct. nlohmann's ordered object compares each new key with all it has; this one appends.
class DistinctKeys {
 public:
  void add(std::string key, json value) {
    static_cast<std::vector<json::object_t::value_type>&>(object_).emplace_back(std::move(key),
                                                                                std::move(value));
  }
  json taken() { return json(std::move(object_)); }

 private:
  json::object_t object_;
};

class HtmlReport : public Report {
 public:
  void options(CLI::App& command) override {
    add_input_options(command, options_);
    add_time_option(command, options_);
    command.add_option("-o,--output", output_, "the page; - is standard output")->required();
    command.add_option("--title", title_, "heading of the page (default: the input's name)");
    command
        .add_option("--zones", most_zones_,
                    "how many zones the timeline keeps: those of the longest programs, and of the host side "
                    "the longest")
        ->capture_default_str();
    add_arch_option(command, report_options_.arch);
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
    ClockBounds clocks;
    PageClocks page_clocks;
    HostBars host(most_zones_);
    listeners.zones = {&stats, &heat, &clocks, &page_clocks};
    options_.also = &host;
    listeners.programs = {[&](const auto& op, auto list) {
      heat.program(op, list);
      cores.program(op, list);
    }};
    options_.table = TableAs::typed;
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
    data["cards"] = summary_cards(run, report, clocks);
    put_ops(report, data);
    put_cores(heat, run, cores, data);
    put_timeline(
        keeper, run, clocks, page_clocks.time, host, [&](const DeviceOp& op) { return index_of(op); },
        [&](int64_t row) { return name_of(report, row); }, data);
    data["kernels"] = kernels(stats, run);
    data["steps"] = steps(table);
    data["environment"] = environment_rows(run, report, options_.from);
    Output out(output_, false);
    out.append(html_page(data["title"].get<std::string>() + " - ttreport", data));
    out.commit();
    return report_remarks(run, table);
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

  // Rounded up, so that what the page shows holds.
  static json bound_ns(const Number& us) {
    return us && std::isfinite(*us) ? json(std::ceil(*us * 1000)) : json(nullptr);
  }
  void put_ops(const OpReport& report, json& data) {
    data["opkeys"] = {"id",   "total",  "name",     "device", "us",      "gap",       "cores",
                      "dram", "flops",  "fidelity", "limit",  "waits",   "imbalance", "nokernel",
                      "rule", "shares", "call",     "sign",   "process", "bound",     "gapbound"};
    json ops = json::array();
    for (const ReportRow& r : report.rows) {
      const Bound limit = r.limit();
      const Bottleneck waits = r.waits();
      ops.push_back({r.op.id,
                     number(r.total_percent),
                     r.op.signpost() ? r.op.code : r.figures.text,
                     r.op.device ? json(*r.op.device) : json(nullptr),
                     number(r.device_us),
                     number(r.gap_us),
                     r.op.signpost() ? json(nullptr) : number(r.figures.cores),
                     number(r.figures.dram_percent),
                     number(r.figures.flops_percent),
                     r.figures.fidelity,
                     limit.what,
                     waits.who,
                     number(r.imbalance_percent),
                     number(r.dispatch_percent),
                     limit.why,
                     waits.why,
                     r.op.call_count ? json(*r.op.call_count) : json(nullptr),
                     r.op.signpost() ? 1 : 0,
                     r.op.process,
                     bound_ns(r.device_bound_us),
                     bound_ns(r.gap_bound_us)});
    }
    data["ops"] = std::move(ops);
    int64_t index = 0;
    for (const ReportRow& r : report.rows) {
      if (r.op.call_count)
        row_of_[{r.op.device.value_or(0), *r.op.call_count, r.op.session.value_or(0)}] = index;
      ++index;
    }
    DistinctKeys at;
    for (const auto& [op, row] : row_of_) {
      const auto& [device, id, session] = op;
      at.add(std::to_string(device) + "/" + std::to_string(id) + "/" + std::to_string(session), row);
    }
    data["opindex"] = at.taken();
  }
  int64_t index_of(const DeviceOp& op) const {
    const auto it = row_of_.find({op.launch.chip, op.launch.host_id, op.session});
    return it == row_of_.end() ? -1 : it->second;
  }

  // Empty if the host's side did not send it.
  static std::string name_of(const OpReport& report, int64_t row) {
    if (row < 0) return {};
    const std::string& code = report.rows[static_cast<size_t>(row)].op.code;
    return code.starts_with("program ") ? std::string() : code;
  }

  void put_cores(const HeatMap& heat, const Run& run, const CoresOfPrograms& programs, json& data) const {
    json cores = json::array();
    std::map<std::tuple<uint32_t, uint8_t, uint8_t>, size_t> place;
    for (const auto& [chip, grid] : heat.chips())
      for (const auto& [at, h] : grid) {
        place[{chip, at.first, at.second}] = cores.size();
        const auto ns = [mhz = run.mhz(chip)](uint64_t cycles) { return cycles * 1000 / mhz; };
        cores.push_back({chip, at.first, at.second, ns(h.time), ns(h.wait), ns(h.behind), ns(h.start)});
      }
    std::map<int64_t, json> by_row;
    for (const DeviceOp& op : run.ops) {
      const auto* list = programs.of(op.launch);
      const int64_t index = index_of(op);
      if (!list || index < 0) continue;
      json flat = json::array();
      for (const auto& c : *list) {
        flat.push_back(place[{op.launch.chip, c.x, c.y}]);
        flat.push_back(to_ns(c.took, run.mhz(op.launch.chip)));
        flat.push_back(to_ns(c.start, run.mhz(op.launch.chip)));
      }
      by_row[index] = std::move(flat);
    }
    data["cores"] = std::move(cores);
    DistinctKeys by_op;
    for (auto& [row, flat] : by_row) by_op.add(std::to_string(row), std::move(flat));
    data["opcores"] = by_op.taken();
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
    return {{"how",
             "Here " + found.how + "." + (found.warning.empty() ? "" : " Warning: " + found.warning + ".")},
            {"rows", std::move(rows)},
            {"summary", std::move(total)}};
  }

  RunOptions options_;
  ReportOptions report_options_;
  std::string output_, title_;
  std::map<std::tuple<uint32_t, uint64_t, uint32_t>, int64_t> row_of_;  // device, host id, session
  size_t most_zones_ = 100'000;
};

}  // namespace

std::unique_ptr<Report> make_html_report() {
  return std::make_unique<HtmlReport>();
}

}  // namespace ttc::tools
