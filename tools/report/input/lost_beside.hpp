// Losses in the table that an export leaves beside a device log (tools/formats/loss_csv.hpp).
#pragma once
#include <string>
#include <vector>

#include "tools/report/input/device_input.hpp"
#include "tools/report/zones/zone_pairs.hpp"

namespace ttc::report {

// Empty where there is no such table. A row that cannot be read is left out, which is damage.
std::vector<LostInterval> losses_beside(const std::string& log, InputAccount& account);

}  // namespace ttc::report
