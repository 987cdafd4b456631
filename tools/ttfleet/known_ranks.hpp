// Which ranks a job has, by the bus: those whose agents stored a state a moment ago. A rank that answers no command in time is
// missed by this list.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "tools/fleet/bus/bus.hpp"
#include "tools/fleet/wire/control.hpp"
#include "tools/fleet/wire/identity.hpp"

namespace ttc::fleet {

// Names (Identity::name()) of the job's ranks whose last state of the past 15 s, three times the interval of states, is that of a
// collector that runs. Empty where the stream cannot be read: an account may command without reading rows.
std::set<std::string> ranks_in_stream(Bus& bus, const Identity& job);

// The ranks of `ranks` without an answer, and their names for a sentence.
std::set<std::string> without_answer(std::set<std::string> ranks, const std::vector<Answer>& answers);
std::string names_of(const std::set<std::string>& ranks);

}  // namespace ttc::fleet
