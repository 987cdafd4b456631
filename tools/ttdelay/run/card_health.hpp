// Checks the card between two runs.
#pragma once
#include <string>

#include "tools/ttdelay/run/card_watch.hpp"

namespace ttc::delay {

// Empty: it can be opened, answers, and its clock runs; or it is an emulated one, which is there with its workload only. Else a sentence.
std::string what_ails(const std::string& device, const CardOpener& open);

}  // namespace ttc::delay
