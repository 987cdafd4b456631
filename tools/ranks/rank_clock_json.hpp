// A rank's clock as JSON: {"reference": N, "same_clock": true} or {"reference": N, "points": [[raw_ns, offset_ns, bound_ns], ...]}. Pure.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>

#include "tools/ranks/clock_points.hpp"

namespace ttc::tools {

inline constexpr size_t kMostClockPoints = 4096;

nlohmann::json json_of(const RankClock& clock);
// None: it is not one. Of a clock that is not known, `{}`.
std::optional<RankClock> rank_clock_of(const nlohmann::json& json);

}  // namespace ttc::tools
