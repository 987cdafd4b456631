// `ttcollect doctor`: examines the machine and prints what stands in the way of profiling on it; and its short form,
// which is printed when collecting begins.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "collector/doctor/look/machine_reader.hpp"

namespace ttc::collect::doctor {

// Prints on stdout, as text or as one JSON object. True: nothing stands in the way. Throws card::InventoryError,
// NoSuchProcess.
bool examine(const Look& look, bool as_json);

// What stands in the way of collecting from these devices (as typed, or "all"), a sentence each, without advice and without what
// opening and attaching report themselves. Reads no chip. If the machine cannot be examined, a sentence has the reason.
std::vector<std::string> in_the_way_of(std::span<const std::string> devices);

}  // namespace ttc::collect::doctor
