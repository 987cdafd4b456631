#include "collector/program/json_text.hpp"

#include <nlohmann/json.hpp>

namespace ttc::program {

std::string json_text(const nlohmann::json& value, int indent) {
  return value.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string json_text(const nlohmann::ordered_json& value, int indent) {
  return value.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

nlohmann::json json_value(std::string_view text) {
  return nlohmann::json::parse(text, nullptr, false);
}

}  // namespace ttc::program
