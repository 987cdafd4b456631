// An experiment as JSON, in one form: what an experiment's folder keeps, and what decides whether a folder is of this experiment.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "tools/ttdelay/plan/experiment.hpp"

namespace ttc::delay {

nlohmann::ordered_json to_json(const Experiment& experiment);
// Throws PlanError where it is none.
Experiment experiment_of(const nlohmann::json& json);

}  // namespace ttc::delay
