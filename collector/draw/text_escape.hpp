// Text of any bytes inside JSON, SVG and HTML. Names come from compilers' logs: a byte that is not UTF-8
// becomes '?', a character with a meaning in the form is escaped.
#pragma once
#include <string>
#include <string_view>

namespace ttc::draw {

std::string for_json(std::string_view text);  // inside quotes
std::string for_markup(
    std::string_view text);  // SVG, HTML: content or a double-quoted attribute; control characters: '?'

}  // namespace ttc::draw
