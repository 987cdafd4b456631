// P-values of several questions that were put to the same runs, corrected for their number.
#pragma once
#include <vector>

namespace ttc::delay {

// Holm: the chance that any question without an effect is below alpha stays below alpha, however the questions depend on each other.
std::vector<double> holm(const std::vector<double>& p);
// Benjamini and Hochberg: of the questions below alpha so many at most, in the mean, are without an effect.
std::vector<double> benjamini_hochberg(const std::vector<double>& p);

}  // namespace ttc::delay
