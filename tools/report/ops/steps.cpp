#include "tools/report/ops/steps.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "tools/report/input/signposts.hpp"
#include "tools/report/ops/busy_time.hpp"

namespace ttc::report {
namespace {

using OpsOfStep = std::vector<const OpRow*>;

Step make_step(std::string name, const OpsOfStep& ops, Number wall_us, const OpTable& table) {
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
    s.cache_hits += op->cache_hit == "True";
    s.cache_misses += op->cache_hit == "False";
    by_device[op->device.value_or(0)].push_back(op);
  }
  for (const auto& [device, rows] : by_device) {
    const Busy busy = busy_time(rows, table.clock.get(), table.time);
    if (busy.busy_us >= s.device_us) s.device_us = busy.busy_us, s.device_bound_us = busy.busy_bound_us;
  }
  if (any_host) s.host_us = host;
  return s;
}

// Finds the partner of names that end in start and end, and share what is before it.
std::string partner(const std::string& name, const std::vector<std::string>& all) {
  for (const std::string& other : ends_of_family(name))
    if (std::find(all.begin(), all.end(), other) != all.end()) return other;
  return "";
}

// The last number in a name; empty: it has none.
std::string number_in(const std::string& name) {
  const size_t last = name.find_last_of("0123456789");
  if (last == std::string::npos) return "";
  const size_t before = name.find_last_not_of("0123456789", last);
  const size_t first = before == std::string::npos ? 0 : before + 1;
  return name.substr(first, last + 1 - first);
}

// How signposts are compared: as they are, or by their families.
using NameOf = std::string (*)(const std::string&);
std::string as_it_is(const std::string& name) {
  return name;
}

Steps between_signposts(const OpsOfStep& rows, const std::string& start, const std::string& end,
                        NameOf name_of, const OpTable& table) {
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
    const std::string name = name_of(r->code);
    const bool ends = end.empty() ? name == start : name == end;
    if (ends && begun) {
      const Number wall = begun->host_start && r->host_start
                              ? Number((*r->host_start - *begun->host_start) / 1000)
                              : Number();
      const std::string number = name_of == as_it_is ? "" : number_in(begun->code);
      all.steps.push_back(
          make_step(number.empty() ? std::to_string(all.steps.size() + 1) : number, ops, wall, table));
      begun = nullptr;
    }
    if (name == start) {
      begun = r;
      ops.clear();
    }
  }
  return all;
}

Steps by_replay(const OpsOfStep& rows, const OpTable& table) {
  Steps all;
  all.how =
      "there are no signposts; a step is a replay of a trace, and its wall time lasts to the next replay on "
      "the device's clock";
  std::map<std::pair<uint32_t, uint32_t>, OpsOfStep> replays;  // by trace and session
  for (const OpRow* r : rows)
    if (r->session) replays[{r->trace_id.value_or(0), *r->session}].push_back(r);
  struct Place {
    double start = 0, ns_per_cycle = 0;
    uint32_t device = 0;
    uint64_t seen_ns = 0;
  };
  std::vector<Place> places;
  for (const auto& [key, ops] : replays) {
    Place place;
    for (const OpRow* r : ops)
      if (r->firmware_start && r->firmware_end && r->firmware && *r->firmware_end > *r->firmware_start &&
          r->device == ops.front()->device && (place.ns_per_cycle == 0 || *r->firmware_start < place.start))
        place = {*r->firmware_start, *r->firmware / (*r->firmware_end - *r->firmware_start),
                 r->device.value_or(0), r->seen_ns};
    places.push_back(place);
    all.steps.push_back(
        make_step("trace " + std::to_string(key.first) + ", replay " + std::to_string(key.second), ops,
                  std::nullopt, table));
  }
  for (size_t i = 0; i + 1 < all.steps.size(); ++i) {
    const Place &place = places[i], &next = places[i + 1];
    if (place.ns_per_cycle <= 0 || next.start <= place.start) continue;
    Step& step = all.steps[i];
    step.wall_us = (next.start - place.start) * place.ns_per_cycle / 1000;
    const bool known = table.clock && place.seen_ns != 0 && next.seen_ns != 0 && place.device == next.device;
    const auto measured = known ? table.clock->across(place.device, static_cast<uint64_t>(place.start),
                                                      static_cast<uint64_t>(next.start), next.seen_ns)
                                : std::nullopt;
    if (!measured) continue;
    if (table.time == TimeOf::host) step.wall_us = measured->ns / 1000;
    step.wall_bound_us = measured->bound_of(*step.wall_us * 1000) / 1000;
  }
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

std::string compiled_in_every_step(const std::vector<Step>& steps) {
  constexpr double kNearlyAll = 0.9;
  size_t later = 0;
  for (size_t i = 1; i < steps.size(); ++i) {
    const auto known = static_cast<double>(steps[i].cache_hits + steps[i].cache_misses);
    if (known == 0) continue;
    if (static_cast<double>(steps[i].cache_misses) < kNearlyAll * known) return "";
    ++later;
  }
  if (later == 0) return "";
  return "in each of the " + std::to_string(later) +
         " steps behind the first one at least 90 % of the ops miss the program cache: their programs are "
         "compiled in "
         "every step. Something clears the cache between steps, as xr.clear_computation_cache() does";
}

std::string signpost_family(const std::string& name) {
  std::string family;
  for (const char c : name) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit)
      family += c;
    else if (family.empty() || family.back() != '#')
      family += '#';
  }
  return family;
}

std::vector<std::string> ends_of_family(const std::string& family) {
  std::vector<std::string> ends;
  for (const auto& [from, to] :
       {std::pair{"start", "end"}, {"start", "stop"}, {"begin", "end"}, {"Start", "End"}, {"START", "END"}})
    if (family.ends_with(from))
      ends.push_back(family.substr(0, family.size() - std::string(from).size()) + to);
  return ends;
}

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
  std::vector<std::string> met, names;  // as they came; by family, each once
  std::map<std::string, size_t> counts;
  for (const OpRow* r : rows)
    if (r->signpost()) {
      met.push_back(r->code);
      const std::string family = signpost_family(r->code);
      if (counts[family]++ == 0) names.push_back(family);
    }
  need_signpost(options.start, 1, met);
  need_signpost(options.end, 1, met);
  Steps all;
  std::string start = options.start, end = options.end;
  const NameOf name_of = start.empty() ? signpost_family : as_it_is;
  if (start.empty() && !names.empty()) {
    size_t most = 0;
    for (const std::string& name : names) {
      std::string other = partner(name, names);
      if (counts[name] > most && (!other.empty() || counts[name] > 1)) {
        most = counts[name];
        start = name;
        end = options.end.empty() ? other : signpost_family(options.end);
      }
    }
  }
  if (!start.empty()) {
    all = between_signposts(rows, start, end, name_of, table);
  } else {
    all = by_replay(rows, table);
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
      if (!ops.empty()) all.steps.push_back(make_step("whole run", ops, wall, table));
    }
  }
  leave_out(all, options);
  all.warning = compiled_in_every_step(all.steps);
  return all;
}

}  // namespace ttc::report
