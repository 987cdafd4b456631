// `ttcollect doctor`: examines the machine and prints what stands in the way of profiling on it. And its short form, which
// collecting says.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "collector/doctor/look/machine_reader.hpp"

namespace ttc::collect::doctor {

// Prints on stdout, for people or as one JSON object. True: nothing stands in the way. Throws card::InventoryError,
// NoSuchProcess.
bool examine(const Look& look, bool as_json);

// What stands in the way of collecting from these devices (as typed, or "all"), a sentence each. Nothing of what opening and
// attaching say themselves, and no advice. Reads no chip. Where the machine cannot be examined it is a sentence, too.
std::vector<std::string> in_the_way_of(std::span<const std::string> devices);

}  // namespace ttc::collect::doctor
