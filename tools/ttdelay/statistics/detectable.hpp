// How small an effect would have been found.
#pragma once
#include <optional>

#include "tools/ttdelay/statistics/contrast.hpp"

namespace ttc::delay {

inline constexpr double kPower = 0.8;

// The size of a contrast that would be found in four of five such experiments, when `tests` questions share `alpha` and each has
// the scatter observed here. Nothing: the groups are so small that no effect could be found, or show no scatter at all.
std::optional<double> detectable(const Groups& groups, const Weights& weights, size_t tests, double alpha);

}  // namespace ttc::delay
