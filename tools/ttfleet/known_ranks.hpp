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

struct StoredRanks {
  std::set<std::string> names;  // Identity::name()
  // Why the stream cannot be read, as for an account that may command and not read rows; empty if it was read.
  std::string unreadable;
};
// The job's ranks whose last state of the past 15 s, three times the interval of states, is that of a collector that runs.
StoredRanks ranks_in_stream(Bus& bus, const Identity& job);
// A sentence for the user of a command whose silent ranks may be unknown.
std::string silent_are_unknown(const std::string& unreadable);

// The ranks of `ranks` without an answer, and their names for a sentence.
std::set<std::string> without_answer(std::set<std::string> ranks, const std::vector<Answer>& answers);
std::string names_of(const std::set<std::string>& ranks);

}  // namespace ttc::fleet
