// How often chance alone gives a contrast as large as the one observed. The order of runs was drawn at random, so that without any effect
// every assignment of values to groups was as likely as the one that happened: the p-value is exact up to the number of draws,
// whatever the distribution of the values is.
#pragma once
#include "tools/ttdelay/statistics/contrast.hpp"

namespace ttc::delay {

// Two-sided; never below least_p(). `draws`: so many assignments are examined, fewer where it is clear that there is no effect.
double permutation_p(const Groups& groups, const Weights& weights, size_t draws, uint64_t seed = 1);

// The smallest p-value that groups of these sizes can have at all: one assignment of all that differ.
double least_p(const Groups& groups);

// The number of draws with which a p-value of `alpha / tests` can be reached.
size_t draws_for(size_t tests, double alpha);

}  // namespace ttc::delay
