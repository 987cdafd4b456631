// The chip's grid with the effect of delaying each core, as a picture.
#pragma once
#include <string>

#include "tools/ttdelay/report/analysis.hpp"

namespace ttc::delay {

// SVG, a grid for every kind of transaction: a core's colour is how far the observable moves when its transactions are delayed
// by the largest delay; those without a finding are pale. NOC0 places if the trial read them from the card, else logical ones.
// Empty if there is nothing to draw.
std::string delay_map(const Experiment& experiment, const JournalContent& journal, const Analysis& analysis,
                      const std::string& observable);

}  // namespace ttc::delay
