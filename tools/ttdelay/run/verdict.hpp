// Checks from the values read of the card whether a delayed run was delayed. Pure.
#pragma once
#include <string>

#include "tools/ttdelay/plan/schedule.hpp"
#include "tools/ttdelay/run/card_watch.hpp"

namespace ttc::delay {

// The masks that the host writes into the records for a run.
MasksByCore masks_of(const Experiment& experiment, const PlannedRun& run);

// Empty if every named core reports that transactions of the kind were delayed, and no other core and no other kind was. Else a
// sentence that names what is missing, and where.
std::string not_taken(const Experiment& experiment, const PlannedRun& run, const CardFacts& facts);

}  // namespace ttc::delay
