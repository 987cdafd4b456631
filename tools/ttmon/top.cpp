#include "tools/ttmon/top.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "collector/program/json_text.hpp"
#include "collector/program/printable.hpp"
#include "tools/pipeline/pipeline.hpp"
#include "tools/ttmon/activity/activity.hpp"
#include "tools/ttmon/options.hpp"
#include "ttcollect/workers.hpp"

namespace ttc::tools {
namespace {

nlohmann::ordered_json to_json(const TimeSum& s) {
  return {{"ns", s.ns}, {"count", s.count}, {"longest_ns", s.longest_ns}};
}

void print_json(const TimeSums& top, const TopOptions& o, uint64_t markers) {
  nlohmann::ordered_json j{{"markers", markers},
                           {"loss_records", top.losses()},
                           {"zones", nlohmann::json::array()},
                           {"ops", nlohmann::json::array()}};
  for (const NamedSum& zone : longest_zones(top, o.rows)) {
    auto row = to_json(zone.sum);
    row["zone"] = zone.name;
    j["zones"].push_back(row);
  }
  for (const NamedSum& op : longest_ops(top, o.rows)) {
    auto row = to_json(op.sum);
    row["op"] = op.name;
    j["ops"].push_back(row);
  }
  std::printf("%s\n", program::json_text(j).c_str());
}

void print_text(const TimeSums& top, const TopOptions& o, uint64_t markers) {
  if (!o.once && isatty(STDOUT_FILENO)) std::fputs("\033[H\033[J", stdout);
  std::printf("%llu markers, %llu records of losses\n", static_cast<unsigned long long>(markers),
              static_cast<unsigned long long>(top.losses()));
  const auto line = [](const char* name, const TimeSum& s) {
    std::printf("%-40.40s %14.3f %10llu %12.3f %12.3f\n", name, static_cast<double>(s.ns) / 1e6,
                static_cast<unsigned long long>(s.count),
                static_cast<double>(s.ns) / 1e3 / static_cast<double>(std::max<uint64_t>(1, s.count)),
                static_cast<double>(s.longest_ns) / 1e3);
  };
  std::printf("%-40s %14s %10s %12s %12s\n", "zone", "all [ms]", "times", "mean [us]", "longest [us]");
  for (const NamedSum& zone : longest_zones(top, o.rows))
    line(program::printable(zone.name).c_str(), zone.sum);
  std::printf("%-40s %14s %10s %12s %12s\n", "op, or program by its host id", "all [ms]", "times",
              "mean [us]", "longest [us]");
  for (const NamedSum& op : longest_ops(top, o.rows)) line(program::printable(op.name).c_str(), op.sum);
}

void print(TimeSums& top, const TopOptions& o, uint64_t markers, bool all) {
  top.settle(all);
  o.json ? print_json(top, o, markers) : print_text(top, o, markers);
  std::fflush(stdout);
}

}  // namespace

void show_top(const TopOptions& o, const volatile std::sig_atomic_t& stop) {
  using Clock = std::chrono::steady_clock;
  jobs::Workers workers(2);
  const auto source = open_source(o.from, !o.once, 0, {}, &workers);
  Pipeline pipeline({}, false, {}, {}, source->loss_cause());
  TimeSums top;
  auto shown = Clock::now();
  std::vector<uint64_t> chunk;
  while (!stop) {
    const Source::Next next = source->next(chunk);
    if (next == Source::Next::end) break;
    if (source->lost_beginning()) pipeline.lost_beginning();
    if (next == Source::Next::chunk) pipeline.push(chunk, top);
    if (!o.once && Clock::now() - shown > std::chrono::nanoseconds(o.interval_ns)) {
      shown = Clock::now();
      print(top, o, pipeline.markers(), false);
    }
  }
  if (source->broke_off()) pipeline.broke_off();
  pipeline.finish(top);
  print(top, o, pipeline.markers(), true);
  for (const std::string& c : source->complaints()) program::say(kTtmon, MonitorExit::kOk, c);
}

}  // namespace ttc::tools
