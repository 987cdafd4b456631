// JSON as text, from values whose strings may be any bytes, and back.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace ttc::program {

// Bytes that are no UTF-8 become U+FFFD, so that the text is JSON always. What a terminal would obey is written as
// \uNNNN, so that the text can be shown on one; a reader of JSON gets the same value. `indent`: spaces a level; -1:
// one line.
std::string json_text(const nlohmann::json& value, int indent = -1);
std::string json_text(const nlohmann::ordered_json& value, int indent = -1);

// The value that `text` is, `is_discarded()` of what is no JSON. Other sources do not parse: the parser is most of what a
// source with nlohmann/json.hpp takes to compile.
nlohmann::json json_value(std::string_view text);

}  // namespace ttc::program
