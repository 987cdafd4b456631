// JSON as text, from values whose strings may be any bytes.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace ttc::program {

// Bytes that are no UTF-8 become U+FFFD, so that the text is JSON always. `indent`: spaces a level; -1: one
// line.
std::string json_text(const nlohmann::json& value, int indent = -1);
std::string json_text(const nlohmann::ordered_json& value, int indent = -1);

}  // namespace ttc::program
