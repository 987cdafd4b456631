#include "tools/ttmon/sample_json.hpp"

#include <nlohmann/json.hpp>

namespace ttc::tools {

nlohmann::ordered_json to_json(const CardView& card) {
  const CardSample& s = card.sample;
  nlohmann::ordered_json j{{"live", s.live_name},
                           {"device", s.device},
                           {"pid", s.pid},
                           {"state", to_string(s.writer)},
                           {"health", {{"state", to_string(card.health.health)}, {"why", card.health.why}}}};
  for (size_t i = 0; i < shm::kCounters; ++i)
    j["counters"][shm::label(static_cast<shm::Counter>(i))] = s.counters[i];
  for (const ClockState& c : s.clocks)
    j["clocks"].push_back({{"domain", c.domain},
                           {"segments", c.segments},
                           {"hz", c.hz},
                           {"bound_ns", c.bound_ns},
                           {"kind", c.kind}});
  if (!s.overwritten.empty()) j["overwritten"] = s.overwritten;
  j["lost"] = nlohmann::ordered_json::object();
  for (const auto& [cause, l] : s.lost)
    j["lost"][cause] = {{"intervals", l.intervals},
                        {"words", l.words},
                        {"launches_at_most", l.launches},
                        {"unknown", l.unknown}};
  if (const auto& f = card.footprint)
    j["footprint"] = {{"reads_per_s", f->reads_per_s},
                      {"bytes_per_s", f->bytes_per_s},
                      {"re_aims_per_s", f->re_aims_per_s},
                      {"link_percent", 100 * f->link_share.value_or(0)}};
  return j;
}

}  // namespace ttc::tools
