// One sample of one collector as JSON: every counter, clocks, losses, rates.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "tools/ttmon/monitor_model.hpp"

namespace ttc::tools {

nlohmann::ordered_json to_json(const CardView& card);

}  // namespace ttc::tools
