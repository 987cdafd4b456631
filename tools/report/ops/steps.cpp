#include "tools/report/ops/steps.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "tools/report/input/signposts.hpp"
#include "tools/report/ops/busy_time.hpp"

namespace ttc::report {
namespace {

using OpsOfStep = std::vector<const OpRow*>;

Step make_step(std::string name, const OpsOfStep& ops, Number wall_us) {
  Step s;
  s.name = std::move(name);
  s.wall_us = wall_us;
  std::map<uint32_t, OpsOfStep> by_device;
  double host = 0;
  bool any_host = false;
  for (const OpRow* op : ops) {
    if (op->host_duration) host += *op->host_duration / 1000, any_host = true;
    if (op->host()) continue;
    ++s.ops;
    by_device[op->device.value_or(0)].push_back(op);
  }
  for (const auto& [device, rows] : by_device) s.device_us = std::max(s.device_us, busy_time(rows).busy_us);
  if (any_host) s.host_us = host;
  return s;
}

// Names that end in start and end, and share what is before it.
std::string partner(const std::string& name, const std::vector<std::string>& all) {
  for (const auto& [from, to] :
       {std::pair{"start", "end"}, {"start", "stop"}, {"begin", "end"}, {"Start", "End"}, {"START", "END"}})
    if (name.ends_with(from)) {
      std::string other = name.substr(0, name.size() - std::string(from).size()) + to;
      if (std::find(all.begin(), all.end(), other) != all.end()) return other;
    }
  return "";
}

Steps between_signposts(const OpsOfStep& rows, const std::string& start, const std::string& end) {
  Steps all;
  all.how = end.empty() ? "a step reaches from one signpost '" + start + "' to the next"
                        : "a step reaches from signpost '" + start + "' to '" + end + "'";
  const OpRow* begun = nullptr;
  OpsOfStep ops;
  for (const OpRow* r : rows) {
    if (!r->signpost()) {
      if (begun) ops.push_back(r);
      continue;
    }
    const bool ends = end.empty() ? r->code == start : r->code == end;
    if (ends && begun) {
      const Number wall = begun->host_start && r->host_start
                              ? Number((*r->host_start - *begun->host_start) / 1000)
                              : Number();
      all.steps.push_back(make_step(std::to_string(all.steps.size() + 1), ops, wall));
      begun = nullptr;
    }
    if (r->code == start) {
      begun = r;
      ops.clear();
    }
  }
  return all;
}

Steps by_replay(const OpsOfStep& rows) {
  Steps all;
  all.how =
      "there are no signposts; a step is a replay of a trace, and its wall time lasts to the next replay on "
      "the device's clock";
  std::map<std::pair<uint32_t, uint32_t>, OpsOfStep> replays;  // by trace and session
  for (const OpRow* r : rows)
    if (r->session) replays[{r->trace_id.value_or(0), *r->session}].push_back(r);
  struct Place {
    double start, ns_per_cycle;
  };
  std::vector<Place> places;
  for (const auto& [key, ops] : replays) {
    Place place{0, 0};
    for (const OpRow* r : ops)
      if (r->firmware_start && r->firmware_end && r->firmware && *r->firmware_end > *r->firmware_start &&
          r->device == ops.front()->device && (place.ns_per_cycle == 0 || *r->firmware_start < place.start))
        place = {*r->firmware_start, *r->firmware / (*r->firmware_end - *r->firmware_start)};
    places.push_back(place);
    all.steps.push_back(make_step(
        "trace " + std::to_string(key.first) + ", replay " + std::to_string(key.second), ops, std::nullopt));
  }
  for (size_t i = 0; i + 1 < all.steps.size(); ++i)
    if (places[i].ns_per_cycle > 0 && places[i + 1].start > places[i].start)
      all.steps[i].wall_us = (places[i + 1].start - places[i].start) * places[i].ns_per_cycle / 1000;
  return all;
}

// Steps at the front that take far longer than the rest: compiling, filling caches.
void leave_out(Steps& all, const StepOptions& options) {
  size_t skip = options.skip;
  if (!options.skip_given && all.steps.size() > 2) {
    std::vector<double> walls;
    for (const Step& s : all.steps)
      if (s.wall_us) walls.push_back(*s.wall_us);
    const double median = spread(walls).median;
    while (skip < all.steps.size() / 2 && median > 0 && all.steps[skip].wall_us.value_or(0) > 1.5 * median)
      ++skip;
    if (skip)
      all.how += "; the first " + std::to_string(skip) +
                 " took over one and a half times the median and are left out as warming up";
  }
  for (size_t i = 0; i < std::min(skip, all.steps.size()); ++i) all.steps[i].counted = false;
}

}  // namespace

Number Step::overhead_percent() const {
  if (!wall_us || *wall_us <= 0) return std::nullopt;
  return (*wall_us - device_us) / *wall_us * 100;
}

Number Step::dispatch_us() const {
  if (!wall_us || ops == 0) return std::nullopt;
  return (*wall_us - device_us) / static_cast<double>(ops);
}

Spread spread(std::vector<double> values) {
  Spread s;
  s.count = values.size();
  if (values.empty()) return s;
  std::sort(values.begin(), values.end());
  for (const double v : values) s.mean += v / static_cast<double>(values.size());
  const size_t n = values.size();
  s.median = n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
  s.least = values.front();
  s.most = values.back();
  if (n > 1) {
    double squares = 0;
    for (const double v : values) squares += (v - s.mean) * (v - s.mean);
    s.deviation = std::sqrt(squares / static_cast<double>(n - 1));
  }
  return s;
}

Steps find_steps(const OpTable& table, const StepOptions& options) {
  OpsOfStep rows;
  const std::vector<OpRow> kept(table.rows.begin(), table.rows.end());
  for (const OpRow& r : kept) rows.push_back(&r);
  std::stable_sort(rows.begin(), rows.end(), [](const OpRow* a, const OpRow* b) {
    return a->host_start.value_or(1e300) < b->host_start.value_or(1e300);
  });
  std::vector<std::string> names;
  std::map<std::string, size_t> counts;
  for (const OpRow* r : rows)
    if (r->signpost()) {
      if (counts[r->code]++ == 0) names.push_back(r->code);
    }
  std::vector<std::string> met;
  for (const std::string& name : names) met.insert(met.end(), counts[name], name);
  need_signpost(options.start, 1, met);
  need_signpost(options.end, 1, met);
  Steps all;
  std::string start = options.start, end = options.end;
  if (start.empty() && !names.empty()) {
    size_t most = 0;
    for (const std::string& name : names) {
      std::string other = partner(name, names);
      if (counts[name] > most && (!other.empty() || counts[name] > 1)) {
        most = counts[name];
        start = name;
        end = other;
      }
    }
  }
  if (!start.empty()) {
    all = between_signposts(rows, start, end);
  } else {
    all = by_replay(rows);
    if (all.steps.empty()) {
      all.how = "there are no repeated signposts and no replays; the whole run is one step";
      OpsOfStep ops;
      for (const OpRow* r : rows)
        if (!r->signpost()) ops.push_back(r);
      Number wall;
      const auto first =
          std::find_if(ops.begin(), ops.end(), [](const OpRow* r) { return r->host_start.has_value(); });
      const auto last =
          std::find_if(ops.rbegin(), ops.rend(), [](const OpRow* r) { return r->host_end.has_value(); });
      if (first != ops.end() && last != ops.rend())
        wall = (*(*last)->host_end - *(*first)->host_start) / 1000;
      if (!ops.empty()) all.steps.push_back(make_step("whole run", ops, wall));
    }
  }
  leave_out(all, options);
  return all;
}

}  // namespace ttc::report
