#include "tools/ranks/rank_clock_json.hpp"

namespace ttc::tools {
namespace {

std::optional<ClockPoint> point_of(const nlohmann::json& j) {
  constexpr size_t kNumbers = 3;
  if (!j.is_array() || j.size() != kNumbers || !j[0].is_number_unsigned() || !j[1].is_number_integer() ||
      !j[2].is_number_unsigned())
    return std::nullopt;
  if (j[1].is_number_unsigned() && j[1].get<uint64_t>() > static_cast<uint64_t>(INT64_MAX))
    return std::nullopt;
  return ClockPoint{j[0].get<uint64_t>(), j[1].get<int64_t>(), j[2].get<uint64_t>()};
}

}  // namespace

nlohmann::json json_of(const RankClock& clock) {
  if (clock.reference == 0 || !clock.points.known()) return nlohmann::json::object();
  nlohmann::json j{{"reference", clock.reference}};
  if (clock.points.exact()) {
    j["same_clock"] = true;
    return j;
  }
  j["points"] = nlohmann::json::array();
  for (const ClockPoint& p : clock.points.all()) j["points"].push_back({p.raw_ns, p.offset_ns, p.bound_ns});
  return j;
}

std::optional<RankClock> rank_clock_of(const nlohmann::json& j) {
  if (!j.is_object()) return std::nullopt;
  RankClock clock;
  if (j.empty()) return clock;
  const auto reference = j.find("reference");
  if (reference == j.end() || !reference->is_number_unsigned() || reference->get<uint64_t>() == 0)
    return std::nullopt;
  clock.reference = reference->get<uint64_t>();
  if (const auto same = j.find("same_clock"); same != j.end() && same->is_boolean() && same->get<bool>()) {
    clock.points.be_exact();
    return clock;
  }
  const auto points = j.find("points");
  if (points == j.end() || !points->is_array() || points->empty() || points->size() > kMostClockPoints)
    return std::nullopt;
  for (const auto& one : *points) {
    const auto point = point_of(one);
    if (!point) return std::nullopt;
    clock.points.add(*point);
  }
  return clock.points.known() ? std::optional(clock) : std::nullopt;
}

}  // namespace ttc::tools
