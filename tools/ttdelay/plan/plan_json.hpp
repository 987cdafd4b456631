// An experiment as JSON in canonical form. The experiment's folder stores it; a folder belongs to an experiment if the two are equal.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "tools/ttdelay/plan/experiment.hpp"

namespace ttc::delay {

nlohmann::ordered_json to_json(const Experiment& experiment);
// Throws PlanError where it is none.
Experiment experiment_of(const nlohmann::json& json);

}  // namespace ttc::delay
